"""The client that waits, against the real binary."""

from __future__ import annotations

import json
import os
import queue
import unittest
import unittest.mock
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import get_args

import ckpt_hook
from ckpt_hook import aio, errors
from ckpt_hook.documents import ErrorReport, FailureKind, MessageNotification, Notification
from ckpt_hook.protocol import Progress
from tests.world import TALKATIVE, World, entered


class ClientTest(unittest.TestCase):
    def setUp(self) -> None:
        self.world = entered(self, World())

    def client(self) -> ckpt_hook.Client:
        return entered(self, self.world.client())

    def test_a_message_is_previewed_reverted_and_brought_back(self) -> None:
        world = self.world
        world.write("file", "before\n")
        world.play("m1", "rename\u2028it", "file", "after\n")
        client = self.client()
        [message] = client.messages()
        self.assertEqual((message.prompt, message.agent_id), ("rename\u2028it", "m1"))
        self.assertTrue(message.revertable, message.not_revertable)
        plan = message.preview(only=[Path("file")])
        self.assertTrue(plan.report["dry_run"])
        self.assertEqual([(file["path"], file["action"]) for file in plan.report["files"]], [("file", "write")])
        self.assertEqual(world.read("file"), "after\n", "a preview changes nothing")
        progress: list[Progress] = []
        self.assertEqual(plan.apply(on_progress=progress.append)["outcome"], "restored")
        self.assertEqual(world.read("file"), "before\n")
        self.assertTrue(any(told["phase"] == "applying" and told["of"] == 1 for told in progress), progress)
        client.unrevert()
        self.assertEqual(world.read("file"), "after\n")
        [message] = client.messages()
        self.assertEqual(message.revert()["outcome"], "restored")
        self.assertEqual(world.read("file"), "before\n")
        self.assertEqual(client.undo()["outcome"], "restored")
        self.assertEqual(world.read("file"), "after\n")

    def test_a_name_that_is_not_utf_8_is_a_path_or_a_file_of_a_report(self) -> None:
        name = os.fsdecode(b"n\xffm")
        self.world.play("m1", "make it", name, "1\n")
        client = self.client()
        report = client.blame(Path(name))
        self.assertEqual(report["path_hex"], b"n\xffm".hex())
        [message] = client.messages()
        files = message.preview().report["files"]
        self.assertEqual(message.revert(only=files)["outcome"], "restored")
        self.assertFalse(Path(self.world.workspace, name).exists())

    def test_a_plan_that_no_longer_holds_is_stale_and_nothing_moves(self) -> None:
        self.world.write("file", "before\n")
        self.world.play("m1", "change it", "file", "after\n")
        plan = self.client().messages()[0].preview()
        self.world.write("file", "mine\n")
        with self.assertRaises(ckpt_hook.StaleError) as caught:
            plan.apply()
        self.assertEqual(caught.exception.kind, "stale")
        self.assertEqual(self.world.read("file"), "mine\n")

    def test_of_two_clients_that_apply_one_plan_one_wins(self) -> None:
        self.world.play("m1", "make it", "file", "after\n")
        clients = [self.client(), self.client()]
        token = clients[0].plan("revert", message="m1").token
        assert token
        with ThreadPoolExecutor() as threads:
            applied = [threads.submit(client.apply, token) for client in clients]
        lost = [error for error in (future.exception() for future in applied) if error]
        self.assertEqual([type(error) for error in lost], [ckpt_hook.StaleError])

    def test_while_an_agent_is_at_work_a_revert_is_refused_unless_it_is_forced(self) -> None:
        self.world.write("file", "before\n")
        self.world.play("m1", "change it", "file", "after\n")
        self.world.event("user_message", "m2", prompt="and again")
        self.world.begin("m2")
        [message] = [message for message in self.client().messages() if message.agent_id == "m1"]
        self.assertTrue(message.preview().report["busy"])
        with self.assertRaises(ckpt_hook.BusyError):
            message.revert()
        self.assertEqual(self.world.read("file"), "after\n")
        message.revert(force=True)
        self.assertEqual(self.world.read("file"), "before\n")

    def test_an_error_is_of_its_kinds_class(self) -> None:
        self.assertEqual(set(errors.KINDS), set(get_args(FailureKind)), "those of the schema")
        self.world.play("m1", "make it", "file", "1\n")
        client = self.client()
        with self.assertRaises(ckpt_hook.UnknownError):
            client.revert("nothing-has-this-id")
        with self.assertRaises(ckpt_hook.ProtocolError):
            client.messages(limit=-1)
        self.assertEqual(len(client.messages()), 1, "the server goes on")
        failure = {"code": 1, "message": "two", "causes": [], "hint": None, "notes": []}
        candidates = [{"kind": "message", "id": "1", "name": "1"}]
        ambiguous = {**failure, "kind": "ambiguous", "candidates": candidates}
        unknown = {**failure, "kind": "of tomorrow", "candidates": []}
        binary = self.world.scripted(
            {"id": 2, "error": {"code": -32000, "message": "two", "data": ambiguous}},
            {"id": 3, "error": {"code": -32000, "message": "two", "data": unknown}},
            {"id": 4, "error": {"code": -32800, "message": "two", "data": {**unknown, "kind": "cancelled"}}},
            {"id": 5, "error": {"code": -32601, "message": "two", "data": {**unknown, "kind": "usage"}}},
            {"id": 6, "error": {"code": -32601, "message": "two"}},
        )
        scripted = entered(self, ckpt_hook.Client.start(self.world.workspace, binary=binary))
        with self.assertRaises(ckpt_hook.AmbiguousError) as caught:
            scripted.messages()
        self.assertEqual(caught.exception.candidates, candidates)
        with self.assertRaises(ckpt_hook.FailureError) as other:
            scripted.messages()
        self.assertIs(type(other.exception), ckpt_hook.FailureError)
        with self.assertRaises(ckpt_hook.CancelledError):
            scripted.messages()
        for _ in ("with a kind", "a server of before"):
            with self.assertRaises(ckpt_hook.ProtocolError):
                scripted.messages()

    def test_a_text_that_is_cut_or_too_long_costs_nothing_but_its_own_request(self) -> None:
        client = self.client()
        client.record({"event": "user_message", "session_id": "chat", "message_id": "cut", "prompt": "cake \ud83c"})
        self.assertEqual(client.messages()[0].prompt, "cake \ufffd")
        with self.assertRaises(ckpt_hook.ProtocolError):
            client.record({"event": "user_message", "session_id": "chat", "prompt": "x" * (5 << 20)})
        self.assertEqual(len(client.messages()), 1, "the server goes on")

    def test_events_are_told_and_a_client_that_was_away_goes_on_from_the_last_seq(self) -> None:
        told: queue.Queue[MessageNotification] = queue.Queue()
        with self.world.client() as first:
            since = first.subscribe()
            first.on("message", told.put)
            self.world.play("m1", "make it", "file", "1\n")
            self.assertEqual(told.get(timeout=60)["message"]["prompt"], "make it")
        assert first.seq is not None
        self.assertGreater(first.seq, since)
        self.world.play("m2", "and again", "file", "2\n")
        second = self.client()
        prompts: list[str | None] = []
        restored: queue.Queue[Notification] = queue.Queue()
        second.on("message", lambda event: prompts.append(event["message"]["prompt"]))
        # One that fails, and one that asks while it is told.
        second.on("restored", lambda event: 1 / 0)
        second.on("restored", lambda event: restored.put(event) if second.messages() else None)
        second.subscribe(since=first.seq, events=["message", "restored"])
        with self.assertLogs("ckpt_hook", "ERROR"):
            second.revert("m2")
            self.assertEqual(restored.get(timeout=60)["type"], "operation")
        self.assertIn("and again", prompts, "what happened meanwhile is told")

    def test_what_the_chat_records_can_be_reverted_by_its_own_ids(self) -> None:
        client = self.client()
        client.record({"event": "user_message", "session_id": "chat", "message_id": "m1", "prompt": "make it"})
        client.record({"event": "tool_start", "session_id": "chat", "tool_use_id": "t", "tool_name": "shell"})
        self.world.write("file", "ü\n")
        client.record({"event": "tool_finish", "session_id": "chat", "tool_use_id": "t", "tool_name": "shell"})
        client.record({"event": "turn_end", "session_id": "chat"})
        blob = client.patch(client.messages()[0].id)["files"][0]["new_blob"]
        assert blob
        self.assertEqual(client.contents(blob).decode(), "ü\n")
        self.assertEqual(client.show("last")["version"], 1)
        self.assertEqual(client.blame("file")["path"], "file")
        self.assertEqual(client.blame("file", contents=True)["contents"], {"bytes": 3, "encoding": "utf-8", "text": "ü\n"})
        self.assertEqual([entry["type"] for entry in client.timeline(search="make")["entries"]], ["message"])
        self.assertEqual(len(client.sessions()["sessions"]), 1)
        self.assertEqual(client.revert("m1")["outcome"], "restored")
        self.assertFalse((self.world.workspace / "file").exists(), "what the step made is gone")
        self.assertEqual(len(client.operations()["operations"]), 1)
        self.assertEqual(client.status()["version"], 1)
        self.assertEqual(client.doctor()["version"], 1)
        self.assertEqual(client.install(all=True, dry_run=True)["version"], 1)
        known = {name for name in dir(client) if not name.startswith("_")} | {"initialize", "cancel"}
        self.assertEqual(set(client.server["methods"]) - known, set(), "each method has a name here")

    def test_a_server_that_ends_ends_what_waits_for_it(self) -> None:
        client = entered(self, ckpt_hook.Client.start(self.world.workspace, binary=self.world.scripted()))
        closed: queue.Queue[ckpt_hook.ClosedError] = queue.Queue()
        client.on("close", closed.put)
        with self.assertRaisesRegex(ckpt_hook.ClosedError, "exit code 3: broken"):
            client.messages()
        self.assertIsInstance(closed.get(timeout=60), ckpt_hook.ClosedError)
        with self.assertRaises(ckpt_hook.ClosedError):
            client.messages()
        with self.assertRaises(ckpt_hook.ClosedError):
            ckpt_hook.Client.start(self.world.scratch / "nowhere", env=self.world.env)

    def test_a_notification_of_a_later_version_is_passed_over_and_its_seq_counts(self) -> None:
        later = {"method": "of_tomorrow", "params": {"type": "of_tomorrow", "seq": 7, "of": {"tomorrow": []}}}
        both = f"{json.dumps(later)}\n{json.dumps({'id': 2, 'result': {'messages': []}})}"
        binary = self.world.scripted()
        binary.write_text(binary.read_text().replace("read -r _ &&", f"read -r _; echo '{both}'; read -r _ &&"))
        client = entered(self, ckpt_hook.Client.start(self.world.workspace, binary=binary))
        told: queue.Queue[object] = queue.Queue()
        client.on("close", told.put)
        self.assertEqual(client.messages(), [])
        client.close()
        told.get(timeout=60)
        self.assertEqual(client.seq, 7)

    def test_what_is_no_line_of_the_protocol_ends_the_client_with_what_the_server_said(self) -> None:
        for line in TALKATIVE:
            with self.subTest(line=line), self.assertRaises(ckpt_hook.ClosedError) as caught:
                ckpt_hook.Client.start(self.world.workspace, binary=self.world.talkative(line))
            self.assertEqual(str(caught.exception), f"the server does not speak the protocol: {line}")

    def test_the_binary_is_found_by_the_environment_the_platforms_package_and_the_path(self) -> None:
        scratch = self.world.scratch
        self.assertEqual(ckpt_hook.find_binary({"CKPT_HOOK_BINARY": "/there", "PATH": "/usr/bin"}), "/there")
        with self.assertRaises(ckpt_hook.BinaryNotFoundError):
            ckpt_hook.find_binary({"PATH": str(scratch)})
        binary = scratch / "ckpt-hook"
        binary.write_text("#!/bin/sh\n")
        binary.chmod(0o755)
        self.assertEqual(ckpt_hook.find_binary({"PATH": f"/nowhere:{scratch}"}), str(binary))
        packaged = scratch / "site/ckpt_hook_binary/bin/ckpt-hook"
        packaged.parent.mkdir(parents=True)
        packaged.write_text("#!/bin/sh\n")
        with unittest.mock.patch("sys.path", [str(scratch / "site")]):
            self.assertEqual(ckpt_hook.find_binary({"PATH": str(scratch)}), str(packaged))

    def test_the_twin_for_asyncio_has_the_same_names(self) -> None:
        for one, other in [
            (ckpt_hook.Client, aio.Client),
            (ckpt_hook.Message, aio.Message),
            (ckpt_hook.Plan, aio.Plan),
        ]:
            names = [{name for name in dir(kind) if not name.startswith("_")} for kind in (one, other)]
            # With asyncio, the task is cancelled.
            names[0].discard("cancel")
            self.assertEqual(*names)

    def test_the_documents_are_types_at_runtime_too(self) -> None:
        error: ErrorReport = json.loads('{"version": 1, "error": {"kind": "stale"}}')
        self.assertEqual(set(error), set(ErrorReport.__annotations__))
