"""The client for asyncio, against the real binary."""

from __future__ import annotations

import asyncio
import unittest

import ckpt_hook
from ckpt_hook import aio
from ckpt_hook.aio_connection import Lines
from ckpt_hook.documents import MessageNotification, Notification
from ckpt_hook.protocol import Progress
from tests.world import TALKATIVE, World, entered


class AioTest(unittest.IsolatedAsyncioTestCase):
    def setUp(self) -> None:
        self.world = entered(self, World())

    async def client(self) -> aio.Client:
        client = await aio.Client.start(self.world.workspace, env=self.world.env)
        self.addAsyncCleanup(client.close)
        return client

    async def test_a_message_is_previewed_reverted_and_brought_back(self) -> None:
        world = self.world
        world.write("file", "before\n")
        world.play("m1", "change it", "file", "after\n")
        client = await self.client()
        [message] = await client.messages()
        self.assertTrue(message.revertable, message.not_revertable)
        plan = await message.preview()
        self.assertEqual(world.read("file"), "after\n", "a preview changes nothing")
        progress: list[Progress] = []
        self.assertEqual((await plan.apply(on_progress=progress.append))["outcome"], "restored")
        self.assertEqual(world.read("file"), "before\n")
        self.assertTrue(any(told["phase"] == "applying" for told in progress), progress)
        await client.unrevert()
        [message] = await client.messages()
        await message.revert()
        self.assertEqual(world.read("file"), "before\n")
        await client.undo()
        self.assertEqual(world.read("file"), "after\n")

    async def test_what_fails_is_of_its_kinds_class(self) -> None:
        self.world.write("file", "before\n")
        self.world.play("m1", "change it", "file", "after\n")
        client = await self.client()
        plan = await (await client.messages())[0].preview()
        self.world.write("file", "mine\n")
        with self.assertRaises(ckpt_hook.StaleError):
            await plan.apply()
        with self.assertRaises(ckpt_hook.UnknownError):
            await client.revert("nothing-has-this-id")
        self.world.event("user_message", "m2", prompt="and again")
        self.world.begin("m2")
        with self.assertRaises(ckpt_hook.BusyError):
            await client.revert("m1")
        self.assertEqual(self.world.read("file"), "mine\n")

    async def test_events_are_told_and_a_client_that_was_away_goes_on_from_the_last_seq(self) -> None:
        told: asyncio.Queue[MessageNotification] = asyncio.Queue()
        async with await aio.Client.start(self.world.workspace, env=self.world.env) as first:
            since = await first.subscribe()
            first.on("message", told.put)
            self.world.play("m1", "make it", "file", "1\n")
            event = await asyncio.wait_for(told.get(), 60)
            self.assertEqual(event["message"]["prompt"], "make it")
        assert first.seq is not None
        self.assertGreater(first.seq, since)
        self.world.play("m2", "and again", "file", "2\n")
        second = await self.client()
        prompts: list[str | None] = []
        restored: asyncio.Queue[Notification] = asyncio.Queue()
        second.on("message", lambda event: prompts.append(event["message"]["prompt"]))
        second.on("restored", restored.put)
        await second.subscribe(since=first.seq, events=["message", "restored"])
        await second.revert("m2")
        self.assertEqual((await asyncio.wait_for(restored.get(), 60))["type"], "operation")
        self.assertIn("and again", prompts, "what happened meanwhile is told")

    async def test_many_ask_at_once_and_one_that_is_cancelled_takes_nobody_along(self) -> None:
        self.world.play("m1", "make it", "file", "1\n")
        client = await self.client()
        asked = [asyncio.create_task(client.show("last")) for _ in range(50)]
        await asyncio.sleep(0)
        asked[-1].cancel()
        answers = await asyncio.gather(*asked, return_exceptions=True)
        self.assertIsInstance(answers.pop(), asyncio.CancelledError)
        self.assertEqual([answer for answer in answers if isinstance(answer, BaseException)], [])
        self.assertEqual(len(await client.messages()), 1)

    async def test_a_server_that_ends_ends_what_waits_for_it(self) -> None:
        client = await aio.Client.start(self.world.workspace, binary=self.world.scripted())
        self.addAsyncCleanup(client.close)
        closed = asyncio.Event()
        client.on("close", lambda error: closed.set())
        with self.assertRaisesRegex(ckpt_hook.ClosedError, "exit code 3: broken"):
            await client.messages()
        await asyncio.wait_for(closed.wait(), 60)
        with self.assertRaises(ckpt_hook.ClosedError):
            await client.messages()
        with self.assertRaises(ckpt_hook.ClosedError):
            await aio.Client.start(self.world.scratch / "nowhere", env=self.world.env)

    async def test_what_is_no_line_of_the_protocol_ends_the_client_with_what_the_server_said(self) -> None:
        for line in TALKATIVE:
            with self.subTest(line=line), self.assertRaises(ckpt_hook.ClosedError) as caught:
                await aio.Client.start(self.world.workspace, binary=self.world.talkative(line))
            self.assertEqual(str(caught.exception), f"the server does not speak the protocol: {line}")

    async def test_lines_are_put_together_however_they_come(self) -> None:
        text = b"one\n\ntwo\n\xe2\x80\xa8three\nfour"
        for size in range(1, len(text) + 1):
            lines = Lines()
            chunks = [text[at : at + size] for at in range(0, len(text), size)]
            found = [line for chunk in chunks for line in lines.feed(chunk)]
            self.assertEqual(found, [b"one", b"", b"two", b"\xe2\x80\xa8three"], size)
