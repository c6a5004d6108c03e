// A text with the words marked that counted: for the page, or against it.
//
//   el("div", { class: "text" }, evidence.text(view.text, view.marks)), evidence.legend(view.marks)
//
// What speaks against a page differs in colour and in its line, and says so when pointed at.
import { el, marked } from "./dom.js";
import { score } from "./format.js";

const AGAINST = "against";

const speaks = (mark) => {
  if (mark.weight < 0) return `${mark.what}: against it, ${score(mark.weight)}`;
  return mark.weight > 0 ? `${mark.what}: for it, ${score(mark.weight)}` : mark.what;
};

export function text(said, marks) {
  return marked(said, marks.map((mark) => [mark.start, mark.end, mark.weight < 0 ? AGAINST : undefined, speaks(mark)]));
}

// What the marks mean; more only where something speaks against the page.
export function legend(marks) {
  if (!marks.length) return "None of the topic's words are in this text.";
  if (!marks.some((mark) => mark.weight < 0)) return "Marked: words that counted, and those that the topic names.";
  return ["Marked: words that counted ", el("mark", { class: "evidence" }, "for it"), " or ", el("mark", { class: AGAINST }, "against it"), ", and those that the topic names."];
}
