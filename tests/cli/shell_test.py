#!/usr/bin/env python3
"""Habits of the shell: completions in the shells themselves, manual pages, progress on a terminal only, installation.

Usage: shell_test.py FUSEC BUILD_DIR. What is not here (a shell, man) is skipped, and said so."""
import json
import os
import pathlib
import pty
import re
import select
import shutil
import subprocess
import sys
import tempfile
import time

FUSEC, BUILD = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2])
failures = []


def check(good, what):
    if not good:
        failures.append(what)
        print("FAILED:", what)


def have(program):
    if shutil.which(program):
        return True
    print(f"SKIPPED: no {program}")
    return False


def fusec(*args, **kwargs):
    return subprocess.run([FUSEC, *args], capture_output=True, text=True, **kwargs)


def commands():
    return re.findall(r"^complete -c fusec -n __fish_use_subcommand -a (\S+)", fusec("completions", "fish").stdout, re.M)


# --- completions ---------------------------------------------------------------------------------------------------------


def bash(script, line, cwd):
    words = line.split(" ")
    code = f'source {script}; COMP_WORDS=({" ".join(repr(w) for w in words)}); COMP_CWORD={len(words) - 1}; _fusec; printf "%s\\n" "${{COMPREPLY[@]}}"'
    done = subprocess.run(["bash", "--norc", "-c", code], capture_output=True, text=True, cwd=cwd)
    check(done.stderr == "", f"bash, {line!r}: {done.stderr}")
    return done.stdout.split()


def fish(script, line, cwd):
    done = subprocess.run(["fish", "--no-config", "-c", f"source {script}; complete -C '{line}'"], capture_output=True, text=True, cwd=cwd)
    check(done.stderr == "", f"fish, {line!r}: {done.stderr}")
    return [row.split("\t")[0] for row in done.stdout.splitlines()]


def completions(folder):
    (folder / "model.fusion.json").write_text("{}")
    (folder / "out").mkdir()
    cases = [("fusec expl", {"explain"}, None), ("fusec compile --emi", {"--emit"}, None), ("fusec compile --arch sm_90", {"sm_90", "sm_90a"}, None),
             ("fusec compile --skip simp", {"simplify"}, None), ("fusec run --device ", {"gpu", "cpu"}, None), ("fusec ops layer_n", {"layer_norm"}, None),
             ("fusec compile mod", {"model.fusion.json"}, None), ("fusec compile --out o", {"out", "out/"}, "any"), ("fusec --log-level deb", {"debug"}, None),
             ("fusec explain --what-if ", set(), None), ("fusec completions ", {"bash", "zsh", "fish"}, None)]
    for name, shell in (("bash", bash), ("fish", fish)):
        if not have(name):
            continue
        script = folder / ("fusec." + name)
        script.write_text(fusec("completions", name).stdout)
        for line, wanted, how in cases:
            got = set(shell(script, line, folder))
            check(bool(got & wanted) if how == "any" else got == wanted, f"{name}, {line!r}: {sorted(got)}, wanted {sorted(wanted)}")
    words()
    if have("bash"):
        check(bash(folder / "fusec.bash", "fusec compile --emit cu,cub", folder) == ["cu,cubin"], "bash completes the last word of a list")
    if have("zsh"):
        zsh(folder)


def words():
    """The words that completions offer are those that the options take: their own messages list them."""
    compared = 0
    script = fusec("completions", "fish").stdout
    for command, option, offered in re.findall(r"^complete -c fusec -n '__fish_seen_subcommand_from (\S+)' (?:-s \w )?-l (\S+)(?: -s \w)? -x -a '([^'(]*)'", script, re.M):
        message = fusec(command, "graph", "--" + option, "no-such-word").stderr
        listed = re.search(r"is none of (.*?)(?:;|$)", message, re.M)
        if listed:
            compared += 1
            check(listed.group(1).split(", ") == offered.split(), f"{command} --{option}: completed are {offered}, taken are {listed.group(1)}")
    check(compared >= 5, f"{compared} options with words")


