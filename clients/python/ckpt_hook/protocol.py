"""What both clients share: the methods' results that no document describes, messages, and JSON-RPC 2.0, one message a line."""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, TypeAlias, TypedDict, overload

from ckpt_hook.documents import (
    BusyNotification,
    ErrorReport,
    FailedNotification,
    GapNotification,
    InitializeResult,
    MessageNotification,
    MessageReport,
    MessageState,
    PatchResult as PatchResult,
    PathText as PathText,
    PlanResult as PlanResult,
    Notification,
    OperationNotification,
    ResetNotification,
    StepNotification,
)
from ckpt_hook.errors import ClosedError

#: The version of the protocol that the clients speak.
PROTOCOL = 1

Operation: TypeAlias = Literal["revert", "redo", "unrevert", "restore", "undo"]
OnConflict: TypeAlias = Literal["merge", "keep", "overwrite"]
Unclear: TypeAlias = Literal["keep", "take"]
#: A path, or one as documents have it: a file of a report may be passed as it is.
Path: TypeAlias = "str | os.PathLike[str] | PathText"
Paths: TypeAlias = Sequence[Path]

logger = logging.getLogger("ckpt_hook")


class Progress(TypedDict, total=False):
    """How far an operation is. `looking` has `files` and `bytes`, `applying` has `done` and `of`. Some of it may be dropped."""

    phase: Literal["looking", "applying"]
    files: int
    bytes: int
    done: int
    of: int


OnProgress: TypeAlias = Callable[[Progress], object]


#: What the server is and can.
Server: TypeAlias = InitializeResult


class MessageFields:
    """What is known of a message. `document` has all of it."""

    def __init__(self, document: MessageReport) -> None:
        self.document = document

    def __repr__(self) -> str:
        return f"<Message {self.id[:8]} {self.prompt!r}>"

    @property
    def id(self) -> str:
        return self.document["id"]

    @property
    def agent_id(self) -> str | None:
        """The id that the agent, or the chat, gave it."""
        return self.document["agent_id"]

    @property
    def session(self) -> str:
        return self.document["session"]

    @property
    def agent_session(self) -> str:
        """The id that the agent, or the chat, gave its session."""
        return self.document["agent_session"]

    @property
    def prompt(self) -> str | None:
        return self.document["prompt"]

    @property
    def time(self) -> int:
        """When it was sent, in milliseconds since 1970."""
        return self.document["time"]

    @property
    def state(self) -> MessageState:
        return self.document["state"]

    @property
    def revertable(self) -> bool:
        return self.document["revertable"]

    @property
    def not_revertable(self) -> str | None:
        """Why it is not revertable; `None` if it is."""
        return self.document["not_revertable"]

    @property
    def workspace(self) -> str:
        return self.document["workspace"]

    @property
    def seq(self) -> int:
        return self.document["seq"]


class Listeners:
    """Who is called at which event."""

    def __init__(self) -> None:
        self._listeners: dict[str, list[Callable[[Any], object]]] = {}

    @overload
    def on(self, name: Literal["message"], listener: Callable[[MessageNotification], object]) -> Callable[[], None]: ...
    @overload
    def on(self, name: Literal["step"], listener: Callable[[StepNotification], object]) -> Callable[[], None]: ...
    @overload
    def on(
        self, name: Literal["operation"], listener: Callable[[OperationNotification], object]
    ) -> Callable[[], None]: ...
    @overload
    def on(self, name: Literal["gap"], listener: Callable[[GapNotification], object]) -> Callable[[], None]: ...
    @overload
    def on(self, name: Literal["failed"], listener: Callable[[FailedNotification], object]) -> Callable[[], None]: ...
    @overload
    def on(self, name: Literal["busy"], listener: Callable[[BusyNotification], object]) -> Callable[[], None]: ...
    @overload
    def on(self, name: Literal["reset"], listener: Callable[[ResetNotification], object]) -> Callable[[], None]: ...
    @overload
    def on(
        self, name: Literal["checkpoint", "restored"], listener: Callable[[Notification], object]
    ) -> Callable[[], None]: ...
    @overload
    def on(
        self, name: Literal["error"], listener: "Callable[[Notification | ErrorReport], object]"
    ) -> Callable[[], None]: ...
    @overload
    def on(self, name: Literal["close"], listener: Callable[[ClosedError], object]) -> Callable[[], None]: ...
    def on(self, name: str, listener: Callable[[Any], object]) -> Callable[[], None]:
        """Calls a listener at each event of a name, after `subscribe`; at `close` when the server ended.

        Returns what takes the listener away.
        """
        listeners = self._listeners.setdefault(name, [])
        listeners.append(listener)
        return lambda: listeners.remove(listener) if listener in listeners else None

    def listening(self, name: str) -> list[Callable[[Any], object]]:
        """Returns who listens to a name at this moment."""
        return list(self._listeners.get(name, []))


def shielded(call: Callable[[Any], object], argument: Any) -> object:
    """Calls what is not ours: what it raises is logged, and all goes on."""
    try:
        return call(argument)
    except Exception:
        logger.exception("a callback failed")
        return None


def encoded(method: str, params: Mapping[str, Any], id: int | None = None) -> bytes:
    """Returns a request as a line; a notification without an id."""
    message: dict[str, Any] = {"jsonrpc": "2.0"}
    if id is not None:
        # First, so that the server finds it in a line that is too long.
        message["id"] = id
    message.update(method=method, params=params)
    return json.dumps(message, allow_nan=False).encode() + b"\n"


def decoded(line: bytes) -> dict[str, Any] | None:
    """Returns a line of the protocol, if it is one."""
    try:
        message = json.loads(line)
    except ValueError:
        return None
    if not isinstance(message, dict):
        return None
    if "method" in message:
        is_sound = "id" not in message and isinstance(message.get("params"), dict)
    else:
        is_sound = "id" in message and ("result" in message or isinstance(message.get("error"), dict))
    return message if is_sound else None


def nonsense(line: bytes) -> str:
    """Says that a line is none of the protocol's."""
    return f"the server does not speak the protocol: {line[:200].decode(errors='replace').strip()}"


def given(**params: Any) -> dict[str, Any]:
    """Returns the parameters that were given, with paths as text or, where they are not UTF-8, as documents have them."""
    return {name: plain(value) for name, value in params.items() if value is not None}


def plain(value: Any) -> Any:
    if isinstance(value, os.PathLike):
        path = os.fspath(value)
        return path if is_text(path) else path_text(path)
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    return value


def is_text(path: str) -> bool:
    """Returns whether a path is UTF-8: `os.fsdecode` puts what is not into half characters."""
    return not any("\ud800" <= character <= "\udfff" for character in path)


def path_text(path: str) -> PathText:
    name = os.fsencode(path)
    return {"path": name.decode(errors="replace"), "path_hex": name.hex()}
