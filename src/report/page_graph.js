// The drawing: places come with the data; here are view, selection, and what of a large graph is drawn at all.

const svg = byId("graph"), view = byId("view");
const layer = { boxes: byId("boxes"), links: byId("links"), nodes: byId("nodes"), titles: byId("titles") };
const kDrawAll = 1500;     // nodes; of more only those in sight
const kMostInSight = 2500; // beyond, segments stand for their ops
const kGroupHues = [212, 28, 145, 280, 340, 95, 190, 50];
const at = { x: 0, y: 0, k: 1 }; // of the view: screen = k · graph + (x, y)
const chosen = { segment: null, node: null, link: null };
let matches = new Set();

const groupColour = (group) => `hsl(${kGroupHues[group % kGroupHues.length]} 70% 52%)`;
const width = (link) => link.crosses || link.from.isInput ? 1.6 + Math.max(0, Math.log2(Math.max(link.bytes, 1) / 1024)) * 0.32 : 1.1;
const short = (text, room, letter) => text.length * letter > room ? text.slice(0, Math.max(3, Math.floor(room / letter) - 1)) + "…" : text;

function pathOf(link) {
  const c = link.curve;
  if (c.length >= 8) {
    let path = `M${c[0]} ${c[1]}`;
    for (let i = 2; i + 5 < c.length; i += 6) path += `C${c.slice(i, i + 6).join(" ")}`;
    return path;
  }
  const above = link.to.y < link.from.y + link.from.h;
  const x0 = link.from.x + link.from.w / 2, y0 = link.from.y + link.from.h, x1 = link.to.x + link.to.w / 2, y1 = link.to.y;
  if (above) { // (a column that goes on in the next: around the right of this one)
    const edge = link.crosses && link.from.segment !== undefined && boxes[link.from.segment] ? boxes[link.from.segment] : link.from;
    const x = edge.x + edge.w + (link.crosses ? 34 : 10), bend = link.crosses ? 40 : 16;
    return `M${x0} ${y0}C${x0} ${y0 + bend} ${x} ${y0 + bend} ${x} ${y0}L${x} ${y1}C${x} ${y1 - bend} ${x1} ${y1 - bend} ${x1} ${y1}`;
  }
  const bend = Math.max(18, Math.min(140, Math.abs(y1 - y0) / 2));
  return `M${x0} ${y0}C${x0} ${y0 + bend} ${x1} ${y1 - bend} ${x1} ${y1}`;
}

function drawBox(box) {
  const g = drawn("g", { class: "box" + (chosen.segment === box.segment ? " chosen" : ""), "data-segment": box.segment });
  g.append(drawn("rect", { x: box.x, y: box.y, width: box.w, height: box.h, rx: 12 }));
  return g;
}

// `far`: large enough to be read from afar, over the ops.
function drawTitle(box, far) {
  const s = data.segments[box.segment], narrow = far && box.w * at.k < 110, title = narrow ? `${box.segment}` : `segment ${box.segment}`, about = `${s.kind} · ${countText(s.ops.length, "op")} · ${usText(speed(box.segment).us)}`;
  const size = far ? Math.min(box.h / 4, Math.max(13, Math.min(box.w / (narrow ? 2.4 : 6.2), 14 / at.k))) : 13;
  const text = drawn("text", { class: "title", x: box.x + size * 0.7, y: box.y + size * 1.5, "font-size": size, style: `font-size:${size}px` }, title);
  const room = box.w - title.length * size * 0.62 - size * 2;
  if (room > size * 4) {
    const kind = drawn("tspan", { class: "kind", dx: size * 0.7 }, about.length * size * 0.52 > room ? s.kind : about);
    text.append(kind);
  }
  return text;
}

function drawNode(node) {
  const kinds = ["node", node.isInput && "in", node.copy && "copy", node.outputs.length && "out", chosen.node === node && "chosen",
    matches.has(node.id) && "match", chosen.node && (chosen.node.into.some((l) => l.from === node) || chosen.node.from.some((l) => l.to === node)) && "near"];
  const g = drawn("g", { class: kinds.filter(Boolean).join(" "), "data-node": node.id, transform: `translate(${node.x} ${node.y})` });
  g.append(drawn("rect", { width: node.w, height: node.h, rx: 7 }));
  if (node.group >= 0) g.append(drawn("rect", { class: "stripe", x: 3, y: 5, width: 3.5, height: node.h - 10, rx: 1.7, style: `fill:${groupColour(node.group)}` }));
  g.append(drawn("text", { x: node.w / 2, y: 15.5 }, short(node.name, node.w - 14, 6.95)));
  g.append(drawn("text", { class: "caption", x: node.w / 2, y: 28.5 }, short(node.isInput ? node.type : `${node.caption} · ${node.dtype}`, node.w - 12, 5.5)));
  g.append(drawn("title", {}, `${node.name}: ${node.type}${node.copy ? ", made again here" : ""}${node.outputs.length ? ", output " + node.outputs.join(", ") : ""}`));
  return g;
}

