// The router: which screen stands, by the address after "#".
//
//   #/                         the topics (screens/home.js)
//   #/new                      a new topic (screens/start.js, without params.name)
//   #/c/NAME/SCREEN/a/b?q=1    screens/SCREEN.js with params {name, rest: ["a", "b"], query: {q: "1"}}
//   #token=TOKEN/c/NAME/…      sign in first; what is after the token is where to go then
//
// A screen exports `async function show(main, params, api)`: it fills `main` (an empty element of
// its own) and may return a function that stops it (timers, events). Its first heading is an <h1>.
// `api` ends all its requests when the screen is left. To go somewhere: location.hash = … .
import * as api from "./lib/api.js";
import { el, fill, say } from "./lib/dom.js";
import { refresh } from "./lib/format.js";
import * as keys from "./lib/keys.js";
import { dialog, failed, field, hush, toast, waiting } from "./lib/parts.js";

const TABS = [
  ["live", "Live"],
  ["label", "Label"],
  ["queries", "Queries"],
  ["collection", "Collection"],
  ["changes", "Changes"],
  ["compare", "Compare"],
  ["start", "Steer"],
];
const UNDER = { page: "collection", diff: "changes" }; // screens without a tab of their own
const SCREENS = new Set([...TABS.map(([screen]) => screen), ...Object.keys(UNDER)]);
const PATIENCE_MS = 300;

let leave = () => {}; // ends the screen that stands
let turn = 0;

export function read(hash) {
  const [path, search = ""] = hash.replace(/^#/, "").split(/\?(.*)/s);
  const parts = path.split("/").filter(Boolean).map(decode);
  const query = Object.fromEntries(new URLSearchParams(search));
  if (!parts.length) return { screen: "home", params: { rest: [], query } };
  if (parts[0] === "new") return { screen: "start", params: { rest: parts.slice(1), query } };
  if (parts[0] === "c" && parts[1]) {
    const screen = parts[2] ?? "live";
    if (SCREENS.has(screen)) return { screen, params: { name: parts[1], rest: parts.slice(3), query } };
  }
  return { screen: null, params: { rest: [], query } };
}

// The token of an address is taken out of it before anything else: it is nobody's to see or to copy.
function token() {
  const [, given, place] = location.hash.match(/^#token=([\w-]+)(.*)$/s) ?? [];
  if (given) history.replaceState(null, "", place ? `#${place}` : location.pathname);
  return given;
}

function decode(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

function tabs(screen, name) {
  const place = document.getElementById("tabs");
  if (!name) return fill(place, el("a", { href: "#/", "aria-current": screen === "home" && "page" }, "Topics"), el("a", { href: "#/new", "aria-current": screen === "start" && "page" }, "New topic"));
  const here = UNDER[screen] ?? screen;
  fill(
    place,
    el("span", { class: "topic", title: name }, name),
    TABS.map(([key, words]) => el("a", { href: `#/c/${encodeURIComponent(name)}/${key}`, "aria-current": key === here && "page" }, words)),
  );
  // Not scrollIntoView: that would also scroll the page.
  const tab = place.querySelector("[aria-current]");
  if (tab) place.scrollLeft = tab.offsetLeft - place.clientWidth / 2;
}

async function go() {
  leave();
  hush();
  turn += 1;
  const mine = turn;
  const given = token();
  const { screen, params } = read(location.hash);
  const control = new AbortController();
  let stop = null;
  leave = () => {
    control.abort();
    try {
      stop?.();
    } catch (error) {
      console.error(error);
    }
    stop = null;
  };
  const box = el("div", { class: ["screen", screen] });
  const main = document.getElementById("main");
  delete main.dataset.shown;
  tabs(screen, params.name);
  const patience = setTimeout(() => { if (mine === turn && !box.hasChildNodes()) fill(main, box, waiting()); }, PATIENCE_MS);
  try {
    if (given) await api.signIn(given).catch((error) => { if (error.status !== 401) throw error; }); // used before, perhaps here
    if (mine !== turn) return;
    if (screen === null) throw new api.ApiError("There is no such screen. Choose a topic in the list.", 404);
    const module = await import(`./screens/${screen}.js`);
    if (mine !== turn) return;
    fill(main, box);
    const stopper = await module.show(box, params, api.bound(control.signal));
    if (mine !== turn) stopper?.(); // left while it was being made
    else stop = stopper ?? null;
  } catch (error) {
    if (error?.name === "AbortError" || mine !== turn) return;
    if (!(error instanceof api.ApiError)) console.warn(error); // else the page says it all
    const words = error instanceof TypeError && /import|module/i.test(error.message) ? new Error("This screen could not be loaded. Is honeyguide serve still running?") : error;
    fill(main, box);
    fill(box, el("h1", {}, "Something went wrong"), failed(words, go), el("p", {}, el("a", { href: "#/" }, "All topics")));
  } finally {
    clearTimeout(patience);
    if (mine === turn) arrived(box, params.name);
  }
}

function arrived(box, name) {
  const main = document.getElementById("main");
  if (box.isConnected) while (box.nextSibling) box.nextSibling.remove(); // the "loading"
  main.dataset.shown = location.hash;
  const heading = box.querySelector("h1");
  const words = heading?.textContent ?? "";
  document.title = [words, name, "Honeyguide"].filter(Boolean).join(" · ");
  say(words);
  scrollTo(0, 0);
  if (heading && !box.contains(document.activeElement)) {
    heading.tabIndex = -1;
    heading.focus({ preventScroll: true });
  }
}

function theme() {
  const root = document.documentElement;
  const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = dark ? "light" : "dark";
  try {
    localStorage.setItem("honeyguide-theme", root.dataset.theme);
  } catch {
    // storage is forbidden in this browser: until the page is loaded again
  }
  document.dispatchEvent(new Event("themechange"));
  say(dark ? "Light" : "Dark");
}

function person() {
  const node = document.getElementById("person");
  const name = api.person();
  node.textContent = name || "Who are you?";
}

function askPerson() {
  const input = el("input", { value: api.person(), maxlength: "60", autocomplete: "name" });
  const form = el(
    "form",
    { on: { submit: (event) => { event.preventDefault(); api.setPerson(input.value); person(); close(); toast("Your labels carry this name from now on."); } } },
    field("Your name", input, "It keeps the labels of several people separate. It is stored on this computer only."),
    el("button", { class: "primary" }, "Keep"),
  );
  const close = dialog("Who labels?", form);
  input.focus();
}

document.getElementById("theme").addEventListener("click", theme);
document.getElementById("person").addEventListener("click", askPerson);
document.getElementById("help").addEventListener("click", keys.help);
document.querySelector(".skip").addEventListener("click", (event) => {
  event.preventDefault(); // "#main" is no address of ours
  document.getElementById("main").focus();
});
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => document.dispatchEvent(new Event("themechange")));
addEventListener("hashchange", go);
keys.listen();
keys.bind("Everywhere", { "?": ["this help", keys.help], t: ["light or dark", theme] });
person();
setInterval(refresh, 10_000);
go();
