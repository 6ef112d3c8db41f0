// How long the page takes to the first sight: many messages, many lines, many files. It asserts nothing: a machine that is busy is slow.
//
//   .ci/page --bench

import { browse, World } from "./world.mjs";

const numbered = (from, to) => Array.from({ length: to - from + 1 }, (_, at) => `${from + at}\n`).join("");

const worlds = {
  "1,000 messages": (world) => {
    for (let at = 1; at < 1000; at += 1) world.event({ event: "user_message", message_id: `m${at}`, prompt: `Message ${at}`, tells_of_tools: true });
    world.play("m1000", "Message 1000", () => world.write("one.txt", "1\n"));
  },
  "5,000 lines": (world) => {
    world.write("long.txt", numbered(1, 5000));
    world.play("m1", "Write it", () => world.write("long.txt", numbered(5001, 10_000)));
  },
  "500 files": (world) => world.play("m1", "Write them", () => {
    for (let at = 0; at < 500; at += 1) world.write(`src/${at % 20}/${at}.txt`, `${at}\n`.repeat(20));
  }),
};

const open = await browse();
for (const [name, work] of Object.entries(worlds)) {
  const world = new World();
  try {
    work(world);
    const address = await world.serve();
    const tab = await open.browser.newPage();
    await tab.goto(address);
    // Many files are folded, and their changes are shown when they are opened.
    await tab.locator("details.file td.come, details.folded").first().waitFor();
    const shown = await tab.evaluate(() => Math.round(performance.getEntriesByName("shown")[0].startTime));
    const changes = await tab.evaluate(() => Math.round(performance.now()));
    console.log(`${name}: the history after ${shown} ms, the first changes after ${changes} ms`);
    await tab.close();
  } finally {
    world.end();
  }
}
await open.end();
