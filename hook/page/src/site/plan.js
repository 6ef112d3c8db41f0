// Nothing is put back before its plan was seen: what would happen to each file, what stays and why, both sides of a conflict.

import { call } from "/api.js";
import { show, sidesOfContents } from "/diff.js";
import { options } from "/detail.js";
import { count, h, lines, path, shown } from "/dom.js";

const actions = { write: "put back", delete: "removed", merge: "merged: only the agent's lines go", keep: "stays", none: "already so" };

/** Asks for a plan, shows it, and carries it out if that is wanted. Returns the report, or null. */
export async function propose(title, asked) {
  return new Promise((done) => new Proposal(title, asked, done).start());
}

class Proposal {
  constructor(title, asked, done) {
    this.title = title;
    this.asked = asked;
    this.only = null;
    this.banner = null;
    this.report = null;
    this.done = done;
    this.dialog = h("dialog.plan", { "aria-labelledby": "plan-title" });
    this.dialog.addEventListener("close", () => {
      this.dialog.remove();
      this.done(this.report);
    });
  }

  async start() {
    document.body.append(this.dialog);
    this.dialog.append(h("h2", { id: "plan-title" }, this.title), h("p.note", {}, "Looking at the workspace…"));
    this.dialog.showModal();
    await this.plan();
  }

  parameters() {
    return { ...this.asked, contents: true, ...(this.only === null ? {} : { only: [...this.only] }) };
  }

  async plan() {
    try {
      const planned = await call("plan", this.parameters());
      this.draw(planned);
    } catch (error) {
      this.fail(error);
    }
  }

  fail(error) {
    this.dialog.replaceChildren(
      h("h2", { id: "plan-title" }, this.title),
      h("p.banner", { role: "alert" }, shown(error.message)),
      error.hint ? h("p.note", {}, shown(error.hint)) : null,
      h("footer", {}, h("button", { type: "button", on: { click: () => this.dialog.close() } }, "Close")));
  }

  draw({ plan, report }) {
    const isConflict = (file) => file.result === "conflict";
    const conflicts = report.files.filter(isConflict);
    const moving = report.files.filter((file) => !isConflict(file) && file.result !== "gap" && file.action !== "none" && file.action !== "keep");
    const staying = report.files.filter((file) => !isConflict(file) && !moving.includes(file));
    const unclear = staying.filter((file) => file.unclear);
    const main = h("button.main", { type: "button", id: "apply", disabled: plan === null, on: { click: () => this.apply(plan, false) } },
      moving.length > 0 ? `Change ${count(moving.length, "file")}` : "Do it");
    const parts = [
      h("h2", { id: "plan-title" }, this.title),
      this.banner ? h("p.banner", { role: "status" }, this.banner) : null,
      report.busy ? h("p.banner", { role: "status" }, "An agent is at work in this workspace. Wait until it is done, or go ahead anyway.") : null,
      h("p.facts", {}, this.sum(report, moving, conflicts)),
      report.notes.map((note) => h("p.note", {}, shown(note))),
      conflicts.length > 0 ? this.conflicts(conflicts) : null,
      unclear.length > 0 ? h("div.choice", {},
        h("p", {}, `Nobody knows whose changes ${count(unclear.length, "file")} ${unclear.length === 1 ? "has" : "have"}: the agent's, or yours. They stay.`),
        this.asked.operation === "revert" ? h("button", { type: "button", on: { click: () => this.again({ unclear: "take" }) } }, "Take them back, too") : null) : null,
      moving.length > 0 ? h("section", {}, h("h3", {}, "Changes"), h("ul.plan-files", {}, moving.map((file) => this.file(file)))) : null,
      staying.length > 0 ? h("section", {}, h("h3", {}, "Stays"), h("ul.plan-files", {}, staying.map((file) => this.file(file)))) : null,
      report.files.length === 0 ? h("p.empty", {}, "No file would change.") : null,
      h("footer", {},
        h("button", { type: "button", on: { click: () => this.dialog.close() } }, "Cancel"),
        report.busy && plan !== null ? h("button.danger", { type: "button", on: { click: () => this.apply(plan, true) } }, "Go ahead anyway") : main),
    ];
    this.dialog.replaceChildren(...parts.flat().filter(Boolean));
    if (!report.busy && plan !== null) main.focus();
  }

  sum(report, moving, conflicts) {
    const facts = [count(moving.length, "file") + " to change"];
    if (conflicts.length > 0) facts.push(`${count(conflicts.length, "file")} stays as you left it`.replace("files stays", "files stay"));
    if (report.messages_hidden.length > 0) facts.push(`${count(report.messages_hidden.length, "message")} taken back`);
    return facts.map((fact) => h("span", {}, fact));
  }

  again(more) {
    this.asked = { ...this.asked, ...more };
    return this.plan();
  }

  conflicts(files) {
    const takes = this.asked.on_conflict === "overwrite";
    return h("section.conflicts", {},
      h("h3", {}, "Changed since"),
      h("p", {}, "You, or somebody else, changed these after the agent did. They stay as they are."),
      h("ul.plan-files", {}, files.map((file) => this.file(file, true))),
      takes || this.asked.operation === "restore" || this.asked.operation === "undo" ? null
        : h("button", { type: "button", id: "overwrite", on: { click: () => this.again({ on_conflict: "overwrite" }) } }, "Plan again with the earlier version of these"));
  }

  file(file, isConflict = false) {
    const body = h("div.change");
    const element = h("details", { on: { toggle: () => this.unfold(element, body, file, isConflict) } },
      h("summary", {}, path(file.path), h("span.tag", {}, isConflict ? "conflict" : file.result === "gap" ? "not captured" : actions[file.action]),
        lines(file.additions, file.deletions), file.reason ? h("span.why", {}, shown(file.reason)) : null), body);
    return h("li", {}, element);
  }

  async unfold(element, body, file, isConflict) {
    if (!element.open || body.childElementCount > 0) return;
    try {
      let sides = await sidesOfContents(file);
      let names = ["On disk", "Afterwards"];
      if (isConflict) {
        const { earlier } = file.contents;
        if (earlier === null) return void body.replaceChildren(h("p.note", {}, "It stays in any case."));
        names = ["As it is now", "The earlier version"];
        sides = await sidesOfContents({ ...file, new_blob: earlier.blob, contents: { ...file.contents, after: earlier.content } });
      }
      body.replaceChildren(h("p.sides", {}, h("span", {}, `− ${names[0]}`), h("span", {}, `+ ${names[1]}`)), await show(file.path, sides, { ...options, split: isConflict ? innerWidth > 900 : options.split }));
    } catch (error) {
      body.replaceChildren(h("p.note", {}, shown(error.message)));
    }
  }

  async apply(plan, force) {
    for (const button of this.dialog.querySelectorAll("button")) button.disabled = true;
    try {
      this.report = await call("apply", { plan, force });
      this.dialog.close();
    } catch (error) {
      if (error.kind !== "stale" && error.kind !== "busy") return this.fail(error);
      this.banner = error.kind === "stale" ? "Something has changed since this plan was made, and nothing was done. This is the new plan." : shown(error.message);
      await this.plan();
    }
  }
}
