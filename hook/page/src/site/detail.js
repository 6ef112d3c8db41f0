// What an entry of the history did: its files, and their changes one below the other.

import { call, linkOf } from "/api.js";
import { show, sidesOfBlobs } from "/diff.js";
import { byId, count, h, lines, path, shown, time, titleOf } from "/dom.js";
import { isUncounted, keyOf } from "/timeline.js";

const kinds = { added: ["A", "added"], modified: ["M", "modified"], deleted: ["D", "deleted"], mode: ["P", "permissions"], type: ["T", "another type"], renamed: ["R", "renamed"] };
const actions = { write: "put back", delete: "removed", merge: "merged", keep: "kept", none: "already so" };
const verbs = { revert: "Reverted", redo: "Redone", unrevert: "Brought back", restore: "Restored" };

/** How changes are shown; kept from visit to visit. */
export const options = {
  split: (localStorage.getItem("ckpt-hook-split") ?? (innerWidth > 1200 ? "1" : "0")) === "1",
};

let current = 0;

/** What is shown: the key of its entry, and its files by all that they show. */
let last = { key: null, files: new Map() };

/** Returns what an entry is, and what it changed. */
async function look(entry) {
  if (entry.type === "outside") {
    const { files } = await call("patch", { from: entry.from, to: entry.to });
    return { title: "Changed outside", facts: [time(entry.time), "by you, or by a program that sends no events"], changes: files, command: `ckpt-hook diff ${entry.from} ${entry.to} -p` };
  }
  const report = await call("show", { id: entry.id });
  if (report.type === "message") {
    const { message } = report;
    return {
      title: titleOf(message.prompt),
      facts: [message.agent, time(message.time), count(report.steps.length, "step"), code(message.agent_id ?? message.id)],
      notes: [
        ...(message.roots ?? []).map((root) => `${count(root.files, "file")} in ${root.workspace}`),
        message.unprotected && `The state just before this message was not captured: ${message.unprotected}`,
        !message.revertable && message.not_revertable && `No way back to here: ${message.not_revertable}`,
      ],
      changes: report.changes,
      command: commandOf(message),
      isOpen: isUncounted(message),
      message,
    };
  }
  if (report.type === "step") {
    const { step } = report;
    return {
      title: step.tools.length > 0 ? [...new Set(step.tools)].join(", ") : "Step",
      facts: [time(step.started), code(step.id)],
      notes: [step.unprotected && `Not protected: ${step.unprotected}`],
      changes: report.changes.length > 0 ? report.changes : step.files,
      command: commandOf(step),
      isOpen: step.open,
    };
  }
  const { operation } = report;
  return {
    title: operation.undoes
      ? `Undone: operation ${operation.undoes.slice(0, 8)}`
      : `${verbs[operation.kind] ?? operation.kind}${operation.alone ? " one message" : operation.part ? " a part" : ""}`,
    facts: [time(operation.time), operation.outcome, code(operation.id)],
    notes: report.notes,
    changes: report.changes,
    command: commandOf(operation),
    results: report.files.filter((file) => file.reason !== null || file.result !== "done"),
  };
}

/** Returns the command that prints the patch of what an entry did. */
function commandOf({ id }) {
  return `ckpt-hook show ${id} -p`;
}

function code(id) {
  return h("code.id", { title: "The id" }, shown(id.length > 20 ? id.slice(0, 12) : id));
}

