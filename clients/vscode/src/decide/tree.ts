// The tree of messages: which rows there are, what each says, and what can be done with it.

import type {
  MessageReport,
  OperationEntry,
  OutsideTimelineEntry,
  ShowReport,
  StepReport,
  TimelineEntry,
} from "ckpt-hook";
import { changed, descriptionOf, type FileChange, inRoot, joinRenames, nameOf, type Origin, wholeOf } from "./changes.js";
import { ago, clean, count, isAtWork, lines, named, quoted, stateOf, titleOf } from "./words.js";

export type Node =
  | { type: "message"; id: string; message: MessageReport }
  | { type: "steps"; id: string; steps: StepReport[]; message: MessageReport }
  | { type: "step"; id: string; step: StepReport; message: MessageReport }
  | { type: "file"; id: string; file: FileChange; message: MessageReport | null; step: StepReport | null }
  | { type: "operations"; id: string; operations: OperationEntry[] }
  | { type: "operation"; id: string; operation: OperationEntry }
  | { type: "outside"; id: string; entry: OutsideTimelineEntry }
  /** A command, where there is nothing to list. */
  | { type: "action"; id: string; label: string };

/** What is shown of the history. An empty set shows all. */
export interface Filter {
  states: ReadonlySet<string>;
  agents: ReadonlySet<string>;
}

export const NO_FILTER: Filter = { states: new Set(), agents: new Set() };

export function isFiltered({ states, agents }: Filter): boolean {
  return states.size + agents.size > 0;
}

/** The rows of the history, newest first. Operations that follow each other are folded into one row. */
export function roots(entries: readonly TimelineEntry[], filter: Filter): Node[] {
  const nodes: Node[] = [];
  let run: OperationEntry[] = [];
  const fold = () => {
    const [first] = run;
    if (first && run.length === 1) nodes.push({ type: "operation", id: first.id, operation: first });
    // Of a run that goes on, the oldest stays the same: the row keeps its identity.
    else if (first) nodes.push({ type: "operations", id: `operations ${run.at(-1)?.id}`, operations: run });
    run = [];
  };
  for (const entry of entries) {
    if (entry.type === "operation") {
      if (!isFiltered(filter)) run.push(entry);
      continue;
    }
    fold();
    if (entry.type === "message" && holds(filter, entry)) nodes.push({ type: "message", id: entry.id, message: entry });
    if (entry.type === "outside" && !isFiltered(filter)) {
      nodes.push({ type: "outside", id: `outside ${entry.time} ${entry.to}`, entry });
    }
  }
  fold();
  return nodes;
}

const ACTIONS: Partial<Record<string, Record<string, string>>> = {
  empty: {
    install: "Install the Hook into All Agents…",
    doctor: "Check the Installation",
    walkthrough: "Get Started",
  },
  ended: { restart: "Start the Server Now", doctor: "Check the Installation" },
};

/** What can be done where no row is left. Beside a text above the rows, an editor shows no text in their place. */
export function actions(state: string, isNarrowed: boolean): Node[] {
  const all = isNarrowed ? { showAll: "No message fits: Show Everything Again" } : (ACTIONS[state] ?? {});
  return Object.entries(all).map(([id, label]) => ({ type: "action", id, label }));
}

function holds({ states, agents }: Filter, message: MessageReport): boolean {
  return (states.size === 0 || states.has(stateOf(message))) && (agents.size === 0 || agents.has(message.agent));
}

/** The rows below one whose document was shown. */
export function children(node: Node, shown: ShowReport | null): Node[] {
  switch (node.type) {
    case "message": {
      if (shown?.type !== "message") return [];
      const { message } = shown;
      const below = files(node.id, changed(shown), message, null);
      if (shown.steps.length < 2) return below;
      return [...below, { type: "steps", id: `${node.id} steps`, steps: shown.steps, message }];
    }
    case "steps":
      return node.steps.map((step) => ({ type: "step", id: `step ${step.id}`, step, message: node.message }));
    case "step":
      return files(node.id, joinRenames(node.step.files), node.message, node.step);
    case "operations":
      return node.operations.map((operation) => ({ type: "operation", id: operation.id, operation }));
    case "operation":
      return shown?.type === "operation" ? files(node.id, changed(shown), null, null) : [];
    default:
      return [];
  }
}

