// The page: the history on the left, what an entry did on the right, and what leads from one to the other.

import { call, enter, follow, GONE, linked, linkOf } from "/api.js";
import * as blame from "/blame.js";
import * as detail from "/detail.js";
import { byId, count, h, shown, titleOf } from "/dom.js";
import * as keys from "/keys.js";
import { propose, reason } from "/plan.js";
import { keyOf, Timeline } from "/timeline.js";

/** The newest entries come first: the others follow when those are shown. */
const FIRST = 100;
/** How many entries are read again when something happens. */
const RECENT = 300;

let timeline = null;
let isWhole = false;
let searched = { query: "", where: "search" };
let reading = 0;

const theme = localStorage.getItem("ckpt-hook-theme");
if (theme) document.documentElement.dataset.theme = theme;

async function start() {
  if (!(await enter().catch(() => false))) {
    const what = "This page needs the address that `ckpt-hook page` prints: it carries the key.";
    byId("detail").replaceChildren(h("p.empty", { role: "alert" }, what));
    byId("timeline").replaceChildren(h("p.empty", {}, "Nothing is shown without it."));
    return;
  }
  timeline = new Timeline(byId("timeline"), choose, steps);
  wire();
  const { seq } = await call("initialize", { protocol: 1 });
  await read(FIRST);
  if (linked() !== null) go();
  else if (innerWidth > 760) timeline.select(0, false, false);
  performance.mark("shown");
  follow(seq ?? 0, happened, connected);
  await Promise.all([read(null), state()]);
  document.body.dataset.ready = "";
  addEventListener("popstate", go);
}

/** Shows what the address names: after a reload, and on the way back. */
function go() {
  const link = linked();
  if (link === null) return document.body.classList.remove("reading");
  const at = timeline.rows.findIndex((row) => keyOf(row.entry) === link.key);
  const operation = timeline.operations.get(link.key);
  if (at >= 0) timeline.select(at, true, false);
  else if (operation) choose(operation, true, false);
  else {
    const [kind, time, from, to] = link.key.split(" ");
    choose(kind === "outside" ? { type: "outside", time: Number(time), from, to } : { type: "message", id: link.key }, true, false);
  }
  if (link.file) detail.reveal(link.file);
}

/** Reads the history: the newest entries, or all of them. */
async function read(limit, isLive = false) {
  reading += 1;
  const mine = reading;
  const { query, where } = searched;
  const asked = { limit };
  if (query !== "") asked[where] = query;
  const { entries, ...lost } = await call("timeline", asked);
  if (mine !== reading) return;
  if (limit === null) isWhole = true;
  const rest = limit !== null && isWhole && entries.length === limit && query === "" ? older(entries) : [];
  timeline.set([...entries, ...rest], { isLive });
  const { messages, all } = { messages: timeline.entries.filter((entry) => entry.type === "message").length, all: timeline.entries.length };
  byId("count").textContent = query === "" ? count(messages, "message") : count(all, "match").replace("matchs", "matches");
  if (all === 0) byId("count").textContent = query === "" ? nothing(lost) : "No match.";
}

/** Says why nothing is listed. */
function nothing({ set_aside: aside, unknown_workspaces: unknown }) {
  if (aside === null && unknown === 0) return "Nothing is recorded here yet.";
  if (aside === null) return `There are snapshots of ${count(unknown, "workspace")} here, but their session store is gone: \`ckpt-hook doctor --repair\` builds a new one from them.`;
  if (aside.includes(".older-")) return `The history is of an older build, which this one does not read, and is set aside as ${shown(aside)}.`;
  return `The history was damaged, and is set aside as ${shown(aside)}. \`ckpt-hook doctor --repair\` makes a new one from what can be read.`;
}

/** Returns the entries that are known and older than these. */
function older(entries) {
  const known = new Set(entries.map(keyOf));
  const last = entries.at(-1);
  const at = timeline.entries.findLastIndex((entry) => known.has(keyOf(entry)));
  return at < 0 ? timeline.entries.filter((entry) => entry.time < last.time) : timeline.entries.slice(at + 1);
}

