// Two versions of a page: side by side or inline, with masks for what differs every time.
import * as diff from "../lib/diff.js";
import { el, fill, outside } from "../lib/dom.js";
import { ago, bytes, count, number, score } from "../lib/format.js";
import * as keys from "../lib/keys.js";
import { button, confirm, empty, field, into, notice, select, toast } from "../lib/parts.js";
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
      field("Also masked parts", all),
    );
  }

  function compared(found) {
    const shown = found.blocks.filter((block) => state.all || !block.masked);
    const blocks = shown.map((block) => (block.what === "left" ? { what: "same", new: `… ${count(Number(block.new), "block")} unchanged …` } : block));
    const differing = found.blocks.some((block) => block.what !== "same" && block.what !== "left" && (state.all || !block.masked));
    const links = [["came", found.links_added], ["went", found.links_removed]].filter(([, urls]) => urls.length);
    return [
      found.cut && notice("warn", "The page is very long: this is the beginning of what changed."),
      found.masked > 0 && el("p", { class: "muted" }, `Left out: ${count(found.masked, "masked place")}.`),
      !differing && !links.length
        ? empty("No relevant difference", "These two versions differ only in masked or invisible parts.")
        : state.side
          ? diff.sideBySide(blocks, [title(found.old), title(found.new)])
          : diff.inline(blocks),
      links.map(([word, urls]) => el("details", { open: urls.length <= 10 }, el("summary", {}, `${count(urls.length, "link")} ${word}`), el("ul", {}, urls.map((url) => el("li", {}, outside(url)))))),
      places(shown, found),
    ];
  }

  // What differs here and could be masked: each line by itself, or a whole place, once it is said
  // what else goes with it.
  function places(blocks, found) {
    const lines = [...new Map(blocks.filter((block) => block.mask && !block.masked).map((block) => [block.mask, block])).values()].slice(0, 40);
    if (!lines.length) return null;
    const whole = new Map(found.places.map((place) => [place.path, place]));
    return el(
      "details",
      {},
      el("summary", {}, "Does a part of this differ at every visit?"),
      el("p", {}, "Mask a line, and it is no longer reported, whatever its numbers are; this can be undone."),
      el("ul", { class: "plain lines" }, lines.map((block) => {
        const place = whole.get(block.path);
        return el(
          "li",
          {},
          el("span", {}, short(block.new || block.old)), " ",
          block.mask === block.path && place ? null : button("Mask this line", () => act(block.mask, "mask")), " ",
          place && button(`Mask all of ${block.path || "the page"} …`, () => everything(place), { kind: "quiet" }),
        );
      })),
    );
  }

  async function everything(place) {
    const left = place.blocks - place.texts.length;
    const yes = await confirm(`Mask ${count(place.blocks, "block")}?`, "Mask them all", "Cancel", [
      el("p", {}, `Everything in ${place.path || "the page"} is no longer reported. At present:`),
      el("ul", { class: "inside" }, place.texts.map((text) => el("li", {}, short(text))), left > 0 && el("li", { class: "muted" }, `and ${number(left)} more`)),
    ]);
    if (yes) await act(place.path, "mask");
  }

  async function act(mask, what, undone = false) {
    const before = await api.get(path("masks"), { url: state.url });
    const was = before.masks.find((one) => one.mask === mask)?.by ?? (before.opened.includes(mask) ? "opened" : "");
    const after = await api.post(path("masks"), { url: state.url, mask, do: what });
    const back = { person: "mask", opened: "unmask" }[was] ?? "forget";
    const words = after.words[mask] ?? before.words[mask] ?? "what is there";
    const said = { mask: `Masked, no longer reported: ${words}.`, unmask: `Unmasked, reported again: ${words}.`, forget: "Undone." }[what];
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
        ? el("ul", {}, found.masks.slice(0, 100).map((one) => el("li", {}, el("span", { title: one.mask }, found.words[one.mask] ?? one.mask), " ", el("span", { class: "muted" }, one.by === "person" ? "by a person" : "it differs at every visit"), " ", button("Open", () => act(one.mask, "unmask")))))
        : el("p", { class: "muted" }, "Nothing. Clocks, counters and tokens that differ at every visit are masked automatically."),
      found.opened.length > 0 && el("details", {}, el("summary", {}, `${count(found.opened.length, "place")} kept unmasked`), el("ul", {}, found.opened.map((mask) => el("li", {}, el("span", { title: mask }, found.words[mask] ?? mask), " ", button("Decide automatically", () => act(mask, "forget")))))),
    );
  }

  const unbind = keys.bind("What changed", {
    i: ["inline", () => { state.side = false; load(); }],
    d: ["side by side", () => { state.side = true; load(); }],
    m: ["also masked parts", () => { state.all = !state.all; load(); }],
    b: ["back to the changes", () => { location.hash = to(params.name, "changes"); }],
  });
  if (change && !change.seen) api.post(path("changes/seen"), { ids: [change.id] }).catch(() => {});
  await Promise.all([load(), masked()]);
  return unbind;
}

const short = (text) => (text.length > 80 ? `${text.slice(0, 79)}…` : text);
const title = (version) => [`Version ${version.number}, `, ago(version.at), ` (${bytes(version.size)})`];
const wide = () => matchMedia("(min-width: 60rem)").matches;
