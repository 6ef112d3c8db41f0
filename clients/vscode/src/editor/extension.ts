// Puts the parts together.

import * as vscode from "vscode";
import { Annotations } from "./annotations.js";
import { commands, type Parts, register } from "./commands.js";
import { Documents, SCHEME } from "./documents.js";
import { Messages } from "./messages.js";
import { Proposal } from "./proposal.js";
import { SinceLastMessage } from "./quickdiff.js";
import { Reload } from "./reload.js";
import { Setup } from "./setup.js";
import { Workspace } from "./workspace.js";

let running: Workspace | undefined;

export async function deactivate(): Promise<void> {
  await running?.end();
}

export async function activate(context: vscode.ExtensionContext): Promise<void> {
  const workspace = new Workspace(context.extensionPath);
  running = workspace;
  const documents = new Documents(workspace);
  const messages = new Messages(workspace);
  const parts: Parts = {
    workspace,
    documents,
    messages,
    proposal: new Proposal(workspace, documents),
    annotations: new Annotations(workspace),
    since: new SinceLastMessage(workspace, documents),
    setup: new Setup(workspace, documents, messages),
    reload: new Reload(workspace),
  };
  context.subscriptions.push(
    vscode.workspace.registerFileSystemProvider(SCHEME, documents, { isCaseSensitive: true, isReadonly: true }),
    ...register(commands(parts)),
    ...follow(parts),
    workspace,
    messages,
    parts.proposal,
    parts.annotations,
    parts.since,
    parts.reload,
  );
  await workspace.start();
}

/** What the parts do when something happens. */
function follow({ workspace, messages, proposal, annotations, since, setup, reload }: Parts): vscode.Disposable[] {
  let planned = "";
  const draw = () => {
    messages.refresh();
    since.refresh();
    reload.refresh();
    void annotations.refresh();
    // A plan rests on the history: when that goes on, it is made again.
    const now = JSON.stringify(workspace.history.entries);
    if (now !== planned) proposal.follow();
    planned = now;
  };
  return [
    workspace.onDidChange(draw),
    workspace.onDidChange(() => void setup.diagnose()),
    vscode.workspace.onDidChangeTextDocument(({ document }) => {
      if (!workspace.place(document.uri)) return;
      void annotations.refresh(document);
      proposal.draw();
    }),
    vscode.workspace.onDidSaveTextDocument((document) => {
      if (!workspace.place(document.uri)) return;
      void annotations.refresh(document);
      if (proposal.isOpen) void proposal.again();
    }),
    vscode.window.onDidChangeVisibleTextEditors(() => void annotations.refresh()),
    vscode.workspace.onDidChangeWorkspaceFolders(() => void workspace.start()),
    vscode.workspace.onDidGrantWorkspaceTrust(() => void workspace.start()),
    vscode.workspace.onDidChangeConfiguration((event) => {
      if (event.affectsConfiguration("ckpt-hook.path")) void workspace.start();
      else if (event.affectsConfiguration("ckpt-hook")) draw();
    }),
  ];
}
