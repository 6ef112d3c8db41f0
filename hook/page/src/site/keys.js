// Keys: a letter does something only while nobody types, and can be turned off (WCAG 2.1.4).

import { h } from "/dom.js";

const KEPT = "ckpt-hook-keys";
let isOn = localStorage.getItem(KEPT) !== "0";

/** Every key: what it is called, what it does, and its name in events. */
let table = [];

/** Listens for keys. Each has `keys`, `what` and `run`. */
export function listen(given) {
  table = given;
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
    const isTyped = event.target.matches("input, select, textarea");
    if (event.key === "Escape" && isTyped) {
      event.target.blur();
      return;
    }
    if (isTyped || document.querySelector("dialog[open]") || !isOn) return;
    const found = table.find(({ keys }) => keys.includes(event.key));
    if (found === undefined) return;
    event.preventDefault();
    found.run();
  });
}

const always = [
  ["↑ ↓", "one row up or down in the history"],
  ["PgUp PgDn Home End", "further"],
  ["→ ← Space", "show or hide the steps of a message"],
  ["Enter", "open"],
  ["Tab", "to the next part of the page"],
];

/** Shows all keys. */
export function help() {
  const toggle = h("input", { type: "checkbox", id: "letters", checked: isOn });
  toggle.addEventListener("change", () => {
    isOn = toggle.checked;
    localStorage.setItem(KEPT, isOn ? "1" : "0");
  });
  const dialog = h("dialog.keys", { "aria-labelledby": "keys-title" },
    h("h2", { id: "keys-title", tabindex: -1, autofocus: true }, "Keys"),
    h("dl", {},
      table.map(({ keys, what }) => [h("dt", {}, keys.map((key) => h("kbd", {}, key))), h("dd", {}, what)]),
      always.map(([keys, what]) => [h("dt", {}, h("kbd", {}, keys)), h("dd", {}, what)])),
    h("p", {}, toggle, " ", h("label", { for: "letters" }, "Letters are keys")),
    h("footer", {}, h("button.main", { type: "button", on: { click: () => dialog.close() } }, "Close")));
  dialog.addEventListener("close", () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
}