export function files(
  parent: string,
  changes: FileChange[],
  message: MessageReport | null,
  step: StepReport | null,
): Node[] {
  const seen = new Map<string, number>();
  return changes.map((file) => {
    const path = `${file.root ?? ""} ${file.path.path_hex ?? file.path.path}`;
    // A path comes again for each time that somebody else changed it in between.
    const times = seen.get(path) ?? 0;
    seen.set(path, times + 1);
    return { type: "file", id: [parent, path, times || ""].join(" ").trim(), file, message, step };
  });
}

/** The message of an id, in whichever directory that is its id. */
export function messageIn(entries: readonly TimelineEntry[], id = ""): MessageReport | undefined {
  const isOf = (entry: TimelineEntry) => entry.type === "message" && wholeOf(entry.id) === wholeOf(id);
  return entries.find(isOf) as MessageReport | undefined;
}

/**
 * The directories of a message's session from then on; null is the server's own. Each has the first message that it is in: one that was
 * added later is compared with how it was then.
 */
export function firstIn(entries: readonly TimelineEntry[], id: string): Map<string | null, string> {
  const from = messageIn(entries, id);
  const messages = entries.filter((entry) => entry.type === "message" && entry.session === from?.session);
  const since = messages.slice(0, messages.findIndex((entry) => entry === from) + 1) as MessageReport[];
  const first = new Map<string | null, string>([[null, wholeOf(id)]]);
  for (const message of since.reverse())
    for (const { workspace } of message.roots ?? []) if (!first.has(workspace)) first.set(workspace, wholeOf(message.id));
  return first;
}

/** Of what a row is a part. */
export function originOf(node: Node): Origin {
  const root = node.type === "file" ? inRoot(node.file.root) : {};
  if ("step" in node && node.step) return { step: node.step.id, ...root };
  return "message" in node && node.message ? { message: node.message.id, alone: true, ...root } : root;
}

/** What the editor shows of a row. */
export interface Row {
  label: string;
  description: string;
  tooltip: string;
  /** The name of a codicon. */
  icon: string;
  /** The name of a colour of the theme. */
  colour: string | null;
  /** Words for `when` clauses. */
  context: string;
  /** What a screen reader says. */
  spoken: string;
  hasChildren: boolean;
}

/** What a row needs to know of the rest. */
export interface Surroundings {
  entries: readonly TimelineEntry[];
  now: number;
}

const VERBS = { revert: "Reverted", redo: "Redone", unrevert: "Brought back", restore: "Restored" };

/** What an operation did; of an undo, what it took back. */
export function operationTitle(operation: OperationEntry, entries: readonly TimelineEntry[]): string {
  if (operation.undoes !== null) {
    const undone = entries.find((entry) => entry.type === "operation" && entry.id === operation.undoes);
    return `Undone: ${undone ? operationTitle(undone as OperationEntry, entries) : "an operation"}`;
  }
  const verb = VERBS[operation.kind] ?? operation.kind;
  const message = operation.alone ?? operation.part ?? operation.message;
  if (message === null) return verb;
  const title = quoted(messageIn(entries, message)?.prompt ?? null);
  if (operation.alone !== null) return `${verb} ${title} alone`;
  return operation.part !== null ? `${verb} a part since ${title}` : `${verb} to before ${title}`;
}

export function row(node: Node, around: Surroundings): Row {
  switch (node.type) {
    case "message":
      return messageRow(node.message, around);
    case "steps":
      return plain(count(node.steps.length, "step"), "", "list-tree", "steps");
    case "step":
      return stepRow(node.step, around.now);
    case "file":
      return fileRow(node.file, node.message);
    case "operations":
      return plain(
        count(node.operations.length, "operation"),
        ago(node.operations[0]?.time ?? 0, around.now),
        "history",
        "operations",
      );
    case "operation":
      return operationRow(node.operation, around);
    case "action":
      return { ...plain(node.label, "", "play", "action"), hasChildren: false };
    case "outside": {
      const facts = [
        count(node.entry.files, "file"),
        lines(node.entry.additions, node.entry.deletions),
        ago(node.entry.time, around.now),
      ];
      return plain("Changed outside", facts.filter(Boolean).join(" · "), "edit", "outside");
    }
  }
}

