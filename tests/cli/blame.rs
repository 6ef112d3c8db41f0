//! `blame` at the terminal and for editors.

use serde_json::json;
use testing::binary::Sandbox;

fn world() -> Sandbox {
    let world = Sandbox::new();
    world.write("src/a.rs", "fn main() {\n}\n");
    world.play("m1", "print a greeting", |world| {
        world.write("src/a.rs", "fn main() {\n\tprintln!(\"hello\");\n}\n");
    });
    world.play("m2", "and say goodbye", |world| {
        world.write(
            "src/a.rs",
            "fn main() {\n\tprintln!(\"hello\");\n\tprintln!(\"bye\");\n}\n",
        );
    });
    world.write(
        "src/a.rs",
        "// mine\nfn main() {\n\tprintln!(\"hello\");\n\tprintln!(\"bye\");\n}\n",
    );
    world
}

/// Returns text with the ids of messages as the names that the tests gave them.
fn named(world: &Sandbox, text: &str) -> String {
    let log = world.json(&["log"]);
    let messages = log["messages"].as_array().expect("messages");
    messages.iter().fold(text.to_owned(), |text, message| {
        let id = &message["id"].as_str().expect("an id")[..8];
        let name = message["agent_id"].as_str().expect("a name");
        text.replace(id, &format!("{name:8}"))
    })
}

/// Each line stands behind its author and the prompts below.
#[test]
fn line_stands_behind_its_author() {
    let world = world();
    let run = world.run(&["blame", "src/a.rs"], b"").exits(0);
    assert_eq!(
        named(&world, &run.stdout),
        "you, just now    1 // mine\n\
         before           2 fn main() {\n\
         m1       generic 3     println!(\"hello\");\n\
         m2       generic 4     println!(\"bye\");\n\
         before           5 }\n\
         \n\
         m1        just now  print a greeting\n\
         m2        just now  and say goodbye\n"
    );
}

#[test]
fn some_lines_are_shown_alone() {
    let world = world();
    for range in ["3,4", "3,+2"] {
        let run = world.run(&["blame", "src/a.rs", "-L", range], b"").exits(0);
        let lines: Vec<&str> = run.stdout.lines().collect();
        assert!(
            lines[0].contains(" 3     println!(\"hello\");"),
            "{range}: {run}"
        );
        assert!(
            lines[1].contains(" 4     println!(\"bye\");"),
            "{range}: {run}"
        );
        assert_eq!(lines[2], "", "{range}: then the prompts: {run}");
    }
    let report = world.json(&["blame", "src/a.rs", "-L", "4,9"]);
    let hunks = report["hunks"].as_array().expect("hunks");
    assert_eq!(
        hunks.len(),
        2,
        "one of the agent's, one from before: {report}"
    );
    assert_eq!(
        (&hunks[0]["start"], &hunks[0]["lines"]),
        (&json!(4), &json!(1)),
        "{report}"
    );
    assert_eq!(
        hunks[0]["steps"][0]["prompt"], "and say goodbye",
        "{report}"
    );
    world.run(&["blame", "src/a.rs", "-L", "6,7"], b"").exits(1);
    for range in ["7", "2,1", "0,3", "x"] {
        world.run(&["blame", "src/a.rs", "-L", range], b"").exits(2);
    }
}

#[test]
fn what_is_not_there_points_to_recover() {
    let world = world();
    let run = world.run(&["blame", "src/none.rs"], b"").exits(4);
    assert!(run.stderr.contains("`ckpt-hook recover`"), "{run}");
}

#[test]
fn lines_and_names_cannot_act_on_a_terminal() {
    let world = Sandbox::new();
    world.play("m1", "\u{1b}]0;title\u{7}", |world| {
        world.write("a", "\u{1b}[2Jgone\r\n\u{202e}turned\n\u{ff}\n");
    });
    let run = world.run(&["blame", "a"], b"").exits(0);
    let acts =
        |character: char| (character.is_control() && character != '\n') || character == '\u{202e}';
    assert!(!run.stdout.chars().any(acts), "escaped: {run}");
}
