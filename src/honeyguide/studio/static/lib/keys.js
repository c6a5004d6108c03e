// Keyboard shortcuts of a screen, with a help overlay on "?".
//
//   const stop = keys.bind("Label", {
//     r: ["relevant", () => label("relevant")],
//     ArrowRight: ["next page", next],
//   });
//
// A single letter does nothing while somebody types in a field, or holds Ctrl, Alt or Meta.
import { el } from "./dom.js";
import { dialog } from "./parts.js";

const NAMES = { ArrowRight: "→", ArrowLeft: "←", ArrowUp: "↑", ArrowDown: "↓", " ": "space", Escape: "Esc" };
const bindings = new Set(); // of the screens that stand now; emptied by their stop functions

export function bind(title, shortcuts) {
  const binding = { title, shortcuts };
  bindings.add(binding);
  return () => bindings.delete(binding);
}

export function help() {
  if (document.querySelector("dialog[open]")) return;
  const parts = [...bindings].map(({ title, shortcuts }) => [
    el("h3", {}, title),
    el(
      "dl",
      { class: "keys" },
      Object.entries(shortcuts).map(([key, [words]]) => el("div", {}, el("dt", {}, el("kbd", {}, NAMES[key] ?? key)), el("dd", {}, words))),
    ),
  ]);
  dialog("Keyboard", ...parts);
}

function typing(node) {
  if (!(node instanceof HTMLElement)) return false;
  if (node.isContentEditable || node.tagName === "TEXTAREA" || node.tagName === "SELECT") return true;
  return node.tagName === "INPUT" && !["button", "checkbox", "radio", "submit", "range"].includes(node.type);
}

// Once, by the router.
export function listen() {
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.altKey || event.metaKey || event.isComposing) return;
    if (typing(event.target) || document.querySelector("dialog[open]")) return;
    const onControl = event.target instanceof HTMLElement && event.target.matches("button, a, summary, input, [role=slider]");
    if (onControl && (event.key === "Enter" || event.key === " ")) return; // it presses that one
    if (event.target instanceof HTMLElement && event.target.matches("input") && event.key.startsWith("Arrow")) return;
    for (const { shortcuts } of [...bindings].reverse()) {
      const found = Object.hasOwn(shortcuts, event.key) ? shortcuts[event.key] : undefined;
      if (!found) continue;
      event.preventDefault();
      found[1](event);
      return;
    }
  });
}
