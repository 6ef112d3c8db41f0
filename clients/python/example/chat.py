"""A chat with a button at every message: put my files back to how they were before I sent it.

    pip install chainlit ckpt-hook
    chainlit run chat.py

The model is scripted, so that it needs no key: it writes a shopping list. Replace `work` with yours; the rest stays as it is.
`$CHAT_WORKSPACE` is the folder that it works in.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import chainlit as cl
from ckpt_hook import BusyError, FailureError, StaleError
from ckpt_hook.aio import Client, Message, Plan

WORKSPACE = Path(os.environ.get("CHAT_WORKSPACE", "."))


# The model: what it says, and what its tools do.


def work(prompt: str) -> tuple[str, list[Callable[[], None]]]:
    """Returns an answer, and the calls of tools that go with it."""
    shopping = WORKSPACE / "shopping.txt"
    word, _, item = prompt.strip().partition(" ")

    def add() -> None:
        before = shopping.read_text() if shopping.exists() else ""
        shopping.write_text(f"{before}{item}\n")

    if word == "add" and item:
        return f"I added {item}.", [add]
    if word == "clear":
        return "The list is gone.", [lambda: shopping.unlink(missing_ok=True)]
    return "Say `add butter`, or `clear`.", []


# Recording: one event for the message, two around each tool, one at the end. The ids are the chat's own.


async def record(client: Client, session: str, event: str, **more: Any) -> None:
    whole: Any = {"event": event, "session_id": session, "agent": "chat", **more}
    await client.record(whole)


async def client() -> Client:
    """Returns the chat's client. A message may come before Chainlit says that the chat begins, so the first who asks starts it."""
    starting: asyncio.Future[Client] | None = cl.user_session.get("client")
    if starting is None:
        starting = asyncio.ensure_future(Client.start(WORKSPACE))
        cl.user_session.set("client", starting)
    return await asyncio.shield(starting)


@cl.on_chat_start
async def start() -> None:
    await client()


@cl.on_chat_end
async def end() -> None:
    await (await client()).close()


@cl.on_message
async def answer(sent: cl.Message) -> None:
    session = cl.user_session.get("id")
    await record(await client(), session, "user_message", message_id=sent.id, prompt=sent.content, tells_of_tools=True)
    text, tools = work(sent.content)
    for number, tool in enumerate(tools):
        name = {"tool_use_id": f"{sent.id}-{number}", "tool_name": "write"}
        await record(await client(), session, "tool_start", **name)
        tool()
        await record(await client(), session, "tool_finish", **name)
    await record(await client(), session, "turn_end")
    button = cl.Action(name="revert", label="Back to before this", payload={"message": sent.id})
    await cl.Message(text, actions=[button]).send()


# The button: plan, show, apply, and a way back.


@cl.action_callback("revert")
async def revert(action: cl.Action) -> None:
    message = await find(action.payload["message"])
    if message is None:
        await cl.Message("This message was not recorded, so there is no way back to it.").send()
    elif not message.revertable:
        await cl.Message(f"No way back to here: {message.not_revertable}").send()
    else:
        await propose(message)


async def find(id: str) -> Message | None:
    messages = await (await client()).messages(session=cl.user_session.get("id"))
    return next((message for message in messages if message.agent_id == id), None)


async def propose(message: Message, on_conflict: Any = None) -> None:
    """Shows what a revert would do, and does exactly that if the user agrees."""
    told = cl.Message("Looking at the files…")
    await told.send()

    shown: set[asyncio.Task[bool]] = set()

    def progress(how: Any) -> None:
        files = f"{how['done']} of {how['of']}" if how["phase"] == "applying" else f"{how['files']} looked at"
        told.content = f"Working: {files}"
        shown.add(asyncio.ensure_future(told.update()))

    try:
        plan = await message.preview(on_conflict=on_conflict)
        told.content = preview(plan)
        await told.update()
        choice = await ask(plan)
        if choice == "overwrite":
            await propose(message, "overwrite")
        elif choice == "apply":
            await done(await plan.apply(on_progress=progress))
    except StaleError:
        await cl.Message("Something has changed since, and nothing was done. This is the new plan:").send()
        await propose(message, on_conflict)
    except BusyError:
        await cl.Message("An agent is at work in this folder. Try again when it is done.").send()
    except FailureError as error:
        await cl.Message(f"Nothing was done: {error}").send()


def preview(plan: Plan) -> str:
    """Returns a plan as text: each file, what happens to it, and why if it stays."""
    lines = []
    for file in plan.report["files"]:
        stays = file["result"] in ("conflict", "gap")
        what = f"stays: {file['reason']}" if stays else str(file["action"])
        lines.append(f"- `{file['path']}`: {what}")
    return "\n".join(["This would happen:", *lines]) if lines else "Nothing would change."


async def ask(plan: Plan) -> str:
    """Returns what the user chose."""
    if plan.token is None:
        return "cancel"
    choices = [("apply", "Do it"), ("cancel", "Leave it")]
    if any(file["result"] == "conflict" for file in plan.report["files"]):
        choices.insert(1, ("overwrite", "Plan again with the earlier version of what I changed"))
    actions = [cl.Action(name=name, label=label, payload={"choice": name}) for name, label in choices]
    answer = await cl.AskActionMessage("Shall I?", actions=actions, timeout=600).send()
    # Chainlit takes what follows a question for a task that goes on, and disables the buttons until it is told otherwise.
    await cl.context.emitter.task_end()
    return answer["payload"]["choice"] if answer else "cancel"


async def done(report: Any) -> None:
    texts = {"restored": "Done.", "partial": "Done, but for what stays.", "nothing": "All was as it should be."}
    undo = cl.Action(name="undo", label="Undo", payload={})
    await cl.Message(texts.get(report["outcome"], report["outcome"]), actions=[undo]).send()


@cl.action_callback("undo")
async def undo(action: cl.Action) -> None:
    try:
        await (await client()).undo()
        await cl.Message("All is as it was before the revert.").send()
    except FailureError as error:
        await cl.Message(f"Nothing was done: {error}").send()
