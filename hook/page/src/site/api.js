// The server: its calls are those of `ckpt-hook serve`, and its documents those of `--json`.

const KEPT = "ckpt-hook-token";
let token = null;
let number = 0;

/** What to do without the server: it ends by itself when nobody looks, and a new one has another key. */
export const GONE = "The server has ended: `ckpt-hook page` starts a new one, and prints its address.";

/** An error that the server answered with; `kind` is that of its document. */
export class Refused extends Error {
  constructor(error) {
    super(error.message);
    this.kind = error.data?.kind ?? null;
    this.hint = error.data?.hint ?? null;
    this.data = error.data ?? null;
  }
}

async function post(path, body, signal) {
  return fetch(path, {
    method: "POST",
    headers: { "Content-Type": "application/json", Authorization: `Bearer ${token}` },
    body: JSON.stringify(body),
    signal,
  });
}

/** What an address ends with that names an entry: no secret has an equals sign. */
const LINK = "#at=";

/** Returns the end of the address of an entry, and of one of its files. */
export function linkOf(key, file) {
  return `${LINK}${encodeURIComponent(key)}${file ? `&file=${encodeURIComponent(file)}` : ""}`;
}

/** Returns the entry that the address names, and the file; null for none. */
export function linked() {
  if (!location.hash.startsWith(LINK)) return null;
  const named = new URLSearchParams(location.hash.slice(1));
  return { key: named.get("at"), file: named.get("file") };
}

/** Takes the secret out of the address, and shows it to the server. False if it is wrong or missing. */
export async function enter() {
  const secret = linked() === null ? location.hash.slice(1) : "";
  if (secret !== "") history.replaceState(null, "", "/");
  token = secret || sessionStorage.getItem(KEPT);
  if (!token) return false;
  const answer = await post("/enter", {});
  if (!answer.ok) {
    sessionStorage.removeItem(KEPT);
    return false;
  }
  token = (await answer.json()).token;
  sessionStorage.setItem(KEPT, token);
  return true;
}

/** Calls a method, and returns its result. */
export async function call(method, params = {}) {
  number += 1;
  const answer = await post("/rpc", { jsonrpc: "2.0", id: number, method, params }).catch(() => null);
  if (answer === null || answer.status === 401) throw new Refused({ message: GONE });
  if (!answer.ok) throw new Refused({ message: (await answer.text()).trim() });
  const { result, error } = await answer.json();
  if (error) throw new Refused(error);
  return result;
}

/** Tells of everything that happens after a position, and goes on where it was after the connection broke. */
export async function follow(since, tell, isThere) {
  let seq = since;
  for (;;) {
    try {
      const answer = await post("/events", { since: seq });
      if (!answer.ok) throw new Error("refused");
      isThere(true);
      let rest = "";
      const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
      for (;;) {
        const { value, done } = await reader.read();
        if (done) break;
        const parts = (rest + value).split("\n");
        rest = parts.pop();
        for (const part of parts) {
          if (part === "") continue;
          const told = JSON.parse(part);
          seq = told.seq;
          tell(told);
        }
      }
    } catch {
      isThere(false);
    }
    await new Promise((done) => setTimeout(done, 1500));
  }
}

/** Returns the bytes of a blob, up to a limit; null for more. */
export async function blob(id, most) {
  const parts = [];
  let offset = 0;
  while (offset !== null) {
    const part = await call("contents", { blob: id, offset });
    if (part.size > most) return { size: part.size, bytes: null };
    parts.push(bytesOf(part.content));
    offset = part.next_offset;
  }
  const all = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return { size: all.length, bytes: all };
}

/** Returns the bytes of a document's content. */
export function bytesOf(content) {
  if (content.encoding === "utf-8") return new TextEncoder().encode(content.text);
  return Uint8Array.from(atob(content.text), (character) => character.charCodeAt(0));
}
