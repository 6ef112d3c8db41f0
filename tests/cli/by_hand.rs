//! Agents whose settings are added by hand, and which no test runs: what their pages say that they send, through the binary.

use serde_json::json;
use testing::binary::Sandbox;

/// The words of an agent for its events.
struct Told {
    agent: &'static str,
    /// The event of a user's message, and the field that has its text, if one has.
    message: (&'static str, Option<&'static str>),
    /// The event before a tool, where there is one.
    before: Option<&'static str>,
    after: &'static str,
    end: &'static str,
    /// Whether its events name a session; Kiro's process is one.
    names_session: bool,
}

const QODER: Told = Told {
    agent: "qoder",
    message: ("UserPromptSubmit", Some("prompt")),
    before: Some("PreToolUse"),
    after: "PostToolUse",
    end: "Stop",
    names_session: true,
};

const AGENTS: [Told; 5] = [
    QODER,
    Told {
        agent: "auggie",
        message: ("PromptSubmit", Some("user_prompt")),
        ..QODER
    },
    Told {
        agent: "openhands",
        message: ("UserPromptSubmit", Some("message")),
        ..QODER
    },
    Told {
        agent: "kiro",
        message: ("userPromptSubmit", Some("prompt")),
        before: Some("preToolUse"),
        after: "postToolUse",
        end: "stop",
        names_session: false,
    },
    Told {
        agent: "antigravity",
        message: ("PreInvocation", None),
        before: None,
        ..QODER
    },
];

impl Told {
    fn event(&self, world: &Sandbox, session: &str, name: &str, prompt: Option<&str>) {
        let mut payload = json!({
            "cwd": world.workspace(), "tool_name": "Bash", "tool_use_id": "t", "tool_input": {"command": "make"},
        });
        if self.names_session {
            payload["session_id"] = session.into();
        }
        if let (Some(field), Some(prompt)) = (self.message.1, prompt) {
            payload[field] = prompt.into();
        }
        let words = ["event", "--agent", self.agent, "--event", name, "--strict"];
        world.run(&words, payload.to_string().as_bytes()).exits(0);
    }

    /// Sends a message whose shell makes a file, and says nothing of its end.
    fn begin(&self, world: &Sandbox, session: &str, file: &str) {
        self.event(world, session, self.message.0, Some(file));
        if let Some(before) = self.before {
            self.event(world, session, before, None);
        }
        world.write(file, "made\n");
    }

    fn say(&self, world: &Sandbox, session: &str, file: &str) {
        self.begin(world, session, file);
        self.event(world, session, self.after, None);
        if self.message.1.is_none() {
            // Each call of the model.
            self.event(world, session, self.message.0, None);
        }
        self.event(world, session, self.end, None);
    }
}

/// Three messages go back one by one and come again, each under the agent's name.
///
/// The turns of an agent that reports no prompt are a message each, however many steps they have.
#[test]
fn messages_go_back_and_forth() {
    for told in &AGENTS {
        let world = Sandbox::new();
        let mut trees = vec![world.tree()];
        for file in ["one", "two", "three"] {
            told.say(&world, "s", file);
            trees.push(world.tree());
        }
        let log = world.json(&["log"]);
        let messages = log["messages"].as_array().expect("a list");
        assert_eq!(messages.len(), 3, "{log:#}");
        for (message, file) in messages.iter().rev().zip(["one", "two", "three"]) {
            assert_eq!(message["agent"], told.agent, "{log:#}");
            let prompt = told.message.1.map_or(json!(null), |_| json!(file));
            assert_eq!(message["prompt"], prompt, "{log:#}");
        }
        for (message, before) in messages.iter().zip(trees.iter().rev().skip(1)) {
            let id = message["id"].as_str().expect("an id");
            world.run(&["revert", id], b"").exits(0);
            assert_eq!(world.tree(), *before, "{}", told.agent);
        }
        for after in &trees[1..] {
            world.run(&["redo"], b"").exits(0);
            assert_eq!(world.tree(), *after, "{}", told.agent);
        }
    }
}

/// What a message did that has no end, by Esc or a kill, goes back, or is named.
#[test]
fn message_without_an_end_goes_back() {
    for told in &AGENTS {
        let world = Sandbox::new();
        told.say(&world, "s", "one");
        told.begin(&world, "s", "two");
        let run = world.run(&["revert", "last", "--force"], b"");
        let stays = world.workspace().join("two").exists();
        assert!(!stays || run.stdout.contains("two"), "{run}");
        assert_eq!(run.code, Some(if stays { 3 } else { 0 }), "{run}");
        assert!(world.workspace().join("one").exists(), "{run}");
    }
}

/// Of two sessions in a workspace each goes back without the other.
#[test]
fn one_of_two_sessions_goes_back() {
    for told in AGENTS.iter().filter(|told| told.names_session) {
        let world = Sandbox::new();
        told.say(&world, "s", "one");
        told.say(&world, "t", "two");
        world.run(&["revert", "last~1"], b"").exits(0);
        let there = ["one", "two"].map(|file| world.workspace().join(file).exists());
        assert_eq!(there, [false, true], "{}", told.agent);
    }
}
