// Hands what Pi tells its extensions to `ckpt-hook event --agent pi`, which records the workspace.
//
// Written by `ckpt-hook install`, removed by `ckpt-hook uninstall`. Every error is swallowed, nothing is returned to the
// agent but what the hook has to say to the model, and a hook that does not end in time is left behind. Pi waits for each of
// them: some versions end right after the answer, and a look that comes later would take the user's next edit for the
// agent's. It has no types, so that any engine runs it.
import { spawn } from "node:child_process"

const binary = "ckpt-hook"
const patience = 15_000
// What the user may call inside Pi, filled in here.
const commands = {}

const run = (name, payload, cwd) =>
  new Promise((resolve) => {
    try {
      const options = { cwd, stdio: ["pipe", "pipe", "ignore"] }
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

// Runs a command of the user's to its end, and returns what it printed.
const ask = (words, cwd) =>
  new Promise((resolve) => {
    let printed = ""
    const child = spawn(binary, words, { cwd, stdio: ["ignore", "pipe", "pipe"] })
    for (const stream of [child.stdout, child.stderr]) stream.on("data", (data) => (printed += data))
    child.on("error", (error) => resolve(`error: ckpt-hook cannot be started: ${error.message}`))
    child.on("close", () => resolve(printed.trimEnd()))
  })

const unquoted = (word) => word.replace(/^(["'])(.*)\1$/s, "$2")
const words = (line) => (line?.match(/"[^"]*"|'[^']*'|[^\s"']+/g) ?? []).map(unquoted)

// Returns the report of a command, if it gives one.
const report = async (words, cwd) => {
  try {
    return JSON.parse(await ask(["--json", ...words], cwd))
  } catch {}
}

// Takes back what the user chooses, and as far. The chat goes on from there, with the message in the input.
const choose = async (session, context) => {
  const { cwd, ui } = context
  const log = await report(["log", "--session", session, "--limit", "20"], cwd)
  const messages = (log?.messages ?? []).filter(({ state }) => state === "live")
  if (messages.length === 0) return ui.notify("This conversation has no message to take back.", "info")
  const titles = messages.map(({ prompt, files }, at) => `${at + 1}  ${(prompt ?? "").split("\n")[0].slice(0, 60)}  (${files} files)`)
  const chosen = messages[titles.indexOf(await ui.select("Take back this message, and all after it:", titles))]
  if (!chosen) return
  // Forced, because the agent that is at work is this one.
  const revert = (how, ...more) => ["revert", chosen.id, "--session", session, "--conversation", how, "--force", ...more]
  const plan = await report(revert("fork", "--dry-run"), cwd)
  const going = (plan?.files ?? []).filter(({ action }) => ["write", "delete", "merge"].includes(action)).map(({ path }) => path)
  const ways = plan?.conversation?.kind === "forked" ? { "Files and conversation": "fork", Files: "no", Conversation: "only" } : { Files: "no" }
  const names = going.length > 8 ? [...going.slice(0, 8), `and ${going.length - 8} more`] : going
  const way = ways[await ui.select(`Goes back: ${names.join(", ") || "no file"}`, Object.keys(ways))]
  if (!way) return
  const done = await report(revert(way), cwd)
  if (!done?.outcome) return ui.notify(`error: ${done?.error?.message ?? "ckpt-hook said nothing"}`, "error")
  const { kind, argv = [], prompt } = done.conversation ?? {}
  const said = [`Went back to just before “${(chosen.prompt ?? "").split("\n")[0]}” (${done.outcome}).`, ...(done.notes ?? []).map((note) => `note: ${note}`)]
  // A conversation without messages has no record yet to switch to.
  const isNew = argv.includes("--session-id")
  if (isNew) said.push(`The conversation begins anew: ${argv.join(" ")}`)
  const tell = async ({ ui }) => {
    ui.notify(said.join("\n"), "info")
    if (kind === "forked" && prompt) ui.setEditorText(prompt)
  }
  if (kind === "forked" && !isNew) await context.switchSession(argv.at(-1), { withSession: tell })
  else await tell(context)
}

// The fields that are needed, so that no file's content goes through a pipe.
const narrowed = (event) => ({
  prompt: event?.prompt,
  toolName: event?.toolName,
  toolCallId: event?.toolCallId,
  input: { path: event?.input?.path, command: event?.input?.command },
})

const text = (content) =>
  typeof content === "string" ? content : (content ?? []).map((part) => part?.text ?? "").join("\n")

export default function (pi) {
  let chain = Promise.resolve()
  // Messages that were told of already, and come once more when the model gets them.
  let told = 0
  // Pi 1.x goes on after `agent_end` with what was queued, and tells of the end of that as `agent_settled`.
  let settles = false
  const turns = ["agent_end", "agent_settled"]
  const names = ["session_start", "before_agent_start", "context", "tool_call", "tool_result", ...turns, "session_shutdown"]
  for (const name of names) {
    pi.on(name, async (event, context) => {
      try {
        const ctx = { cwd: context?.cwd, sessionId: context?.sessionManager?.getSessionId?.() }
        // The run of an extension has no prompt: what its user types meanwhile comes once, below.
        if (name === "before_agent_start" && event?.prompt !== undefined) told += 1
        if (turns.includes(name)) told = 0
        settles ||= name === "agent_settled"
        if (name === "agent_end" && settles) return
        chain = chain.then(() => run(name, { hook: name, event: narrowed(event), ctx }, ctx.cwd)).catch(() => {})
        const words = await chain
        // It stays in the session, so that the model reads it once and for all; the user knows already.
        if (words && name === "before_agent_start") return { message: { customType: "ckpt-hook", content: words, display: false } }
      } catch {}
    })
  }
  // A message that was typed while the agent works comes here alone, between two steps.
  pi.on("message_start", async (event, context) => {
    try {
      if (event?.message?.role !== "user") return
      if (told > 0) {
        told -= 1
        return
      }
      const ctx = { cwd: context?.cwd, sessionId: context?.sessionManager?.getSessionId?.() }
      const payload = { hook: "steered_message", event: { prompt: text(event.message.content) }, ctx }
      chain = chain.then(() => run("steered_message", payload, ctx.cwd)).catch(() => {})
      await chain
    } catch {}
  })
  for (const [name, command] of Object.entries(commands)) {
    const handler = async (line, context) => {
      try {
        const session = context?.sessionManager?.getSessionId?.()
        if (name === "ckpt-revert" && !line?.trim() && session && context.hasUI && context.switchSession) {
          const chosen = chain.then(() => choose(session, context))
          chain = chosen.catch(() => {})
          return await chosen
        }
        const asked = [...command.words, ...(session ? ["--session", session] : []), ...words(line)]
        const answer = chain.then(() => ask(asked, context?.cwd))
        chain = answer.then(() => {}, () => {})
        const printed = await answer
        // The user reads it, and the model does not: the next message tells the model what went back.
        if (context?.hasUI) context.ui.notify(printed, "info")
        else console.log(printed)
      } catch {}
    }
    try {
      pi.registerCommand(name, { description: command.about, handler })
    } catch {}
  }
}