/** Shows an entry. `handlers` has `revert(message)`, `blame(path)` and `back()`. */
export async function open(entry, handlers) {
  current += 1;
  const mine = current;
  const place = byId("detail");
  // Until the entry is read, the one before it is shown: its button must not be taken for that of the row that was just chosen.
  const button = byId("revert");
  if (button && last.key !== keyOf(entry)) button.disabled = true;
  let found;
  try {
    found = await look(entry);
  } catch (error) {
    found = { title: "This cannot be shown", facts: [], notes: [error.message, error.hint], changes: [], isUnread: true };
  }
  if (mine !== current) return;
  const gone = new Map(found.changes.filter((file) => file.renamed_to).map((file) => [file.path, file]));
  // A renamed file is compared with what it was.
  const changes = found.changes.filter((file) => !file.renamed_to).map((file) => {
    const was = file.renamed_from && gone.get(file.renamed_from.path);
    return was ? { ...file, old_blob: was.old_blob, old_mode: was.old_mode } : file;
  });
  const isUnknown = found.isUnread || (found.isOpen && changes.length === 0);
  const whole = changes.reduce((sum, file) => [sum[0] + (edited(file).additions ?? 0), sum[1] + (edited(file).deletions ?? 0)], [0, 0]);
  const head = h("header.head", {},
    h("button.back.quiet", { type: "button", on: { click: handlers.back } }, "Back"),
    h("h2", {}, shown(found.title)),
    h("p.facts", {}, found.facts.filter(Boolean).map((fact) => h("span", {}, fact))),
    (found.notes ?? []).filter(Boolean).map((note) => h("p.note", {}, shown(note))),
    h("div.actions", {},
      found.message?.revertable ? h("button.main", { id: "revert", type: "button", on: { click: () => handlers.revert(found.message) } }, "Go back to before this") : null,
      found.message?.revertable ? h("button", { id: "alone", type: "button", title: "Undo this message; what later ones did stays (a)", on: { click: () => handlers.alone(found.message) } }, "Undo this alone") : null,
      found.message?.state === "hidden" ? [
        h("button", { type: "button", on: { click: () => handlers.forward(found.message, false) } }, "One forward"),
        h("button", { type: "button", on: { click: () => handlers.forward(found.message, true) } }, "Bring back"),
      ] : null,
      found.message ? h("button", { type: "button", on: { click: () => handlers.copy(found.message.agent_id ?? found.message.id) } }, "Copy id") : null,
      isUnknown ? null : h("span.sum", {}, count(changes.length, "file"), " ", lines(...whole)),
      h("button.quiet", { id: "print", type: "button", title: "Print what is shown (P)", on: { click: print } }, "Print"),
      h("button", { id: "split", type: "button", "aria-pressed": String(options.split), title: "Side by side or unified (s)", on: { click: handlers.split } }, "Side by side")));
  const parts = [head];
  if (found.results?.length > 0) parts.push(results(found.results));
  if (changes.length > 1) parts.push(contentsList(changes, keyOf(entry)));
  const files = new Map(changes.map((file, index) => {
    const key = JSON.stringify([index, options.split, file]);
    return [key, (last.key === keyOf(entry) && last.files.get(key)) || section(file, index, found, handlers, changes.length)];
  }));
  parts.push(...files.values());
  if (changes.length === 0 && !found.isUnread) parts.push(h("p.empty", {}, isUnknown ? "What it changes is shown when its step ends." : "No file was changed."));
  replace(place, parts, last.key === keyOf(entry));
  last = { key: keyOf(entry), files };
  if (wanted !== null) reveal(wanted);
}

/** Replaces what is shown. The focus stays in it, and an entry that is shown again stays where it is being read. */
function replace(place, parts, isSame) {
  const focused = place.contains(document.activeElement) && document.activeElement;
  const top = place.scrollTop;
  place.replaceChildren(...parts);
  if (focused) {
    const still = focused.isConnected ? focused : focused.id && isSame && document.getElementById(focused.id);
    (still || place).focus({ preventScroll: true });
  }
  place.scrollTop = isSame ? top : 0;
  if (!isSame && matchMedia("(max-width: 760px)").matches) scrollTo(0, 0);
}

function results(files) {
  return h("ul.results", {}, files.map((file) =>
    h("li", {}, path(file.path), " ", h("span.tag", {}, file.result === "done" ? actions[file.action] : file.result), file.reason ? h("span.why", {}, shown(file.reason)) : null)));
}

/** The files with links to their changes: many by directory, and those that only moved together as one. */
function contentsList(changes, key) {
  const row = (file) => h("li", {}, h("a", { href: linkOf(key, file.path), on: { click: (event) => {
    event.preventDefault();
    history.replaceState(null, "", linkOf(key, file.path));
    reveal(file.path);
  } } }, mark(file), path(file.path), lines(edited(file).additions, edited(file).deletions)));
  return h("nav.files", { "aria-label": "Files" }, h("ul", {}, folded(changes, { row, movement: movementOf })));
}

/** Returns from where to where a file moved, if that is all that happened to it: `old/` and `new/`. */
function movementOf(file) {
  if (!file.renamed_from || file.renamed_from.additions || file.renamed_from.deletions) return null;
  return movement(file.renamed_from.path, file.path);
}

/** Returns the directories by which two paths differ; null if their names do. */
export function movement(from, to) {
  const [one, other] = [from.split("/"), to.split("/")];
  if (one.at(-1) !== other.at(-1)) return null;
  while (one.length > 0 && other.length > 0 && one.at(-1) === other.at(-1)) {
    one.pop();
    other.pop();
  }
  const name = (parts) => (parts.length > 0 ? `${parts.join("/")}/` : "./");
  return `${name(one)} → ${name(other)}`;
}

/** A list of more rows is folded by directory. */
const MANY = 20;

