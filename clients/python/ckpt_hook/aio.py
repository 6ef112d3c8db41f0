"""A client of `ckpt-hook serve --stdio` for asyncio: `ckpt_hook.client` is made of it, with the same names."""

from __future__ import annotations

import base64
import os
from collections.abc import Mapping
from types import TracebackType
from typing import Any

from ckpt_hook.aio_connection import Connection
from ckpt_hook.binary import find_binary
from ckpt_hook.documents import (
    BlameReport,
    DoctorReport,
    Event,
    EventReport,
    InstallReport,
    MessageReport,
    OperationReport,
    OperationsReport,
    SessionsReport,
    ShowReport,
    StatusReport,
    TimelineReport,
)
from ckpt_hook.protocol import (
    PROTOCOL,
    Listeners,
    MessageFields,
    OnConflict,
    OnProgress,
    Operation,
    PatchResult,
    Path,
    Paths,
    PlanResult,
    Server,
    Unclear,
    given,
)


class Plan:
    """What an operation would do, and doing just that."""

    def __init__(self, client: Client, planned: PlanResult) -> None:
        #: The token, which another process can apply as well; `None` if there is nothing to carry out.
        self.token = planned["plan"]
        #: What would be done, file by file.
        self.report = planned["report"]
        self._client = client

    async def apply(self, *, force: bool = False, on_progress: OnProgress | None = None) -> OperationReport:
        """Carries out just this plan, or nothing. Where there is nothing to carry out, that is the answer.

        Raises StaleError where something that the plan rests on has changed, and BusyError while an agent is at work, unless
        `force` is given.
        """
        if self.token is None:
            return self.report
        return await self._client.apply(self.token, force=force, on_progress=on_progress)


class Message(MessageFields):
    """A message with its button."""

    def __init__(self, client: Client, document: MessageReport) -> None:
        super().__init__(document)
        self._client = client

    async def preview(
        self,
        *,
        only: Paths | None = None,
        on_conflict: OnConflict | None = None,
        unclear: Unclear | None = None,
        git: bool | None = None,
        alone: bool | None = None,
        exact: bool | None = None,
        contents: bool | None = None,
        on_progress: OnProgress | None = None,
    ) -> Plan:
        """Plans to go back to just before this message, or with `alone` to undo it alone. Nothing is changed.

        With `contents`, the report has what the files hold before and after.
        """
        return await self._client.plan(
            "revert",
            message=self.id,
            session=self.session,
            workspace=self.workspace,
            only=only,
            on_conflict=on_conflict,
            unclear=unclear,
            git=git,
            alone=alone,
            exact=exact,
            contents=contents,
            on_progress=on_progress,
        )

    async def revert(
        self,
        *,
        only: Paths | None = None,
        on_conflict: OnConflict | None = None,
        unclear: Unclear | None = None,
        git: bool | None = None,
        alone: bool | None = None,
        exact: bool | None = None,
        force: bool = False,
        on_progress: OnProgress | None = None,
    ) -> OperationReport:
        """Goes back to just before this message: plans, and carries out the plan."""
        plan = await self.preview(
            only=only,
            on_conflict=on_conflict,
            unclear=unclear,
            git=git,
            alone=alone,
            exact=exact,
            on_progress=on_progress,
        )
        return await plan.apply(force=force, on_progress=on_progress)