def zsh(folder):
    """Typed into a real zsh."""
    (folder / "_fusec").write_text(fusec("completions", "zsh").stdout)
    pid, terminal = pty.fork()
    if pid == 0:
        os.chdir(folder)
        os.environ.update(TERM="xterm", ZDOTDIR=str(folder), PS1="", HOME=str(folder))
        os.execvp("zsh", ["zsh", "-f", "-i"])

    def read(until, seconds=10):
        text, end = "", time.monotonic() + seconds
        while until not in text and time.monotonic() < end:
            if select.select([terminal], [], [], 0.2)[0]:
                text += os.read(terminal, 65536).decode(errors="replace")
        return text

    os.write(terminal, b"PS1=; fpath=($PWD $fpath); autoload -Uz compinit; compinit -u -D; echo rea''dy\n")
    check("ready" in read("ready"), "zsh starts")
    for typed, wanted in (("fusec expl", "explain "), ("fusec compile --relax", "--relaxed-casts"), ("fusec run --device=c", "cpu"), ("fusec check mod", "model.fusion.json")):
        os.write(terminal, typed.encode() + b"\t")
        got = read(wanted.strip(), 5)
        check(wanted.strip() in got, f"zsh, {typed!r}: {got[-200:]!r}")
        os.write(terminal, b"\x15")  # clears the line
        read("\0", 0.3)
    os.write(terminal, b"exit\n")
    time.sleep(0.2)
    os.close(terminal)
    os.waitpid(pid, 0)


# --- manual pages --------------------------------------------------------------------------------------------------------


def manual(folder):
    names = commands()
    check({"check", "compile", "explain", "run", "man"} <= set(names), f"the commands: {names}")
    done = fusec("man", "-o", folder / "man")
    check(done.returncode == 0, f"fusec man -o: {done.stderr}")
    pages = {page.name for page in (folder / "man").iterdir()}
    check(pages == {"fusec.1"} | {f"fusec-{name}.1" for name in names}, f"a page a command: {sorted(pages)}")
    for name in names:
        text = fusec("man", name).stdout
        check(".SH EXAMPLES" in text and f"fusec {name}" in text.replace("\\-", "-"), f"fusec-{name}(1) has examples")
        options = re.findall(r"^  (?:-\w,)?(--[\w-]+)", fusec(name, "--help").stdout, re.M)
        for option in options:
            check(option.replace("-", "\\-") in text, f"fusec-{name}(1) has {option}")
    check(fusec("man", "complie").returncode == 2, "fusec man of no command")
    if have("groff"):
        for page in sorted(pages):
            done = subprocess.run(["groff", "-man", "-Tutf8", "-ww", folder / "man" / page], capture_output=True, text=True)
            check(done.returncode == 0 and done.stderr == "", f"groff, {page}: {done.stderr[:300]}")


# --- a terminal ----------------------------------------------------------------------------------------------------------


def on_terminal(args, cwd, **environment):
    pid, terminal = pty.fork()
    if pid == 0:
        os.chdir(cwd)
        os.environ.pop("NO_COLOR", None)
        os.environ.update(TERM="xterm", **environment)
        os.execv(FUSEC, [str(FUSEC), *args])
    text = b""
    while True:
        try:
            part = os.read(terminal, 65536)
        except OSError:  # the end, on Linux
            break
        if not part:
            break
        text += part
    os.close(terminal)
    return text.decode(errors="replace"), os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def terminal(folder):
    graph = {"version": 1, "name": "g", "inputs": [{"name": "x", "dtype": "f32", "shape": [8]}],
             "ops": [{"op": "neg", "in": ["x"], "out": "a"}, {"op": "abs", "in": ["a"], "out": "y"}], "outputs": ["y"]}
    (folder / "g.fusion.json").write_text(json.dumps(graph))
    (folder / "bad.fusion.json").write_text(json.dumps(graph).replace("neg", "nge"))
    slow = ["reduce", "g.fusion.json", "--check", "sleep 0.6; grep -q abs {} && exit 5", "-o", "small.json", "--max-tries", "3"]
    text, code = on_terminal(slow, folder)
    check(code == 0 and "reducing g.fusion.json: try" in text, f"progress after a second: {text!r}")
    check(text.rstrip().endswith("\033[K") or "\033[K" in text.split("try")[-1], "the line of progress goes away")
    text, code = on_terminal(slow + ["--quiet"], folder)
    check(code == 0 and "try" not in text, f"--quiet shows no progress: {text!r}")
    done = fusec(*slow, cwd=folder)
    check(done.returncode == 0 and "\033" not in done.stderr + done.stdout and "try" not in done.stderr, f"no progress in a pipe: {done.stderr!r}")
    text, code = on_terminal(["check", "g.fusion.json"], folder)
    check(code == 0 and "\033[K" not in text, f"nothing of what is quick: {text!r}")
    check("\033[1;31m" in on_terminal(["check", "bad.fusion.json"], folder)[0], "colour on a terminal")
    check("\033" not in on_terminal(["check", "bad.fusion.json"], folder, NO_COLOR="1")[0], "NO_COLOR")


# --- many graphs ---------------------------------------------------------------------------------------------------------