/** Returns rows for files: those of one movement as one, and of many those of a directory as one, which open. */
export function folded(files, { row, movement, group = (file) => file.kind, head = () => null }) {
  const groups = new Map();
  const put = (key, file, what, name) => {
    if (!groups.has(key)) groups.set(key, { files: [], what, name });
    groups.get(key).files.push(file);
  };
  for (const file of files) {
    const moved = movement(file);
    const at = file.path.indexOf("/");
    if (moved) put(`moved ${moved}`, file, "", moved);
    else if (files.length > MANY && at > 0) put(`${group(file)} ${file.path.slice(0, at)}`, file, ` ${group(file)} in`, file.path.slice(0, at + 1));
    else put(file, file);
  }
  return [...groups.values()].flatMap(({ files: all, what, name }) => {
    if (name === undefined || all.length < (what === "" ? 2 : 5)) return all.map(row);
    const sum = (which) => all.reduce((number, file) => number + (edited(file)[which] ?? 0), 0);
    const inner = h("ul", {});
    const element = h("details.folded", { on: { toggle: () => element.open && inner.childElementCount === 0 && inner.append(...all.map(row)) } },
      h("summary", {}, h("span", {}, `${count(all.length, "file")}${what}`), h("span.path", {}, shown(name)), lines(sum("additions"), sum("deletions"))), inner);
    return [h("li.part", {}, head(all), element)];
  });
}

/** Shows the change of a file. */
export function reveal(name) {
  wanted = name;
  const target = [...document.querySelectorAll("details.file")].find((file) => file.dataset.path === name);
  if (target === undefined) return;
  wanted = null;
  target.open = true;
  target.scrollIntoView();
  target.querySelector("summary").focus({ preventScroll: true });
}

/** The file to show once its entry is read. */
let wanted = null;

/** Prints what is shown, with all of its changes. */
export async function print() {
  await Promise.all([...document.querySelectorAll("details.file")].map((file) => {
    file.open = true;
    return drawers.get(file)?.();
  }));
  globalThis.print();
}

/** What draws a file whose change is not drawn yet. */
const drawers = new WeakMap();

/** What has the lines of a file that was edited: a renamed one is not all of its lines. */
function edited(file) {
  return file.renamed_from ?? file;
}

export function mark(file) {
  const kind = file.renamed_from ? "renamed" : file.kind;
  const [letter, word] = kinds[kind] ?? ["?", kind];
  return h(`span.kind.${kind}`, { title: word }, h("span", { "aria-hidden": "true" }, letter), h("span.unseen", {}, word));
}

/** How many changes of files are open at first. */
const OPEN = 100;

function section(file, index, { command, message }, handlers, number) {
  const body = h("div.change", {}, h("p.note", {}, "…"));
  const isLink = file.new_mode === "120000" || file.old_mode === "120000";
  const hasLines = file.kind !== "deleted" && !file.binary && file.new_mode !== "120000";
  const tags = [
    file.renamed_from ? `was ${shown(file.renamed_from.path)}` : null,
    file.attribution && file.attribution !== "agent" ? file.attribution : null,
    file.old_mode && file.new_mode && file.old_mode !== file.new_mode ? `${file.old_mode} → ${file.new_mode}` : null,
    isLink ? "symbolic link" : null,
    file.whitespace_only ? "white space only" : null,
  ];
  const hunk = !message?.revertable ? null : ({ young, first }, texts) =>
    h("button.quiet.take", { type: "button", on: { click: () => handlers.take(message, file, { lines: young, text: texts[1] }) } },
      `Take back the change at line ${first.young + 1}`);
  let drawing = null;
  const draw = () => {
    watch.disconnect();
    drawing ??= (async () => {
      try {
        body.replaceChildren(await show(file.path, await sidesOfBlobs(file), { ...options, command, hunk }));
      } catch (error) {
        body.replaceChildren(h("p.note", {}, shown(error.message)));
      }
    })();
    return drawing;
  };
  const element = h("details.file", { id: `file-${index}`, open: number <= OPEN, data: { path: file.path }, on: { toggle: () => element.open && draw() } },
    h("summary", {}, mark(file), path(file.path), tags.filter(Boolean).map((tag) => h("span.tag", {}, tag)),
      lines(edited(file).additions, edited(file).deletions)),
    h("div.tools", {},
      !message?.revertable ? null : h("button.quiet.take", { type: "button", on: { click: () => handlers.take(message, file) } }, "Take back"),
      !hasLines ? null : h("button.quiet.blame", { type: "button", on: { click: () => handlers.blame(file) } }, "Who wrote what")),
    body);
  const watch = new IntersectionObserver(([entry]) => entry.isIntersecting && element.open && draw(), { rootMargin: "400px" });
  watch.observe(element);
  drawers.set(element, draw);
  return element;
}
