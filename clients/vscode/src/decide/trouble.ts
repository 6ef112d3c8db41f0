// Why there is nothing to see, in words.

import type { DoctorReport, Finding, InstallReport, LogReport, StatusReport } from "ckpt-hook";
import { clean, count } from "./words.js";

/** What `doctor` says that is not fine, the worst first; the hint behind each. */
export function findings(report: DoctorReport): string[] {
  const weights = ["error", "warning"];
  const weight = (finding: Finding) => weights.indexOf(finding.level);
  const bad = report.findings.filter((finding) => finding.level !== "ok" && finding.level !== "note");
  bad.sort((one, other) => weight(one) - weight(other));
  return bad.map(({ subject, message, hint }) => clean(`${subject}: ${message}${hint === null ? "" : `. ${hint}`}`));
}

/** What a store says of itself where a list is empty. */
export function emptiness(
  list: Pick<LogReport, "set_aside" | "unknown_workspaces">,
  status: StatusReport | null,
): string[] {
  const repair = "`ckpt-hook doctor --repair` makes a new session store from what is left.";
  const found = [
    list.set_aside === null ? "" : `A damaged session store was set aside at ${list.set_aside}. ${repair}`,
    list.unknown_workspaces > 0
      ? `There are snapshots of ${count(list.unknown_workspaces, "workspace")} whose session store is gone. ${repair}`
      : "",
    ...(status?.unrecorded ?? []).map(
      ({ called }) =>
        `${called} has a conversation here of which nothing was recorded. Is the hook installed, and was the agent started again since?`,
    ),
    ...(status?.adoptable ?? []).map(
      ({ path, messages }) =>
        `The history of ${path} (${count(messages, "message")}) may be this folder's: \`ckpt-hook workspace adopt\` takes it over.`,
    ),
  ];
  return found.filter(Boolean).map(clean);
}

/** A dry run of `install --all` as a page to read. */
export function installation(report: InstallReport): string {
  const changes = report.changes.map((change) => {
    const notes = change.notes.map((note) => `\n${note}`).join("");
    return `## ${change.agent}: ${change.action}\n\n${change.file}${notes}\n\n${change.diff === null ? "" : `\`\`\`diff\n${change.diff}\n\`\`\`\n`}`;
  });
  const skipped = report.skipped.map(
    ({ agent, reason, hint }) => `- ${agent}: ${reason}${hint === null ? "" : `. ${hint}`}`,
  );
  return [
    "# What `ckpt-hook install --all` would change\n",
    changes.length > 0 ? changes.join("\n") : "Nothing.\n",
    skipped.length > 0 ? `## Left alone\n\n${skipped.join("\n")}\n` : "",
  ].join("\n");
}

/** Whether an installation changes anything. */
export function installs(report: InstallReport): boolean {
  return report.changes.some((change) => change.diff !== null && change.diff !== "");
}
