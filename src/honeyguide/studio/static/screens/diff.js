// Two versions of a page: side by side or inline, with masks for what differs every time.
import * as diff from "../lib/diff.js";
import { el, fill, outside } from "../lib/dom.js";
import { ago, bytes, number, score } from "../lib/format.js";
import * as keys from "../lib/keys.js";
import { button, empty, field, into, notice, select, toast } from "../lib/parts.js";
import { chip, to } from "./changes/words.js";

// #/c/NAME/diff/NUMBER of a change, or #/c/NAME/diff?url=…&old=1&new=2
export async function show(main, params, api) {
  const path = (rest) => api.path(params.name, rest);
  const change = params.rest[0] ? await api.get(path(`changes/${encodeURIComponent(params.rest[0])}`)) : null;
  const asked = change ? { url: change.url, old: change.old, new: change.new } : { ...params.query };
  const state = { side: wide(), all: false, ...asked };
  const body = el("div", {});
  const masks = el("section", { class: "panel", "aria-label": "Masks" });
  const head = el("div", {});
  fill(main, el("p", {}, el("a", { href: to(params.name, "changes") }, "← Changes")), el("h1", {}, "What changed"), el("p", {}, outside(state.url ?? "")), head, body, masks);
  if (change) fill(head, el("p", {}, change.kinds.map(chip), " ", el("span", { class: "chip" }, score(change.significance)), " ", ago(change.at)), change.detail && el("p", {}, change.detail));
  const known = !change || (change.old !== null && change.new !== null);

  const load = () => into(body, async () => {
    if (!known) return alone(change);
    let found;
    try {
      found = await api.get(path("diff"), { url: state.url, old: state.old, new: state.new, all: state.all || "" });
    } catch (error) {
      // A version may be thinned out; what the change itself says is kept.
      if (change && error.status === 400) return [notice("warn", error.message), alone(change)];
      throw error;
    }
    state.old = found.old.number;
    state.new = found.new.number;
    return [controls(found), compared(found)];
  });

  function alone(one) {
    if (!one.told.length) return el("p", { class: "muted" }, "There are no two versions to compare: the page itself is what changed.");
    return diff.inline(one.told);
  }

  function controls(found) {
    const versions = found.versions.map((one) => [String(one.number), `${one.number}: ${new Date(one.at * 1000).toLocaleString()}`]);
    const all = el("input", { type: "checkbox", checked: state.all, on: { change: () => { state.all = all.checked; load(); } } });
    return el(
      "div",
      { class: "toolbar" },
      field("From version", select(versions, String(found.old.number), (value) => { state.old = Number(value); load(); })),
      field("to version", select(versions, String(found.new.number), (value) => { state.new = Number(value); load(); })),
      el("div", { class: "row", role: "group", "aria-label": "View" }, [["Side by side", true], ["Inline", false]].map(([name, side]) => el("button", { type: "button", "aria-pressed": String(state.side === side), on: { click: () => { state.side = side; load(); } } }, name))),
      field("Also what is masked", all),
    );
  }

  function compared(found) {
    const shown = found.blocks.filter((block) => state.all || !block.masked);
    const blocks = shown.map((block) => (block.what === "left" ? { what: "same", new: `… ${number(Number(block.new))} blocks without a change …` } : block));
    const differing = found.blocks.some((block) => block.what !== "same" && block.what !== "left" && (state.all || !block.masked));
    const links = [["came", found.links_added], ["went", found.links_removed]].filter(([, urls]) => urls.length);
    return [
      found.cut && notice("warn", "The page is very long: this is the beginning of what changed."),
      found.masked > 0 && el("p", { class: "muted" }, `${number(found.masked)} places that differ at every visit are left out.`),
      !differing && !links.length
        ? empty("Nothing that matters differs", "Only what is masked, or nobody sees, is not the same in these two versions.")
        : state.side
          ? diff.sideBySide(blocks, [title(found.old), title(found.new)])
          : diff.inline(blocks),
      links.map(([word, urls]) => el("details", { open: urls.length <= 10 }, el("summary", {}, `${number(urls.length)} links ${word}`), el("ul", {}, urls.map((url) => el("li", {}, outside(url)))))),
      places(shown),
    ];
  }

  // What differs here and could be masked.
  function places(blocks) {
    const keys_ = [...new Map(blocks.filter((block) => block.mask && !block.masked).map((block) => [block.mask, block])).values()].slice(0, 40);
    if (!keys_.length) return null;
    return el(
      "details",
      {},
      el("summary", {}, "Does something of this differ every time?"),
      el("p", {}, "Mask its place, and nothing that stands there is told any more; this can be undone."),
      el("ul", {}, keys_.map((block) => el("li", {}, el("code", {}, block.mask), " ", el("span", { class: "muted" }, (block.new || block.old).slice(0, 80)), " ", button("Mask", () => act(block.mask, "mask"))))),
    );
  }

  async function act(mask, what, undone = false) {
    const before = await api.get(path("masks"), { url: state.url });
    const was = before.masks.find((one) => one.mask === mask)?.by ?? (before.opened.includes(mask) ? "opened" : "");
    await api.post(path("masks"), { url: state.url, mask, do: what });
    const back = { person: "mask", opened: "unmask" }[was] ?? "forget";
    const said = { mask: "Masked: nothing that stands there is told any more.", unmask: "Open: what stands there is told again.", forget: "Taken back." }[what];
    toast(said, "good", undone ? {} : { undo: () => act(mask, back === "unmask" ? "forget" : back, true).catch((error) => toast(error.message, "error")) });
    await load();
    await masked();
  }

  async function masked() {
    let found;
    try {
      found = await api.get(path("masks"), { url: state.url });
    } catch (error) {
      if (error?.name !== "AbortError") masks.hidden = true; // the page is not watched (any more)
      return;
    }
    masks.hidden = false;
    fill(
      masks,
      el("h2", {}, "Masked on this page"),
      found.masks.length
        ? el("ul", {}, found.masks.slice(0, 100).map((one) => el("li", {}, el("code", {}, one.mask), " ", el("span", { class: "muted" }, one.by === "person" ? "by a person" : "it differs every time"), " ", button("Open", () => act(one.mask, "unmask")))))
        : el("p", { class: "muted" }, "Nothing. Clocks, counters and tokens that differ at every visit are masked by themselves."),
      found.opened.length > 0 && el("details", {}, el("summary", {}, `${number(found.opened.length)} places are kept open`), el("ul", {}, found.opened.map((mask) => el("li", {}, el("code", {}, mask), " ", button("Let it decide", () => act(mask, "forget")))))),
    );
  }

  const unbind = keys.bind("What changed", {
    i: ["inline", () => { state.side = false; load(); }],
    d: ["side by side", () => { state.side = true; load(); }],
    m: ["also what is masked", () => { state.all = !state.all; load(); }],
    b: ["back to the changes", () => { location.hash = to(params.name, "changes"); }],
  });
  if (change && !change.seen) api.post(path("changes/seen"), { ids: [change.id] }).catch(() => {});
  await Promise.all([load(), masked()]);
  return unbind;
}

const title = (version) => [`Version ${version.number}, `, ago(version.at), ` (${bytes(version.size)})`];
const wide = () => matchMedia("(min-width: 60rem)").matches;