function plain(label: string, description: string, icon: string, context: string): Row {
  const spoken = [label, description].filter(Boolean).join(", ");
  return { label, description, tooltip: spoken, icon, colour: null, context, spoken, hasChildren: true };
}

const ICONS: Record<string, [icon: string, colour: string | null]> = {
  live: ["comment", null],
  "at work": ["sync~spin", "charts.blue"],
  hidden: ["eye-closed", "disabledForeground"],
  "undone alone": ["discard", "charts.orange"],
  left: ["git-branch", "disabledForeground"],
  discarded: ["circle-slash", "disabledForeground"],
};

function messageRow(message: MessageReport, { now }: Surroundings): Row {
  const state = stateOf(message);
  const when = ago(message.time, now);
  const counted = message.files > 0 || !isAtWork(message) ? count(message.files, "file") : "";
  const marks = [
    state === "live" ? "" : state,
    message.unprotected === null ? "" : "not protected",
    message.unclear > 0 ? `${count(message.unclear, "file")} unclear` : "",
    ...message.labels.map(clean),
  ];
  const facts = [
    message.agent,
    when,
    counted,
    lines(message.additions, message.deletions),
    ...elsewhere(message.roots),
    ...marks,
  ].filter(Boolean);
  const why = [message.not_revertable, message.unprotected].filter((text) => text !== null);
  const [icon, colour] = ICONS[state] ?? ["comment", null];
  const words = ["message", state.replaceAll(" ", "-")];
  if (message.revertable) words.push("revertable");
  if (message.steps > 0) words.push("changed");
  return {
    label: titleOf(message.prompt),
    description: facts.join(" · "),
    tooltip: [(message.prompt ?? "(no prompt)").slice(0, 2000), facts.join(" · "), ...why].join("\n\n"),
    icon,
    colour,
    context: words.join(" "),
    spoken: [`Message: ${titleOf(message.prompt)}`, ...facts, ...why].join(", "),
    hasChildren: message.steps > 0,
  };
}

/** How many files there are in other directories. An older program names none. */
function elsewhere(roots: readonly { workspace: string; files: number }[] = []): string[] {
  const touched = roots.filter(({ files }) => files > 0);
  return touched.map(({ files, workspace }) => `+ ${count(files, "file")} in ${nameOf(workspace)}`);
}

function stepRow(step: StepReport, now: number): Row {
  const tools = [...new Set(step.tools)].map(clean).join(", ") || "step";
  const facts = [count(joinRenames(step.files).length, "file"), ago(step.started, now), step.open ? "at work" : ""];
  const row = plain(tools, facts.filter(Boolean).join(" · "), step.open ? "sync~spin" : "symbol-event", "step");
  return step.unprotected === null ? row : { ...row, tooltip: `${row.tooltip}\n\n${step.unprotected}` };
}

const CHANGES: Record<string, [icon: string, colour: string]> = {
  added: ["diff-added", "gitDecoration.addedResourceForeground"],
  deleted: ["diff-removed", "gitDecoration.deletedResourceForeground"],
  renamed: ["diff-renamed", "gitDecoration.renamedResourceForeground"],
};

function fileRow(file: FileChange, message: MessageReport | null): Row {
  const [icon, colour] = CHANGES[file.kind] ?? ["diff-modified", "gitDecoration.modifiedResourceForeground"];
  const description = descriptionOf(file);
  const spoken = [nameOf(file.path.path), file.kind, description].filter(Boolean).join(", ");
  return {
    label: nameOf(file.path.path),
    description,
    tooltip: [clean(named(file.path.path, file.root)), file.reason].filter((text) => text !== null).join("\n\n"),
    icon,
    colour,
    context: message?.revertable ? "file revertable" : "file",
    spoken,
    hasChildren: false,
  };
}

function operationRow(operation: OperationEntry, { now, entries }: Surroundings): Row {
  const facts = [
    ago(operation.time, now),
    count(operation.files, "file"),
    ...elsewhere(operation.roots),
    operation.conflicts > 0 ? count(operation.conflicts, "conflict") : "",
    operation.state === "done" ? "" : operation.state.replaceAll("_", " "),
    operation.outcome === "partial" ? "in part" : "",
  ];
  return plain(
    operationTitle(operation, entries),
    facts.filter(Boolean).join(" · "),
    "history",
    "operation",
  );
}
