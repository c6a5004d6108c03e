// Label: the questions that help most, answered with one key each.
//
// Answers are sent one after another in the background, so that nobody waits for the server; one
// that fails comes back on the screen with the reason. Undo is an answer like the others.
import { el, fill, outside, say } from "../lib/dom.js";
import * as evidence from "../lib/evidence.js";
import { count, number, score, verdict } from "../lib/format.js";
import { framed } from "../lib/framed.js";
import * as keys from "../lib/keys.js";
import { empty, failed, field, notice, select, toast, waiting } from "../lib/parts.js";
import { front } from "./label/front.js";
import { people } from "./label/people.js";
import { worth } from "./label/worth.js";

const CHOICES = [
  ["mixed", "what helps most (mixed)"],
  ["uncertainty", "pages it is unsure of"],
  ["disagreement", "page and link model disagree"],
  ["novelty", "hosts nobody labelled"],
  ["agreement", "pages others labelled"],
];
const ANSWERS = {
  relevant: ["r", "Relevant", "good"],
  not: ["n", "Not relevant", "bad"],
  unsure: ["u", "Unsure", "warn"],
  skip: ["s", "Skip", ""],
};
const BATCH = 8; // questions asked for at once
const LOW = 3; // fewer open ones than this: ask for more
const REST_MS = 1200; // after the last answer, the panels beside are drawn again

