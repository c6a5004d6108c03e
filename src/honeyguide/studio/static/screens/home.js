// All topics in the root folder, and how each stands.
import { el } from "../lib/dom.js";
import { ago, number, percent } from "../lib/format.js";
import * as keys from "../lib/keys.js";
import { empty, facts, into } from "../lib/parts.js";

const AGAIN_MS = 10_000;

export async function show(main, params, api) {
  const place = el("div", { "aria-live": "off" });
  main.append(el("div", { class: "row spread" }, el("h1", {}, "Topics"), el("a", { class: "button primary", href: "#/new" }, "New topic")), place);
  const draw = () => into(place, async () => list(await api.get("/api/collections")));
  await draw();
  const timer = setInterval(() => {
    if (!document.hidden && !place.contains(document.activeElement)) draw();
  }, AGAIN_MS);
  const unbind = keys.bind("Topics", { c: ["create a topic", () => { location.hash = "#/new"; }] });
  return () => {
    clearInterval(timer);
    unbind();
  };
}

function list(rows) {
  if (!rows.length) {
    return empty(
      "No topics yet",
      "A topic says what you are looking for: a few words, some addresses to start from, pages you like. Honeyguide then finds more pages like these.",
      el("a", { class: "button primary", href: "#/new" }, "Describe your first topic"),
    );
  }
  return el("ul", { class: "cards" }, rows.map((row) => el("li", {}, card(row))));
}

// Whole words, and a sign that there is more.
export function shortened(text, most = 160) {
  if (text.length <= most) return text;
  return `${text.slice(0, most).replace(/[\s,;:.–-]*\s\S*$/, "")} …`;
}

function card(row) {
  const visits = row.visits ?? 0;
  const running = { elsewhere: "running elsewhere", crawl: "crawling", watch: "watching" }[row.running] ?? row.running;
  return el(
    "a",
    { class: "card topic-card", href: `#/c/${encodeURIComponent(row.name)}/${visits || row.running ? "live" : "start"}` },
    el("h2", {}, row.name, row.running && [" ", el("span", { class: "chip good" }, running)]),
    row.problem
      ? el("p", { class: "notice warn" }, row.problem)
      : el("p", { class: "muted" }, shortened(row.description) || "No description."),
    visits
      ? facts([["visits", number(visits)], ["relevant", number(row.relevant)], ["harvest", percent(row.relevant / visits)]])
      : !row.problem && el("p", {}, "Nothing fetched yet: start it."),
    row.last && el("p", { class: "muted" }, "last visit ", ago(row.last)),
  );
}
