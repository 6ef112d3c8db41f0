// A hunk of a plan as an edit of the text that the plan was made for.

import type { Hunk } from "ckpt-hook";

/** Lines to replace: from the first, from 0, up to the line `end`, which stays. */
export interface Edit {
  start: number;
  end: number;
  text: string;
}

function startOf(hunk: Hunk): number {
  // A hunk without lines names the line that precedes it.
  return hunk.old_lines === 0 ? hunk.old_start : hunk.old_start - 1;
}

/** The lines that differ, in runs: three lines of context may join what lies close together. */
export function edits(hunk: Hunk): Edit[] {
  const found: Edit[] = [];
  let at = startOf(hunk);
  let open: Edit | undefined;
  for (const line of hunk.lines) {
    const text = line.slice(1);
    if (line.startsWith(" ")) {
      open = undefined;
      at += 1;
      continue;
    }
    if (!open) {
      open = { start: at, end: at, text: "" };
      found.push(open);
    }
    if (line.startsWith("-")) open.end = at += 1;
    else open.text += text;
  }
  return found;
}

/** The edit at a line, from 0, of the text that is there now: one that replaces it, or that inserts before or after it. */
export function editAt(hunks: readonly Hunk[], line: number): Edit | undefined {
  const all = hunks.flatMap(edits);
  return (
    all.find((edit) => line >= edit.start && line < edit.end) ??
    all.find((edit) => edit.start === edit.end && (edit.start === line || edit.start === line + 1))
  );
}

/** The only edit that replaces a line with this text; for a line of an older state, whose number says nothing. */
export function editWith(hunks: readonly Hunk[], text: string): Edit | undefined {
  const bare = (line: string) => line.replace(/\r?\n$/, "");
  const replaces = (hunk: Hunk) => {
    const at = hunk.lines.filter((line) => !line.startsWith("+"));
    const offset = at.findIndex((line) => line.startsWith("-") && bare(line.slice(1)) === text);
    return offset < 0 ? [] : [startOf(hunk) + offset];
  };
  const found = hunks.flatMap(replaces);
  return found.length === 1 && found[0] !== undefined ? editAt(hunks, found[0]) : undefined;
}
