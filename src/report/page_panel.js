// The panel: what is chosen in words, and the lists of segments, cuts and cast groups.

const content = byId("content");

function ref(name) {
  const node = home.get(name);
  return node ? element("button", { class: "ref", onclick: () => chooseNode(node, true) }, name) : element("code", {}, name);
}
function refs(names, most = 60) {
  if (names.length === 0) return element("span", { class: "muted" }, "nothing");
  const box = element("span", { class: "refs" }, names.slice(0, most).map(ref));
  if (names.length > most) box.append(element("button", { class: "ref", onclick: () => box.replaceChildren(...names.map(ref)) }, `… all ${names.length}`));
  return box;
}
const segmentRef = (s) => element("button", { class: "ref", onclick: () => chooseSegment(s, true) }, `segment ${s}`);
const segmentRefs = (list) => list.map((s, i) => [i ? ", " : "", segmentRef(s)]);
// Names in backticks lead to their ops.
const worded = (text) => element("p", { class: "words" }, text.split("`").map((part, i) => i % 2 ? ref(part) : part));
const facts = (rows) => element("dl", { class: "facts" }, rows.filter(Boolean).map(([name, ...value]) => [element("dt", {}, name), element("dd", {}, ...value)]));
const heading = (text) => element("h3", {}, text);
const bar = (share) => element("div", { class: "bar" }, element("i", { style: `width:${Math.min(100, share * 100).toFixed(1)}%` }));

function cutCard(cut) {
  return element("div", { class: "why" },
    element("p", { class: "head" }, ref(cut.value), element("span", { class: "type" }, `${cut.type} · ${bytesText(cut.bytes)}`), cut.wide ? element("span", { class: "chip warn" }, "wide") : "",
      element("span", { class: "route" }, segmentRef(cut.from), "→", segmentRefs(cut.to))),
    worded(cut.rule && !cut.why.startsWith(cut.rule) ? `${cut.rule}: ${cut.why}` : cut.why));
}

function groupCard(group, id) {
  const spread = group.again.length ? element("p", {}, "Members are made again in ", segmentRefs(group.again), ", rather than stored.") : "";
  return element("div", { class: group.whole ? "why calm" : "why" },
    element("p", {}, element("b", { style: `color:${groupColour(id)}` }, `cast group ${id} `), element("span", { class: group.whole ? "chip good" : "chip warn" }, group.whole ? "whole" : "cut"), " in ", segmentRef(group.segment)),
    group.whole ? element("p", { class: "words" }, `${bytesText(group.kept)} of ${group.wide || "wide values"} never reach memory.`)
      : worded(group.rule && !group.why.startsWith(group.rule) ? `${group.rule}: ${group.why}` : group.why),
    spread, refs(group.ops, 24));
}

const kKeywords = new Set("const extern void int unsigned float double bool char long short if else for while do return struct static inline using auto sizeof true false switch case break continue union volatile asm template typename __global__ __device__ __shared__ __restrict__ __launch_bounds__ __syncthreads".split(" "));
const kTypes = /^(__nv_\w+|__half\w*|Vec|int\d+_t|uint\d+_t|size_t|fs_\w+)$/;
function highlighted(code) {
  const pre = element("pre", {});
  let from = 0;
  const add = (kind, text) => pre.append(kind ? element("span", { class: kind }, text) : text);
  for (const token of code.matchAll(/\/\/[^\n]*|"(?:[^"\\\n]|\\.)*"|\b\d[\w.]*|#\s*\w+|\b[A-Za-z_]\w*/g)) {
    const word = token[0];
    const kind = word.startsWith("//") ? "c" : word[0] === '"' ? "s" : /^\d/.test(word) ? "n" : word[0] === "#" || kKeywords.has(word) ? "k" : kTypes.test(word) ? "t" : "";
    add("", code.slice(from, token.index));
    add(kind, word);
    from = token.index + word.length;
  }
  add("", code.slice(from));
  return pre;
}

function codeOf(launch) {
  if (!launch.code) return element("p", { class: "muted" }, "No code: the graph was compiled with --emit report.");
  const copy = element("button", { onclick: () => navigator.clipboard.writeText(launch.code).then(() => { copy.textContent = "copied"; }, () => { copy.textContent = "no clipboard"; }) }, "copy");
  return element("div", { class: "code" }, highlighted(launch.code), copy);
}

function launchFacts(launch) {
  const schedule = Object.entries(launch.schedule).map(([name, value]) => `${name.replaceAll("_", " ")} ${value}`).join(", ");
  return facts([
    ["launch", `${launch.blocks} blocks of ${launch.threads} threads`, launch.shared ? `, ${bytesText(launch.shared)} shared` : ""],
    schedule && ["schedule", schedule],
    launch.phases.length > 0 && ["phases", launch.phases.map((values) => values.join(" ")).join(" | ")],
    launch.why && ["one launch", launch.why],
    ["registers", launch.registers === null ? element("span", { class: "muted" }, "known with --emit cubin") : `${launch.registers}${launch.spills ? `, ${launch.spills} B spilled` : ""}`],
  ]);
}

