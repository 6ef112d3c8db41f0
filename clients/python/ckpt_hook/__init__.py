"""Revert what a coding agent did to just before a message: a client of `ckpt-hook serve --stdio`.

`ckpt_hook.Client` waits for its answers, `ckpt_hook.aio.Client` is its twin for asyncio. `ckpt_hook.documents` has the types of
what goes in and out.
"""

from ckpt_hook.binary import find_binary
from ckpt_hook.client import Client, Message, Plan
from ckpt_hook.errors import (
    AmbiguousError,
    BinaryNotFoundError,
    BusyError,
    CancelledError,
    CkptHookError,
    ClosedError,
    FailedError,
    FailureError,
    LateError,
    ProtocolError,
    StaleError,
    UnavailableError,
    UnfinishedError,
    UnknownError,
    UsageError,
)

__all__ = [
    "AmbiguousError",
    "BinaryNotFoundError",
    "BusyError",
    "CancelledError",
    "CkptHookError",
    "Client",
    "ClosedError",
    "FailedError",
    "FailureError",
    "LateError",
    "Message",
    "Plan",
    "ProtocolError",
    "StaleError",
    "UnavailableError",
    "UnfinishedError",
    "UnknownError",
    "UsageError",
    "find_binary",
]
