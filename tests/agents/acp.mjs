// An editor that sends one message to an agent by the protocol's own library, and lets it do what it asks for.
//
//   node acp.mjs LIBRARY DIRECTORY PROMPT AGENT...

import { spawn } from "node:child_process";
import { Readable, Writable } from "node:stream";
import { pathToFileURL } from "node:url";

const [library, cwd, text, program, ...words] = process.argv.slice(2);
const { client, methods, ndJsonStream } = await import(pathToFileURL(library));

const agent = spawn(program, words, { cwd, stdio: ["pipe", "pipe", "inherit"], detached: true });
const stream = ndJsonStream(Writable.toWeb(agent.stdin), Readable.toWeb(agent.stdout));
const allow = ({ params }) => {
  const option = params.options.find(({ kind }) => kind.startsWith("allow"));
  return { outcome: { outcome: "selected", optionId: option.optionId } };
};
await client({ name: "editor" })
  .onRequest(methods.client.session.requestPermission, allow)
  .onNotification(methods.client.session.update, () => {})
  .connectWith(stream, async (context) => {
    await context.request(methods.agent.initialize, { protocolVersion: 1, clientCapabilities: {} });
    const { sessionId } = await context.request(methods.agent.session.new, { cwd, mcpServers: [] });
    const prompt = [{ type: "text", text }];
    const { stopReason } = await context.request(methods.agent.session.prompt, { sessionId, prompt });
    console.log(stopReason);
  });
// Some agents outlive the end of their input, and a gentle signal.
process.kill(-agent.pid, "SIGKILL");
