// What an entry of the history did: its files, and their changes one below the other.

import { call } from "/api.js";
import { show, sidesOfBlobs } from "/diff.js";
import { byId, count, h, lines, path, shown, time, titleOf } from "/dom.js";
import { isUncounted, keyOf } from "/timeline.js";

const kinds = { added: ["A", "added"], modified: ["M", "modified"], deleted: ["D", "deleted"], mode: ["P", "permissions"], type: ["T", "another type"] };
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
      : `${verbs[operation.kind] ?? operation.kind}${operation.alone ? " one message" : ""}`,
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
  const changes = found.changes.filter((file) => !file.renamed_to);
  const isUnknown = found.isUnread || (found.isOpen && changes.length === 0);
  const whole = changes.reduce((sum, file) => [sum[0] + (edited(file).additions ?? 0), sum[1] + (edited(file).deletions ?? 0)], [0, 0]);
  const head = h("header.head", {},
    h("button.back.quiet", { type: "button", on: { click: handlers.back } }, "Back"),
    h("h2", {}, shown(found.title)),
    h("p.facts", {}, found.facts.filter(Boolean).map((fact) => h("span", {}, fact))),
    (found.notes ?? []).filter(Boolean).map((note) => h("p.note", {}, shown(note))),
    h("div.actions", {},
      found.message?.revertable ? h("button.main", { id: "revert", type: "button", on: { click: () => handlers.revert(found.message) } }, "Go back to before this") : null,
      found.message ? h("button", { type: "button", on: { click: () => handlers.copy(found.message.agent_id ?? found.message.id) } }, "Copy id") : null,
      isUnknown ? null : h("span.sum", {}, count(changes.length, "file"), " ", lines(...whole)),
      h("button", { id: "split", type: "button", "aria-pressed": String(options.split), title: "Side by side or unified (s)", on: { click: handlers.split } }, "Side by side")));
  const parts = [head];
  if (found.results?.length > 0) parts.push(results(found.results));
  if (changes.length > 1) parts.push(contentsList(changes));
  const files = new Map(changes.map((file, index) => {
    const key = JSON.stringify([index, options.split, file]);
    return [key, (last.key === keyOf(entry) && last.files.get(key)) || section(file, index, found.command, handlers)];
  }));
  parts.push(...files.values());
  if (changes.length === 0 && !found.isUnread) parts.push(h("p.empty", {}, isUnknown ? "What it changes is shown when its step ends." : "No file was changed."));
  replace(place, parts, last.key === keyOf(entry));
  last = { key: keyOf(entry), files };
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

function contentsList(changes) {
  return h("nav.files", { "aria-label": "Files" }, h("ul", {}, changes.map((file, index) =>
    h("li", {}, h("a", { href: `#file-${index}`, on: { click: (event) => {
      event.preventDefault();
      const target = byId(`file-${index}`);
      target.scrollIntoView();
      target.querySelector("summary").focus({ preventScroll: true });
    } } }, mark(file.kind), path(file.path), lines(edited(file).additions, edited(file).deletions))))));
}

/** What has the lines of a file that was edited: a renamed one is not all of its lines. */
function edited(file) {
  return file.renamed_from ?? file;
}

export function mark(kind) {
  const [letter, word] = kinds[kind] ?? ["?", kind];
  return h(`span.kind.${kind}`, { title: word }, h("span", { "aria-hidden": "true" }, letter), h("span.unseen", {}, word));
}

function section(file, index, command, handlers) {
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
  const lazy = async () => {
    try {
      const old = file.renamed_from ? { ...file, old_blob: file.old_blob } : file;
      body.replaceChildren(await show(file.path, await sidesOfBlobs(old), { ...options, command }));
    } catch (error) {
      body.replaceChildren(h("p.note", {}, shown(error.message)));
    }
  };
  const element = h("details.file", { id: `file-${index}`, open: true },
    h("summary", {}, mark(file.kind), path(file.path), tags.filter(Boolean).map((tag) => h("span.tag", {}, tag)),
      lines(edited(file).additions, edited(file).deletions)),
    h("div.tools", {}, !hasLines ? null : h("button.quiet.blame", { type: "button", on: { click: () => handlers.blame(file) } }, "Who wrote what")),
    body);
  let isDrawn = false;
  const watch = new IntersectionObserver(([entry]) => {
    if (!entry.isIntersecting || isDrawn) return;
    isDrawn = true;
    watch.disconnect();
    lazy();
  }, { rootMargin: "400px" });
  watch.observe(element);
  return element;
}
