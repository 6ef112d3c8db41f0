// The hunk of a plan that is meant: one change each, where the server joins what lies close together.

import type { Hunk, HunkParameter } from "ckpt-hook";

/** Some lines that differ: the first of the file as it is now, and the one after the last, from 0. */
interface Run {
  start: number;
  end: number;
  removed: string[];
  added: string[];
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
    if (!open) found.push((open = { start: at, end: at, removed: [], added: [] }));
    const isRemoved = line.startsWith("-");
    (isRemoved ? open.removed : open.added).push(line.slice(1).replace(/\r?\n$/, ""));
    if (isRemoved) open.end = at += 1;
  }
  return found;
}

function asked({ start, end }: Run): HunkParameter {
  return { old_start: end > start ? start + 1 : start, old_lines: end - start };
}

/** The change at a line, from 0, of the text that is there now: one that replaces it, or that inserts before or after it. */
export function hunksAt(hunks: readonly Hunk[], line: number): HunkParameter[] {
  const all = hunks.flatMap(runs);
  const replaced = all.find((run) => line >= run.start && line < run.end);
  const found = replaced ?? all.find(({ start, end }) => start === end && (start === line || start === line + 1));
  return found ? [asked(found)] : [];
}

/** The changes that take a line with this text away, or else bring it back; for a line of an older state, whose number says nothing. */
export function hunksWith(hunks: readonly Hunk[], text: string): HunkParameter[] {
  const all = hunks.flatMap(runs);
  const found = all.filter((run) => run.removed.includes(text));
  return (found.length > 0 ? found : all.filter((run) => run.added.includes(text))).map(asked);
}
