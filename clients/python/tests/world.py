"""A home, a store and a workspace in a scratch directory, and the real binary."""

from __future__ import annotations

import json
import subprocess
import tempfile
import unittest
from contextlib import AbstractContextManager
from pathlib import Path
from types import TracebackType
from typing import TypeVar

import ckpt_hook
from ckpt_hook.documents import EventKind

T = TypeVar("T")

#: Lines that no server says.
TALKATIVE = ["Update available!", "null", "[]", "{}", '{"id":2}', '{"id":1,"method":"m","params":{}}']


def entered(test: unittest.TestCase, manager: AbstractContextManager[T]) -> T:
    """Enters a context that ends with the test, as `enterContext` does from Python 3.11 on."""
    value = manager.__enter__()
    test.addCleanup(manager.__exit__, None, None, None)
    return value


class World:
    def __init__(self) -> None:
        self._scratch = tempfile.TemporaryDirectory(prefix="ckpt-client-")
        self.scratch = Path(self._scratch.name).resolve()
        self.workspace = self.scratch / "workspace"
        self.workspace.mkdir()
        (self.scratch / "home").mkdir()
        self.env = {
            "CKPT_HOOK_BINARY": ckpt_hook.find_binary(),
            "CKPT_HOOK_HOME": str(self.scratch / "store"),
            "HOME": str(self.scratch / "home"),
            "PATH": "/usr/bin:/bin",
        }

    def __enter__(self) -> World:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._scratch.cleanup()

    def client(self) -> ckpt_hook.Client:
        return ckpt_hook.Client.start(self.workspace, env=self.env)

    def scripted(self, *answers: object) -> Path:
        """Returns a server that answers as it is told, and then ends with the exit code 3."""
        binary = self.scratch / "scripted"
        lines = [f"read -r _; echo '{json.dumps(answer)}'\n" for answer in [{"id": 1, "result": {}}, *answers]]
        binary.write_text("#!/bin/sh\n" + "".join(lines) + "read -r _ && echo broken >&2 && exit 3\n")
        binary.chmod(0o755)
        return binary

    def talkative(self, line: str) -> Path:
        """Returns a program that says a line before it is asked anything, and waits."""
        binary = self.scratch / "talkative"
        binary.write_text(f"#!/bin/sh\necho '{line}'\nread -r _\nread -r _\n")
        binary.chmod(0o755)
        return binary

    def read(self, name: str) -> str:
        return (self.workspace / name).read_text()

    def write(self, name: str, text: str) -> None:
        (self.workspace / name).write_text(text)

    def event(self, event: EventKind, message: str, **more: str) -> None:
        """Sends an event as an agent's hook does, from another process."""
        sent = {"event": event, "session_id": "chat", "message_id": message, "cwd": str(self.workspace), **more}
        subprocess.run(
            [self.env["CKPT_HOOK_BINARY"], "event"], input=json.dumps(sent), env=self.env, text=True, check=True
        )

    def play(self, message: str, prompt: str, name: str, text: str) -> None:
        """Plays a message with a step that writes a file."""
        self.event("user_message", message, prompt=prompt)
        self.begin(message)
        self.write(name, text)
        self.event("tool_finish", message, tool_use_id=message, tool_name="shell")
        self.event("turn_end", message)

    def begin(self, message: str) -> None:
        self.event("tool_start", message, tool_use_id=message, tool_name="shell")
