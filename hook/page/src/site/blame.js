// A file as it is now, and which prompt wrote each line.

import { bytesOf, call } from "/api.js";
import { tokens } from "/colours.js";
import { code } from "/diff.js";
import { count, h, path, shown, time } from "/dom.js";

/** How many lines are made elements of before the browser may draw. */
const AT_ONCE = 1000;

const others = {
  outside: "you, or another program",
  operation: "merged by an operation",
  unrecorded: "before the history begins",
  unknown: "not recorded",
  uncaptured: "not captured yet",
  unclear: "unclear",
};

/** Shows a file with who wrote its lines; `go` opens the message of a line. */
export async function open(file, go) {
  const dialog = h("dialog.blame", { "aria-labelledby": "blame-title" });
  document.body.append(dialog);
  dialog.addEventListener("close", () => dialog.remove());
  const close = h("button", { type: "button", on: { click: () => dialog.close() } }, "Close");
  const head = h("header", {}, h("h2", { id: "blame-title" }, path(file.path)), close);
  dialog.append(head, h("p.note", {}, "…"));
  dialog.showModal();
  try {
    const report = await call("blame", { path: nameOf(file), contents: true });
    const bytes = bytesOf(report.contents);
    if (bytes.includes(0)) throw new Error("This file is not text.");
    const lines = await tokens(new TextDecoder().decode(bytes).replaceAll("\r\n", "\n"), file.path);
    const body = h("tbody");
    dialog.replaceChildren(head, h("p.facts", {}, h("span", {}, count(report.lines, "line"))),
      h("div.scroll", { tabindex: 0, role: "region", "aria-label": "The file with who wrote its lines" }, h("table.diff.blamed", {}, body)));
    for (const [index, hunk] of report.hunks.entries()) {
      for (let at = 0; at < hunk.lines; at += 1) {
        const line = hunk.start + at;
        // The beginning of a long file is shown, and can be scrolled and closed, before all of it is there.
        if (line % AT_ONCE === 0) await new Promise((resolve) => setTimeout(resolve));
        if (!dialog.isConnected) return;
        body.append(h(`tr.${index % 2 === 0 ? "even" : "odd"}${at === 0 ? ".begin" : ""}`, {},
          at === 0 ? h("th.by", { scope: "rowgroup", rowspan: Math.min(hunk.lines, 65534) }, author(hunk, dialog, go)) : null,
          h("td.number", { "data-line": line }), h("td.code", {}, code(lines[line - 1] ?? [], null, "ins"))));
      }
    }
  } catch (error) {
    dialog.replaceChildren(head, h("p.note", { role: "alert" }, shown(error.message)));
  }
}

/** Returns the name of a file as the server takes it: one whose bytes are no text is asked for by these. */
function nameOf({ path: text, path_hex: hex }) {
  return hex === null ? text : { path: text, path_hex: hex };
}

function author(hunk, dialog, go) {
  const [step] = hunk.steps;
  if (step === undefined) return h("span.other", { title: hunk.reason }, others[hunk.by] ?? hunk.by);
  const isOne = hunk.steps.length === 1 && hunk.by === "agent";
  return h("button.link", { type: "button", title: hunk.reason ?? null, on: { click: () => {
    dialog.close();
    go(step.message);
  } } }, h("span.title", {}, shown(step.prompt ?? step.agent).replace(/\s+/g, " ")), " ", hunk.time ? time(hunk.time) : null, isOne ? null : h("span.tag", {}, hunk.by));
}