async function steps(message) {
  const { steps: found } = await call("show", { id: message.id });
  return found.map((step) => ({ ...step, type: "step" }));
}

/** Says whether the page still follows the history. */
function connected(isThere) {
  const text = isThere ? "" : `${GONE} What is shown may be out of date.`;
  if (byId("away").textContent !== text) byId("away").textContent = text;
  document.body.classList.toggle("away", !isThere);
}

let waiting = null;
/** What happened since the page last followed. */
let heard = [];

/** Something happened: what is shown follows, a few times a second at most. */
function happened(told) {
  if (told.type === "busy") return void state();
  if (told.type === "message" && timeline !== null) {
    const at = timeline.entries.findIndex((entry) => entry.id === told.message.id);
    if (at >= 0) timeline.entries[at] = { ...told.message, type: "message" };
  }
  heard.push(told);
  waiting ??= setTimeout(async () => {
    waiting = null;
    const all = heard;
    heard = [];
    const limit = all.some(({ type }) => type === "reset") || searched.query !== "" ? null : RECENT;
    for (const id of [...timeline.opened.keys()]) timeline.opened.set(id, await steps({ id }).catch(() => []));
    await read(limit, true).catch(() => {});
    await state();
    const selected = timeline.selected();
    const isOf = ({ message, step }) => [message?.id, step?.message, step?.id].includes(selected.id);
    if (selected !== null && all.some(isOf)) choose(selected, false, false);
  }, 250);
}

/** Shows what is going on: agents at work, and what is reverted. */
async function state() {
  const report = await call("status").catch(() => null);
  if (report === null) return;
  byId("workspace").replaceChildren(h("bdi", {}, shown(report.workspace)));
  byId("workspace").title = report.workspace;
  document.title = `${report.workspace.split("/").at(-1)} – ckpt-hook`;
  const isBusy = report.agents_at_work.length > 0;
  byId("work").hidden = !isBusy;
  byId("work").textContent = isBusy ? "An agent is at work" : "";
  for (const id of ["forward", "left"]) byId(id)?.remove();
  const offer = (id, text, ...buttons) => byId("history").prepend(h("div.offer", { id }, h("span", {}, text), ...buttons));
  const button = (name, click) => h("button", { type: "button", on: { click } }, name);
  const left = report.left.length;
  if (left > 0) {
    const first = timeline?.entries.find(({ id }) => id === report.left[0]) ?? { id: report.left[0], prompt: null };
    offer("left", `${count(left, "message")} no longer in the agent's conversation.`, button("Take back", () => revert(first)));
  }
  if (!report.redo) return;
  const hidden = report.messages_hidden.length;
  const one = hidden > 1 ? [button("One forward", () => operate("One message forward", { operation: "redo" }))] : [];
  offer("forward", hidden > 0 ? `${count(hidden, "message")} taken back.` : "A part is taken back.",
    ...one, button("Bring back", () => operate("Bring everything back", { operation: "unrevert" })));
}

/** Shows an entry. The address names it, so that a reload and the browser's own way back lead to it. */
function choose(entry, isFinal = false, isLinked = true) {
  const link = linkOf(keyOf(entry));
  if (isLinked && linked()?.key !== keyOf(entry)) history[isFinal ? "pushState" : "replaceState"](null, "", link);
  detail.open(entry, { revert, alone, take, forward, blame: whoWrote, back, copy, split });
  if (isFinal) {
    document.body.classList.add("reading");
    byId("detail").focus({ preventScroll: true });
  }
}

function back() {
  document.body.classList.remove("reading");
  timeline.list.focus();
}

function brief(text) {
  const prompt = shown(titleOf(text)).replace(/\s+/g, " ");
  return prompt.length > 80 ? `${prompt.slice(0, 79)}…` : prompt;
}

