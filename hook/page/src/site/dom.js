// Elements. Whatever comes from the history is put in as text: nothing here, or elsewhere, reads markup.

/** Makes an element. Attributes that are null or false are left out; `on` has listeners, `style` has properties, `data` data. */
export function h(name, attributes = {}, ...children) {
  const [tag, ...classes] = name.split(".");
  const element = document.createElement(tag);
  if (classes.length > 0) element.className = classes.join(" ");
  for (const [key, value] of Object.entries(attributes ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (key === "on") for (const [event, listener] of Object.entries(value)) element.addEventListener(event, listener);
    else if (key === "style") for (const [property, text] of Object.entries(value)) element.style.setProperty(property, text);
    else if (key === "data") Object.assign(element.dataset, value);
    else element.setAttribute(key, value === true ? "" : String(value));
  }
  element.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

/** Returns an element of the page. */
export const byId = (id) => document.getElementById(id);

const plurals = new Intl.PluralRules("en");

/** Returns a number with its noun. */
export function count(number, noun) {
  const form = plurals.select(number) === "one" ? noun : noun.endsWith("y") ? `${noun.slice(0, -1)}ies` : `${noun}s`;
  return `${number.toLocaleString("en")} ${form}`;
}

/** Returns text in which control characters and those that turn the direction of writing can be seen. */
export function shown(text) {
  return text.replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200b\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]/g, (character) =>
    `\\u{${character.codePointAt(0).toString(16)}}`);
}

/** Returns a prompt, or what stands for one. */
export function titleOf(prompt) {
  if (prompt === null) return "(the prompt is not stored)";
  return prompt.trim() === "" ? "(no text)" : prompt;
}

const sizes = ["bytes", "KiB", "MiB", "GiB"];

/** Returns a number of bytes for people. */
export function size(bytes) {
  let unit = 0;
  let value = bytes;
  while (value >= 1024 && unit < sizes.length - 1) {
    value /= 1024;
    unit += 1;
  }
  return unit === 0 ? count(bytes, "byte") : `${value.toFixed(1)} ${sizes[unit]}`;
}

const clock = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit" });
const day = new Intl.DateTimeFormat(undefined, { day: "numeric", month: "short" });
const whole = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "medium" });

/** Returns a time as short as it is clear: of today the hour, else the day. */
export function time(milliseconds) {
  const date = new Date(milliseconds);
  const isToday = date.toDateString() === new Date().toDateString();
  const text = isToday ? clock.format(date) : `${day.format(date)}, ${clock.format(date)}`;
  return h("time", { datetime: date.toISOString(), title: whole.format(date) }, text);
}

/** Returns how many lines came and went. */
export function lines(additions, deletions) {
  const parts = [];
  if (additions) parts.push(h("span.come", {}, `+${additions.toLocaleString("en")}`));
  if (deletions) parts.push(h("span.gone", {}, `−${deletions.toLocaleString("en")}`));
  return h("span.lines", {}, ...parts);
}

/** Returns a path with its last part made to stand out. */
export function path(text) {
  const safe = shown(text).replaceAll("\n", "\\n");
  const at = safe.lastIndexOf("/") + 1;
  return h("span.path", { title: safe }, h("span.folder", {}, safe.slice(0, at)), h("bdi", {}, safe.slice(at)));
}
