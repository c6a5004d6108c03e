// Changes: the feed, how many messages another threshold would have brought, and the next visits.
import { el, fill, outside } from "../lib/dom.js";
import { ago, count, number, score } from "../lib/format.js";
import * as diff from "../lib/diff.js";
import * as keys from "../lib/keys.js";
import { button, empty, failed, field, select, toast, waiting } from "../lib/parts.js";
import { chip, to } from "./changes/words.js";
import { trial } from "./changes/trial.js";
import { visits } from "./changes/visits.js";

const KINDS = [["", "any kind"], ["content", "content"], ["minor", "minor"], ["data", "data (prices …)"], ["links", "links"], ["structure", "structure"], ["cosmetic", "cosmetic"], ["new", "new page"], ["moved", "moved"], ["gone", "gone"], ["back", "back again"], ["blocked", "blocked"], ["soft_404", "gone, but answers as if not"]];
const SPANS = [["", "any time"], ["1", "last day"], ["7", "last week"], ["30", "last month"]];
const LIMIT = 30;
const AGAIN_MS = 5_000;

export async function show(main, params, api) {
  const path = (rest) => api.path(params.name, rest);
  const filter = { kind: "", least: 0, host: "", days: "", unseen: "", ...params.query };
  let next = null;
  let turn = 0;
  let newest = 0; // of all changes that this list could show
  let timer = 0;
  let stopped = false;

  const list = el("div", { class: "stack", "aria-live": "off" });
  const more = el("div", { class: "pages" });
  const fresh = el("div", { class: "pages", role: "status" });
  const head = el("p", { class: "muted", role: "status" });
  const slider = trial(api, params.name, (least) => { filter.least = least; load(); });
  const soon = visits(api, params.name);
  const host = el("input", { type: "search", value: filter.host, placeholder: "example.org", maxlength: "300", on: { change: () => { filter.host = host.value; load(); } } });
  const unseen = el("input", { type: "checkbox", checked: Boolean(filter.unseen), on: { change: () => { filter.unseen = unseen.checked || ""; load(); } } });
  fill(
    main,
    el("h1", {}, "Changes"),
    el("div", { class: "toolbar" },
      field("Kind", select(KINDS, filter.kind, (value) => { filter.kind = value; load(); })),
      field("When", select(SPANS, filter.days, (value) => { filter.days = value; load(); })),
      field("Host", host),
      field("Only what I have not seen", unseen),
      button("Mark all shown as seen", () => sawAll()),
    ),
    el("div", { class: "split" }, el("div", {}, head, fresh, list, more), el("div", { class: "stack" }, slider.element, soon.element)),
  );

  async function load(after = null) {
    turn += 1;
    const mine = turn;
    if (!after) {
      fill(list, waiting());
      fill(fresh);
      fresh.dataset.came = "";
    }
    try {
      const found = await api.get(path("changes"), { ...filter, least: filter.least || "", after, limit: LIMIT });
      if (mine !== turn) return;
      next = found.next;
      if (!after) {
        fill(list);
        newest = found.rows[0]?.id ?? 0;
      }
      list.append(...found.rows.map(card));
      const filtered = filter.kind || filter.host || filter.days || filter.unseen || filter.least;
      tell(found, filtered);
      if (!list.childElementCount) fill(list, nothing(found, filtered));
      fill(more, next && button("Older", () => load(next)));
    } catch (error) {
      if (error?.name !== "AbortError" && mine === turn) fill(list, failed(error, () => load(after)));
    }
  }

  function tell(found, filtered) {
    const pages = count(found.watched, "watched page");
    head.textContent = filtered ? `${number(found.passing)} of ${count(found.total, "change")} pass the filters; ${pages}` : `${count(found.total, "change")} in all, on ${pages}`;
  }

  // A watch goes on meanwhile. The list stays under the reader's eyes until he asks for more.
  async function look() {
    clearTimeout(timer);
    if (!document.hidden) {
      const mine = turn;
      try {
        const found = await api.get(path("changes"), { ...filter, least: filter.least || "", newest: newest || "", limit: 1 });
        if (mine === turn) {
          const came = newest ? found.newer : found.passing;
          if (came && !list.querySelector("article")) load();
          else if (came && fresh.dataset.came !== String(came)) fill(fresh, button(`${number(came)} new: show`, showNew));
          fresh.dataset.came = came || "";
        }
      } catch (error) {
        if (error?.name === "AbortError") return; // else the next look may succeed
      }
    }
    if (!stopped) timer = setTimeout(look, AGAIN_MS);
  }

  async function showNew() {
    slider.refresh();
    await load();
    list.querySelector("a[href^='#']")?.focus();
  }

  function nothing(found, filtered) {
    if (filtered && found.total) return empty("No change passes these filters", "Widen them, or lower the least significance.");
    if (found.watched) return empty("Nothing has changed yet", "The watch revisits the pages by itself, as often as their changes justify.");
    return empty("Nothing is watched yet", "A watch revisits relevant pages, stores every version and reports what changed.", el("a", { class: "button primary", href: to(params.name, "start") }, "Start a watch"));
  }

  function card(row) {
    const known = row.old !== null && row.new !== null;
    const link = el("a", { href: to(params.name, `diff/${row.id}`) }, known ? `versions ${row.old} → ${row.new}` : "what is known");
    const node = el("article", { class: ["card", row.seen && "seen"], dataset: { id: row.id } });
    const seen = el("button", { type: "button", class: "quiet", on: { click: () => saw(row, node) } });
    const label = () => { seen.textContent = row.seen ? "Seen ✓" : "Mark as seen"; seen.setAttribute("aria-pressed", String(Boolean(row.seen))); };
    label();
    row.redraw = label;
    fill(
      node,
      el("div", { class: "row spread" }, el("div", { class: "row" }, row.kinds.map(chip), el("span", { class: "chip", title: "significance, 0 to 1" }, score(row.significance))), el("span", { class: "muted" }, ago(row.at))),
      el("p", {}, outside(row.url)),
      row.detail && el("p", {}, row.detail),
      row.told.length > 0 && diff.inline(row.told),
      el("div", { class: "row spread" }, el("span", { class: "muted" }, extra(row)), el("span", { class: "row" }, link, seen)),
    );
    node.row = row;
    return node;
  }

  function extra(row) {
    const parts = [];
    if (row.edits > row.told.length) parts.push(`and ${count(row.edits - row.told.length, "more edit")}`);
    if (row.links_added) parts.push(`${count(row.links_added, "link")} added`);
    if (row.links_removed) parts.push(`${count(row.links_removed, "link")} removed`);
    if (row.masked) parts.push(`${count(row.masked, "masked place")} left out`);
    return parts.join(", ");
  }

  async function saw(row) {
    try {
      await api.post(path("changes/seen"), { ids: [row.id], seen: !row.seen });
      row.seen = row.seen ? null : Date.now() / 1000;
      row.redraw();
    } catch (error) {
      if (error?.name !== "AbortError") toast(error.message, "error");
    }
  }

  async function sawAll() {
    const rows = [...list.children].map((node) => node.row).filter((row) => row && !row.seen);
    if (!rows.length) return toast("All of these are seen.");
    for (let at = 0; at < rows.length; at += 500) await api.post(path("changes/seen"), { ids: rows.slice(at, at + 500).map((row) => row.id) });
    rows.forEach((row) => { row.seen = Date.now() / 1000; row.redraw(); });
    toast(`${number(rows.length)} marked as seen.`, "good", {
      undo: async () => {
        try {
          await api.post(path("changes/seen"), { ids: rows.slice(0, 500).map((row) => row.id), seen: false });
          rows.slice(0, 500).forEach((row) => { row.seen = null; row.redraw(); });
        } catch (error) {
          if (error?.name !== "AbortError") toast(error.message, "error");
        }
      },
    });
  }

  const go = (by) => {
    const cards = [...list.querySelectorAll("article")];
    const at = cards.findIndex((node) => node.contains(document.activeElement));
    const node = cards[Math.min(cards.length - 1, Math.max(0, at + by))];
    node?.querySelector("a[href^='#']")?.focus();
    node?.scrollIntoView({ block: "nearest" });
  };
  const unbind = keys.bind("Changes", {
    j: ["next change", () => go(1)],
    k: ["previous change", () => go(-1)],
    e: ["mark the focused change as seen", () => { const row = document.activeElement?.closest?.("article")?.row; if (row) saw(row); }],
  });
  slider.refresh(filter.least);
  soon.refresh();
  await load();
  timer = setTimeout(look, AGAIN_MS);
  return () => {
    stopped = true;
    clearTimeout(timer);
    unbind();
    soon.stop();
    slider.stop();
  };
}
