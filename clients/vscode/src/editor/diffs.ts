// The editor's own diffs.

import type { Client, PathText } from "ckpt-hook";
import * as vscode from "vscode";
import { changed, type FileChange, joinRenames, nameOf, type Origin, sourceOf } from "../decide/changes.js";
import { firstIn, type Node, originOf } from "../decide/tree.js";
import { quoted } from "../decide/words.js";
import type { Documents } from "./documents.js";
import type { Workspace } from "./workspace.js";

/** Two sides of a file. */
export interface Sides {
  path: PathText;
  left: vscode.Uri;
  right: vscode.Uri;
}

/** Opens a file's diff, or those of several files: in one editor where there is such a one, else each from a list. */
export async function openDiffs(title: string, sides: readonly Sides[]): Promise<void> {
  const [first] = sides;
  if (!first) return void vscode.window.showInformationMessage(`${title}: no file changed.`);
  if (sides.length === 1) return openDiff(title, first);
  try {
    const list = sides.map(({ left, right }) => [right, left, right]);
    await vscode.commands.executeCommand("vscode.changes", title, list);
  } catch {
    const picks = sides.map((one) => ({ label: nameOf(one.path.path), description: one.path.path, one }));
    const picked = await vscode.window.showQuickPick(picks, {
      title,
      placeHolder: "A file to compare",
      matchOnDescription: true,
    });
    if (picked) await openDiff(title, picked.one);
  }
}

export async function openDiff(title: string, { path, left, right }: Sides): Promise<void> {
  await vscode.commands.executeCommand("vscode.diff", left, right, `${nameOf(path.path)} (${title})`, {
    preview: true,
  });
}

export function sidesOf(documents: Documents, file: FileChange, of: Origin): Sides {
  const origin = { ...of, ...(file.root !== null && { root: file.root }) };
  return {
    path: file.path,
    left: documents.uri(file.former ?? file.path, sourceOf(file.oldBlob), origin),
    right: documents.uri(file.path, sourceOf(file.newBlob), origin),
  };
}

/** What a row of the tree changed, and how its diff is called. */
export async function changesOf(
  { client }: Workspace,
  node: Node,
): Promise<{ title: string; files: FileChange[]; origin: Origin }> {
  const message = "message" in node ? node.message : null;
  const whole = message ? quoted(message.prompt) : node.type === "outside" ? "changed outside" : "an operation";
  const title = node.type === "step" ? `a step of ${whole}` : whole;
  return { title, files: await filesOf(client, node), origin: originOf(node) };
}

async function filesOf(client: Client, node: Node): Promise<FileChange[]> {
  switch (node.type) {
    case "message":
    case "operation":
      return changed(await client.request("show", { id: node.id }));
    case "step":
      return joinRenames(node.step.files);
    case "outside": {
      const { from, to } = node.entry;
      return from === null || to === null ? [] : joinRenames((await client.request("patch", { from, to })).files);
    }
    case "file":
      return [node.file];
    default:
      return [];
  }
}

/** The sides from just before a message to what is there now, which can be edited, in all directories of its session. */
export async function sinceSides(workspace: Workspace, documents: Documents, id: string): Promise<Sides[]> {
  const { client, history } = workspace;
  const begun = [...firstIn(history.entries, id)];
  const sides = begun.map(async ([root, message]) => {
    const { files } = await client.request("patch", { from: message, workspace: root });
    return joinRenames(files, root).map((file) => {
      const onDisk = file.newBlob === null ? undefined : workspace.file(file.path, root ?? undefined);
      const { left, right } = sidesOf(documents, file, { message });
      return { path: file.path, left, right: onDisk ?? right };
    });
  });
  return (await Promise.all(sides)).flat();
}
