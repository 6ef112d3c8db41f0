"""What can go wrong, a class a kind."""

from __future__ import annotations

from typing import Any

from ckpt_hook.documents import CandidateReport, Failure, FailureKind


class CkptHookError(Exception):
    """Anything that this package raises."""


class BinaryNotFoundError(CkptHookError):
    """There is no binary."""


class ClosedError(CkptHookError):
    """The server ended, or was closed, before it answered."""


class ProtocolError(CkptHookError):
    """The server did not take the request: one of JSON-RPC's own codes, -32602 for a wrong parameter."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code


class FailureError(CkptHookError):
    """What was asked for failed. A kind that this version does not know is of this class alone."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure["message"])
        #: The failure as the documents have it.
        self.failure = failure

    @property
    def kind(self) -> FailureKind:
        return self.failure["kind"]

    @property
    def hint(self) -> str | None:
        return self.failure["hint"]

    @property
    def candidates(self) -> list[CandidateReport]:
        """What an ambiguous id may mean."""
        return self.failure["candidates"]


class FailedError(FailureError):
    pass


class UsageError(FailureError):
    pass


class UnknownError(FailureError):
    pass


class AmbiguousError(FailureError):
    pass


class UnavailableError(FailureError):
    pass


class BusyError(FailureError):
    """An agent is at work in the workspace."""


class StaleError(FailureError):
    """Something has changed since the plan was made; nothing was done. Plan again."""


class UnfinishedError(FailureError):
    pass


class LateError(FailureError):
    pass


class CancelledError(FailureError):
    """The request was cancelled; nothing was changed."""


#: A class for each kind; a test compares it with the schema.
KINDS: dict[FailureKind, type[FailureError]] = {
    "failed": FailedError,
    "usage": UsageError,
    "unknown": UnknownError,
    "ambiguous": AmbiguousError,
    "unavailable": UnavailableError,
    "busy": BusyError,
    "stale": StaleError,
    "unfinished": UnfinishedError,
    "late": LateError,
    "cancelled": CancelledError,
}

#: The codes of errors that tell what became of a request; those of JSON-RPC itself tell that it is none.
FAILED, CANCELLED = -32000, -32800


def error_of(error: dict[str, Any]) -> CkptHookError:
    """Returns the exception for an error of JSON-RPC."""
    failure: Failure | None = error.get("data")
    if failure is None or error["code"] not in (FAILED, CANCELLED):
        return ProtocolError(error["code"], error["message"])
    return KINDS.get(failure["kind"], FailureError)(failure)
