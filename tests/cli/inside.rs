//! What our commands inside agents run: it says what is, and never fails.

use serde_json::json;
use testing::binary::{Run, Sandbox, binary};
use testing::chat::{Chat, OLD};
use testing::executable;

/// Plays three messages of the session `s`.
fn three_messages() -> Sandbox {
    let world = Sandbox::new();
    for name in ["one", "two", "three"] {
        world.play(name, &format!("make {name}"), |world| {
            world.write(name, "x\n");
        });
    }
    world
}

/// Runs one in the conversation `s`; whatever comes of it, it ends with 0.
fn inside(world: &Sandbox, words: &[&str]) -> Run {
    let [verb, more @ ..] = words else {
        panic!("a command has a name");
    };
    let all = [&["inside", verb, "--session", "s"], more].concat();
    world.run(&all, b"").exits(0)
}

fn files(world: &Sandbox) -> Vec<String> {
    let paths = world.tree().into_keys();
    paths.map(|path| path.display().to_string()).collect()
}

/// A second revert says what it would take and takes what it is told to.
#[test]
fn second_revert_says_what_it_would_take() {
    let world = three_messages();
    inside(&world, &["revert"]);
    assert_eq!(files(&world), ["one", "two"], "the newest is taken back");
    let run = inside(&world, &["revert"]);
    assert_eq!(
        files(&world),
        ["one", "two"],
        "nothing is, in silence: {run}"
    );
    let run = world.redact(&run.stdout);
    assert!(
        run.contains("  1  12345678  “make two”  1 file\n  2  12345678  “make one”"),
        "it lists what there is: {run}"
    );
    inside(&world, &["revert", "1"]);
    assert_eq!(files(&world), ["one"], "the first of the list");
    inside(&world, &["redo", "--all"]);
    inside(&world, &["revert", "last~2"]);
    assert!(files(&world).is_empty(), "all three of them");
    inside(&world, &["redo", "--all"]);
    inside(&world, &["revert", "two", "--dry-run"]);
    assert_eq!(files(&world).len(), 3, "a plan is a plan");
    inside(&world, &["revert", "two"]);
    assert_eq!(files(&world), ["one"], "by the agent's own id");
}

/// What cannot be done is said and is no failed shell.
#[test]
fn impossible_command_is_no_failed_shell() {
    let world = three_messages();
    world.write("three", "the user's\n");
    let run = inside(&world, &["revert"]);
    assert!(run.stdout.contains("but not everything"), "in part: {run}");
    for words in [
        &["revert", "no-such-message"][..],
        &["revert", "--bogus"],
        &["revert", "9"],
        &["redo", "surplus"],
    ] {
        let run = inside(&world, words);
        let said = format!("{}{}", run.stdout, run.stderr);
        assert!(!said.is_empty(), "{words:?}: why");
    }
    inside(&world, &["status"]);
}

/// What is forced takes no database from a program, inside an agent or not.
#[test]
fn force_inside_an_agent_takes_no_open_database() {
    let world = Sandbox::new();
    world.write("x.db", "mine\0");
    world.play("one", "fill the database", |world| {
        world.write("x.db", "agent\0");
    });
    let path = world.workspace().join("x.db");
    let open = std::fs::OpenOptions::new().append(true).open(&path);
    let mut program = std::process::Command::new("sleep")
        .arg("1000")
        .stdin(open.expect("it is there"))
        .spawn()
        .expect("a program");
    let inside = inside(&world, &["revert", "--force"]);
    let kept = std::fs::read(&path).expect("it is there");
    world
        .run(&["revert", "--message", "one", "--force"], b"")
        .exits(3);
    let forced = std::fs::read(&path).expect("it is there");
    program.kill().expect("it runs");
    program.wait().expect("it ends");
    assert_eq!(kept, b"agent\0", "it is kept: {inside}");
    assert!(inside.stdout.contains("sleep"), "and named: {inside}");
    assert_eq!(forced, b"agent\0", "nor does a person take it");
}

/// A conversation without messages names the session that could be meant.
#[test]
fn conversation_without_messages_names_other_sessions() {
    let world = three_messages();
    let run = world
        .run(&["inside", "revert", "--session", "fresh"], b"")
        .exits(0);
    assert_eq!(files(&world).len(), 3, "nothing of another one's goes");
    let said = world.redact(&run.stdout);
    assert_eq!(
        said,
        "This conversation has no message to take back.\n\
         The session 12345678 (generic, 3 messages) ends with “make three”: \
         `/ckpt-revert --message last --session 12345678`\n"
    );
}

