// Showing what changed: inline, or old and new side by side. Text only.
//
// A block is {what, old, new, path?, pieces?}: what is "added", "removed", "changed", "moved",
// "data" or "same"; pieces are [["same" | "removed" | "added", text], …] as the server's word
// comparison gives them. Without pieces a changed block is shown whole, old then new.
import { el } from "./dom.js";

const SAID = { added: "added", removed: "removed", changed: "changed", moved: "moved", data: "field changed", same: "unchanged" };

function mark(what, text) {
  if (what === "added") return el("ins", {}, text);
  if (what === "removed") return el("del", {}, text);
  return text;
}

function words(pieces, without) {
  const out = [];
  for (const [what, text] of pieces) {
    if (what === without) continue;
    if (out.length) out.push(" ");
    out.push(mark(what, text));
  }
  return out;
}

function pieces(block) {
  if (block.pieces?.length) return block.pieces;
  const out = [];
  if (block.what === "same" || block.what === "moved") return [["same", block.new || block.old]];
  if (block.old) out.push(["removed", block.old]);
  if (block.new) out.push(["added", block.new]);
  return out;
}

function head(block) {
  return el("span", { class: ["what", block.what] }, SAID[block.what] ?? block.what, block.path && el("code", {}, block.path));
}

export function inline(blocks) {
  return el(
    "div",
    { class: "diff inline" },
    blocks.map((block) => el("div", { class: ["block", block.what] }, head(block), el("p", {}, words(pieces(block), "")))),
  );
}

export function sideBySide(blocks, titles = ["Before", "After"]) {
  const rows = blocks.map((block) => {
    const all = pieces(block);
    return el(
      "tr",
      { class: block.what },
      el("td", {}, block.what === "added" ? null : [head(block), el("p", {}, words(all, "added"))]),
      el("td", {}, block.what === "removed" ? null : [head(block), el("p", {}, words(all, "removed"))]),
    );
  });
  return el(
    "table",
    { class: "diff side" },
    el("thead", {}, el("tr", {}, titles.map((title) => el("th", { scope: "col" }, title)))),
    el("tbody", {}, rows),
  );
}
