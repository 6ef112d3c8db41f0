// The commands. Each works from the palette, too: what a row would say is then asked.

import type { MessageReport } from "ckpt-hook";
import * as vscode from "vscode";
import { nameOf, pathsOf, takingBack, wholeOf } from "../decide/changes.js";
import { messageIn, NO_FILTER, type Node, operationTitle, originOf } from "../decide/tree.js";
import { ago, clean, failure, quoted, stateOf, titleOf } from "../decide/words.js";
import type { Annotations } from "./annotations.js";
import { changesOf, openDiffs, sidesOf, sinceSides } from "./diffs.js";
import { type Documents, SCHEME } from "./documents.js";
import { placeOf, revertHunk, type Target, targetOf } from "./hunk.js";
import type { Messages } from "./messages.js";
import { type PlanNode, type Proposal, UNTRUSTED } from "./proposal.js";
import type { SinceLastMessage } from "./quickdiff.js";
import type { Reload } from "./reload.js";
import type { Setup } from "./setup.js";
import type { Workspace } from "./workspace.js";

/** The parts of the extension. */
export interface Parts {
  workspace: Workspace;
  documents: Documents;
  messages: Messages;
  proposal: Proposal;
  annotations: Annotations;
  since: SinceLastMessage;
  setup: Setup;
  reload: Reload;
}

type Command = (...given: unknown[]) => unknown;

/** What the plan of an undo says after the button of an older notification. */
const UNDO_IS_NEWER = "More was done since that notification. This takes back the last of it.";

export function commands(parts: Parts): Record<string, Command> {
  return { ...lookingCommands(parts), ...revertingCommands(parts), ...planCommands(parts), ...setupCommands(parts) };
}

/** A command that fails says why. */
export function register(all: Record<string, Command>): vscode.Disposable[] {
  return Object.entries(all).map(([name, command]) =>
    vscode.commands.registerCommand(`ckpt-hook.${name}`, async (...given: unknown[]) => {
      try {
        await command(...given);
      } catch (error) {
        void vscode.window.showErrorMessage(failure(error));
      }
    }),
  );
}

function lookingCommands({ workspace, documents, messages, annotations, setup }: Parts): Record<string, Command> {
  const ask = async (question: { search?: string; text?: string }) => {
    if (!workspace.follower) return;
    workspace.follower.question = question;
    await workspace.follower.read();
  };
  const input = (title: string, value: string | undefined) =>
    vscode.window.showInputBox({ title, value: value ?? "", placeHolder: "Empty shows everything" });
  return {
    refresh: async () => {
      await workspace.follower?.read();
      await setup.diagnose(true);
    },
    search: async () => {
      const search = await input("Search prompts and paths", workspace.follower?.question.search);
      if (search !== undefined) await ask(search === "" ? {} : { search });
    },
    searchText: async () => {
      const text = await input("Search for text that was added or removed", workspace.follower?.question.text);
      if (text !== undefined) await ask(text === "" ? {} : { text });
    },
    filter: () => pickFilter(workspace, messages),
    showAll: async () => {
      messages.filter = NO_FILTER;
      await ask({});
    },
    showChanges: async (given) => {
      const message = asNode(given) ? undefined : await messageOf(workspace, messages, given, "Show changes of");
      const node = message ? { type: "message" as const, id: message.id, message } : asNode(given);
      if (!node) return;
      const { title, files, origin } = await changesOf(workspace, node);
      await openDiffs(
        title,
        files.map((file) => sidesOf(documents, file, origin)),
      );
    },
    changesSince: async (given) => {
      const message = await messageOf(workspace, messages, given, "Compare with just before");
      if (!message) return;
      const sides = await sinceSides(workspace, documents, message.id);
      await openDiffs(`since before ${quoted(message.prompt)}`, sides);
    },
    copyPrompt: async (given) => {
      const message = await messageOf(workspace, messages, given, "Copy the prompt of");
      if (message?.prompt) await vscode.env.clipboard.writeText(message.prompt);
      else if (message) void vscode.window.showInformationMessage("The prompt was not stored.");
    },
    openFile: async (given) => {
      const node = asNode(given);
      const file = fileOf(workspace, node);
      const uri = file && workspace.file(file.path, file.origin.root);
      if (uri) await vscode.window.showTextDocument(uri);
    },
    showMessage: async (given) => {
      const id = typeof given === "string" ? given : (await messageOf(workspace, messages, given, "Show"))?.id;
      if (id === undefined) return;
      if (!messageIn(workspace.history.found, id)) await ask({});
      const shown = messageIn(workspace.history.entries, id);
      if (shown) await messages.reveal(shown.id);
      else void vscode.window.showInformationMessage("The message is of another folder: choose that one to see it.");
    },
    annotate: () => annotations.toggle(),
  };
}

