// The reins of a topic: what it is, and start, pause, resume and stop of its crawl and its watch.
import { el, fill } from "../../lib/dom.js";
import { ago, count, number } from "../../lib/format.js";
import { refused, whole, wrong } from "../../lib/forms.js";
import { hinted } from "../../lib/hints.js";
import { button, confirm, facts, field, into, notice, toast } from "../../lib/parts.js";
import { editor } from "./edit.js";

const AGAIN_MS = 2_000;
const ALIVE = new Set(["running", "stopping"]);
const WORDS = {
  idle: "not running", running: "running", stopping: "finishing running visits …", paused: "paused",
  finished: "ended", failed: "failed", elsewhere: "run by another process",
};

const goal = (run) => (run.limit ? `${number(run.visits)} of ${count(run.limit, "visit")}` : `${count(run.visits, "visit")}, without a limit`);

export async function steer(main, name, api) {
  const reins = el("div", { class: "panel", "aria-live": "polite" });
  const about = el("div", { class: "panel" });
  const pages = el("input", { type: "number", min: 0, name: "pages" });
  const hours = el("input", { type: "number", min: 0, step: "any", name: "hours" });
  const inAll = field("Stop at so many visits in all", pages, "Empty: as the topic says. 0: no limit.");
  const progress = el("span", { "aria-live": "off" });
  const limits = el("details", {}, el("summary", {}, "Limits of this run"), inAll,
    field("Stop after so many hours", hours, "Empty or 0: no limit."));
  main.append(el("h1", {}, name), reins, about);

  let shown = "";
  const order = (body) => async () => draw(await api.post(api.path(name, "run"), body));
  const start = (kind, limit = pages, visits = 0) => async () => {
    const given = kind === "crawl" ? limit : pages;
    if (wrong([
      !whole(given) && [given, "Write a whole number; 0 for no limit."],
      visits > 0 && Number(given.value) > 0 && Number(given.value) <= visits && [given, `Write more than ${number(visits)}, or 0 for no limit.`],
      !hours.validity.valid && [hours, "Write a number of hours, such as 0.5."],
    ])) return;
    try {
      await order({
        do: "start", kind,
        ...(given.value && kind === "crawl" ? { pages: Number(given.value) } : {}),
        ...(hours.value ? { hours: Number(hours.value) } : {}),
      })();
    } catch (error) {
      if (!refused({ pages: given, hours }, error)) throw error;
    }
  };

  function draw(run) {
    fill(progress, goal(run));
    const key = JSON.stringify(ALIVE.has(run.state) ? { ...run, visits: 0 } : run);
    if (key === shown) return; // nothing new: whoever is about to press a button keeps it
    shown = key;
    inAll.hidden = Boolean(spent(run));
    fill(reins,
      el("div", { class: "row spread" },
        el("h2", {}, run.kind === "watch" ? "Watch" : "Crawl"),
        el("span", { class: ["chip", run.state === "running" ? "good" : run.state === "failed" ? "bad" : ""] }, WORDS[run.state] ?? run.state)),
      run.state === "elsewhere" && el("p", {}, `Process ${run.pid} crawls or watches it. It was not started here, so it can only be stopped where it runs.`),
      ALIVE.has(run.state) && el("p", { class: "muted" }, "started ", ago(run.since), run.kind === "crawl" && [" · ", progress]),
      run.ended && el("p", {}, run.summary && `${run.summary} · `, el("span", { class: "muted" }, "ended ", ago(run.ended))),
      run.state === "failed" ? notice("error", "It ended with an error. Its output:", el("pre", {}, hinted(run.said))) : run.said && el("pre", { class: "muted" }, hinted(run.said)),
      spent(run) && further(run),
      el("div", { class: "row" }, buttons(run)),
      !ALIVE.has(run.state) && run.state !== "elsewhere" && limits);
  }

  // At its limit a crawl ends as soon as it starts: say how far to go on instead.
  const spent = (run) => !ALIVE.has(run.state) && run.state !== "elsewhere" && run.limit > 0 && run.visits >= run.limit;

  function further(run) {
    const to = el("input", { type: "number", name: "further", min: 0, required: true, value: String(run.limit * (Math.floor(run.visits / run.limit) + 1)) });
    return el("div", { class: "toolbar" },
      field(`${count(run.visits, "visit is", "visits are")} reached. Continue to`, to),
      button("Continue", start("crawl", to, run.visits), { kind: "primary" }));
  }

  function buttons(run) {
    const live = el("a", { class: "button", href: `#/c/${encodeURIComponent(name)}/live` }, "Look at it live");
    const crawl = !spent(run) && button("Start the crawl", start("crawl"), { kind: "primary" });
    const watch = button("Start the watch", start("watch"), { title: "Revisits relevant pages and reports what changed" });
    if (run.state === "running") {
      return [
        button("Pause", order({ do: "pause" }), { kind: "primary", title: "Finishes running visits; nothing is lost" }),
        button("Stop", order({ do: "stop" })),
        live,
      ];
    }
    if (run.state === "stopping") {
      const end = button("End it at once", async () => {
        if (await confirm("End it at once? Running visits are fetched again next time.", "End it")) await order({ do: "kill" })();
      });
      return [end, live];
    }
    if (run.state === "elsewhere") return live;
    if (run.state === "paused") {
      const resume = (run.kind === "watch" || !spent(run)) && button("Resume", order({ do: "resume" }), { kind: "primary" });
      return [resume, run.kind === "watch" ? crawl : watch, live];
    }
    return [crawl, watch, live];
  }

  async function look() {
    draw(await api.get(api.path(name, "run")));
  }

  function tell(topic) {
    const change = button("Change the topic", () => fill(about, editor(api, name, topic, (now) => {
      fill(about, tell(now ?? topic));
      about.querySelector("button")?.focus();
      if (now) toast(JSON.parse(shown).pid ? "Saved. It takes effect at the next start." : "Kept.", "good");
      if (now) look().catch(() => {}); // the limit may be another
    })));
    return [...described(topic), el("div", { class: "row" }, change)];
  }

  await into(about, async () => tell(await api.get(api.path(name, "topic"))));
  await look();
  const timer = setInterval(() => {
    if (!document.hidden) look().catch(() => {}); // told by what is pressed next
  }, AGAIN_MS);
  return () => clearInterval(timer);
}

function described(topic) {
  const list = (title, items) => items.length > 0 && [el("h3", {}, title), el("ul", {}, items.slice(0, 50).map((item) => el("li", {}, item))), items.length > 50 && el("p", { class: "muted" }, `and ${number(items.length - 50)} more`)];
  return [
    el("h2", {}, "The topic"),
    topic.description && el("p", {}, topic.description),
    facts([["strategy", topic.strategy], ["a crawl stops at", topic.pages ? `${number(topic.pages)} visits` : "no limit"], ["languages", topic.language.join(", ") || "any"], ["how strict", topic.kept || topic.keep || `threshold ${topic.threshold}`], ["contact", topic.contact]]),
    list("Keywords", topic.keywords),
    list("Seeds", topic.seeds),
    list("Good examples", topic.good),
    list("Bad examples", topic.bad),
    topic.ontology && el("p", {}, `Concept: ${topic.concept} of ${topic.ontology}`),
    topic.topics.length > 0 && list("Further topics", topic.topics),
    el("p", { class: "muted" }, "All settings are in topic.toml in the collection's folder, and may be edited there between two runs."),
  ];
}
