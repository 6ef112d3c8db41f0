"""opencode's own snapshots."""

import json
import urllib.error
import urllib.request

import world
from rivals.agents import RealAgent, answers, free_port

MODEL = {"providerID": "fake", "modelID": "scripted"}


class Opencode(RealAgent):
    """See the module."""

    name = "opencode's snapshots"
    use = (
        "opencode, spoken to by its server, as its terminal does: to go back, `revert` with the message, which is `/undo` there; to go "
        "forward, `unrevert`, which is `/redo`."
    )
    better = ("Nothing has to be installed, and the conversation goes back together with the files, in one place.",)

    @classmethod
    def version(cls, tools):
        version, cls.program, cls.node = tools.agent("opencode")
        return version

    def prepare(self):
        super().prepare()
        folder = self.world.home / ".config/opencode"
        folder.mkdir(parents=True)
        options = {"baseURL": f"{self.url}/v1", "apiKey": "dummy"}
        model = {"name": "scripted", "tool_call": True, "limit": {"context": 200_000, "output": 8_000}}
        settings = {
            "autoupdate": False, "share": "disabled", "snapshot": True, "model": "fake/scripted", "small_model": "fake/scripted",
            "permission": {"edit": "allow", "bash": "allow", "external_directory": "allow"},
            "provider": {"fake": {"npm": "@ai-sdk/openai-compatible", "name": "fake", "options": options, "models": {"scripted": model}}},
        }
        (folder / "opencode.json").write_text(json.dumps(settings))
        self.serve()
        self.session = self.ask("/session", {})["id"]

    def serve(self):
        """Starts the server."""
        self.door = free_port()
        names = ("AUTOUPDATE", "MODELS_FETCH", "LSP_DOWNLOAD", "DEFAULT_PLUGINS", "SHARE")
        variables = {f"OPENCODE_DISABLE_{name}": "1" for name in names} | {"PATH": f"{self.node}:{self.world.environment['PATH']}"}
        arguments = [self.program, "serve", "--port", self.door, "--hostname", "127.0.0.1"]
        self.server = self.start(arguments, self.world.workspace, variables)
        world.wait_for(lambda: answers(self.door), "opencode")
        world.wait_for(self.is_listening, "opencode's first answer")

    def is_listening(self):
        """Whether it answers; some versions never answer what they are asked first."""
        try:
            return self.ask("/config", patience=5) is not None
        except OSError:
            return False

    def ask(self, path, body=None, patience=world.PATIENCE):
        """Asks the server; a body makes it a POST."""
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(f"http://127.0.0.1:{self.door}{path}", data, {"content-type": "application/json"})
        try:
            with urllib.request.urlopen(request, timeout=patience) as answer:
                text = answer.read()
        except urllib.error.HTTPError as failure:
            text = failure.read()
            self.world.log.append(([path], failure.code, text))
            return None
        self.world.log.append(([path], 0, text))
        return json.loads(text) if text else None

    def say(self, number, is_killed):
        message = {"model": MODEL, "parts": [{"type": "text", "text": f"TURN-{number}. please"}]}
        if is_killed:
            self.ask(f"/session/{self.session}/prompt_async", message)
            world.wait_for(self.is_half_done, "the command to get half-way")
            self.kill(self.server)
            self.serve()
        else:
            self.ask(f"/session/{self.session}/message", message)

    def go_back(self, number):
        messages = self.ask(f"/session/{self.session}/message")
        users = [message["info"]["id"] for message in messages if message["info"]["role"] == "user"]
        self.ask(f"/session/{self.session}/revert", {"messageID": users[number]})

    def redo(self):
        self.ask(f"/session/{self.session}/unrevert", {})