export async function show(main, params, api) {
  const path = (rest) => api.path(params.name, rest);
  const state = { choice: params.query.choice ?? "mixed", list: [], at: 0, given: [], rendered: false, dry: false };
  let sending = Promise.resolve(); // answers go out in their order
  let asking = null;
  let stopped = false;
  let timer = 0;
  let facts = null;

  const status = el("p", { class: "muted", role: "status" });
  const place = el("section", { class: "panel", "aria-label": "The page to judge" });
  const reasons = el("section", { class: "panel", hidden: true });
  const beside = [front(api, params.name), worth(api, params.name), people(api, params.name)];
  const buttons = Object.entries(ANSWERS).map(([word, [key, label, kind]]) => el("button", { type: "button", class: word === "relevant" ? "primary" : kind === "bad" ? "danger" : "", "aria-keyshortcuts": key, on: { click: () => answer(word) } }, label, el("kbd", {}, key)));
  const back = el("button", { type: "button", "aria-keyshortcuts": "z", on: { click: () => undo() } }, "Undo", el("kbd", {}, "z"));
  const choice = select(CHOICES, state.choice, (value) => { state.choice = value; state.list = []; state.at = 0; state.dry = false; begin(); });
  fill(
    main,
    el("h1", {}, "Label"),
    el("div", { class: "toolbar spread" }, field("Ask me about", choice), status),
    el("div", { class: "toolbar", role: "group", "aria-label": "Your answer" }, buttons, back),
    el("div", { class: "split" }, place, el("div", { class: "stack" }, reasons, beside.map((part) => part.element))),
  );

  const open = () => state.list.filter((one) => !one.said).length;
  const current = () => state.list[state.at] ?? null;

  // More questions, without those that are on the list already.
  async function more() {
    if (asking || state.dry || stopped) return asking;
    const wanted = state.choice;
    asking = (async () => {
      await sending; // what was answered just now must not be asked again
      const found = await api.get(path("label/questions"), { choice: wanted, count: BATCH + open() });
      if (wanted !== state.choice) return;
      facts = found;
      const known = new Set(state.list.map((one) => one.url));
      const fresh = found.questions.filter((one) => !known.has(one.url));
      state.dry = fresh.length === 0;
      state.list.push(...fresh);
      told();
    })().finally(() => { asking = null; });
    return asking;
  }

  async function begin() {
    fill(place, waiting("Looking for the best questions …"));
    reasons.hidden = true;
    buttons.forEach((node) => { node.disabled = true; });
    back.disabled = !state.given.length;
    try {
      await asking;
      await more();
      draw();
    } catch (error) {
      if (error?.name !== "AbortError") fill(place, failed(error, begin));
    }
  }

  function told() {
    if (!facts) return;
    const left = facts.left === null ? "" : ` · ${number(facts.left)} of ${number(facts.budget)} left in the budget`;
    status.textContent = `${number(state.given.length)} answered now, as ${facts.person}${left}`;
  }

  // What the budget has left, as the server counts: said at once, also where no question stands.
  function left(labels) {
    if (!facts) return;
    const freed = facts.left === 0 && labels > 0;
    facts = { ...facts, left: labels };
    told();
    if (freed) state.dry = false;
    if (!current() && !asking) draw();
  }

  function answer(word) {
    const one = current();
    if (!one) return;
    const said = { one, word, before: one.said, at: state.at };
    one.said = word;
    beside.forEach((part) => part.answered?.());
    state.given.push(said);
    step(1);
    say(ANSWERS[word][1]);
    sending = sending.then(async () => {
      try {
        const kept = await api.post(path("label"), { url: one.url, say: word, topic: one.topic });
        left(kept.left);
        if (kept.against) toast(`${kept.against} labelled it otherwise. ${kept.counts ? "Your label counts: it is the majority's, or the newest." : "The majority's label counts; yours is stored."}`);
      } catch (error) {
        if (error?.name === "AbortError") return;
        one.said = said.before;
        state.given = state.given.filter((each) => each !== said);
        state.at = said.at;
        draw();
        toast(error.message, "error");
      }
    });
    settle();
  }

  function undo() {
    const last = state.given.pop();
    if (!last) return toast("There is nothing to undo.");
    last.one.said = last.before;
    state.at = state.list.indexOf(last.one);
    if (state.at < 0) { state.list.unshift(last.one); state.at = 0; }
    draw();
    sending = sending.then(async () => {
      try {
        const done = await api.post(path("label/undo"), { url: last.one.url, topic: last.one.topic });
        left(done.left);
        toast(done.undone ? "Undone." : "It was not saved, so there is nothing to undo.");
      } catch (error) {
        if (error?.name !== "AbortError") toast(error.message, "error");
      }
    });
    settle();
  }

  function step(by) {
    if (by > 0 && current()?.said) {
      const next = state.list.findIndex((one, index) => index > state.at && !one.said);
      state.at = next < 0 ? state.list.length : next;
    } else {
      state.at = Math.min(state.list.length, Math.max(0, state.at + by));
    }
    draw();
  }

  // When the answers pause: result of them.
  function settle() {
    told();
    clearTimeout(timer);
    timer = setTimeout(() => { if (!stopped) sending.then(() => beside.forEach((part) => part.refresh())); }, REST_MS);
  }

  function draw() {
    told();
    const one = current();
    buttons.forEach((node) => { node.disabled = !one; });
    back.disabled = !state.given.length;
    if (open() < LOW && !state.dry) {
      more().then(() => { if (!one && current()) draw(); else if (!one) over(); }, (error) => { if (error?.name !== "AbortError") { state.dry = true; if (!one) fill(place, failed(error, () => { state.dry = false; draw(); })); } });
    }
    if (!one) return asking ? fill(place, waiting("Looking for more questions …")) : over();
    question(one);
  }

  function over() {
    fill(reasons);
    reasons.hidden = true;
    const spent = facts?.left === 0;
    fill(
      place,
      spent
        ? empty("The budget is used up", `You wanted to give ${count(facts.budget, "label")} (learn.budget in topic.toml). To give more, raise it there; 0 means as many as you like. Undo removes the last one.`)
        : empty(
            state.given.length ? "No more questions of this kind" : "There is nothing to ask yet",
            state.given.length ? "Choose another kind above, or come back when the crawl has found more pages." : "Questions are about pages that were fetched: start the crawl, or choose another kind above.",
            el("a", { class: "button", href: `#/c/${encodeURIComponent(params.name)}/start` }, "Go to the crawl"),
          ),
    );
  }

  function question(one) {
    const text = el("div", {});
    const views = [["Text", false], ["As rendered", true]].map(([name, rendered]) => el("button", { type: "button", "aria-pressed": String(state.rendered === rendered), on: { click: () => { state.rendered = rendered; question(one); } } }, name));
    fill(
      place,
      facts && !facts.learns && notice("info", "This strategy does not learn: labels correct what counts as relevant, and nothing else."),
      one.said && el("p", {}, el("span", { class: ["chip", ANSWERS[one.said][2]] }, `you said: ${ANSWERS[one.said][1].toLowerCase()}`)),
      el("h2", { class: "question" }, one.title || "(no title)"),
      el("p", {}, outside(one.url)),
      one.topic && el("p", {}, "Is it what you want for ", el("strong", {}, one.topic), "?"),
      el("p", { class: "muted" }, "Asked because ", one.because, /[?.!]$/.test(one.because) ? "" : "."),
      el("div", { class: "toolbar" }, views),
      text,
    );
    reasons.hidden = false;
    fill(
      reasons,
      el("h2", {}, "Its verdict"),
      el("p", {}, el("span", { class: ["chip", one.relevant && "good"] }, `${one.relevant ? "relevant" : "not relevant"}: ${verdict(one.verdict, facts?.threshold)}`), " ", el("span", { class: "chip" }, `its link's score was ${score(one.promise)}`)),
      one.reasons.length
        ? el("table", {}, el("tbody", {}, one.reasons.slice(0, 8).map((why) => el("tr", {}, el("td", {}, why.what), el("td", { class: "number" }, score(why.weight))))))
        : el("p", { class: "muted" }, "No known feature of the topic counts for the page or against it."),
    );
    read(one, text);
  }

  async function read(one, into) {
    if (state.rendered) {
      fill(into, el("p", { class: "muted" }, "Without scripts, pictures and network requests; links are disabled."), framed(api, params.name, { visit: one.visit }));
      return;
    }
    if (!one.text) fill(into, el("p", { class: "text muted" }, one.snippet));
    try {
      one.text ??= await api.get(path("label/text"), { visit: one.visit });
    } catch (error) {
      if (error?.name !== "AbortError" && current() === one) fill(into, failed(error, () => read(one, into)));
      return;
    }
    if (!into.isConnected) return;
    const { text, marks, cut } = one.text;
    fill(
      into,
      text ? el("p", { class: "muted" }, evidence.legend(marks)) : el("p", { class: "muted" }, one.snippet || "No text of this page was stored."),
      scrolling(el("div", { class: "text", tabindex: "0", role: "region", "aria-label": "The text of the page" }, evidence.text(text, marks))),
      cut && el("p", { class: "muted" }, "The text is longer; this is its beginning."),
    );
    const next = state.list[state.at + 1];
    if (next && !next.text) api.get(path("label/text"), { visit: next.visit }).then((found) => { next.text = found; }, () => {});
  }

  const unbind = keys.bind("Label", {
    ...Object.fromEntries(Object.entries(ANSWERS).map(([word, [key, label]]) => [key, [label.toLowerCase(), () => answer(word)]])),
    z: ["undo the last answer", () => undo()],
    ArrowRight: ["next page, without an answer", () => step(1)],
    ArrowLeft: ["previous page", () => step(-1)],
    v: ["text, or as rendered", () => { state.rendered = !state.rendered; if (current()) question(current()); }],
  });
  beside.forEach((part) => part.refresh());
  await begin();
  return () => {
    stopped = true;
    clearTimeout(timer);
    unbind();
    beside.forEach((part) => part.stop?.());
  };
}

// A long text must not push everything else away.
function scrolling(node) {
  node.style.maxHeight = "70vh";
  node.style.overflowY = "auto";
  return node;
}