function segmentView(id) {
  const s = data.segments[id], v = speed(id), gbps = v.us > 0 ? v.bytes / v.us * 1e-3 : 0;
  const parts = [element("h2", {}, `segment ${id}`, element("span", { class: "chip" }, s.kind)), element("p", { class: "mono muted" }, s.kernel)];
  parts.push(facts([
    [v.measured ? "time" : "estimated", `${usText(v.us)}${v.measured ? ` (estimated ${usText(s.us)})` : ""}`],
    ["of a copy", `${(v.share * 100).toFixed(0)} % of ${data.copy_gbps.toFixed(0)} GB/s (${gbps.toFixed(0)} GB/s)`, bar(v.share)],
    ["reads", `${bytesText(s.bytes_read)} `, refs(s.reads)],
    ["writes", `${bytesText(s.bytes_written)} `, refs(s.writes)],
    ["on chip", `${bytesText(s.kept)} that separate kernels would store`],
  ]));
  for (const launch of s.launches) {
    if (s.launches.length > 1) parts.push(heading(launch.kernel));
    parts.push(launchFacts(launch));
  }
  const cuts = data.cuts.filter((c) => c.from === id || c.to.includes(id));
  if (cuts.length) parts.push(heading("What keeps it apart"), ...cuts.slice(0, 40).map(cutCard));
  if (s.remade) {
    const r = s.remade;
    parts.push(heading("Made again instead of stored"), element("div", { class: "why calm" }, element("p", {}, refs(s.recomputed)),
      r.must ? element("p", { class: "words" }, `Storing is no choice: ${r.must}.`)
        : element("p", { class: "words" }, `${bytesText(r.bytes)} moved, ${usText(r.us)}. Stored and read instead: ${bytesText(r.stored_bytes)}, ${usText(r.stored_us)}.`)));
  }
  parts.push(heading(countText(s.ops.length, "op")), refs(s.ops));
  if (s.launches.length === 0) parts.push(heading("Code"), codeOf({ code: "" }));
  for (const launch of s.launches) parts.push(heading(s.launches.length > 1 ? `Code of ${launch.kernel}` : "Code"), codeOf(launch));
  content.replaceChildren(...parts);
}

function nodeView(node) {
  const cut = data.cuts.find((c) => c.value === node.name && !node.copy);
  const parts = [element("h2", {}, node.name, element("span", { class: "chip" }, node.isInput ? "input" : node.caption)), element("p", { class: "type" }, `${node.type} · ${bytesText(node.bytes)}`)];
  const again = nodes.filter((n) => n.copy && n.name === node.name).map((n) => n.segment);
  parts.push(facts([
    node.segment !== null && ["in", segmentRef(node.segment), node.copy ? " made again here; at home in " : "", node.copy ? segmentRef(home.get(node.name).segment) : ""],
    again.length && !node.copy && ["again in", segmentRefs(again)],
    node.origin && ["written as", element("code", {}, node.origin)],
    node.outputs.length && ["output", node.outputs.join(", ")],
    ["reads", refs(node.into.map((l) => l.value))],
    ["read by", refs([...new Set(node.from.map((l) => l.to.name))])],
    !node.isInput && ["in memory", cut || node.outputs.length ? "yes" : "never"],
  ]));
  if (cut) parts.push(heading("Why it is stored"), cutCard(cut));
  if (node.group >= 0) parts.push(heading("Cast group"), groupCard(data.groups[node.group], node.group));
  content.replaceChildren(...parts);
}

function segmentsView() {
  const columns = [["segment", (s) => s], ["ops", (s) => data.segments[s].ops.length], ["bytes", (s) => speed(s).bytes], ["time", (s) => speed(s).us], ["of copy", (s) => speed(s).share]];
  const ids = data.segments.map((_, s) => s), body = element("tbody", {});
  const fill = () => body.replaceChildren(...ids.slice(0, 3000).map((s) => {
    const v = speed(s);
    return element("tr", { "data-row": s, onclick: () => chooseSegment(s, true) }, element("td", {}, `${s} `, element("span", { class: "muted" }, data.segments[s].kind)), element("td", {}, data.segments[s].ops.length), element("td", {}, bytesText(v.bytes)), element("td", {}, usText(v.us)), element("td", {}, `${(v.share * 100).toFixed(0)} %`));
  }));
  let sorted = 0, up = true;
  const head = element("tr", {}, columns.map(([name, key], i) => element("th", { onclick: () => {
    up = sorted === i ? !up : i === 0;
    sorted = i;
    ids.sort((a, b) => (up ? 1 : -1) * (key(a) - key(b)));
    fill();
  } }, name)));
  fill();
  const known = data.segments.some((s) => s.measured_us !== null);
  content.replaceChildren(element("p", { class: "muted" }, known ? `Times measured on ${data.device || "a GPU"}.` : "Times are estimates of the cost model."), element("table", {}, element("thead", {}, head), body));
}

function cutsView() {
  const sorted = [...data.cuts].sort((a, b) => b.bytes - a.bytes);
  content.replaceChildren(element("p", { class: "muted" }, sorted.length ? "Values that cross memory between segments, the largest first, and what keeps the two sides apart." : "No value crosses memory: the graph is one kernel, or its kernels share nothing."), ...sorted.slice(0, 400).map(cutCard));
}

function groupsView() {
  content.replaceChildren(element("p", { class: "muted" }, data.groups.length ? "Ops between an up-cast and a down-cast. They are merged before all else, so that no wide value reaches memory." : "No cast groups: nothing is computed in a wider type than it comes in."),
    ...data.groups.map((g, i) => [g, i]).sort((a, b) => a[0].whole - b[0].whole).slice(0, 400).map(([g, i]) => groupCard(g, i)));
}
