// Choosing, searching, moving about.

const kTabs = [["details", "Details", null], ["segments", "Segments", data.segments.length], ["cuts", "Cuts", data.cuts.length], ["groups", "Cast groups", data.groups.length]];
let tab = "details";

function openTab(name) {
  tab = name;
  for (const button of byId("tabs").children) button.setAttribute("aria-selected", button.dataset.tab === name);
  if (name === "segments") segmentsView();
  else if (name === "cuts") cutsView();
  else if (name === "groups") groupsView();
  else if (chosen.node) nodeView(chosen.node);
  else if (chosen.link) content.replaceChildren(element("h2", {}, "Through memory"), ...data.cuts.filter((c) => c.value === chosen.link.value).map(cutCard));
  else if (chosen.segment !== null) segmentView(chosen.segment);
  else content.replaceChildren(element("p", { class: "muted" }, "Click a segment, an op or a line between segments."));
  content.scrollTop = 0;
}

function choose(segment, node, link, hash) {
  Object.assign(chosen, { segment, node, link });
  draw();
  openTab("details");
  try { history.replaceState(null, "", hash); } catch { /* a page without an address of its own */ }
}
function chooseSegment(s, move) {
  choose(s, null, null, `#segment-${s}`);
  if (move) show(boxes[s]);
}
function chooseNode(node, move) {
  choose(node.segment, node, null, `#${encodeURIComponent(node.name)}`);
  if (move) showNode(node);
}

// --- head and legend

function figures() {
  const t = data.totals, over = t.lower_bound_bytes > 0 ? t.bytes / t.lower_bound_bytes : 1;
  const figure = (value, what, warn) => element("div", { class: warn ? "figure warn" : "figure", role: "listitem" }, element("b", {}, value), element("span", {}, what));
  byId("doc").textContent = data.doc || `fusec ${data.fusec}`;
  byId("doc").title = data.doc;
  byId("figures").replaceChildren(
    figure(t.segments, "segments"), figure(t.launches, "launches"), figure(bytesText(t.bytes), over > 1.005 ? `moved, ${over.toFixed(2)}× the least` : "moved, the least there is"),
    figure(bytesText(t.edge_bytes), "between segments"), figure(t.wide_edges, "wide edges", t.wide_edges > 0), figure(t.recomputed_ops, "made again"),
    figure(usText(t.measured_us === null ? t.us : t.measured_us), t.measured_us === null ? "estimated" : "measured"), figure(data.arch, data.device || "target"));
}

function legend() {
  const dtypes = [...new Set(links.map((l) => l.dtype))].sort();
  byId("legend").replaceChildren(...dtypes.map((d) => element("span", {}, element("i", { style: `background:${colour(d)}` }), d)),
    element("span", {}, "thick: through memory, by bytes"), nodes.some((n) => n.copy) ? element("span", {}, "dashed: made again") : "", data.groups.length ? element("span", {}, "stripe: cast group") : "");
}

// --- search

const found = byId("found"), search = byId("search");
let hits = [], picked = 0;

function find(text) {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  if (words.length === 0) return [];
  const fits = (n) => { const all = `${n.name} ${n.caption} ${n.type}`.toLowerCase(); return words.every((w) => all.includes(w)); };
  return nodes.filter(fits).sort((a, b) => (a.name.toLowerCase().startsWith(words[0]) ? 0 : 1) - (b.name.toLowerCase().startsWith(words[0]) ? 0 : 1) || a.name.length - b.name.length);
}
function listHits() {
  found.hidden = search.value.trim() === "";
  found.replaceChildren(...hits.slice(0, 60).map((n, i) => element("li", { "aria-selected": i === picked, onclick: () => { chooseNode(n, true); found.hidden = true; } },
    element("code", {}, n.name), element("span", { class: "muted" }, n.copy ? "made again" : n.caption), element("small", {}, n.type))));
  if (hits.length > 60) found.append(element("li", { class: "muted" }, `${hits.length - 60} more`));
  if (hits.length === 0) found.append(element("li", { class: "muted" }, "nothing found"));
}
search.addEventListener("input", () => { hits = find(search.value); picked = 0; matches = new Set(hits.map((n) => n.id)); listHits(); draw(); });
search.addEventListener("keydown", (event) => {
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (step) { picked = Math.max(0, Math.min(Math.min(hits.length, 60) - 1, picked + step)); listHits(); event.preventDefault(); }
  if (event.key === "Enter" && hits[picked]) { chooseNode(hits[picked], true); found.hidden = true; }
  if (event.key === "Escape") { search.value = ""; search.dispatchEvent(new Event("input")); search.blur(); }
});
document.addEventListener("pointerdown", (event) => { if (!event.target.closest(".search")) found.hidden = true; });

