// Requests to the server: who asks, and what a problem is.

const KEPT = "keyway.token";

let token = read();
let isTrusted = false;
const others = new Map();

function read() {
  try {
    return sessionStorage.getItem(KEPT);
  } catch {
    return null;
  }
}

/** From now on every request is made with this token; without one, none is. */
export function use(text) {
  token = text;
  others.clear();
  try {
    if (text) sessionStorage.setItem(KEPT, text);
    else sessionStorage.removeItem(KEPT);
  } catch {
    // It is known until the page is closed.
  }
}

export const hasToken = () => Boolean(token);

/** Forgets the token; a session ends with it. */
export async function part() {
  const id = token?.match(/^kw_session_([^_]+)_/)?.[1];
  if (id) await ask(`/-/api/sessions/${id}/end`, {}).catch(() => {});
  use(null);
}

export const trust = (is) => {
  isTrusted = is;
};

/** What the server says is wrong. */
export class Problem extends Error {
  constructor(status, json) {
    super(json?.title ?? `the server answered ${status}`);
    const { type, title, status: _, argument, ...members } = json ?? {};
    this.status = status;
    this.kind = (type ?? "").split(":").pop();
    this.argument = argument;
    this.members = members;
  }
}

async function send(path, options) {
  try {
    return await fetch(path, { cache: "no-store", ...options });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Problem(0, { title: "the server cannot be reached" });
  }
}

async function told(response) {
  let json = null;
  try {
    json = await response.json();
  } catch {
    // Something in front of the server answered.
  }
  return new Problem(response.status, json);
}

/** Asks the console's own endpoints. */
export async function ask(path, body) {
  const headers = token ? { Authorization: `Bearer ${token}` } : {};
  const options = { headers };
  if (body !== undefined) {
    options.method = "POST";
    options.body = JSON.stringify(body);
    headers["Content-Type"] = "application/json";
  }
  const response = await send(path, options);
  if (response.ok) return response.json();
  const problem = await told(response);
  if (problem.status === 401 && path.startsWith("/-/api/")) {
    use(null);
    window.dispatchEvent(new CustomEvent("keyway-locked", { detail: problem }));
  }
  throw problem;
}

/** The same for something to be kept as a file. */
export async function download(path, name) {
  const response = await send(path, {
    headers: token ? { Authorization: `Bearer ${token}` } : {},
  });
  if (!response.ok) throw await told(response);
  const address = URL.createObjectURL(await response.blob());
  const link = document.createElement("a");
  link.href = address;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 60_000);
}

/** Where callers are trusted, the headers that say who calls; nothing elsewhere. */
export function trustedAs(who) {
  if (!isTrusted) return null;
  const headers = {};
  if (who?.user) headers["Keyway-User"] = who.user;
  if (who?.tenant) headers["Keyway-Tenant"] = who.tenant;
  if (who?.roles.length > 0) headers["Keyway-Roles"] = who.roles.join(",");
  return headers;
}

/** The headers that make a call somebody's: a user's, a tenant's, with roles; or one's own. */
async function headersAs(who) {
  const isSomebody = who && (who.user || who.tenant || who.roles.length > 0);
  const trusted = trustedAs(who);
  if (trusted) return trusted;
  if (!isSomebody) return token ? { Authorization: `Bearer ${token}` } : {};
  const key = JSON.stringify(who);
  if (!others.has(key)) others.set(key, (await ask("/-/api/sessions", who)).token);
  return { Authorization: `Bearer ${others.get(key)}` };
}

/** Calls a pattern; answers its JSON, how long it took and how much came. */
export async function call(request, who) {
  const made = async () => {
    const headers = { ...(await headersAs(who)), ...request.headers };
    const begun = performance.now();
    const response = await send(request.path, {
      method: request.method,
      headers,
      body: request.body,
    });
    return { response, begun };
  };
  let { response, begun } = await made();
  if (response.status === 401 && others.delete(JSON.stringify(who))) {
    ({ response, begun } = await made());
  }
  if (!response.ok) throw await told(response);
  const text = await response.text();
  return { json: JSON.parse(text), took: (performance.now() - begun) * 1_000, bytes: text.length };
}

/** Follows a pattern: `heard` is told every event until `signal` ends it. */
export async function follow(request, who, signal, heard) {
  const headers = { ...(await headersAs(who)), Accept: "text/event-stream" };
  const response = await send(request.path, { headers, signal });
  if (!response.ok) throw await told(response);
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    rest += value;
    const blocks = rest.split("\n\n");
    rest = blocks.pop();
    for (const block of blocks) {
      const event = { name: "message", data: "" };
      for (const line of block.split("\n")) {
        if (line.startsWith("event:")) event.name = line.slice(6).trim();
        if (line.startsWith("data:")) event.data += line.slice(5).trimStart();
      }
      if (event.data) heard(event.name, JSON.parse(event.data));
    }
  }
}
