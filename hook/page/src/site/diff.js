// A file's change: side by side or unified, with colours, word by word, the same lines folded. jsdiff compares.

import "/vendor/diff.min.js";
import { blob, bytesOf } from "/api.js";
import { styleOf, tokens } from "/colours.js";
import { count, h, shown, size } from "/dom.js";

/** A line with more characters scrolls by itself. */
const LONG_LINE = 4000;
const AROUND = 3;
/** What the program itself compares line by line. */
const MOST_BYTES = 16 << 20;
/** How many rows are added at once: the others come by the piece. */
const MOST_ROWS = 2000;
const pictures = { png: "image/png", jpg: "image/jpeg", jpeg: "image/jpeg", gif: "image/gif", webp: "image/webp", avif: "image/avif", bmp: "image/bmp", ico: "image/x-icon", svg: "image/svg+xml" };

/** Returns both sides of a change by its blobs. */
export async function sidesOfBlobs(file) {
  const [before, after] = await Promise.all([file.old_blob, file.new_blob].map((id) => (id ? blob(id, MOST_BYTES) : null)));
  return { before, after };
}

/** Returns both sides of a planned file by the contents that a plan gives. */
export async function sidesOfContents(file) {
  const side = (content, id) => {
    if (content === null || content === undefined) return null;
    if (content.text === null) return id ? blob(id, MOST_BYTES) : { size: content.bytes, bytes: null };
    const bytes = bytesOf(content);
    return { size: bytes.length, bytes };
  };
  const [before, after] = await Promise.all([
    side(file.contents?.before, file.old_blob),
    side(file.contents?.after, file.new_blob),
  ]);
  return { before, after };
}

/** Shows the two sides of a file. `options.command` prints one that is too large for a page. */
export async function show(path, { before, after }, options) {
  const sides = [before, after].filter((side) => side !== null);
  if (sides.some((side) => side.bytes === null)) {
    const what = sides.map((side) => size(side.size)).join(" → ");
    return h("p.note", {}, `Too large to compare here (${what}).`,
      options.command ? [" ", h("code", {}, options.command), " prints it."] : null);
  }
  const type = pictures[path.split(".").at(-1).toLowerCase()];
  if (type) return images(before, after, type);
  const texts = [before, after].map((side) => (side === null ? "" : decode(side.bytes)));
  if (texts.includes(null)) {
    return h("p.note", {}, `Binary: ${before ? size(before.size) : "not there"} → ${after ? size(after.size) : "not there"}.`);
  }
  if (texts[0] === texts[1]) return h("p.note", {}, before && after ? "The contents are the same." : "An empty file.");
  return table(path, texts, options);
}

function decode(bytes) {
  if (bytes.subarray(0, 8000).includes(0)) return null;
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return null;
  }
}

function images(before, after, type) {
  const one = (side, name) => {
    const figure = h("figure", {}, h("figcaption", {}, side ? `${name}: ${size(side.size)}` : `${name}: not there`));
    if (side) {
      const address = URL.createObjectURL(new Blob([side.bytes], { type }));
      const image = h("img", { src: address, alt: `the picture ${name.toLowerCase()}` });
      const done = () => URL.revokeObjectURL(address);
      image.addEventListener("load", done);
      image.addEventListener("error", () => {
        done();
        image.replaceWith(h("p.note", {}, "This is not a picture that the browser can show."));
      });
      figure.prepend(image);
    }
    return figure;
  };
  return h("div.pictures", {}, one(before, "Before"), one(after, "After"));
}

const linesOf = (text) => (text === "" ? 0 : text.split("\n").length - (text.endsWith("\n") ? 1 : 0));

/** Returns how many characters of whole lines both texts have in common at their beginning. */
function head([one, other]) {
  let at = 0;
  const end = Math.min(one.length, other.length);
  while (at < end && one.charCodeAt(at) === other.charCodeAt(at)) at += 1;
  if (at === 0 || (at === one.length && at === other.length)) return at;
  return one.lastIndexOf("\n", at - 1) + 1;
}