function revertingCommands({ workspace, messages, proposal, since }: Parts): Record<string, Command> {
  const revert = async (given: unknown, how: { alone?: true; conversation?: "fork" } = {}) => {
    const asked = how.alone ? "Take back only" : "Go back to before";
    const message = await messageOf(workspace, messages, given, asked, (one) => one.revertable);
    if (!message) return;
    if (!message.revertable)
      return void vscode.window.showInformationMessage(
        `This message cannot be reverted: ${clean(message.not_revertable ?? "")}`,
      );
    const title = `${asked} ${quoted(message.prompt)}${how.conversation ? ", with the conversation" : ""}`;
    const done = title.replace(/^Take/, "Took").replace(/^Go/, "Went");
    await proposal.propose(title, done, { operation: "revert", message: wholeOf(message.id), ...how });
  };
  return {
    revertTo: (given) => revert(given),
    revertAlone: (given) => revert(given, { alone: true }),
    revertForked: (given) => revert(given, { conversation: "fork" }),
    revertStep: async (given) => {
      const node = asNode(given);
      const message = await messageOf(workspace, messages, given, "Take back a step of", (one) => one.steps > 0);
      const step = node?.type === "step" ? node.step.id : message && (await pickStep(workspace, message));
      if (!message || !step) return;
      const what = `back a step of ${quoted(message.prompt)}`;
      await proposal.propose(`Take ${what}`, `Took ${what}`, { operation: "revert", step });
    },
    revertFile: async (given) => {
      const target = fileOf(workspace, given);
      if (!target)
        return void vscode.window.showInformationMessage(
          "Open a file of the workspace, or choose one below a message.",
        );
      const { origin } = target;
      const name = nameOf(target.path.path);
      if (origin.step === undefined && origin.message === undefined) {
        const to = `Revert ${name} to before`;
        const picked = await messageOf(workspace, messages, undefined, to, (one) => one.revertable);
        if (!picked) return;
        origin.message = picked.id;
      }
      await proposal.propose(`Revert ${name}`, `Reverted ${name}`, takingBack(origin, pathsOf(target)));
    },
    revertHunk: async (...given) => {
      if (!vscode.workspace.isTrusted) return void vscode.window.showWarningMessage(UNTRUSTED);
      const place = placeOf(workspace, given, since.last?.id);
      if (place) await revertHunk(workspace, place);
      else void vscode.window.showInformationMessage("Put the cursor into a line of a file of the workspace.");
    },
    redo: () => proposal.propose("Redo", "Redone", { operation: "redo" }),
    redoAll: () => proposal.propose("Redo all", "Redone all", { operation: "unrevert" }),
    undo: async (given) => {
      await workspace.follower?.read();
      const { entries } = workspace.history;
      const last = entries.find((entry) => entry.type === "operation");
      const what = last?.type === "operation" ? `: ${operationTitle(last, entries)}` : "";
      const isOlder = typeof given === "string" && last?.id !== given;
      await proposal.propose(`Undo${what}`, `Undone${what}`, { operation: "undo" }, isOlder ? UNDO_IS_NEWER : "");
    },
  };
}

function planCommands({ proposal }: Parts): Record<string, Command> {
  const rowOf = (given: unknown) =>
    (given as PlanNode | undefined)?.type === "row" ? (given as PlanNode & { type: "row" }).row : undefined;
  return {
    apply: () => (proposal.isOpen ? proposal.apply() : void vscode.window.showInformationMessage("There is no plan.")),
    cancelPlan: () => proposal.cancel(),
    planAgain: () => proposal.again(),
    showPlanned: (given) => proposal.showPlanned(rowOf(given)),
    take: (given) => proposal.choose("take", rowOf(given)),
    overwrite: (given) => proposal.choose("overwrite", rowOf(given)),
    keep: (given) => proposal.choose("keep", rowOf(given)),
  };
}

