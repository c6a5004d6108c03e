// Making elements: text only, never HTML. Whatever came from the web goes through here.
//
//   el("button", {class: "primary", on: {click: save}, disabled: busy}, "Save")
//   el("p", {}, "found on ", outside(row.url))
//
// Children are nodes, strings, numbers, or nothing (null, undefined, false); arrays are flattened.
// An attribute that could carry code (onclick, style, srcdoc) or an address that is not one of
// ours or of the web (javascript:, data:) is refused: that is a bug of ours, so it throws.

const ADDRESSES = new Set(["href", "src", "action", "formaction"]);
const PROPERTIES = new Set(["value", "checked", "selected", "disabled", "open", "indeterminate", "hidden"]);
const SVG = "http://www.w3.org/2000/svg";

export function el(tag, attrs = {}, ...children) {
  return dress(document.createElement(tag), attrs, children);
}

// The same for SVG elements.
export function svg(tag, attrs = {}, ...children) {
  return dress(document.createElementNS(SVG, tag), attrs, children);
}

function dress(node, attrs, children) {
  for (const [key, value] of Object.entries(attrs ?? {})) {
    if (value === undefined || value === null || value === false) continue;
    if (key === "on") {
      for (const [event, handler] of Object.entries(value)) node.addEventListener(event, handler);
    } else if (key === "dataset") {
      Object.assign(node.dataset, value);
    } else if (key === "class") {
      node.setAttribute("class", Array.isArray(value) ? value.filter(Boolean).join(" ") : value);
    } else if (PROPERTIES.has(key) && key in node) {
      node[key] = value;
    } else if (/^on/i.test(key) || key === "style" || key === "srcdoc") {
      throw new TypeError(`${key} may carry code; use on: {…} or a class`);
    } else {
      if (ADDRESSES.has(key)) ours(String(value));
      node.setAttribute(key, value === true ? "" : String(value));
    }
  }
  add(node, ...children);
  return node;
}

function ours(address) {
  if (address.startsWith("#") || /^\/(?![/\\])/.test(address) || /^https?:\/\//i.test(address)) return;
  if (address.startsWith("blob:")) return; // made by ourselves: a file to save
  throw new TypeError(`not an address to point at: ${address.slice(0, 80)}`);
}

export function add(node, ...children) {
  for (const child of children.flat(Infinity)) {
    if (child === null || child === undefined || child === false || child === true) continue;
    node.append(child instanceof Node ? child : plain(String(child)));
  }
  return node;
}

// Empty the node and put these in.
export function fill(node, ...children) {
  node.replaceChildren();
  return add(node, ...children);
}

// Text whose direction marks cannot reorder what stands beside it, and without control signs.
export function plain(text) {
  return text
    .replace(/[\u202A-\u202E\u2066-\u2069\u200E\u200F\u061C]/g, "")
    .replace(/[\u0000-\u0008\u000B\u000C\u000E-\u001F\u007F]/g, "\uFFFD");
}

// A link out of the studio: shows where it goes, tells the other side nothing.
// What is not http(s) is shown as text and cannot be clicked.
export function outside(address, text = undefined) {
  const shown = text === undefined || text === "" ? address : text;
  if (!/^https?:\/\//i.test(address)) return el("span", { class: "address" }, shown);
  return el(
    "a",
    { href: address, target: "_blank", rel: "noopener noreferrer", class: "address outside", title: plain(address) },
    shown,
    el("span", { class: "visually-hidden" }, " (opens the web page in a new tab)"),
  );
}

// Text with parts marked: spans are [start, end, class?, title?] in characters, sorted or not;
// overlapping ones are cut. Offsets count Unicode characters, as the server counts them.
export function marked(text, spans, className = "evidence") {
  const signs = Array.from(text);
  const out = [];
  let at = 0;
  for (const [start, end, kind, title] of [...spans].sort((a, b) => a[0] - b[0])) {
    const from = Math.max(at, start);
    if (from >= Math.min(end, signs.length)) continue;
    out.push(signs.slice(at, from).join(""));
    out.push(el("mark", { class: kind ?? className, title }, signs.slice(from, end).join("")));
    at = Math.min(end, signs.length);
  }
  out.push(signs.slice(at).join(""));
  return out;
}

// Say something to people who listen instead of looking.
export function say(message) {
  const node = document.getElementById("said");
  if (node) node.textContent = plain(String(message));
}