/** Returns how many characters of whole lines both texts have in common at their end. */
function tail([one, other]) {
  let at = 0;
  const end = Math.min(one.length, other.length);
  while (at < end && one.charCodeAt(one.length - 1 - at) === other.charCodeAt(other.length - 1 - at)) at += 1;
  const line = one.indexOf("\n", one.length - at);
  return line < 0 ? 0 : one.length - line - 1;
}

/** Returns the lines of both texts in order: what is the same, and what differs. Of two that have too little in common, all differs. */
function blocks(texts) {
  const first = head(texts);
  const rest = texts.map((text) => text.slice(first));
  const last = tail(rest);
  const middle = rest.map((text) => text.slice(0, text.length - last));
  const same = (text) => (text === "" ? [] : [{ same: linesOf(text) }]);
  const parts = globalThis.Diff.diffLines(...middle, { timeout: 1500 });
  const list = parts ? pairs(parts) : [{ removed: linesOf(middle[0]), added: linesOf(middle[1]) }];
  const all = [...same(texts[0].slice(0, first)), ...list, ...same(rest[0].slice(rest[0].length - last))];
  const joined = [];
  for (const block of all) {
    if (block.same !== undefined && joined.at(-1)?.same !== undefined) joined.at(-1).same += block.same;
    else joined.push({ ...block });
  }
  return { list: joined, isRewritten: !parts };
}

function pairs(parts) {
  const list = [];
  for (let index = 0; index < parts.length; index += 1) {
    const part = parts[index];
    if (!part.added && !part.removed) list.push({ same: part.count });
    else {
      const next = parts[index + 1];
      const isPair = next && (next.added || next.removed) && Boolean(next.added) !== Boolean(part.added);
      const removed = part.removed ? part.count : isPair ? next.count : 0;
      const added = part.added ? part.count : isPair ? next.count : 0;
      list.push({ removed, added });
      if (isPair) index += 1;
    }
  }
  return list;
}

/** Returns where lines of a text, from 0, are in what it became; lines that changed are where their change is. */
export function moved(before, now, [from, to]) {
  const place = (line, isEnd) => {
    let [old, young] = [0, 0];
    for (const block of blocks([before, now]).list) {
      const [gone, come] = block.same === undefined ? [block.removed, block.added] : [block.same, block.same];
      if (line < old + gone || (isEnd && line === old + gone)) {
        if (block.same !== undefined) return young + (line - old);
        return isEnd ? young + come : young;
      }
      [old, young] = [old + gone, young + come];
    }
    return young;
  };
  return [place(from, false), place(to, true)];
}

/** Returns the rows: pairs of line numbers, folds, and where a hunk begins. */
function rowsOf(list) {
  const rows = [];
  let [old, young] = [0, 0];
  let hunk = null;
  const begin = () => {
    if (hunk !== null) return;
    hunk = { old: [old, old], young: [young, young], first: null };
    rows.push({ kind: "hunk", hunk });
  };
  const add = (row, gone, come) => {
    begin();
    rows.push(row);
    [old, young] = [old + gone, young + come];
    [hunk.old[1], hunk.young[1]] = [old, young];
  };
  const same = (number) => {
    for (let at = 0; at < number; at += 1) add({ kind: "same", old, young }, 1, 1);
  };
  list.forEach((block, index) => {
    if (block.same === undefined) {
      begin();
      hunk.first ??= { old, young };
      for (let at = 0; at < Math.max(block.removed, block.added); at += 1) {
        const [gone, come] = [at < block.removed, at < block.added];
        add({ kind: "change", old: gone ? old : null, young: come ? young : null }, Number(gone), Number(come));
      }
      return;
    }
    const head = index === 0 ? 0 : AROUND;
    const tail = index === list.length - 1 ? 0 : AROUND;
    if (block.same <= head + tail + 1) return void same(block.same);
    same(head);
    const number = block.same - head - tail;
    rows.push({ kind: "fold", old, young, count: number });
    [old, young] = [old + number, young + number];
    hunk = null;
    same(tail);
  });
  return rows;
}

