// What an operation did, as a notification, and what is asked before it.

import type { OperationReport } from "ckpt-hook";
import * as vscode from "vscode";
import { commandLine, verdict } from "../decide/words.js";

/** Starts the agent in the conversation that an operation leads to. */
const GO_ON = "Go On in a Terminal";

/** Says what was done, with the way back. */
export function tell(done: string, report: OperationReport): void {
  const { level, text } = verdict(done, report);
  const show = {
    information: vscode.window.showInformationMessage,
    warning: vscode.window.showWarningMessage,
    error: vscode.window.showErrorMessage,
  }[level];
  const { argv = [], directory = null } = report.conversation ?? {};
  const buttons = [...(argv.length > 0 ? [GO_ON] : []), ...(report.operation === null ? [] : ["Undo"])];
  // Not awaited: the notification stays for as long as the user leaves it there.
  void show(text, ...buttons).then(async (pressed) => {
    if (pressed === "Undo") void vscode.commands.executeCommand("ckpt-hook.undo", report.operation);
    if (pressed !== GO_ON) return;
    const terminal = vscode.window.createTerminal(directory === null ? {} : { cwd: directory });
    terminal.show();
    // Not every editor keeps what is sent before the shell runs.
    await terminal.processId;
    terminal.sendText(commandLine(argv));
  });
}

/** Asks whether to go on while an agent works. */
export function goAhead(): Promise<boolean> {
  const text = "An agent is at work here. What it changes while you go back may be lost or come back.";
  return confirmed(text, "Go Ahead Anyway");
}

export async function confirmed(text: string, button: string): Promise<boolean> {
  return (await vscode.window.showWarningMessage(text, { modal: true }, button)) === button;
}
