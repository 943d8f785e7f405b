"use strict";
// What the page knows, and how it is spelled. Texts of the graph reach the page as text nodes only.

const data = JSON.parse(document.getElementById("data").textContent);
const byId = (id) => document.getElementById(id);

const nodes = data.nodes.map(([x, y, w, h, kind, name, caption, type, dtype, bytes, segment, copy, group, outputs, origin], id) =>
  ({ id, x, y, w, h, isInput: kind === "in", name, caption, type, dtype, bytes, segment, copy: copy === 1, group, outputs, origin, into: [], from: [] }));
const links = data.links.map(([from, to, value, dtype, bytes, crosses, curve], id) =>
  ({ id, from: nodes[from], to: nodes[to], value, dtype, bytes, crosses: crosses === 1, curve }));
for (const link of links) { link.to.into.push(link); link.from.from.push(link); }
const boxes = data.boxes.map(([x, y, w, h], segment) => ({ x, y, w, h, segment }));
// The node where a value is at home; copies have no name of their own.
const home = new Map();
for (const node of nodes) if (!node.copy) home.set(node.name, node);

function bytesText(bytes) {
  const units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
  let value = bytes, unit = 0;
  while (Math.abs(value) >= 1024 && unit + 1 < units.length) { value /= 1024; ++unit; }
  return unit === 0 ? `${value} B` : `${value.toFixed(1)} ${units[unit]}`;
}
const usText = (us) => `${us < 10 ? us.toFixed(2) : us.toFixed(1)} µs`;
const countText = (n, what) => `${n} ${what}${n === 1 ? "" : what.endsWith("h") ? "es" : "s"}`;
const colour = (dtype) => `var(--${dtype})`;

// element("p", {class: "muted"}, "text", child, …): a string becomes a text node.
function element(tag, attributes, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) {
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else if (value !== null && value !== undefined && value !== false) made.setAttribute(name, value);
  }
  for (const child of children.flat(Infinity)) if (child !== null && child !== undefined && child !== "") made.append(child);
  return made;
}

function drawn(tag, attributes, text) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  if (text !== undefined) made.textContent = text;
  return made;
}

// The time of a segment as far as it is known, and the share of a plain copy's rate that its bytes reach in it.
function speed(segment) {
  const s = data.segments[segment];
  const us = s.measured_us === null ? s.us : s.measured_us, bytes = s.bytes_read + s.bytes_written;
  return { us, bytes, measured: s.measured_us !== null, share: us > 0 && data.copy_gbps > 0 ? bytes / us * 1e-3 / data.copy_gbps : 0 };
}
