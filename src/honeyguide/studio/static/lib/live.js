// Server-sent events: one connection, reconnects by itself, says when it is not connected.
//
//   const stop = live.listen(`/api/c/${name}/events`, {tick: (data) => draw(data)}, {place: main});
//
// Handlers get the parsed JSON of an event of that name ("message" is the nameless one).
// place: where the "not connected" notice stands (its first child); state: (connected) => … ;
// about: an address that answers 404 when there is nothing to listen to any more.
import { get, pass } from "./api.js";
import { el, fill, say } from "./dom.js";

const FIRST_MS = 1000;
const LONGEST_MS = 15_000;
const SILENCE_MS = 30_000; // heartbeats come far more often

// Why nothing comes: the server refuses (and says why), or nobody answers.
export function reason(error) {
  if (error?.status === 401 || error?.status === 403) return el("p", {}, `What you see is not updated. ${error.message}`);
  if (error?.status === 404) return el("p", {}, "This topic is gone. ", el("a", { href: "#/" }, "All topics"));
  return el("p", {}, "Not connected: what you see is not updated. Trying again; if this stays, check whether honeyguide serve is still running.");
}

export function listen(address, handlers, { place = null, state = null, about = null } = {}) {
  let source = null;
  let timer = 0;
  let watchdog = 0;
  let wait = FIRST_MS;
  let turn = 0; // grows when what was being opened is wanted no more
  let stopped = false;
  let note = null;

  const connected = (yes, why = null) => {
    if (yes) {
      if (note) say("Connected again.");
      note?.remove();
      note = null;
      wait = FIRST_MS;
    } else if (place) {
      if (!note) place.prepend((note = el("div", { class: "notice warn", role: "status" })));
      const words = reason(why);
      if (note.textContent !== words.textContent) fill(note, words); // once, however often it is tried
    }
    state?.(yes);
  };
  const alive = () => {
    clearTimeout(watchdog);
    watchdog = setTimeout(() => again(), SILENCE_MS);
  };
  const shut = () => {
    turn += 1;
    source?.close();
    clearTimeout(watchdog);
    clearTimeout(timer);
  };
  const again = (why = null) => {
    shut();
    if (stopped || document.hidden) return;
    connected(false, why);
    timer = setTimeout(open, wait);
    wait = Math.min(wait * 2, LONGEST_MS);
  };
  const open = async () => {
    shut();
    if (stopped || document.hidden) return;
    const mine = turn;
    let passing;
    try {
      if (note && about) await get(about); // an EventSource does not say why it fails
      passing = await pass(address); // anew each time: a pass is short-lived
    } catch (error) {
      if (mine === turn) again(error);
      return;
    }
    if (mine !== turn) return; // shut meanwhile
    source = new EventSource(passing);
    source.onopen = () => { connected(true); alive(); };
    source.onerror = () => again();
    source.addEventListener("heartbeat", alive);
    for (const [event, handler] of Object.entries(handlers)) {
      source.addEventListener(event, (message) => {
        alive();
        let data;
        try {
          data = JSON.parse(message.data);
        } catch {
          return; // half an event: the next one is whole
        }
        handler(data);
      });
    }
    alive();
  };
  // A browser has six connections to a server for all its tabs: one that nobody looks at takes none.
  document.addEventListener("visibilitychange", open);
  open();
  return () => {
    stopped = true;
    document.removeEventListener("visibilitychange", open);
    shut();
    note?.remove();
  };
}
