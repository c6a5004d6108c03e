// Changing a topic: its description, keywords, seeds and limit. The rest stands in topic.toml.
import { el } from "../../lib/dom.js";
import { refused, whole, wrong } from "../../lib/forms.js";
import { button, field } from "../../lib/parts.js";
import { lines, words } from "./text.js";

// done(topic): what it is now; null: nothing was changed.
export function editor(api, name, topic, done) {
  const area = (key, value, rows) => el("textarea", { name: key, rows, spellcheck: "false", value });
  const input = {
    description: area("description", topic.description, 2),
    keywords: area("keywords", topic.keywords.join("\n"), 4),
    seeds: area("seeds", topic.seeds.join("\n"), 5),
    pages: el("input", { name: "pages", type: "number", min: 0, required: true, value: String(topic.pages) }),
    keep: el("input", { name: "keep", list: "keep-words", value: topic.keep, disabled: !topic.keep }),
  };
  const dial = el("datalist", { id: "keep-words" }, ["strict", "balanced", "generous"].map((value) => el("option", { value })));
  const keep = button("Keep", async () => {
    if (wrong([!whole(input.pages) && [input.pages, "Write a whole number; 0 for no limit."]])) return;
    try {
      done(await api.put(api.path(name, "topic"), {
        description: input.description.value.trim(),
        keywords: words(input.keywords.value),
        seeds: lines(input.seeds.value),
        pages: Number(input.pages.value),
        ...(topic.keep && { keep: input.keep.value.trim() }),
      }));
    } catch (error) {
      if (!refused(input, error)) throw error;
    }
  }, { kind: "primary" });
  const form = el("form", { class: "stack", novalidate: true, on: { submit: (event) => event.preventDefault() } },
    el("h2", {}, "Change the topic"),
    field("Description", input.description, "The topic in a sentence or two."),
    field("Keywords", input.keywords, "Words and phrases, separated by commas or one a line."),
    field("Seeds", input.seeds, "Addresses to start from, one a line. New ones are fetched when the crawl is started next."),
    field("Stop at so many visits in all", input.pages, "0: no limit."),
    field("How strict", input.keep, topic.keep ? "strict, balanced or generous; or how much of what is kept shall be right, such as 0.8. It counts at once." : "topic.threshold is set in topic.toml, which decides."),
    dial,
    el("div", { class: "row" }, keep, button("Cancel", () => done(null))));
  setTimeout(() => input.description.focus(), 0);
  return form;
}
