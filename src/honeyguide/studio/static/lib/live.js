// Server-sent events: one connection, reconnects by itself, says when it is not connected.
//
//   const stop = live.listen(`/api/c/${name}/events`, {tick: (data) => draw(data)}, {place: main});
//
// Handlers get the parsed JSON of an event of that name ("message" is the nameless one).
// place: where the "not connected" notice stands (its first child); state: (connected) => … .
import { el, say } from "./dom.js";

const FIRST_MS = 1000;
const LONGEST_MS = 15_000;
const SILENCE_MS = 30_000; // heartbeats come far more often

export function listen(address, handlers, { place = null, state = null } = {}) {
  let source = null;
  let timer = 0;
  let watchdog = 0;
  let wait = FIRST_MS;
  let stopped = false;
  let note = null;

  const connected = (yes) => {
    if (yes) {
      if (note) say("Connected again.");
      note?.remove();
      note = null;
      wait = FIRST_MS;
    } else if (!note && place) {
      note = el(
        "div",
        { class: "notice warn", role: "status" },
        el("p", {}, "Not connected: what you see is not updated. Trying again; if this stays, look whether honeyguide serve still runs."),
      );
      place.prepend(note);
    }
    state?.(yes);
  };
  const alive = () => {
    clearTimeout(watchdog);
    watchdog = setTimeout(again, SILENCE_MS);
  };
  const again = () => {
    source?.close();
    clearTimeout(watchdog);
    clearTimeout(timer);
    if (stopped) return;
    connected(false);
    timer = setTimeout(open, wait);
    wait = Math.min(wait * 2, LONGEST_MS);
  };
  const open = () => {
    if (stopped) return;
    source = new EventSource(address);
    source.onopen = () => { connected(true); alive(); };
    source.onerror = again;
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
  open();
  return () => {
    stopped = true;
    clearTimeout(timer);
    clearTimeout(watchdog);
    source?.close();
    note?.remove();
  };
}
