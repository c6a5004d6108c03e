// A new topic: described, seeded, with examples; checked by the server, which alone decides.
import { el, fill } from "../../lib/dom.js";
import { clear, refused, whole, wrong } from "../../lib/forms.js";
import { button, field, notice, select, toast } from "../../lib/parts.js";
import { ontology } from "./ontology.js";
import { tester } from "./seeds.js";
import { encoded, lines, words } from "./text.js";

// Where else a mistake in a field may be mended.
const MENDS = { seeds: ["good", "search_engine"], good: ["bad"], bad: ["good"], keywords: ["strategy", "description"], concept: ["ontology"], scope: ["seeds"] };

export async function create(main, api) {
  const choices = await api.get("/api/choices");
  const input = inputs(choices);
  const concepts = ontology(api, choices.ontologies);
  const problem = el("div", { "aria-live": "assertive" });
  const test = tester(api, () => ({ seeds: lines(input.seeds.value), contact: input.contact.value.trim(), lab: input.lab.value.trim() }));
  const named = { ...input, ...concepts.inputs, good_texts: input.good_text, bad_texts: input.bad_text };
  const mended = (event) => {
    fill(problem);
    for (const [key, others] of Object.entries(MENDS)) if (others.some((other) => named[other] === event.target)) clear(named[key]);
  };
  const make = button("Create the topic", async () => {
    fill(problem);
    if (wrong(missing(named))) return;
    try {
      const made = await api.post("/api/collections", await said(input, concepts));
      for (const note of made.notes) toast(note, "warn");
      location.hash = `#/c/${encodeURIComponent(made.name)}/start`;
    } catch (error) {
      if (error.name === "AbortError") throw error;
      if (refused(named, error)) return;
      fill(problem, notice("error", error.message));
      problem.scrollIntoView({ block: "center" });
    }
  }, { kind: "primary" });

  main.append(
    el("h1", {}, "New topic"),
    el("p", { class: "muted" }, "Describe the topic in any of these ways; the more, the better. A name, a start address and a contact are enough."),
    el("form", { class: "stack", novalidate: true, on: { submit: (event) => event.preventDefault(), input: mended } },
      part("What are you looking for?",
        field("Name", input.name, "The name of its folder, such as birds."),
        field("Description", input.description, "The topic in a sentence or two."),
        field("Keywords", input.keywords, "Words and phrases, separated by commas or one a line."),
      ),
      part("Where should it start?",
        field("Seeds", input.seeds, "Addresses to start from, one a line: lists of links, overviews, good sites."),
        test,
        el("details", {},
          el("summary", {}, "Also query a search engine"),
          el("p", { class: "muted" }, "It finds pages that no link leads to. Put an API key into the environment of honeyguide serve (HONEYGUIDE_SEARCH_KEY), never here."),
          field("Engine", input.search_engine),
          field("Its address", input.search_url, "SearXNG: http://localhost:8080/search; Brave: leave it empty."),
          field("Queries", input.queries, "First queries, one a line; further ones are composed from good pages."),
        ),
      ),
      part("Examples",
        el("p", { class: "muted" }, "Pages that are what you want, and pages that only look like it. Give addresses, files (HTML or text), or paste text."),
        el("div", { class: "split even" },
          el("div", {}, field("Good pages", input.good, "One address a line."), field("Good files", input.good_files), field("Good text", input.good_text, "Pasted from anywhere.")),
          el("div", {}, field("Bad pages", input.bad, "One address a line."), field("Bad files", input.bad_files), field("Bad text", input.bad_text)),
        ),
      ),
      el("details", { class: "card" },
        el("summary", {}, "Languages, ontology, strategy, limits"),
        field("Only pages written in", input.language, "Codes of languages, separated by commas; empty: any."),
        field("Add a language", input.languages),
        field("Language of the keywords", input.words, "If it differs; a code such as tr."),
        concepts.node,
        field("Strategy", input.strategy, "How the crawl decides which links to follow."),
        input.about,
        field("Stop after so many visits", input.pages, "0: never."),
        field("How far from the seeds", input.scope),
        field("Lab", input.lab, "Address of a running honeyguide lab serve, to test without the web."),
      ),
      part("Who are you?",
        field("Contact", input.contact, "An e-mail address or web page. The owners of sites see it, and can reach you."),
      ),
      problem,
      el("div", { class: "row" }, make, el("a", { class: "button", href: "#/" }, "Cancel")),
    ),
  );
  input.name.focus();
}

