// Talking to the server: JSON in, JSON out, every error an Error whose message a person can use.
//
//   const page = await api.get(`/api/c/${name}/visits`, {limit: 50, host: undefined});
//   await api.post(`/api/c/${name}/label`, {url, label: "relevant"});
//
// A screen gets its own copy (bound to a signal), so that leaving the screen ends what it asked for;
// the router swallows what is thrown by that. What changes something is never ended: a label that
// was given counts, also when the person has gone on.

const TIMEOUT_MS = 30_000;
const KEPT = 10_000; // characters; browsers allow 64 kB in all

const LOST =
  "This page is not signed in. Open the address that honeyguide serve printed last in the " +
  "terminal (it has #token=… in it, and works for one browser).";
const GONE =
  "The studio does not answer. Is honeyguide serve still running in the terminal? " +
  "Start it again and open the address it prints.";

export class ApiError extends Error {
  constructor(message, status = 0, field = "") {
    super(message);
    this.name = "ApiError";
    this.status = status; // 0: no answer at all
    this.field = field; // of what was sent: where the mistake is
  }
}

// The path with its query; what is undefined, null or "" is left out.
export function url(path, query = {}) {
  const pairs = new URLSearchParams();
  for (const [key, value] of Object.entries(query)) {
    if (value !== undefined && value !== null && value !== "") pairs.append(key, String(value));
  }
  const text = pairs.toString();
  return text ? `${path}?${text}` : path;
}

// `/api/c/NAME/rest` with the name encoded.
export function path(name, rest) {
  return `/api/c/${encodeURIComponent(name)}/${rest}`;
}

// Who labels; "" until somebody said.
export function person() {
  try {
    return localStorage.getItem("honeyguide-person") ?? "";
  } catch {
    return ""; // storage is forbidden in this browser
  }
}

export function setPerson(name) {
  try {
    localStorage.setItem("honeyguide-person", String(name).trim().slice(0, 60));
  } catch {
    // storage is forbidden in this browser: the name lasts as long as nobody asks
  }
}

// The page's half of being signed in, beside the cookie: other servers on this machine see cookies,
// but not what is stored for this port. Of all tabs; where storage is forbidden, of this one.
let kept = "";

function key() {
  try {
    return localStorage.getItem("honeyguide-key") ?? kept;
  } catch {
    return kept;
  }
}

// Exchange the token of the printed address for the cookie and the key.
export async function signIn(token) {
  kept = (await ask("POST", "/sign-in", {}, undefined, { Authorization: `Bearer ${token}` })).key;
  try {
    localStorage.setItem("honeyguide-key", kept);
  } catch {
    // storage is forbidden in this browser: until the page is loaded again
  }
}

async function ask(method, address, body, signal, more = {}) {
  const headers = { Accept: "application/json", "X-Honeyguide": key(), ...more };
  const sent = method === "GET" ? undefined : JSON.stringify(body ?? {});
  if (sent !== undefined) headers["Content-Type"] = "application/json";
  const who = person();
  if (who) headers["X-Honeyguide-Person"] = encodeURIComponent(who);
  const limit = AbortSignal.timeout(TIMEOUT_MS);
  let answer;
  let text;
  try {
    answer = await fetch(address, {
      method,
      headers,
      body: sent,
      credentials: "same-origin",
      keepalive: sent !== undefined && sent.length < KEPT, // also if the tab is closed
      redirect: "error",
      cache: "no-store",
      signal: signal ? AbortSignal.any([signal, limit]) : limit,
    });
    text = await answer.text();
  } catch (error) {
    if (signal?.aborted) throw new DOMException("left", "AbortError");
    if (limit.aborted) throw new ApiError(`No answer within ${TIMEOUT_MS / 1000} seconds. Try again.`);
    throw new ApiError(GONE);
  }
  let value = null;
  try {
    value = text ? JSON.parse(text) : null;
  } catch {
    if (answer.ok) throw new ApiError("The studio's answer could not be read.", answer.status);
  }
  if (answer.ok) return value;
  if (answer.status === 401 || answer.status === 403) {
    throw new ApiError(value?.error && answer.status === 403 ? value.error : LOST, answer.status);
  }
  throw new ApiError(
    typeof value?.error === "string" ? value.error : `The studio failed (${answer.status}). Its log in the terminal says why.`,
    answer.status,
    typeof value?.field === "string" ? value.field : "",
  );
}

// The functions that a screen is given; what it asks for ends with the signal.
export function bound(signal) {
  return {
    get: (address, query) => ask("GET", url(address, query), undefined, signal),
    post: (address, body) => ask("POST", address, body),
    put: (address, body) => ask("PUT", address, body),
    del: (address, body) => ask("DELETE", address, body),
    // An address for what sends no headers (frames, events, downloads); good for a minute.
    pass: async (address, query) => (await ask("GET", url("/api/pass", { for: url(address, query) }), undefined, signal)).address,
    url,
    path,
    person,
    setPerson,
    signal,
  };
}

export const { get, post, put, del, pass } = bound(undefined);