function drawLink(link) {
  const near = chosen.node && (link.from === chosen.node || link.to === chosen.node);
  const kinds = ["link", link.crosses && "crosses", near && "near", chosen.link === link && "chosen"];
  const path = drawn("path", { class: kinds.filter(Boolean).join(" "), d: pathOf(link), "stroke-width": width(link), style: `stroke:${colour(link.dtype)};color:${colour(link.dtype)}`, "marker-end": "url(#tip)" });
  if (link.crosses) path.setAttribute("data-link", link.id);
  path.append(drawn("title", {}, `${link.value}: ${link.dtype}, ${bytesText(link.bytes)}${link.crosses ? ", through memory" : ""}`));
  return path;
}

// From box to box, for when the ops are not drawn.
function farLinks() {
  const sums = new Map();
  for (const cut of data.cuts)
    for (const to of cut.to) {
      const key = `${cut.from} ${to}`, sum = sums.get(key) || { from: cut.from, to, bytes: 0, most: 0, dtype: "" };
      sum.bytes += cut.bytes;
      if (cut.bytes >= sum.most) { sum.most = cut.bytes; sum.dtype = cut.type.split("[")[0]; }
      sums.set(key, sum);
    }
  return [...sums.values()].map(({ from, to, bytes, dtype }) =>
    drawn("path", { class: "link crosses", style: `stroke:${colour(dtype)}`, "stroke-width": Math.min(0.8 + Math.log2(1 + bytes / 4096) * 0.22, 5) / at.k,
      d: pathOf({ from: boxes[from], to: boxes[to], crosses: true, curve: [] }) }));
}

const inSight = (thing, r) => thing.x < r.x1 && thing.x + thing.w > r.x0 && thing.y < r.y1 && thing.y + thing.h > r.y0;

// What is in sight, and as much again on each side, so that small moves need no new drawing.
function sight() {
  const w = svg.clientWidth / at.k, h = svg.clientHeight / at.k, x = -at.x / at.k, y = -at.y / at.k;
  return { x0: x - w * 0.6, x1: x + w * 1.6, y0: y - h * 0.6, y1: y + h * 1.6 };
}

function draw() {
  const all = nodes.length <= kDrawAll, r = sight();
  const seen = all ? nodes : nodes.filter((n) => inSight(n, r));
  const far = nodes.length === 0 || (!all && seen.length > kMostInSight);
  svg.classList.toggle("far", far);
  svg.classList.toggle("small", at.k < 0.33);
  svg.classList.toggle("picking", chosen.node !== null || chosen.link !== null);
  const shownBoxes = boxes.filter((b) => all || inSight(b, r));
  layer.boxes.replaceChildren(...shownBoxes.map(drawBox));
  layer.titles.replaceChildren(...shownBoxes.map((b) => drawTitle(b, far || at.k < 0.45)));
  if (far) {
    layer.links.replaceChildren(...farLinks());
    layer.nodes.replaceChildren();
    return;
  }
  const shown = new Set(seen);
  layer.links.replaceChildren(...links.filter((l) => all || shown.has(l.from) || shown.has(l.to)).map(drawLink));
  layer.nodes.replaceChildren(...seen.map(drawNode));
}

let waiting = 0;
function drawSoon() {
  if (waiting) return;
  waiting = setTimeout(() => { waiting = 0; draw(); }, 60);
}

function place() {
  view.setAttribute("transform", `translate(${at.x} ${at.y}) scale(${at.k})`);
  if (nodes.length > kDrawAll) return drawSoon();
  const small = at.k < 0.33;
  if (small !== svg.classList.contains("small") || at.k < 0.45) drawSoon();
}

function zoom(factor, x = svg.clientWidth / 2, y = svg.clientHeight / 2) {
  const k = Math.min(4, Math.max(0.004, at.k * factor)), f = k / at.k;
  at.x = x - (x - at.x) * f;
  at.y = y - (y - at.y) * f;
  at.k = k;
  place();
}

// Shows a rectangle of the graph, no larger than life.
function show(r, most = 1.1) {
  const w = svg.clientWidth, h = svg.clientHeight, pad = 40;
  at.k = Math.max(0.004, Math.min(most, (w - 2 * pad) / Math.max(r.w, 1), (h - 2 * pad) / Math.max(r.h, 1)));
  at.x = w / 2 - (r.x + r.w / 2) * at.k;
  at.y = h / 2 - (r.y + r.h / 2) * at.k;
  place();
  draw();
}

function showAll() {
  let x0 = Infinity, y0 = Infinity, x1 = -Infinity, y1 = -Infinity;
  for (const t of [...nodes, ...boxes]) { x0 = Math.min(x0, t.x); y0 = Math.min(y0, t.y); x1 = Math.max(x1, t.x + t.w); y1 = Math.max(y1, t.y + t.h); }
  show(x0 > x1 ? { x: 0, y: 0, w: 1, h: 1 } : { x: x0, y: y0, w: x1 - x0, h: y1 - y0 });
}

const showNode = (node) => show({ x: node.x - 260, y: node.y - 200, w: node.w + 520, h: node.h + 400 });
