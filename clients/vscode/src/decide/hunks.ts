// The hunk of a plan that is meant: one change each, where the server joins what lies close together.

import type { Hunk, HunkParameter } from "ckpt-hook";

/** Some lines that differ: the first of the file as it is now, and the one after the last, from 0. */
interface Run {
  start: number;
  end: number;
  removed: string[];
}

function runs(hunk: Hunk): Run[] {
  const found: Run[] = [];
  // A hunk without lines names the line that precedes it.
  let at = hunk.old_lines === 0 ? hunk.old_start : hunk.old_start - 1;
  let open: Run | undefined;
  for (const line of hunk.lines) {
    if (line.startsWith(" ")) {
      open = undefined;
      at += 1;
      continue;
    }
    if (!open) found.push((open = { start: at, end: at, removed: [] }));
    if (!line.startsWith("-")) continue;
    open.removed.push(line.slice(1).replace(/\r?\n$/, ""));
    open.end = at += 1;
  }
  return found;
}

function asked(run: Run | undefined): HunkParameter | undefined {
  return run && { old_start: run.end > run.start ? run.start + 1 : run.start, old_lines: run.end - run.start };
}

/** The change at a line, from 0, of the text that is there now: one that replaces it, or that inserts before or after it. */
export function hunkAt(hunks: readonly Hunk[], line: number): HunkParameter | undefined {
  const all = hunks.flatMap(runs);
  const replaced = all.find((run) => line >= run.start && line < run.end);
  return asked(replaced ?? all.find(({ start, end }) => start === end && (start === line || start === line + 1)));
}

/** The only change that replaces a line with this text; for a line of an older state, whose number says nothing. */
export function hunkWith(hunks: readonly Hunk[], text: string): HunkParameter | undefined {
  const found = hunks.flatMap(runs).filter((run) => run.removed.includes(text));
  return found.length === 1 ? asked(found[0]) : undefined;
}
