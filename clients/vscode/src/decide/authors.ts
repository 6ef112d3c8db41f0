// Who wrote the lines of a file, as annotations and in a hover.

import type { BlameHunk, BlameReport } from "ckpt-hook";
import { ago, quoted } from "./words.js";

/** A run of lines with one author. */
export interface Annotation {
  /** The first line, from 0. */
  line: number;
  lines: number;
  /** What stands behind the first line; empty where no agent wrote it. */
  text: string;
  /** What a hover says. */
  sentence: string;
  message: string | null;
}

export function annotations(report: BlameReport, now: number): Annotation[] {
  return report.hunks.map((hunk) => {
    const [text, sentence] = wordsOf(hunk, now);
    const { lines, steps } = hunk;
    return { line: hunk.start - 1, lines, text, sentence, message: steps[0]?.message ?? null };
  });
}

/** What stands behind a line, and what its hover says. */
function wordsOf(hunk: BlameHunk, now: number): [text: string, sentence: string] {
  const agents = hunk.steps.map((step) => `${quoted(step.prompt)}, ${step.agent}`).join(" and ");
  const when = hunk.time === null ? "" : `, ${ago(hunk.time, now)}`;
  const reason = hunk.reason === null ? "" : ` ${hunk.reason}`;
  const former = hunk.renamed_from ? ` The file was ${hunk.renamed_from.path} then.` : "";
  const text = `${agents}${when}`;
  switch (hunk.by) {
    case "agent":
      return [text, `Written for ${text}.${former}`];
    case "shared":
      return [text, `Written by one of several agents at work at once: ${text}.${reason}${former}`];
    case "unclear": {
      const may = agents === "" ? "unclear" : `${agents}, or you${when}`;
      return [may, `It is unclear whose lines these are: ${may}.${reason}${former}`];
    }
    case "outside":
      return [`you${when}`, `Written by you${when}, or by another program that sends no events.${former}`];
    case "operation":
      return [`merged by an operation${when}`, `Merged from edits that are no longer stored${when}.`];
    case "uncaptured":
      return ["you, just now", "Written since the newest snapshot, by you or a program that sends no events."];
    case "unknown":
      return ["", `It is unknown who wrote these lines: older versions of the file are gone.${reason}`];
    default:
      return ["", "There before anything was recorded, or changed while the file was not captured."];
  }
}

export function annotationAt(all: readonly Annotation[], line: number): Annotation | undefined {
  return all.find((one) => line >= one.line && line < one.line + one.lines);
}
