// The reins of a topic: what it is, and start, pause, resume and stop of its crawl and its watch.
import { el, fill } from "../../lib/dom.js";
import { ago, number } from "../../lib/format.js";
import { button, confirm, facts, field, into, notice } from "../../lib/parts.js";

const AGAIN_MS = 2_000;
const ALIVE = new Set(["running", "stopping"]);
const WORDS = {
  idle: "not running", running: "running", stopping: "finishing what is under way …", paused: "paused",
  finished: "ended", failed: "failed", elsewhere: "run by another process",
};

export async function steer(main, name, api) {
  const reins = el("div", { class: "panel", "aria-live": "polite" });
  const about = el("div", { class: "panel" });
  const pages = el("input", { type: "number", min: 0, name: "pages" });
  const hours = el("input", { type: "number", min: 0, step: "any", name: "hours" });
  const limits = el("details", {}, el("summary", {}, "Limits of this run"),
    field("Stop at so many visits in all", pages, "Empty: as the topic says. 0: no limit."),
    field("Stop after so many hours", hours, "Empty or 0: no limit."));
  main.append(el("h1", {}, name), reins, about);

  let shown = "";
  const order = (body) => async () => draw(await api.post(api.path(name, "run"), body));
  const start = (kind) => async () => order({
    do: "start", kind,
    ...(pages.value && kind === "crawl" ? { pages: Number.parseInt(pages.value, 10) } : {}),
    ...(hours.value ? { hours: Number.parseFloat(hours.value) } : {}),
  })();

  function draw(run) {
    const key = JSON.stringify(run);
    if (key === shown) return; // nothing new: whoever is about to press a button keeps it
    shown = key;
    fill(reins,
      el("div", { class: "row spread" },
        el("h2", {}, run.kind === "watch" ? "Watch" : "Crawl"),
        el("span", { class: ["chip", run.state === "running" ? "good" : run.state === "failed" ? "bad" : ""] }, WORDS[run.state] ?? run.state)),
      run.state === "elsewhere" && el("p", {}, `Process ${run.pid} crawls or watches it. It was not started here, so it can only be stopped where it runs.`),
      ALIVE.has(run.state) && el("p", { class: "muted" }, "started ", ago(run.since)),
      run.ended && el("p", {}, run.summary && `${run.summary} · `, el("span", { class: "muted" }, "ended ", ago(run.ended))),
      run.state === "failed" ? notice("error", "It ended with a failure. This is what it said:", el("pre", {}, run.said)) : run.said && el("pre", { class: "muted" }, run.said),
      el("div", { class: "row" }, buttons(run)),
      !ALIVE.has(run.state) && run.state !== "elsewhere" && limits);
  }

  function buttons(run) {
    if (run.state === "running") {
      return [
        button("Pause", order({ do: "pause" }), { kind: "primary", title: "Finishes what is under way; nothing is lost" }),
        button("Stop", order({ do: "stop" })),
      ];
    }
    if (run.state === "stopping") {
      return button("End it at once", async () => {
        if (await confirm("End it at once? What is under way is fetched again next time.", "End it")) await order({ do: "kill" })();
      });
    }
    if (run.state === "elsewhere") return [];
    if (run.state === "paused") {
      return [button("Resume", order({ do: "resume" }), { kind: "primary" }), run.kind === "watch" ? button("Start the crawl", start("crawl")) : button("Start the watch", start("watch"))];
    }
    return [
      button("Start the crawl", start("crawl"), { kind: "primary" }),
      button("Start the watch", start("watch"), { title: "Comes back to relevant pages and tells what changed" }),
      el("a", { class: "button", href: `#/c/${encodeURIComponent(name)}/live` }, "Look at it live"),
    ];
  }

  async function look() {
    draw(await api.get(api.path(name, "run")));
  }

  await into(about, async () => described(await api.get(api.path(name, "topic"))));
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
    facts([["strategy", topic.strategy], ["stops at", topic.pages ? `${number(topic.pages)} visits` : "no limit"], ["languages", topic.language.join(", ") || "any"], ["contact", topic.contact]]),
    list("Keywords", topic.keywords),
    list("Seeds", topic.seeds),
    list("Good examples", topic.good),
    list("Bad examples", topic.bad),
    topic.ontology && el("p", {}, `Concept: ${topic.concept} of ${topic.ontology}`),
    topic.topics.length > 0 && list("Further topics", topic.topics),
    el("p", { class: "muted" }, "All of it stands in topic.toml in the collection's folder, and may be edited there between two runs."),
  ];
}