function revert(message) {
  return operate(`Go back to before “${brief(message.prompt)}”`, { operation: "revert", message: message.id });
}

/** Undoes one message, while later ones stay. */
function alone(message) {
  return operate(`Undo “${brief(message.prompt)}” alone`, { operation: "revert", message: message.id, alone: true });
}

/** Takes back what a message did to one file; `hunk` has lines of the file as the message left it, in `text`. */
function take(message, file, hunk = null) {
  const only = [{ path: file.path, path_hex: file.path_hex ?? null }];
  if (file.renamed_from) only.push(file.renamed_from.path_hex ? { path: file.renamed_from.path, path_hex: file.renamed_from.path_hex } : file.renamed_from.path);
  const title = `Take back ${hunk ? "a change of" : "what this did to"} ${shown(file.path)}`;
  return operate(title, { operation: "revert", message: message.id, alone: true, only }, hunk);
}

/** Brings back what was reverted of a session: one message, or all of it. */
function forward(message, isAll) {
  const operation = isAll ? "unrevert" : "redo";
  return operate(isAll ? "Bring everything back" : "One message forward", { operation, session: message.session });
}

const done = { restored: "Done", partial: "Done in part", nothing: "Everything was as it should be already", unavailable: "This is not available" };

async function operate(title, asked, hunk = null) {
  const report = await propose(title, asked, hunk);
  if (report === null) return;
  await after(report, asked.operation !== "undo");
}

/** Says how an operation ended, and offers the way back. */
async function after(report, canUndo) {
  const moved = report.files.filter((file) => file.result === "done" && !["none", "keep"].includes(file.action)).length;
  const stayed = report.files.filter((file) => ["conflict", "gap", "failed"].includes(file.result)).length;
  const facts = [done[report.outcome] ?? report.outcome, `${count(moved, "file")} changed`];
  if (stayed > 0) facts.push(`${count(stayed, "file")} left as ${stayed === 1 ? "it was" : "they were"}`);
  // What else stays was in the plan.
  const unforeseen = report.kept.filter(({ kind }) => kind === "moved");
  toast([`${facts.join(", ")}.`, ...unforeseen.map(reason)].join(" "), canUndo && report.operation !== null);
  await Promise.all([read(RECENT, true), state()]);
  const selected = timeline.selected();
  if (selected !== null) choose(selected, false, false);
}

/** A word at the edge, which stays until it is closed. */
function toast(text, canUndo) {
  const close = h("button.quiet", { type: "button", "aria-label": "Close", on: { click: () => element.remove() } }, "✕");
  const undo = canUndo ? h("button", { type: "button", on: { click: async () => {
    element.remove();
    try {
      await after(await call("undo"), false);
    } catch (error) {
      toast(`${error.message}${error.hint ? `: ${error.hint}` : ""}`, false);
    }
  } } }, "Undo") : null;
  const element = h("div.toast", {}, h("span", {}, shown(text)), undo, close);
  byId("toasts").replaceChildren(element);
}

function whoWrote(file) {
  return blame.open(file, async (id) => {
    const at = timeline.rows.findIndex((row) => row.entry.id === id);
    if (at >= 0) timeline.select(at, true);
    else choose({ type: "message", id }, true);
  });
}

async function copy(text) {
  await navigator.clipboard.writeText(text).then(() => toast("The id is copied.", false), () => toast(text, false));
}

function split() {
  detail.options.split = !detail.options.split;
  localStorage.setItem("ckpt-hook-split", detail.options.split ? "1" : "0");
  const selected = timeline.selected();
  if (selected !== null) choose(selected, false, false);
}

function turn() {
  const isDark = document.documentElement.dataset.theme === "dark" || (!document.documentElement.dataset.theme && matchMedia("(prefers-color-scheme: dark)").matches);
  document.documentElement.dataset.theme = isDark ? "light" : "dark";
  localStorage.setItem("ckpt-hook-theme", document.documentElement.dataset.theme);
}

