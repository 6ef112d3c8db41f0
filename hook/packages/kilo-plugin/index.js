// Hands what opencode 1 and 2 (or Kilo) tell their plugins to `ckpt-hook event --agent kilo`, which records the workspace.
//
// Written by `ckpt-hook install`, removed by `ckpt-hook uninstall`. An error in here would end the user's request, so
// every error is swallowed, and a hook that does not end in time is left behind. One chain keeps the order: the agent
// waits for most of these calls, but not for its bus events. It has to wait for the start of a step, too: some versions end
// right after the answer, and a look that comes later would take the user's next edit for the agent's.
import { spawn } from "node:child_process"
import { accessSync, constants } from "node:fs"
import { createRequire } from "node:module"
import { delimiter, join } from "node:path"

const binary = "ckpt-hook"
const agent = "kilo"
const patience = 15_000
// What the user may call inside the agent, by the name of its file of commands, and the line in it that is filled in here.
const commands = {"ckpt-redo":["inside","redo"],"ckpt-revert":["inside","revert"],"ckpt-status":["inside","status"]}
const blank = "(nothing: the plugin of ckpt-hook did not answer)"

// The settings name a path. A package calls what is on the PATH, else what came along with it for this machine.
const find = () => {
  if (binary.includes("/")) return binary
  const onPath = (process.env.PATH ?? "").split(delimiter).filter(Boolean).map((folder) => join(folder, binary))
  const found = onPath.find((path) => {
    try {
      return accessSync(path, constants.X_OK), true
    } catch {}
  })
  try {
    return found ?? createRequire(import.meta.url).resolve(`ckpt-hook-${process.platform}-${process.arch}/bin/ckpt-hook`)
  } catch {}
}
const program = find()
const missing =
  "ckpt-hook: the program is not installed, so nothing is recorded and nothing can be taken back. Install it with " +
  "`npm install --global ckpt-hook`, `uv tool install ckpt-hook` or `cargo install ckpt-hook`, or remove the plugin."

// Returns what the hook has to say to the model, which is nothing but after a revert.
const run = (name, payload, directory) =>
  new Promise((resolve) => {
    if (!program) return resolve()
    try {
      const options = { cwd: directory, stdio: ["pipe", "pipe", "ignore"] }
      const child = spawn(program, ["event", "--agent", agent, "--event", name], options)
      const timer = setTimeout(() => (child.kill(), resolve()), patience)
      let words = ""
      const done = () => (clearTimeout(timer), resolve(words.trim()))
      child.stdout.on("data", (data) => (words += data))
      child.on("error", done)
      child.on("close", done)
      child.stdin.on("error", () => {})
      child.stdin.end(JSON.stringify(payload))
    } catch {
      resolve()
    }
  })

// Runs a command of the user's to its end, and returns what it printed.
const ask = (words, directory) =>
  new Promise((resolve) => {
    let printed = ""
    if (!program) return resolve(`error: ${missing}`)
    const child = spawn(program, words, { cwd: directory, stdio: ["ignore", "pipe", "pipe"] })
    for (const stream of [child.stdout, child.stderr]) stream.on("data", (data) => (printed += data))
    child.on("error", (error) => resolve(`error: ckpt-hook cannot be started: ${error.message}`))
    child.on("close", () => resolve(printed.trimEnd()))
  })