/** Returns which parts of two lines differ, word by word; nothing if most does. */
function words(one, other) {
  if (one.length + other.length > 2000) return null;
  const parts = globalThis.Diff.diffWordsWithSpace(one, other);
  const same = parts.filter((part) => !part.added && !part.removed).reduce((sum, part) => sum + part.value.trim().length, 0);
  if (same * 3 < Math.max(one.trim().length, other.trim().length)) return null;
  const marks = [[], []];
  const at = [0, 0];
  for (const part of parts) {
    if (!part.added) {
      if (part.removed) marks[0].push([at[0], at[0] + part.value.length]);
      at[0] += part.value.length;
    }
    if (!part.removed) {
      if (part.added) marks[1].push([at[1], at[1] + part.value.length]);
      at[1] += part.value.length;
    }
  }
  return marks;
}

/** Returns a line's code: its tokens coloured, and parts of it marked. */
export function code(line, marks, name) {
  const nodes = [];
  let at = 0;
  for (const [text, kind] of line ?? []) {
    let from = 0;
    while (from < text.length) {
      const here = at + from;
      const mark = marks?.find(([, end]) => end > here);
      const isMarked = mark !== undefined && mark[0] <= here;
      const until = mark === undefined ? text.length : Math.min(text.length, (isMarked ? mark[1] : mark[0]) - at);
      const part = shown(text.slice(from, until));
      const style = styleOf(kind);
      const inner = style ? h(`span.${style}`, {}, part) : part;
      nodes.push(isMarked ? h(name, {}, inner) : inner);
      from = until;
    }
    at += text.length;
  }
  // What is all in one line, as of a tool that makes files small, would fill the page.
  return at > LONG_LINE ? [h("div.long", { tabindex: 0, role: "group", "aria-label": "A long line" }, nodes)] : nodes;
}