function setupCommands({ workspace, setup }: Parts): Record<string, Command> {
  return {
    install: () => setup.install(),
    doctor: () => setup.doctor(),
    restart: () => workspace.start(),
    setPath: () => vscode.commands.executeCommand("workbench.action.openSettings", "ckpt-hook.path"),
    walkthrough: () =>
      vscode.commands.executeCommand("workbench.action.openWalkthrough", "ckpt-hook.ckpt-hook#start", false),
    chooseFolder: async () => {
      const picks = workspace.folders.map((folder) => ({ label: folder.name, description: folder.uri.fsPath, folder }));
      const picked = await vscode.window.showQuickPick(picks, { title: "The folder whose messages are shown" });
      if (picked) await workspace.start(picked.folder);
    },
  };
}

function asNode(given: unknown): Node | undefined {
  const type = (given as Node | undefined)?.type;
  return type !== undefined && typeof (given as Node).id === "string" ? (given as Node) : undefined;
}

/** The message of a row, or of the row that is selected, or one that is picked from a list. */
async function messageOf(
  workspace: Workspace,
  messages: Messages,
  given: unknown,
  title: string,
  may: (message: MessageReport) => boolean = () => true,
): Promise<MessageReport | undefined> {
  const messageIn = (node: Node | undefined) => (node && "message" in node ? (node.message ?? undefined) : undefined);
  const node = asNode(given);
  if (node) return messageIn(node);
  const selected = messageIn(messages.view.visible ? messages.view.selection[0] : undefined);
  const all = workspace.history.entries.filter((entry) => entry.type === "message");
  const now = Date.now();
  const picks = all.filter(may).map((message) => ({
    label: titleOf(message.prompt),
    description: [message.agent, ago(message.time, now), stateOf(message)].join(" · "),
    picked: selected?.id === message.id,
    message,
  }));
  // The selected row comes first: Enter takes it.
  picks.sort((one, other) => Number(other.picked) - Number(one.picked));
  if (picks.length === 0) return void vscode.window.showInformationMessage("No message here can be chosen for this.");
  return (await vscode.window.showQuickPick(picks, { title: `${title} …`, matchOnDescription: true }))?.message;
}

async function pickStep(workspace: Workspace, message: MessageReport): Promise<string | undefined> {
  const shown = await workspace.client.request("show", { id: message.id });
  const steps = shown.type === "message" ? shown.steps : [];
  const picks = steps.map((step) => ({
    label: step.tools.map(clean).join(", ") || "step",
    description: step.files.map((file) => clean(file.path)).join(", "),
    id: step.id,
  }));
  return (await vscode.window.showQuickPick(picks, { title: "The step to take back" }))?.id;
}

/** The file of a row, of an editor's title, or of the editor in front. */
function fileOf(workspace: Workspace, given: unknown): Target | undefined {
  const node = asNode(given);
  if (node?.type === "file") return { ...node.file, origin: originOf(node) };
  // The title of an editor with several diffs names none of them.
  const isNamed = given instanceof vscode.Uri && ["file", SCHEME].includes(given.scheme);
  const uri = isNamed ? given : vscode.window.activeTextEditor?.document.uri;
  return uri && targetOf(workspace, uri);
}

async function pickFilter(workspace: Workspace, messages: Messages): Promise<void> {
  const all = workspace.history.entries.filter((entry) => entry.type === "message");
  const { states, agents } = messages.filter;
  const choices = (words: string[], chosen: ReadonlySet<string>, description: "state" | "agent") =>
    [...new Set([...words, ...chosen])].map((label) => ({ label, description, picked: chosen.has(label) }));
  const items = [
    ...choices(all.map(stateOf), states, "state"),
    ...choices(
      all.map((message) => message.agent),
      agents,
      "agent",
    ),
  ];
  const picked = await vscode.window.showQuickPick(items, {
    title: "Show only",
    canPickMany: true,
    placeHolder: "Nothing chosen shows everything",
  });
  if (!picked) return;
  const chosen = (description: string) =>
    new Set(picked.filter((one) => one.description === description).map((one) => one.label));
  messages.filter = { states: chosen("state"), agents: chosen("agent") };
}
