"""A server's process, and threads that read what it says."""

from __future__ import annotations

import contextlib
import queue
import subprocess
import tempfile
import threading
from collections.abc import Mapping
from typing import Any

from ckpt_hook.errors import ClosedError, error_of
from ckpt_hook.protocol import Listeners, OnProgress, decoded, encoded, nonsense, shielded


class Connection:
    """A server that was started. Its requests may come from many threads; listeners are called in one of their own."""

    @classmethod
    def start(cls, binary: str, workspace: str, environment: Mapping[str, str], listeners: Listeners) -> Connection:
        """Starts a server."""
        return cls(binary, workspace, environment, listeners)

    def __init__(self, binary: str, workspace: str, environment: Mapping[str, str], listeners: Listeners) -> None:
        #: The `seq` of the last thing that listeners were told.
        self.seq: int | None = None
        self._listeners = listeners
        self._stderr = tempfile.TemporaryFile()
        try:
            self._server = subprocess.Popen(
                [binary, "serve", "--stdio"],
                cwd=workspace,
                env=environment,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._stderr,
            )
        except OSError as error:
            self._stderr.close()
            raise ClosedError(f"cannot start {binary} in {workspace}") from error
        self._lock = threading.Lock()
        self._asked = 0
        self._closed: ClosedError | None = None
        self._waiting: dict[int, queue.SimpleQueue[dict[str, Any] | ClosedError]] = {}
        self._events: queue.SimpleQueue[tuple[str, Any]] = queue.SimpleQueue()
        self._reader = threading.Thread(target=self._read, name="ckpt-hook reader", daemon=True)
        self._reader.start()
        threading.Thread(target=self._tell, name="ckpt-hook listeners", daemon=True).start()

    def call(self, method: str, params: Mapping[str, Any], on_progress: OnProgress | None = None) -> Any:
        answers: queue.SimpleQueue[dict[str, Any] | ClosedError] = queue.SimpleQueue()
        with self._lock:
            if self._closed:
                raise self._closed
            self._asked += 1
            id = self._asked
            self._waiting[id] = answers
        try:
            self._write(encoded(method, params, id))
            while True:
                line = answers.get()
                if isinstance(line, ClosedError):
                    raise line
                if "result" in line:
                    return line["result"]
                if "error" in line:
                    raise error_of(line["error"])
                if on_progress:
                    shielded(on_progress, line)
        except KeyboardInterrupt:
            self._write(encoded("cancel", {"id": id}))
            raise
        finally:
            self._waiting.pop(id, None)

    def cancel(self) -> None:
        """Cancels the requests that other threads wait for. What has begun to change files is carried out all the same."""
        for id in list(self._waiting):
            self._write(encoded("cancel", {"id": id}))

    def close(self) -> None:
        """Ends the server once it has answered what it was asked."""
        assert self._server.stdin
        with self._lock, contextlib.suppress(OSError):
            self._server.stdin.close()
        self._reader.join()

    def _write(self, line: bytes) -> None:
        assert self._server.stdin
        # A server that has gone away is told of once, by its end.
        with self._lock, contextlib.suppress(OSError, ValueError):
            self._server.stdin.write(line)
            self._server.stdin.flush()

    def _read(self) -> None:
        assert self._server.stdout
        why: str | None = None
        with self._server.stdout as stdout:
            for text in stdout:
                line = decoded(text)
                if line is None:
                    why = nonsense(text)
                    self._server.kill()
                    break
                self._handle(line)
        code = self._server.wait()
        self._stderr.seek(0)
        said = self._stderr.read().decode(errors="replace")[-4096:].strip()
        self._stderr.close()
        closed = ClosedError(why or f"the server ended with exit code {code}: {said}")
        with self._lock:
            self._closed = closed
            waiting = list(self._waiting.values())
        for answers in waiting:
            answers.put(closed)
        self._events.put(("close", closed))

    def _handle(self, line: dict[str, Any]) -> None:
        if line.get("method") == "progress":
            params = line["params"]
            answers = self._waiting.get(params.pop("id"))
            if answers:
                answers.put(params)
        elif "method" in line:
            self._events.put((line["method"], line["params"]))
        else:
            waiting = self._waiting.get(line["id"])
            if waiting:
                waiting.put(line)

    def _tell(self) -> None:
        while True:
            name, event = self._events.get()
            for listener in self._listeners.listening(name):
                shielded(listener, event)
            if name == "close":
                return
            self.seq = event.get("seq", self.seq)
