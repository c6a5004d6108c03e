// Small things that the screens about changes share.
import { el } from "../../lib/dom.js";

const LOUD = { content: "good", data: "good", new: "good", back: "good", gone: "bad", soft_404: "bad", blocked: "bad", moved: "warn" };
const SAID = { soft_404: "gone, but answers as if not", new: "new page", back: "back again" };

export function chip(kind) {
  return el("span", { class: ["chip", LOUD[kind]] }, SAID[kind] ?? kind);
}

export function to(name, rest) {
  return `#/c/${encodeURIComponent(name)}/${rest}`;
}
