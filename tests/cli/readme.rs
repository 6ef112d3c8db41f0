//! What the README shows under "Use it" is what the program prints, but for ids, times and the width of columns.

use serde_json::{Value, json};
use testing::binary::Sandbox;

const README: &str = include_str!("../../README.md");

/// Claude Code sends a message, and does all its work in one command.
fn turn(world: &Sandbox, prompt: &str, work: impl FnOnce(&Sandbox)) {
    let send = |event: Value| {
        let mut event = event;
        event["session_id"] = json!("s1");
        event["cwd"] = json!(world.workspace());
        let payload = event.to_string();
        let arguments = ["event", "--agent", "claude-code"];
        world.run(&arguments, payload.as_bytes()).ends_silently();
    };
    let tool = |event: &str| json!({"hook_event_name": event, "tool_name": "Bash", "tool_use_id": prompt, "tool_input": {"command": "make"}});
    send(json!({"hook_event_name": "UserPromptSubmit", "prompt": prompt}));
    send(tool("PreToolUse"));
    work(world);
    send(tool("PostToolUse"));
    send(json!({"hook_event_name": "Stop"}));
}

fn shop() -> Sandbox {
    let world = Sandbox::new();
    let main = "fn main() {\n    greet();\n    serve();\n}\n";
    world.write("src/main.rs", main);
    turn(&world, "add a cart to the shop", |world| {
        world.write("src/main.rs", format!("mod cart;\n{main}// cart\n"));
        world.write("src/cart.rs", "pub struct Cart {\n    items: u32,\n}\n");
    });
    turn(&world, "write tests, and clean up", |world| {
        world.write("src/main.rs", "fn main() {}\n}\n");
        world.remove("src/cart.rs");
        world.write("tests/cart.rs", "#[test]\nfn it_holds() {}\n");
    });
    world
}

/// Returns the commands that a part of the README shows, each with the lines that it says are printed.
fn examples(part: &str) -> Vec<(Vec<&str>, Vec<&str>)> {
    let mut examples: Vec<(Vec<&str>, Vec<&str>)> = Vec::new();
    for block in part.split("```console\n").skip(1) {
        let (block, _) = block.split_once("```").expect("it is closed");
        for line in block.lines() {
            match line.strip_prefix("$ ckpt-hook ") {
                Some(command) => examples.push((command.split(' ').collect(), Vec::new())),
                None => examples.last_mut().expect("a command").1.push(line),
            }
        }
    }
    examples
}

/// Leaves out of a line what is another each time.
fn plain(line: &str, world: &Sandbox) -> String {
    let workspace = world.workspace().display().to_string();
    let line = line.replace(&workspace, "/home/ada/shop");
    let words: Vec<&str> = line.split_whitespace().collect();
    let mut plain = Vec::new();
    let mut rest = &words[..];
    while let [first, after @ ..] = rest {
        let number = first.parse::<f64>().is_ok();
        rest = match (*first, after) {
            ("just", ["now", after @ ..]) | (_, ["min", "ago", after @ ..]) => {
                plain.push("WHEN".to_owned());
                after
            }
            (_, ["s", after @ ..]) if number => {
                plain.push("TOOK".to_owned());
                after
            }
            _ => {
                let id = first.trim_matches(['(', ')', ':']);
                let is_id =
                    (4..=32).contains(&id.len()) && id.bytes().all(|byte| byte.is_ascii_hexdigit());
                plain.push(if is_id {
                    first.replace(id, "ID")
                } else {
                    (*first).to_owned()
                });
                after
            }
        };
    }
    plain.join(" ")
}

/// What the readme shows is what the program prints.
#[test]
fn readme_shows_what_the_program_prints() {
    let (_, part) = README.split_once("\n## Use it\n").expect("it is there");
    let (part, _) = part.split_once("\n## ").expect("something follows");
    let world = shop();
    let examples = examples(part);
    assert!(examples.len() >= 4, "it shows some: {examples:?}");
    for (command, shown) in examples {
        let run = world.run(&command, b"").exits(0);
        let printed: Vec<String> = run.stdout.lines().map(|line| plain(line, &world)).collect();
        let shown: Vec<String> = shown.iter().map(|line| plain(line, &world)).collect();
        assert_eq!(printed, shown, "{command:?} printed\n{}", run.stdout);
    }
}