const unquoted = (word) => word.replace(/^(["'])(.*)\1$/s, "$2")
const words = (line) => (line?.match(/"[^"]*"|'[^']*'|[^\s"']+/g) ?? []).map(unquoted)

// The fields that are needed, so that no file's content goes through a pipe. A command of `task` is not a shell's.
const pick = (object, names) => Object.fromEntries(names.map((name) => [name, object?.[name]]))
const paths = (args) => pick(args, ["filePath", "path", "patchText", "patch"])
const line = (tool, args) => (tool === "task" ? {} : pick(args, ["command"]))
const texts = (parts) => (parts ?? []).filter((part) => part?.type === "text" && !part.synthetic)

const safely = (handler) => async (...told) => {
  try {
    return await handler(...told)
  } catch {}
}

// One chain of calls for a directory, and the parents of sub-agents' sessions.
const recorder = (directory) => {
  const parents = new Map()
  let chain = Promise.resolve()
  const after = (call) => {
    const done = chain.then(call)
    chain = done.then(() => {}, () => {})
    return done
  }
  const tell = (name, session, told) => {
    const payload = { hook: name, cwd: directory, parentID: parents.get(session), ...told }
    return after(() => run(name, payload, directory)).catch(() => {})
  }
  const root = (session) => (parents.has(session) ? root(parents.get(session)) : session)
  const command = (name, session, line) =>
    after(() => ask([...commands[name], "--session", root(session), ...words(line)], directory))
  return { parents, tell, command, end: () => chain }
}

export const CkptHook = async (context) => {
  const directory = context?.directory
  const { parents, tell, command, end } = recorder(directory)
  // Older versions tell of a tool's input only before it runs.
  const lines = new Map()
  let isSaid = Boolean(program)
  // Once: on the screen where there is one, and in the agent's log.
  const sayThatItIsMissing = () => {
    if (isSaid) return
    isSaid = true
    const { app, tui } = context?.client ?? {}
    app?.log({ body: { service: "ckpt-hook", level: "warn", message: missing } })?.catch?.(() => {})
    tui?.showToast({ body: { message: missing, variant: "warning", duration: 15_000 } })?.catch?.(() => {})
  }

  // The chat goes on in the conversation that the command names, with the message in the input that it does not have.
  const goOn = async (session, printed) => {
    const next = printed.match(/^ +cd .* --session (\S+)$/m)?.[1]
    if (!next) return
    const { session: sessions, tui } = context.client
    const messages = async (id) => (await sessions.messages({ path: { id } })).data ?? []
    const [old, kept] = [await messages(session), await messages(next)]
    const text = texts(old[kept.length]?.parts).map((part) => part.text).join("\n")
    await tui.publish({ body: { type: "tui.session.select", properties: { sessionID: next } } })
    // Nothing tells when its input is on the screen.
    if (text) setTimeout(safely(() => tui.appendPrompt({ body: { text } })), 1000)
  }
  const onCommand = async (input, output) => {
    if (!Object.hasOwn(commands, input.command)) return
    const printed = await command(input.command, input.sessionID, input.arguments)
    await safely(goOn)(input.sessionID, printed)
    for (const part of output.parts.filter((part) => part.type === "text")) {
      part.text = part.text.split("\n").map((line) => (line.startsWith(blank) ? printed : line)).join("\n")
    }
  }
  const onEvent = ({ event }) => {
    const { info, part, sessionID } = event.properties ?? {}
    if (event.type === "session.created") {
      if (info?.parentID) parents.set(info.id, info.parentID)
      return tell("event.session.created", info?.id, { event: { properties: { info: pick(info, ["id", "parentID"]) } } })
    }
    if (event.type === "session.idle") {
      return tell("event.session.idle", sessionID, { event: { properties: { sessionID } } })
    }
    if (event.type === "message.part.updated" && part?.type === "step-finish") {
      const properties = { part: pick(part, ["type", "id", "sessionID"]) }
      return tell("event.message.part.updated", part.sessionID, { event: { properties } })
    }
  }

  return {
    "chat.message": safely(async (input, output) => {
      sayThatItIsMissing()
      const words = await tell("chat.message", input.sessionID, {
        input: pick(input, ["sessionID"]),
        output: { message: pick(output.message, ["id"]), parts: texts(output.parts).map((part) => pick(part, ["type", "text"])) },
      })
      const last = output.parts.at(-1)
      // A part of the message that only the model sees; its id puts it behind the user's own.
      if (words && last?.id) {
        output.parts.push({ ...pick(last, ["sessionID", "messageID"]), id: `${last.id}z`, type: "text", synthetic: true, text: words })
      }
    }),
    "chat.params": safely(async (input) => {
      await tell("chat.params", input.sessionID, { input: pick(input, ["sessionID", "agent"]) })
    }),
    "command.execute.before": safely(onCommand),
    "tool.execute.before": safely(async (input, output) => {
      lines.set(input.callID, line(input.tool, output.args))
      await tell("tool.execute.before", input.sessionID, {
        input: pick(input, ["tool", "sessionID", "callID"]),
        output: { args: { ...paths(output.args), ...lines.get(input.callID) } },
      })
    }),
    "tool.execute.after": safely(async (input) => {
      const args = lines.get(input.callID)
      lines.delete(input.callID)
      await tell("tool.execute.after", input.sessionID, { input: { ...pick(input, ["tool", "sessionID", "callID"]), args } })
    }),
    event: safely(async (told) => {
      await onEvent(told)
    }),
    dispose: safely(end),
  }
}
