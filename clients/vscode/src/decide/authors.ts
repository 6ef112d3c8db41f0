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
  return report.hunks.map((hunk) => ({
    line: hunk.start - 1,
    lines: hunk.lines,
    text: textOf(hunk, now),
    sentence: sentenceOf(hunk, now),
    message: hunk.steps[0]?.message ?? null,
  }));
}

function authorsOf(hunk: BlameHunk): string {
  return hunk.steps.map((step) => `${quoted(step.prompt)}, ${step.agent}`).join(" and ");
}

function when(hunk: BlameHunk, now: number): string {
  return hunk.time === null ? "" : `, ${ago(hunk.time, now)}`;
}

function textOf(hunk: BlameHunk, now: number): string {
  switch (hunk.by) {
    case "agent":
    case "shared":
      return `${authorsOf(hunk)}${when(hunk, now)}`;
    case "unclear":
      return hunk.steps.length > 0 ? `${authorsOf(hunk)}, or you${when(hunk, now)}` : "unclear";
    case "operation":
      return `merged by an operation${when(hunk, now)}`;
    case "outside":
      return `you${when(hunk, now)}`;
    case "uncaptured":
      return "you, just now";
    // They were there before anything was recorded, or nobody can tell.
    default:
      return "";
  }
}

function sentenceOf(hunk: BlameHunk, now: number): string {
  const former = hunk.renamed_from ? ` The file was ${hunk.renamed_from.path} then.` : "";
  const reason = hunk.reason === null ? "" : ` ${hunk.reason}`;
  const text = textOf(hunk, now);
  switch (hunk.by) {
    case "agent":
      return `Written for ${text}.${former}`;
    case "shared":
      return `Written by one of several agents at work at once: ${text}.${reason}${former}`;
    case "unclear":
      return `Nobody knows whose lines these are: ${text}.${reason}${former}`;
    case "outside":
      return `Written by ${text}, or by another program that sends no events.${former}`;
    case "operation":
      return `Merged from edits that are no longer stored${when(hunk, now)}.`;
    case "uncaptured":
      return "Written since the newest snapshot, by you or a program that sends no events.";
    case "unknown":
      return `Nobody can tell who wrote these lines: older versions of the file are gone.${reason}`;
    default:
      return "There before anything was recorded, or changed while the file was not captured.";
  }
}

export function annotationAt(all: readonly Annotation[], line: number): Annotation | undefined {
  return all.find((one) => line >= one.line && line < one.line + one.lines);
}