function filter(kind) {
  const button = document.querySelector(`[data-kind="${kind}"]`);
  const isOn = button.getAttribute("aria-pressed") !== "true";
  button.setAttribute("aria-pressed", String(isOn));
  if (isOn) timeline.kinds.add(kind);
  else timeline.kinds.delete(kind);
  timeline.arrange();
}

/** Goes to the next file of what is shown, or the one before. */
function file(by) {
  const place = byId("detail");
  const all = [...place.querySelectorAll("details.file")];
  if (all.length === 0) return;
  const current = all.findLastIndex((one) => one.contains(document.activeElement));
  const next = all[Math.max(0, Math.min(all.length - 1, current < 0 ? (by > 0 ? 0 : all.length - 1) : current + by))];
  next.scrollIntoView();
  next.querySelector("summary").focus({ preventScroll: true });
}

function wire() {
  const undo = () => operate("Undo the last operation", { operation: "undo" });
  byId("undo").addEventListener("click", undo);
  byId("theme").addEventListener("click", turn);
  byId("help").addEventListener("click", keys.help);
  for (const button of document.querySelectorAll("[data-kind]")) button.addEventListener("click", () => filter(button.dataset.kind));
  let typed = null;
  const find = () => {
    clearTimeout(typed);
    typed = setTimeout(() => {
      searched = { query: byId("query").value.trim(), where: byId("where").value };
      read(null).catch((error) => toast(error.message, false));
    }, 200);
  };
  byId("query").addEventListener("input", find);
  byId("where").addEventListener("change", find);
  byId("find").addEventListener("submit", (event) => {
    event.preventDefault();
    timeline.list.focus();
    timeline.select(0);
  });
  keys.listen([
    { keys: ["j"], what: "the next row", run: () => timeline.move(1) },
    { keys: ["k"], what: "the row before", run: () => timeline.move(-1) },
    { keys: ["g"], what: "the newest", run: () => timeline.select(0) },
    { keys: ["G"], what: "the oldest", run: () => timeline.select(timeline.rows.length - 1) },
    { keys: ["/"], what: "search", run: () => byId("query").focus() },
    { keys: ["n", "]"], what: "the next file", run: () => file(1) },
    { keys: ["p", "["], what: "the file before", run: () => file(-1) },
    { keys: ["s"], what: "side by side or unified", run: split },
    { keys: ["b"], what: "who wrote each line of this file", run: () => (document.activeElement.closest("details.file") ?? document).querySelector(".blame")?.click() },
    { keys: ["r"], what: "the plan of going back to before this message", run: () => timeline.selected()?.revertable && revert(timeline.selected()) },
    { keys: ["a"], what: "the plan of undoing this message alone", run: () => timeline.selected()?.revertable && alone(timeline.selected()) },
    { keys: ["f"], what: "the plan of going one message forward", run: () => operate("One message forward", { operation: "redo" }) },
    { keys: ["u"], what: "the plan of undoing the last operation", run: undo },
    { keys: ["c"], what: "copy the id", run: () => timeline.selected()?.id && copy(timeline.selected().agent_id ?? timeline.selected().id) },
    { keys: ["m"], what: "messages, shown or not", run: () => filter("message") },
    { keys: ["o"], what: "operations, shown or not", run: () => filter("operation") },
    { keys: ["e"], what: "changes from outside, shown or not", run: () => filter("outside") },
    { keys: ["t"], what: "light or dark", run: turn },
    { keys: ["P"], what: "print what is shown", run: () => detail.print() },
    { keys: ["Escape"], what: "back to the history", run: back },
    { keys: ["?"], what: "these keys", run: keys.help },
  ]);
}

start().catch((error) => {
  byId("detail").replaceChildren(h("p.empty", { role: "alert" }, shown(error.message), error.hint ? ` ${shown(error.hint)}` : ""));
});