class Client(Listeners):
    """A server in a workspace. It ends with `close`, with its `async with` block, or with this process.

    Listeners may be coroutine functions; each is waited for before the next thing is told. A call whose task is cancelled is
    cancelled in the server as well: what has already begun to change files is carried out all the same.
    """

    #: What the server is and can.
    server: Server

    _connection: Connection

    @classmethod
    async def start(
        cls,
        workspace: str | os.PathLike[str] | None = None,
        *,
        binary: str | os.PathLike[str] | None = None,
        env: Mapping[str, str] = os.environ,
    ) -> Client:
        """Starts a server in the workspace, the current directory without it. The binary is looked for by `find_binary`."""
        path = os.fspath(binary) if binary else find_binary(env)
        client = cls()
        client._connection = await Connection.start(path, os.fspath(workspace or os.getcwd()), env, client)
        try:
            client.server = await client.request("initialize", protocol=PROTOCOL)
        except BaseException:
            await client.close()
            raise
        return client

    async def request(self, method: str, *, on_progress: OnProgress | None = None, **params: Any) -> Any:
        """Calls a method of the protocol. Everything below is made of it; parameters that are None are left out."""
        return await self._connection.call(method, given(**params), on_progress)

    async def messages(
        self,
        *,
        session: str | None = None,
        limit: int | None = None,
        since: int | None = None,
        everywhere: bool | None = None,
        workspace: str | os.PathLike[str] | None = None,
    ) -> list[Message]:
        """Returns the messages, as `log` lists them; with `since`, those after the `seq` of a message."""
        report = await self.request(
            "messages", session=session, limit=limit, since=since, everywhere=everywhere, workspace=workspace
        )
        return [Message(self, document) for document in report["messages"]]

    async def plan(self, operation: Operation, *, on_progress: OnProgress | None = None, **params: Any) -> Plan:
        """Plans an operation with the parameters of its method. Nothing is changed."""
        return Plan(self, await self.request("plan", operation=operation, on_progress=on_progress, **params))

    async def apply(self, token: str, *, force: bool = False, on_progress: OnProgress | None = None) -> OperationReport:
        """Applies a plan by its token, whichever client made it."""
        report: OperationReport = await self.request("apply", plan=token, force=force, on_progress=on_progress)
        return report

    async def revert(
        self, message: str | None = None, *, on_progress: OnProgress | None = None, **params: Any
    ) -> OperationReport:
        """Goes back to just before a message, or a `step`, by any id of it."""
        report: OperationReport = await self.request("revert", message=message, on_progress=on_progress, **params)
        return report

    async def redo(self, *, on_progress: OnProgress | None = None, **params: Any) -> OperationReport:
        """Brings the next hidden message back."""
        report: OperationReport = await self.request("redo", on_progress=on_progress, **params)
        return report

    async def unrevert(self, *, on_progress: OnProgress | None = None, **params: Any) -> OperationReport:
        """Brings all hidden messages back."""
        report: OperationReport = await self.request("unrevert", on_progress=on_progress, **params)
        return report

    async def restore(self, id: str, *, on_progress: OnProgress | None = None, **params: Any) -> OperationReport:
        """Makes the files as they were in a state."""
        report: OperationReport = await self.request("restore", id=id, on_progress=on_progress, **params)
        return report

    async def undo(self, *, on_progress: OnProgress | None = None, **params: Any) -> OperationReport:
        """Takes back the last operation of the workspace, whatever it was."""
        report: OperationReport = await self.request("undo", on_progress=on_progress, **params)
        return report

    async def sessions(self, *, everywhere: bool | None = None) -> SessionsReport:
        report: SessionsReport = await self.request("sessions", everywhere=everywhere)
        return report

    async def operations(self) -> OperationsReport:
        report: OperationsReport = await self.request("operations")
        return report

    async def timeline(
        self, *, limit: int | None = None, search: str | None = None, text: str | None = None
    ) -> TimelineReport:
        """Returns messages, operations and changes from outside in one list, newest first."""
        report: TimelineReport = await self.request("timeline", limit=limit, search=search, text=text)
        return report

    async def show(self, id: str) -> ShowReport:
        report: ShowReport = await self.request("show", id=id)
        return report

    async def patch(self, id: str) -> PatchResult:
        result: PatchResult = await self.request("patch", id=id)
        return result

    async def blame(self, path: Path, *, contents: bool | None = None) -> BlameReport:
        """Returns which message wrote each line of a file; with `contents`, the file's bytes as well."""
        report: BlameReport = await self.request("blame", path=path, contents=contents)
        return report

    async def status(self, *, session: str | None = None) -> StatusReport:
        report: StatusReport = await self.request("status", session=session)
        return report

    async def doctor(self, *, all: bool | None = None) -> DoctorReport:
        """Checks store, settings and hooks; with `all`, every object of every snapshot."""
        report: DoctorReport = await self.request("doctor", all=all)
        return report

    async def install(
        self,
        agents: list[str] | None = None,
        *,
        all: bool | None = None,
        project: bool | None = None,
        dry_run: bool | None = None,
    ) -> InstallReport:
        """Puts the hook into the settings of some agents, or of `all` on this machine."""
        report: InstallReport = await self.request("install", agents=agents, all=all, project=project, dry_run=dry_run)
        return report

    async def record(self, event: Event) -> EventReport:
        """Records an event of an agent or a chat."""
        report: EventReport = await self.request("record", event=event)
        return report

    async def contents(self, blob: str, workspace: str | None = None) -> bytes:
        """Returns all bytes of a blob, as `old_blob` and `new_blob` name one."""
        whole, offset = b"", 0
        while offset is not None:
            part = await self.request("contents", workspace=workspace, blob=blob, offset=offset)
            content, offset = part["content"], part["next_offset"]
            text = content["text"]
            whole += base64.b64decode(text) if content["encoding"] == "base64" else text.encode()
        return whole

    async def subscribe(
        self,
        *,
        since: int | None = None,
        everywhere: bool | None = None,
        events: list[str] | None = None,
        workspace: str | os.PathLike[str] | None = None,
    ) -> int:
        """Calls the listeners from now on; with `since`, the last `seq` that was handled, also for everything after that."""
        if since is not None:
            self._connection.seq = since
        asked = await self.request("subscribe", since=since, everywhere=everywhere, events=events, workspace=workspace)
        seq: int = asked["seq"]
        # What was told before the answer came is later than that.
        if self._connection.seq is None:
            self._connection.seq = seq
        return seq

    async def unsubscribe(self) -> None:
        await self.request("unsubscribe")

    @property
    def seq(self) -> int | None:
        """The `seq` of the last thing that listeners were told: `since` of the next client."""
        return self._connection.seq

    async def close(self) -> None:
        """Ends the server once it has answered what it was asked."""
        await self._connection.close()

    async def __aenter__(self) -> Client:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()
