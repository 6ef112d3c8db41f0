// The status bar: what is hidden, and the way forward.

import * as vscode from "vscode";
import { banner } from "../decide/words.js";
import type { Workspace } from "./workspace.js";

export class StatusBar implements vscode.Disposable {
  readonly #workspace: Workspace;
  readonly #text: vscode.StatusBarItem;
  readonly #buttons: vscode.StatusBarItem[];

  constructor(workspace: Workspace) {
    this.#workspace = workspace;
    const item = (id: string, name: string, command: string, priority: number) => {
      const made = vscode.window.createStatusBarItem(`ckpt-hook.${id}`, vscode.StatusBarAlignment.Left, priority);
      made.name = `ckpt-hook: ${name}`;
      made.text = name;
      made.command = command;
      made.accessibilityInformation = { label: `${name} the hidden messages`, role: "button" };
      return made;
    };
    this.#text = item("state", "State", "ckpt-hook.messages.focus", 13);
    this.#buttons = [item("redo", "Redo", "ckpt-hook.redo", 12), item("redoAll", "Redo All", "ckpt-hook.redoAll", 11)];
  }

  refresh(): void {
    const { text, detail, canRedo, isBusy } = banner(this.#workspace.history.status);
    this.#text.text = `$(${isBusy ? "sync~spin" : "history"}) ${text}`;
    this.#text.tooltip = detail || "Show the messages";
    this.#text.accessibilityInformation = { label: `${text}. ${detail}`, role: "button" };
    this.#text.backgroundColor = canRedo ? new vscode.ThemeColor("statusBarItem.warningBackground") : undefined;
    show(this.#text, text !== "");
    for (const button of this.#buttons) show(button, canRedo);
  }

  dispose(): void {
    for (const item of [this.#text, ...this.#buttons]) item.dispose();
  }
}

function show(item: vscode.StatusBarItem, isWanted: boolean): void {
  if (isWanted) item.show();
  else item.hide();
}