def many(folder):
    paths = []
    for n in range(24):
        ops = [{"op": "sin" if k % 2 else "cos", "in": [f"t{k - 1}" if k else "x"], "out": f"t{k}"} for k in range(20 + n)]
        graph = {"version": 1, "name": f"many{n}", "inputs": [{"name": "x", "dtype": "f32", "shape": [4096]}], "ops": ops, "outputs": [f"t{19 + n}"]}
        if n == 7:
            graph["ops"][3]["op"] = "sni"
        paths.append(folder / f"many{n}.fusion.json")
        paths[-1].write_text(json.dumps(graph))
    runs = {}
    for jobs in ("1", "6"):
        out = folder / ("out" + jobs)
        done = fusec("compile", *paths, "-o", out, "--emit", "cu", "-j", jobs)
        check(done.returncode == 2, f"-j {jobs}: a graph with errors, exit {done.returncode}")
        runs[jobs] = ({f.name: f.read_bytes() for f in out.iterdir()}, done.stdout.replace(str(out), "OUT"), done.stderr)
    check(runs["1"] == runs["6"], "-j changes nothing in files, output and messages")
    check(len(runs["1"][0]) == 23 * 5, f"all but the bad one are written: {len(runs['1'][0])} files")
    twice = fusec("compile", paths[0], paths[1], paths[0], paths[2], "-o", folder / "twice", "--emit", "cu", "-j", "4")
    check(twice.returncode == 2 and "was written" in twice.stderr, f"one name twice: {twice.stderr}")
    check((folder / "twice/many1.cu").exists() and not (folder / "twice/many2.cu").exists(), "what stands before it is written, what follows not")
    good = fusec("compile", *paths[:3], "-o", folder / "json", "--emit", "cu", "-j", "3", "--json")
    check([g["graph"] for g in json.loads(good.stdout)["graphs"]] == ["many0", "many1", "many2"], "the order of the JSON is that of the arguments")
    check(fusec("compile", paths[0], "-j", "0").returncode == 2, "-j 0")


# --- exit codes ----------------------------------------------------------------------------------------------------------


def misuse(folder):
    """Whatever the parser of options throws is bad usage, exit 2."""
    graph = str(folder / "g.fusion.json")
    cases = [["--nonsense"], ["frobnicate"], ["check"], ["check", graph, "--dim"], ["check", graph, "--strict=maybe"], ["show", graph, "--dot", "--json"],
             ["show", graph, graph], ["run", graph, "--seed", "x"], ["run", graph, "--device"], ["--log-level"], ["--log-level", "loud", "check", graph],
             ["--color=sometimes", "check", graph], ["compile", graph, "--emit", ""], ["compile", graph, "-j", "many"], ["completions"], ["completions", "csh"],
             ["man", "nothing"], ["check", graph, "check", graph, "--", "--"], ["explain", graph, "--what-if"], ["run", graph, "--inputs"]]
    for args in cases:
        done = fusec(*args, stdin=subprocess.DEVNULL)
        check(done.returncode == 2, f"{args}: exit {done.returncode}, {done.stderr!r}")
        check(done.stderr.strip() != "" and "CLI::" not in done.stderr, f"{args}: {done.stderr!r}")
    check(fusec("version", "--json").stdout.startswith('{"fusec": '), "version --json")


def install(folder):
    if not have("cmake"):
        return
    prefix = folder / "prefix"
    done = subprocess.run(["cmake", "--install", BUILD, "--prefix", prefix], capture_output=True, text=True)
    check(done.returncode == 0, f"cmake --install: {done.stderr[-300:]}")
    for path in ("bin/fusec", "share/man/man1/fusec.1", "share/man/man1/fusec-compile.1", "share/bash-completion/completions/fusec",
                 "share/zsh/vendor-completions/_fusec", "share/fish/vendor_completions.d/fusec.fish", "share/doc/fusec/examples/cast_add.fusion.json"):
        check((prefix / path).exists(), f"installed: {path}")
    if (prefix / "bin/fusec").exists():
        done = subprocess.run([prefix / "bin/fusec", "check", prefix / "share/doc/fusec/examples/cast_add.fusion.json"], capture_output=True, text=True)
        check(done.returncode == 0, "what was installed runs")


def main():
    for part in (completions, manual, terminal, many, misuse, install):
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            if part is misuse:
                shutil.copy(pathlib.Path(__file__).parents[2] / "examples/cast_add.fusion.json", folder / "g.fusion.json")
            part(folder)
    print(f"{len(failures)} failed" if failures else "all passed")
    return 1 if failures else 0


sys.exit(main())
