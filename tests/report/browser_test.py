#!/usr/bin/env python3
"""The HTML report in headless Chromium: open it, click a segment, read its code, search, change the theme; no error, no network.

Usage: browser_test.py FUSEC [SCREENSHOTS]. Skipped (exit 77) without Chromium."""
import json
import pathlib
import subprocess
import sys
import tempfile
import time

import browser

FUSEC = pathlib.Path(sys.argv[1]).resolve()
SHOTS = pathlib.Path(sys.argv[2]) if len(sys.argv) > 2 else None
failures = []


def check(good, what):
    if not good:
        failures.append(what)
        print("FAILED:", what)


def compile_report(graph, folder, *flags):
    path = folder / (graph["name"] + ".fusion.json")
    path.write_text(json.dumps(graph))
    command = [FUSEC, "compile", path, "-o", folder, "--report", "html", "--arch", "sm_90", *flags]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"compile failed: {done.stderr}")
    return (folder / (graph["name"] + ".report.html")).as_uri()


def centred(doc, name="centred"):
    """Two segments: a sum over everything, and what waits for it. The cast group is made again on the far side."""
    ops = [{"op": "cast", "in": ["x"], "dtype": "f32", "out": "wide"}, {"op": "sin", "in": ["wide"], "out": "wave"},
           {"op": "sum", "in": ["wave"], "out": "total"}, {"op": "sub", "in": ["wave", "total"], "out": "rest"},
           {"op": "cast", "in": ["rest"], "dtype": "bf16", "out": "y"}]
    return {"version": 1, "name": name, "doc": doc, "inputs": [{"name": "x", "dtype": "bf16", "shape": [33554432]}], "ops": ops, "outputs": ["y"]}