// --- moving about

let grip = null;
svg.addEventListener("pointerdown", (event) => { if (event.button === 0) { grip = { x: event.clientX, y: event.clientY, moved: false }; } });
addEventListener("pointermove", (event) => {
  if (!grip) return;
  const dx = event.clientX - grip.x, dy = event.clientY - grip.y;
  if (!grip.moved && Math.hypot(dx, dy) < 4) return;
  Object.assign(grip, { x: event.clientX, y: event.clientY, moved: true });
  svg.classList.add("dragging");
  at.x += dx;
  at.y += dy;
  place();
});
addEventListener("pointerup", () => { svg.classList.remove("dragging"); setTimeout(() => { grip = null; }); });
svg.addEventListener("click", (event) => {
  if (grip && grip.moved) return;
  const hit = event.target.closest("[data-node],[data-link],[data-segment]");
  if (!hit) choose(null, null, null, "#");
  else if (hit.dataset.node !== undefined) chooseNode(nodes[hit.dataset.node], false);
  else if (hit.dataset.link !== undefined) choose(null, null, links[hit.dataset.link], "#");
  else chooseSegment(Number(hit.dataset.segment), false);
});
svg.addEventListener("dblclick", (event) => { const hit = event.target.closest("[data-segment]"); if (hit) show(boxes[hit.dataset.segment]); });
svg.addEventListener("wheel", (event) => {
  event.preventDefault();
  const r = svg.getBoundingClientRect();
  zoom(Math.exp(-event.deltaY * (event.deltaMode === 1 ? 0.05 : 0.0016)), event.clientX - r.left, event.clientY - r.top);
}, { passive: false });
byId("zoom").addEventListener("click", (event) => ({ in: () => zoom(1.4), out: () => zoom(1 / 1.4), all: showAll })[event.target.dataset.zoom]?.());
addEventListener("keydown", (event) => {
  if (event.target === search || event.ctrlKey || event.metaKey || event.altKey) return;
  const act = { "/": () => search.focus(), "+": () => zoom(1.3), "=": () => zoom(1.3), "-": () => zoom(1 / 1.3), 0: showAll, Escape: () => choose(null, null, null, "#") }[event.key];
  if (act) { event.preventDefault(); act(); }
});
addEventListener("resize", drawSoon);
byId("handle").addEventListener("pointerdown", (event) => {
  event.preventDefault();
  const move = (e) => { byId("panel").style.width = `${Math.max(300, innerWidth - e.clientX)}px`; };
  addEventListener("pointermove", move);
  addEventListener("pointerup", () => { removeEventListener("pointermove", move); drawSoon(); }, { once: true });
});

// --- light and dark

const theme = { system: matchMedia("(prefers-color-scheme: dark)"), own: null };
try { theme.own = localStorage.getItem("fusec-theme"); } catch { /* a page from a file may have no storage */ }
function paint() { document.documentElement.dataset.theme = theme.own || (theme.system.matches ? "dark" : "light"); }
theme.system.addEventListener("change", paint);
byId("theme").addEventListener("click", () => {
  theme.own = document.documentElement.dataset.theme === "dark" ? "light" : "dark";
  try { localStorage.setItem("fusec-theme", theme.own); } catch { /* as above */ }
  paint();
});

// --- start

// #segment-3, or #NAME of a value.
function follow() {
  let hash = location.hash.slice(1);
  try { hash = decodeURIComponent(hash); } catch { /* no name, then */ }
  const segment = /^segment-(\d+)$/.exec(hash);
  if (segment && Number(segment[1]) < boxes.length) chooseSegment(Number(segment[1]), true);
  else if (home.has(hash)) chooseNode(home.get(hash), true);
  else return false;
  return true;
}

function start() {
  paint();
  figures();
  legend();
  byId("tabs").replaceChildren(...kTabs.map(([name, title, count]) => element("button", { role: "tab", "data-tab": name, onclick: () => openTab(name) }, title, count === null ? "" : element("small", {}, count))));
  if (!data.drawn) { byId("notice").hidden = false; byId("notice").textContent = "A graph of this size is drawn as its segments; fusec explain tells of its ops."; }
  showAll();
  if (follow()) return;
  if (boxes.length === 1) chooseSegment(0, false);
  else openTab("segments");
}
addEventListener("hashchange", follow);
start();
