"""A server's process, read by tasks of an event loop."""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import tempfile
from collections.abc import Iterator, Mapping
from typing import IO, Any

from ckpt_hook.errors import ClosedError, error_of
from ckpt_hook.protocol import Listeners, OnProgress, decoded, encoded, logger, nonsense, shielded


class Connection:
    """A server that was started, of one event loop."""

    #: The `seq` of the last thing that listeners were told.
    seq: int | None = None

    def __init__(self, server: asyncio.subprocess.Process, stderr: IO[bytes], listeners: Listeners) -> None:
        self._server = server
        self._stderr = stderr
        self._listeners = listeners
        self._asked = 0
        self._closed: ClosedError | None = None
        self._waiting: dict[int, tuple[asyncio.Future[Any], OnProgress | None]] = {}
        self._events: asyncio.Queue[tuple[str, Any]] = asyncio.Queue()
        self._reader = asyncio.create_task(self._read(), name="ckpt-hook reader")
        self._teller = asyncio.create_task(self._tell(), name="ckpt-hook listeners")

    @classmethod
    async def start(
        cls, binary: str, workspace: str, environment: Mapping[str, str], listeners: Listeners
    ) -> Connection:
        stderr = tempfile.TemporaryFile()
        pipe = asyncio.subprocess.PIPE
        try:
            server = await asyncio.create_subprocess_exec(
                binary, "serve", "--stdio", cwd=workspace, env=environment, stdin=pipe, stdout=pipe, stderr=stderr
            )
        except OSError as error:
            stderr.close()
            raise ClosedError(f"cannot start {binary} in {workspace}") from error
        return cls(server, stderr, listeners)

    async def call(self, method: str, params: Mapping[str, Any], on_progress: OnProgress | None = None) -> Any:
        if self._closed:
            raise self._closed
        self._asked += 1
        id = self._asked
        answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._waiting[id] = (answer, on_progress)
        try:
            self._write(encoded(method, params, id))
            return await answer
        except asyncio.CancelledError:
            self._write(encoded("cancel", {"id": id}))
            raise
        finally:
            self._waiting.pop(id, None)

    async def close(self) -> None:
        """Ends the server once it has answered what it was asked."""
        assert self._server.stdin
        self._server.stdin.close()
        await asyncio.shield(self._reader)

    def _write(self, line: bytes) -> None:
        assert self._server.stdin
        # A server that has gone away is told of once, by its end.
        with contextlib.suppress(OSError, RuntimeError):
            self._server.stdin.write(line)

    async def _read(self) -> None:
        assert self._server.stdout
        # Not `readline`, which has a longest line.
        lines = Lines()
        why: str | None = None
        while not why and (chunk := await self._server.stdout.read(1 << 16)):
            why = self._handle_all(lines.feed(chunk))
        if why:
            with contextlib.suppress(ProcessLookupError):
                self._server.kill()
        code = await self._server.wait()
        self._stderr.seek(0)
        said = self._stderr.read().decode(errors="replace")[-4096:].strip()
        self._stderr.close()
        self._closed = ClosedError(why or f"the server ended with exit code {code}: {said}")
        for answer, _ in self._waiting.values():
            if not answer.done():
                answer.set_exception(self._closed)
        self._events.put_nowait(("close", self._closed))

    def _handle_all(self, lines: Iterator[bytes]) -> str | None:
        """Handles lines. Returns what is wrong with the first that is none of the protocol's."""
        for text in lines:
            line = decoded(text)
            if line is None:
                return nonsense(text)
            self._handle(line)
        return None

    def _handle(self, line: dict[str, Any]) -> None:
        method = line.get("method")
        if method is not None and method != "progress":
            self._events.put_nowait((method, line["params"]))
            return
        id = line["params"].pop("id") if method else line["id"]
        answer, on_progress = self._waiting.get(id, (None, None))
        if answer is None or answer.done():
            return
        if method:
            if on_progress:
                shielded(on_progress, line["params"])
        elif "error" in line:
            answer.set_exception(error_of(line["error"]))
        else:
            answer.set_result(line["result"])

    async def _tell(self) -> None:
        while True:
            name, event = await self._events.get()
            for listener in self._listeners.listening(name):
                told = shielded(listener, event)
                if inspect.isawaitable(told):
                    try:
                        await told
                    except Exception:
                        logger.exception("a callback failed")
            if name == "close":
                return
            self.seq = event.get("seq", self.seq)


class Lines:
    """Bytes as they come, as lines."""

    def __init__(self) -> None:
        self._begun: list[bytes] = []

    def feed(self, chunk: bytes) -> Iterator[bytes]:
        """Returns the lines that end in a chunk."""
        *ends, rest = chunk.split(b"\n")
        for end in ends:
            line = b"".join([*self._begun, end])
            self._begun = []
            yield line
        if rest:
            self._begun.append(rest)