def large(count):
    """Blocks of casts and arithmetic with a sum over everything between them."""
    ops, last = [], "x"
    for block in range(count // 50):
        p = f"b{block}_"
        ops.append({"op": "cast", "in": [last], "dtype": "f32", "out": p + "wide"})
        tip = p + "wide"
        for n in range(46):
            ops.append({"op": ("sin", "neg", "abs")[n % 3], "in": [tip], "out": f"{p}s{n}"})
            tip = f"{p}s{n}"
        ops += [{"op": "sum", "in": [tip], "out": p + "total"}, {"op": "sub", "in": [tip, p + "total"], "out": p + "rest"},
                {"op": "cast", "in": [p + "rest"], "dtype": "bf16", "out": p + "y"}]
        last = p + "y"
    return {"version": 1, "name": "large", "inputs": [{"name": "x", "dtype": "bf16", "shape": [4194304]}], "ops": ops, "outputs": [last]}


def text_of(page, selector):
    return page.run(f"document.querySelector({json.dumps(selector)})?.innerText ?? ''")


def quiet(page, what):
    check(page.problems == [], f"{what}: {page.problems[:3]}")
    strange = [url for url in page.requests if not url.startswith(("file:", "data:"))]
    check(strange == [], f"{what} asked for {strange[:3]}")


def look(page, name):
    if SHOTS:
        page.screenshot(str(SHOTS / (name + ".png")))


def small_page(page, folder):
    hostile = "</script><script>window.hacked = 1</script><!-- ' \" & \u2028 \U0001f525 @@DATA@@"
    page.open(compile_report(centred(hostile), folder, "--emit", "cu"))
    check(page.run("document.title") == "centred · fusec", "the title")
    check(page.run("document.getElementById('doc').textContent") == hostile, "the doc is shown as it is")
    check(page.run("typeof window.hacked") == "undefined", "a text of the graph ran as a script")
    check(page.run("document.querySelectorAll('.box').length") == 2, "two boxes")
    check(page.run("document.querySelectorAll('.node.copy').length") >= 2, "copies are drawn")
    check(page.run("document.querySelectorAll('.link.crosses').length") == 1, "one value crosses")
    page.click('.box[data-segment="1"] rect', 12, 16)
    check(text_of(page, "#content h2").startswith("segment 1"), "a click on segment 1 tells of it: " + text_of(page, "#content h2"))
    code = text_of(page, "#content pre")
    check("__global__" in code and "centred_s1" in code, "its code is there: " + code[:80])
    check("total" in text_of(page, "#content .why") and "grid-wide" in text_of(page, "#content .why"), "the reason of the cut is there")
    look(page, "segment")
    page.click(".node:not(.copy):not(.in)")
    check(page.run("document.querySelector('.node.chosen') !== null"), "a click on an op chooses it")
    page.click("#search")
    page.type("tota")
    check(page.run("document.querySelectorAll('#found li').length") == 1, "the search finds one op")
    page.key("Enter")
    check(text_of(page, "#content h2").startswith("total"), "Enter goes to the op")
    check("Why it is stored" in page.run("document.getElementById('content').textContent"), "the op says why it is stored")
    before = page.run("getComputedStyle(document.body).backgroundColor")
    page.click("#theme")
    check(page.run("getComputedStyle(document.body).backgroundColor") != before, "the theme changes")
    look(page, "dark")
    for tab in ("segments", "cuts", "groups"):
        page.click(f'#tabs [data-tab="{tab}"]')
        check(len(text_of(page, "#content")) > 20, f"the tab {tab}")
    page.click('#tabs [data-tab="segments"]')
    page.click('tr[data-row="0"]')
    check(text_of(page, "#content h2").startswith("segment 0"), "a row of the table leads to its segment")
    quiet(page, "the small page")


def system_theme(page):
    for scheme in ("dark", "light"):
        page.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        page.run("localStorage.clear()")
        page.call("Page.reload")
        page.run("new Promise((done) => setTimeout(done, 300))")
        check(page.run("document.documentElement.dataset.theme") == scheme, f"the system's {scheme} theme is followed")


def measured_page(page, folder):
    times = {"graph": "timed", "device": "GPU of a test", "us": {"median": 50.0}, "limit_gbps": 4000.0,
             "per_segment": [{"id": 0, "kernel": "k", "us": 20.0}, {"id": 1, "kernel": "k", "us": 30.0}]}
    (folder / "times.json").write_text(json.dumps(times))
    page.open(compile_report(centred("measured", "timed"), folder, "--emit", "cu", "--measured", folder / "times.json") + "#segment-1")
    check("30.0 µs" in text_of(page, "#content"), "measured times are shown")
    check("GPU of a test" in page.run("document.querySelector('header').innerText"), "the device is named")
    page.run("location.hash = '#total'; new Promise((done) => setTimeout(done, 100))")
    check(text_of(page, "#content h2").startswith("total"), "an address leads to its op")
    quiet(page, "the measured page")


def large_page(page, folder):
    graph = large(5000)
    start = time.monotonic()
    url = compile_report(graph, folder, "--emit", "cu")
    wrote = time.monotonic() - start
    start = time.monotonic()
    page.open(url)
    opened = time.monotonic() - start
    check(opened < 10, f"5,000 ops open in {opened:.1f} s")
    look(page, "large")
    start = time.monotonic()
    page.click("#search")
    page.type("b70_total")
    page.key("Enter")
    check(text_of(page, "#content h2").startswith("b70_total"), "an op among 5,000 is found")
    check(page.run("document.querySelectorAll('.node').length") > 3, "what is in sight is drawn")
    moved = time.monotonic() - start
    check(moved < 3, f"finding an op took {moved:.1f} s")
    look(page, "large_op")
    page.click('#zoom [data-zoom="all"]')
    page.run("new Promise((done) => setTimeout(done, 200))")
    page.click(".box rect")
    check("segment" in text_of(page, "#content h2"), "a segment of many is chosen")
    quiet(page, "the large page")
    print(f"5,000 ops: written in {wrote:.1f} s, opened in {opened:.1f} s, an op found in {moved:.1f} s")


def main():
    path = browser.find()
    if not path:
        print("SKIPPED: no Chromium (apt-get install chromium)")
        return 77
    with tempfile.TemporaryDirectory() as name:
        page = browser.Browser(path)
        try:
            folder = pathlib.Path(name)
            small_page(page, folder)
            system_theme(page)
            measured_page(page, folder)
            large_page(page, folder)
        finally:
            page.close()
    print(f"{len(failures)} failed" if failures else "all passed")
    return 1 if failures else 0


sys.exit(main())