/// A command without a session is for the conversation of the agent that runs it.
#[test]
fn command_without_session_is_for_its_conversation() {
    let world = Sandbox::new();
    // Programs of their own name, as agents are: what has a shell's is passed over.
    let agents = ["mine", "other"].map(|name| world.path(name));
    for agent in &agents {
        executable::copy("/bin/sh".as_ref(), agent);
    }
    let hook = binary();
    let turn = |name: &str| {
        format!(
            "'{hook}' message --session {name} --message {name} --prompt 'make {name}'; \
             '{hook}' step-start --session {name}; echo x >{name}; '{hook}' step-finish --session {name};"
        )
    };
    let other = agents[1].display();
    let script = format!(
        "{} '{other}' -c \"{} true\"; '{hook}' inside revert; ls; '{hook}' inside redo; ls; true",
        turn("mine"),
        turn("other"),
    );
    let world_of = world.command::<&str>(&[]);
    let variables = world_of.get_envs();
    let mut agent = std::process::Command::new(&agents[0]);
    agent
        .env_clear()
        .envs(variables.filter_map(|(name, value)| Some((name, value?))))
        .args(["-c", &script])
        .current_dir(world.workspace());
    let run = Run::of(&mut agent).exits(0);
    let lists: Vec<&str> = run
        .stdout
        .lines()
        .filter(|line| ["mine", "other"].contains(line))
        .collect();
    assert_eq!(
        lists,
        ["other", "mine", "other"],
        "the newest is the other's: {run}"
    );
}

/// Calls the hook for an event of an agent's, and returns what it prints.
fn tell(world: &Sandbox, agent: &str, session: &str, name: &str, typed: &str) -> String {
    let payload = json!({"session_id": session, "prompt": typed, "cwd": world.workspace(), "hook_event_name": name,
        "tool_name": "write_file", "tool_input": {"file_path": "made"}});
    let words = ["event", "--agent", agent, "--strict"];
    let run = world.run(&words, payload.to_string().as_bytes());
    run.exits(0).stdout
}

/// The end of a command's turn shows its user what it did.
///
/// Its output goes to the model, which may leave some of it out. Where nothing was done, nothing is shown.
#[test]
fn end_of_a_commands_turn_shows_its_outcome() {
    let chat = Chat::of_three();
    let tell = |name: &str, typed: &str| tell(&chat.world, "claude-code", OLD, name, typed);
    let end = |typed: &str, words: &[&str]| {
        assert_eq!(tell("UserPromptSubmit", typed), "");
        let line = [&["inside"], words, &["--session", OLD]].concat();
        chat.world.run(&line, b"").exits(0);
        tell("Stop", typed)
    };
    let shown = end("/ckpt-revert", &["revert", "--conversation", "fork"]);
    assert!(!chat.is_made(3), "{shown}");
    let shown: serde_json::Value = serde_json::from_str(&shown).expect("one object");
    let shown = shown["systemMessage"].as_str().expect("for the user");
    let told = r#"ckpt-hook: revert: "made-3" (removed), "newest". `ckpt-hook show "#;
    assert!(shown.starts_with(told), "{shown}");
    assert!(
        shown.contains(" && claude --resume "),
        "how to go on: {shown}"
    );
    assert_eq!(end("/ckpt-status", &["status"]), "");
    let shown = end("/ckpt-redo", &["redo"]);
    assert!(shown.contains("ckpt-hook: redo: "), "{shown}");
    assert_eq!(end("go on", &["status"]), "", "no command of ours");
}

/// A line that runs before its message is told is shown as well.
///
/// Gemini CLI runs it first. Then it tells of the message, and of its call of the model.
#[test]
fn line_before_its_message_is_shown() {
    let world = Sandbox::new();
    let tell = |name: &str, typed: &str| tell(&world, "gemini-cli", "s", name, typed);
    tell("BeforeAgent", "make it");
    tell("BeforeTool", "");
    world.write("made", "x\n");
    tell("AfterTool", "");
    assert_eq!(tell("AfterAgent", ""), "");
    inside(&world, &["revert"]);
    let told = [("BeforeAgent", "/ckpt-revert"), ("BeforeModel", "")];
    assert_eq!(told.map(|(name, typed)| tell(name, typed)), ["", ""]);
    let shown = tell("AfterAgent", "");
    assert!(shown.contains("ckpt-hook: revert: "), "{shown}");
}
