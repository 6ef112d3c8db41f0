// Hands what Pi tells its extensions to `ckpt-hook event --agent pi`, which records the workspace.
//
// Written by `ckpt-hook install`, removed by `ckpt-hook uninstall`. Every error is swallowed, nothing is returned to the
// agent but what the hook has to say to the model, and a hook that does not end in time is left behind.
import { spawn } from "node:child_process"

const binary = "ckpt-hook"
const patience = 15_000

const run = (name: string, payload: unknown, cwd: string | undefined) =>
  new Promise<string | undefined>((resolve) => {
    try {
      const options = { cwd, stdio: ["pipe", "pipe", "ignore"] as ["pipe", "pipe", "ignore"] }
      const child = spawn(binary, ["event", "--agent", "pi", "--event", name], options)
      const timer = setTimeout(() => (child.kill(), resolve(undefined)), patience)
      let words = ""
      const done = () => (clearTimeout(timer), resolve(words.trim()))
      child.stdout.on("data", (data) => (words += data))
      child.on("error", done)
      child.on("close", done)
      child.stdin.on("error", () => {})
      child.stdin.end(JSON.stringify(payload))
    } catch {
      resolve(undefined)
    }
  })

// The fields that are needed, so that no file's content goes through a pipe.
const narrowed = (event: any) => ({
  prompt: event?.prompt,
  toolName: event?.toolName,
  toolCallId: event?.toolCallId,
  input: { path: event?.input?.path },
})

export default function (pi: any) {
  let chain: Promise<string | undefined | void> = Promise.resolve()
  const names = ["session_start", "before_agent_start", "context", "tool_call", "tool_result", "agent_end", "session_shutdown"]
  for (const name of names) {
    pi.on(name, async (event: any, context: any) => {
      try {
        const ctx = { cwd: context?.cwd, sessionId: context?.sessionManager?.getSessionId?.() }
        chain = chain.then(() => run(name, { hook: name, event: narrowed(event), ctx }, ctx.cwd)).catch(() => {})
        const words = await chain
        // It stays in the session, so that the model reads it once and for all; the user knows already.
        if (words && name === "before_agent_start") return { message: { customType: "ckpt-hook", content: words, display: false } }
      } catch {}
    })
  }
}