// What can be told without the server, from the top of the form to its end.
function missing(input) {
  const begins = lines(input.seeds.value).length || lines(input.good.value).length || input.search_engine.value;
  return [
    !input.name.value.trim() && [input.name, "Give the topic a name."],
    !begins && [input.seeds, "Write at least one address to begin with, or choose a search engine below."],
    input.ontology.value && !input.concept.value.trim() && [input.concept, "Choose the concept that is your topic."],
    !whole(input.pages) && [input.pages, "Write a whole number; 0 for no limit."],
    !input.contact.value.trim() && [input.contact, "Write an e-mail address or a web page: the owners of sites must be able to reach you."],
  ];
}

function part(title, ...children) {
  return el("fieldset", { class: "card" }, el("legend", {}, title), ...children);
}

function inputs(choices) {
  const area = (name, rows = 3) => el("textarea", { name, rows, spellcheck: "false" });
  const file = (name) => el("input", { type: "file", name, multiple: true, accept: ".html,.htm,.txt,text/html,text/plain" });
  const language = el("input", { name: "language", autocomplete: "off" });
  const languages = select([["", "choose …"], ...Object.entries(choices.languages)], "", (code) => {
    if (code) language.value = [...new Set([...words(language.value), code])].join(", ");
    languages.value = "";
  });
  const about = el("p", { class: "muted" });
  const strategy = select([["", "what suits the topic"], ...choices.strategies.map((one) => one.name)], "", (name) => {
    const one = choices.strategies.find((each) => each.name === name);
    fill(about, one && [one.about, one.needs.length > 0 && ` It needs ${one.needs.join(" or ")}.`]);
  });
  return {
    name: el("input", { name: "name", required: true, maxlength: 100, autocomplete: "off" }),
    description: area("description", 2),
    keywords: area("keywords", 2),
    seeds: area("seeds", 5),
    good: area("good"), bad: area("bad"),
    good_files: file("good_files"), bad_files: file("bad_files"),
    good_text: area("good_text"), bad_text: area("bad_text"),
    language, languages, strategy, about,
    words: el("input", { name: "words", maxlength: 10, autocomplete: "off" }),
    pages: el("input", { name: "pages", type: "number", min: 0, value: "1000" }),
    scope: select([["everything", "anywhere"], ["domain", "the seeds' domains"], ["host", "the seeds' hosts"], ["prefix", "the seeds' folders"]], "everything"),
    lab: el("input", { name: "lab", autocomplete: "off" }),
    search_engine: select([["", "none"], ["searxng", "SearXNG"], ["brave", "Brave"], ["json", "another, with JSON"]], ""),
    search_url: el("input", { name: "search_url", maxlength: 2000, autocomplete: "off" }),
    queries: area("queries", 2),
    contact: el("input", { name: "contact", value: choices.contact, required: true, autocomplete: "email" }),
  };
}

async function said(input, concepts) {
  const text = (name) => input[name].value.trim();
  const files = async (name) => encoded(input[name].files).catch((error) => { throw Object.assign(error, { field: name }); });
  return {
    name: text("name"),
    contact: text("contact"),
    description: text("description"),
    keywords: words(text("keywords")),
    seeds: lines(text("seeds")),
    good: lines(text("good")),
    bad: lines(text("bad")),
    good_files: await files("good_files"),
    bad_files: await files("bad_files"),
    good_texts: text("good_text") ? [text("good_text")] : [],
    bad_texts: text("bad_text") ? [text("bad_text")] : [],
    ...concepts.chosen(),
    language: words(text("language")),
    words: text("words"),
    strategy: text("strategy"),
    pages: Number.parseInt(text("pages") || "0", 10),
    scope: text("scope"),
    lab: text("lab"),
    search_engine: text("search_engine"),
    search_url: text("search_url"),
    queries: lines(text("queries")),
  };
}
