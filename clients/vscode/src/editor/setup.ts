// Setting up: the hook in the agents' settings, and what the program says of itself. Its own words are shown.

import { execFile } from "node:child_process";
import { homedir } from "node:os";
import type { DoctorReport, InstallReport } from "ckpt-hook";
import * as vscode from "vscode";
import { clean, findings } from "../decide/words.js";
import type { Documents } from "./documents.js";
import type { Workspace } from "./workspace.js";

/** How long a call may take, in milliseconds, and how much it may print, in bytes. */
const LIMITS = { timeout: 60_000, maxBuffer: 16 << 20 };

export class Setup {
  readonly #workspace: Workspace;
  readonly #documents: Documents;

  constructor(workspace: Workspace, documents: Documents) {
    this.#workspace = workspace;
    this.#documents = documents;
  }

  /** Calls the program, and returns what it prints. One that finds something bad prints that, and fails. */
  #call(...args: string[]): Promise<string> {
    const { binary, folder, env } = this.#workspace;
    if (binary === null)
      return Promise.reject(new Error("ckpt-hook was not found: set `ckpt-hook.path`, or install it"));
    const cwd = folder && vscode.workspace.isTrusted ? folder.uri.fsPath : homedir();
    return new Promise((resolve, reject) => {
      execFile(binary, args, { cwd, env, ...LIMITS }, (error, stdout, stderr) =>
        error && stdout === "" ? reject(new Error(stderr || error.message)) : resolve(stdout),
      );
    });
  }

  /** What the program says where nothing is recorded: of the folder, and of what is wrong. */
  async diagnose(): Promise<string[]> {
    const log = vscode.workspace.isTrusted ? await this.#call("log") : "";
    const doctor: DoctorReport = JSON.parse(await this.#call("doctor", "--json"));
    return [...log.split("\n").map(clean).filter(Boolean), ...findings(doctor)];
  }

  async doctor(): Promise<void> {
    await this.#show("doctor.txt", await this.#call("doctor"));
  }

  /** Shows what `install --all` would change, and does it if that is wanted. */
  async install(): Promise<void> {
    const dry = ["install", "--all", "--dry-run"];
    await this.#show("install.txt", await this.#call(...dry));
    const { changes }: InstallReport = JSON.parse(await this.#call(...dry, "--json"));
    if (!changes.some((change) => change.diff))
      return void vscode.window.showInformationMessage("No agent's settings would change: the page says why.");
    const question = "Put the hook into the settings of these agents?";
    if ((await vscode.window.showInformationMessage(question, "Install")) !== "Install") return;
    await this.#show("installed.txt", await this.#call("install", "--all"));
    void vscode.window.showInformationMessage("Start the agents again, and send a message.");
  }

  async #show(name: string, text: string): Promise<void> {
    const uri = this.#documents.text({ path: name, path_hex: null }, text);
    await vscode.window.showTextDocument(await vscode.workspace.openTextDocument(uri), { preview: true });
  }
}