async function table(path, texts, options) {
  const { list, isRewritten } = blocks(texts);
  const lines = await Promise.all(texts.map((text) => tokens(text.replaceAll("\r\n", "\n"), path)));
  const plain = lines.map((side) => side.map((line) => line.map(([text]) => text).join("")));
  const rows = rowsOf(list);
  const body = h("tbody");
  const columns = options.split ? 4 : 3;
  const number = (at, side) => h("td.number", { "data-line": at === null ? "" : at + 1 }, at === null ? h("span.unseen", {}, `no line ${side}`) : null);
  const half = (at, side, marks, kind) => h(`td.code${kind}`, {}, sign(kind), code(at === null ? [] : lines[side][at], marks?.[side], side === 0 ? "del" : "ins"));
  const render = (row) => {
    if (row.kind === "same") {
      if (options.split) return [h("tr", {}, number(row.old, "before"), half(row.old, 0, null, ""), number(row.young, "after"), half(row.young, 1, null, ""))];
      return [h("tr", {}, number(row.old, "before"), number(row.young, "after"), half(row.young, 1, null, ""))];
    }
    const marks = !isRewritten && row.old !== null && row.young !== null ? words(plain[0][row.old] ?? "", plain[1][row.young] ?? "") : null;
    if (options.split) {
      return [h("tr", {},
        number(row.old, "before"), half(row.old, 0, marks, row.old === null ? ".none" : ".gone"),
        number(row.young, "after"), half(row.young, 1, marks, row.young === null ? ".none" : ".come"))];
    }
    const both = [];
    if (row.old !== null && row.only !== "young") both.push(h("tr.old", {}, number(row.old, "before"), number(null, "after"), half(row.old, 0, marks, ".gone")));
    if (row.young !== null && row.only !== "old") both.push(h("tr.new", {}, number(null, "before"), number(row.young, "after"), half(row.young, 1, marks, ".come")));
    return both;
  };
  const fold = (row) => {
    // The head of a hunk is a row, and no line.
    const number = row.rows?.filter(({ kind }) => kind !== "hunk").length ?? row.count;
    const piece = Math.min(number, MOST_ROWS);
    const what = `${count(number, "line")} ${row.rows ? "more" : "the same"}`;
    const button = h("button.fold", { type: "button" }, piece < number ? `${what}: show ${piece.toLocaleString("en")}` : `${what}: show`);
    const line = h("tr.folded", {}, h("td", { colspan: columns }, button));
    button.addEventListener("click", () => {
      if (row.rows) return line.replaceWith(...append(row.rows));
      const part = Array.from({ length: piece }, (_, at) => ({ kind: "same", old: row.old + at, young: row.young + at }));
      const rest = number - piece;
      if (rest > 0) part.push({ kind: "fold", old: row.old + piece, young: row.young + piece, count: rest });
      line.replaceWith(...part.flatMap((one) => (one.kind === "fold" ? fold(one) : render(one))));
    });
    return [line];
  };
  const headOf = ({ hunk }) => {
    const head = hunk.first && options.hunk ? options.hunk(hunk, texts) : null;
    return head ? [h("tr.hunk", {}, h("td", { colspan: columns }, head))] : [];
  };
  const kinds = { fold, hunk: headOf };
  /** Returns rows as elements: of very many the first, and a button for the others. */
  const append = (part) => {
    const end = MOST_ROWS + Number(part[0]?.kind === "hunk");
    const elements = unified(part.slice(0, end), options.split).flatMap((row) => (kinds[row.kind] ?? render)(row));
    if (part.length > end) elements.push(...fold({ rows: part.slice(end) }));
    return elements;
  };
  body.append(...append(rows));
  const head = options.split
    ? h("tr", {}, ...["Line before", "Before", "Line after", "After"].map((text) => h("th", { scope: "col" }, text)))
    : h("tr", {}, ...["Line before", "Line after", "Code"].map((text) => h("th", { scope: "col" }, text)));
  const shape = options.split ? [["number"], ["code"], ["number"], ["code"]] : [["number"], ["number"], ["code"]];
  const note = isRewritten ? h("p.note", {}, "There is too little in common to compare line by line: this is all that went, and all that came.") : null;
  return h("div.scroll", { tabindex: 0, role: "region", "aria-label": `Changes of ${shown(path)}` }, note ?? "",
    h(`table.diff${options.split ? ".split" : ".unified"}`, {},
      h("colgroup", {}, ...shape.map(([name]) => h(`col.${name}`))), h("thead.unseen", {}, head), body));
}

/** In a unified view all that went of a change stands before all that came. */
function unified(rows, isSplit) {
  if (isSplit) return rows;
  const list = [];
  for (let at = 0; at < rows.length; at += 1) {
    if (rows[at].kind !== "change") {
      list.push(rows[at]);
      continue;
    }
    let end = at;
    while (end < rows.length && rows[end].kind === "change") end += 1;
    const run = rows.slice(at, end);
    const pairs = run.filter((row) => row.old !== null && row.young !== null).length;
    if (pairs < 2) list.push(...run);
    else list.push({ kind: "run", rows: run });
    at = end - 1;
  }
  return list.flatMap((row) => (row.kind === "run" ? apart(row.rows) : [row]));
}

function apart(run) {
  const one = run.filter((row) => row.old !== null).map((row) => ({ ...row, only: "old" }));
  const other = run.filter((row) => row.young !== null).map((row) => ({ ...row, only: "young" }));
  return [...one, ...other];
}

function sign(kind) {
  if (kind === ".gone") return h("span.sign", {}, "−");
  if (kind === ".come") return h("span.sign", {}, "+");
  return kind === "" ? h("span.sign", {}, " ") : null;
}
