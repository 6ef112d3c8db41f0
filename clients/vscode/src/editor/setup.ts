// Setting up: the hook in the agents' settings, and what the program says of itself. Its own words are shown.

import { execFile } from "node:child_process";
import { homedir } from "node:os";
import type { DoctorReport, InstallReport } from "ckpt-hook";
import * as vscode from "vscode";
import { clean, failure, findings } from "../decide/words.js";
import type { Documents } from "./documents.js";
import type { Messages } from "./messages.js";
import type { Workspace } from "./workspace.js";

/** How long a call may take, in milliseconds, and how much it may print, in bytes. */
const LIMITS = { timeout: 60_000, maxBuffer: 16 << 20 };

export class Setup {
  /** Where nothing was recorded when that was asked last. */
  #diagnosed = "";

  constructor(
    private readonly workspace: Workspace,
    private readonly documents: Documents,
    private readonly messages: Messages,
  ) {}

  /** Calls the program, and returns what it prints. One that finds something bad prints that, and fails. */
  #call(...args: string[]): Promise<{ text: string; isFailed: boolean }> {
    const { binary, folder, env } = this.workspace;
    if (binary === null)
      return Promise.reject(new Error("ckpt-hook was not found: set `ckpt-hook.path`, or install it"));
    const cwd = folder && vscode.workspace.isTrusted ? folder.uri.fsPath : homedir();
    return new Promise((resolve, reject) => {
      execFile(binary, args, { cwd, env, ...LIMITS }, (error, stdout, stderr) =>
        error && stdout === ""
          ? reject(new Error(stderr || error.message))
          : resolve({ text: stdout, isFailed: error !== null }),
      );
    });
  }

  /** Where nothing is recorded, says what the program says of the folder, and of what is wrong: once, unless it may have changed. */
  async diagnose(mayDiffer = false): Promise<void> {
    const { state, folder, binary } = this.workspace;
    const about = state === "empty" ? `${folder?.uri} ${binary}` : "";
    if (about === this.#diagnosed && !mayDiffer) return;
    this.#diagnosed = about;
    if (about === "") return;
    this.messages.findings = await this.#findings().catch((error: unknown) => [failure(error)]);
    this.messages.refresh();
  }

  async #findings(): Promise<string[]> {
    const log = vscode.workspace.isTrusted ? (await this.#call("log")).text : "";
    const doctor: DoctorReport = JSON.parse((await this.#call("doctor", "--json")).text);
    return [...log.split("\n").map(clean).filter(Boolean), ...findings(doctor)];
  }

  async doctor(): Promise<void> {
    await this.#show("doctor.txt", (await this.#call("doctor")).text);
  }

  /** Shows what `install --all` would change, and does it if that is wanted. */
  async install(): Promise<void> {
    const dry = ["install", "--all", "--dry-run"];
    await this.#show("install.txt", (await this.#call(...dry, "--verbose")).text);
    const { changes }: InstallReport = JSON.parse((await this.#call(...dry, "--json")).text);
    if (!changes.some((change) => change.diff))
      return void vscode.window.showInformationMessage("No agent's settings would change: the page says why.");
    const question = "Put the hook into the settings of these agents?";
    if ((await vscode.window.showInformationMessage(question, "Install")) !== "Install") return;
    const { text, isFailed } = await this.#call("install", "--all", "--verbose");
    await this.#show("installed.txt", text);
    await this.diagnose(true);
    if (isFailed) void vscode.window.showWarningMessage("Not all agents have the hook now: the page says why.");
    else void vscode.window.showInformationMessage("Start the agents again, and send a message.");
  }

  async #show(name: string, text: string): Promise<void> {
    const uri = this.documents.text({ path: name, path_hex: null }, text);
    await vscode.window.showTextDocument(await vscode.workspace.openTextDocument(uri), { preview: true });
  }
}
