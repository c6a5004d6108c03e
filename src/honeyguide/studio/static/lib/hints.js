// What the command line advises, as somebody can do it here: a link to the screen instead of a
// command to type.
import { el } from "./dom.js";

const COMMAND = /(?:\b(with|run|use): )?(?:\S*python[\d.]* (?:-P )?-m honeyguide(?:\.cli\.main)?|(?:\S*\/)?honeyguide) (generations|label|crawl|watch|export|changes|diff|queries)\b[^;\n.·]*/g;
const SCREENS = {
  generations: ["compare", "Compare"], label: ["label", "Label"], crawl: ["start", "Steer"], watch: ["start", "Steer"],
  export: ["collection", "Collection"], changes: ["changes", "Changes"], diff: ["changes", "Changes"], queries: ["queries", "Queries"],
};

// The text as nodes; name: the topic, "" outside of one.
export function hinted(text, name = topic()) {
  if (!name) return [text];
  const out = [];
  let at = 0;
  for (const found of text.matchAll(COMMAND)) {
    const [screen, words] = SCREENS[found[2]];
    out.push(text.slice(at, found.index), found[1] === "run" ? "see " : "under ", el("a", { href: `#/c/${encodeURIComponent(name)}/${screen}` }, words));
    at = found.index + found[0].length;
  }
  return [...out, text.slice(at)];
}

function topic() {
  const part = location.hash.match(/^#\/c\/([^/?]+)/)?.[1] ?? "";
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}
