// Setting up: the hook in the agents' settings, and what `doctor` says.

import { execFile } from "node:child_process";
import { homedir } from "node:os";
import type { DoctorReport, ErrorReport, InstallReport } from "ckpt-hook";
import * as vscode from "vscode";
import { environment } from "../decide/places.js";
import { findings, installation, installs } from "../decide/trouble.js";
import { clean, count, failure } from "../decide/words.js";
import type { Documents } from "./documents.js";
import type { Workspace } from "./workspace.js";

/** How long a call may take, in milliseconds, and how much it may print, in bytes. */
const LONGEST = 60_000;
const MOST = 16 << 20;

export class Setup {
  readonly #workspace: Workspace;
  readonly #documents: Documents;

  constructor(workspace: Workspace, documents: Documents) {
    this.#workspace = workspace;
    this.#documents = documents;
  }

  /** Calls the program for a document that the server does not have. */
  #call<T extends object>(...args: string[]): Promise<T> {
    const { binary, folder } = this.#workspace;
    if (binary === null)
      return Promise.reject(new Error("ckpt-hook was not found: set `ckpt-hook.path`, or install it"));
    const cwd = folder && vscode.workspace.isTrusted ? folder.uri.fsPath : homedir();
    const env = environment(process.env) as NodeJS.ProcessEnv;
    return new Promise((resolve, reject) => {
      execFile(
        binary,
        ["--json", ...args],
        { cwd, env, timeout: LONGEST, maxBuffer: MOST },
        (error, stdout, stderr) => {
          try {
            const document = JSON.parse(stdout) as T | ErrorReport;
            if ("error" in document) reject(new Error(document.error.message));
            else resolve(document as T);
          } catch {
            reject(error ?? new Error(stderr));
          }
        },
      );
    });
  }

  /** What `doctor` says that is not fine. */
  async diagnose(): Promise<string[]> {
    return findings(await this.#call<DoctorReport>("doctor"));
  }

  async doctor(): Promise<void> {
    try {
      const found = await this.diagnose();
      const text = found.length > 0 ? found.map((one) => `- ${one}`).join("\n") : "Everything is fine.";
      await this.#open("doctor.md", `# What \`ckpt-hook doctor\` says\n\n${text}\n`);
    } catch (error) {
      void vscode.window.showErrorMessage(failure(error));
    }
  }

  /** Shows what `install --all` would change, and does it if that is wanted. */
  async install(): Promise<void> {
    try {
      const planned = await this.#call<InstallReport>("install", "--all", "--dry-run");
      await this.#open("install.md", installation(planned));
      if (!installs(planned))
        return void vscode.window.showInformationMessage("No agent's settings would change: the page says why.");
      const agents = [...new Set(planned.changes.map((change) => change.agent))].map(clean).join(", ");
      const pressed = await vscode.window.showInformationMessage(
        `Put the hook into the settings of ${agents}?`,
        "Install",
      );
      if (pressed !== "Install") return;
      const done = await this.#call<InstallReport>("install", "--all");
      const failed = done.skipped
        .filter((skipped) => skipped.failed)
        .map(({ agent, reason }) => ` ${clean(agent)}: ${clean(reason)}.`);
      void vscode.window.showInformationMessage(
        `${count(done.changes.length, "settings file")} changed. Start the agents again, and send a message.${failed.join("")}`,
      );
    } catch (error) {
      void vscode.window.showErrorMessage(failure(error));
    }
  }

  async #open(name: string, text: string): Promise<void> {
    const uri = this.#documents.text({ path: name, path_hex: null }, text);
    await vscode.window.showTextDocument(await vscode.workspace.openTextDocument(uri), { preview: true });
  }
}
