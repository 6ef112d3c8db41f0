//! Completion scripts, played in the shells that they are for.

use std::process::Command;

use crate::screen::Screen;
use testing::binary::{Sandbox, finish};
use testing::skip::has_program;

/// A workspace with a message, whose id is returned, and a file that no id is.
fn world() -> (Sandbox, String, String) {
    let world = Sandbox::new();
    world.play("m1", "first", |world| world.write("zzz-a-file", "1\n"));
    let id = |command: &str, list: &str| {
        let document = world.json(&[command]);
        let id = document[list][0]["id"].as_str().expect("there is one");
        // As much of an id as there is of each at least.
        id[..4].to_owned()
    };
    let (message, session) = (id("log", "messages"), id("sessions", "sessions"));
    (world, message, session)
}

/// Returns what the shell shows when the tabulator is pressed twice behind a line, and the line then.
fn complete(world: &Sandbox, shell: &str, line: &str) -> Option<String> {
    let mut screen = Screen::open(world, 200, shell)?;
    screen.wait_for("READY");
    screen.press(line);
    screen.wait_for(line.trim_end());
    screen.press("\t\t");
    // What is typed then shows that all before it was done.
    screen.press("DONE");
    screen.wait_for("DONE");
    let shown = screen.contents();
    screen.press("\u{15}exit\r");
    screen.end();
    Some(shown.replace("READY", ""))
}

/// The same questions to every shell.
fn check(shell: &str, complete: impl Fn(&Sandbox, &str) -> Option<String>) {
    let (world, message, session) = world();
    let cases = [
        ("ckpt-hook unrev", "unrevert"),
        ("ckpt-hook step-st", "step-start"),
        ("ckpt-hook revert --on-conf", "--on-conflict"),
        ("ckpt-hook revert --on-conflict over", "overwrite"),
        ("ckpt-hook revert --message ", message.as_str()),
        ("ckpt-hook revert --session ", session.as_str()),
        ("ckpt-hook show ", message.as_str()),
        ("ckpt-hook revert --only zzz", "zzz-a-file"),
        ("ckpt-hook restore last zzz", "zzz-a-file"),
    ];
    for (line, wanted) in cases {
        let Some(shown) = complete(&world, line) else {
            return;
        };
        assert!(
            shown.contains(wanted),
            "{shell} offers `{wanted}` behind `{line}`:\n{shown}"
        );
        assert!(
            wanted == "zzz-a-file" || !shown.contains("zzz"),
            "{shell} offers a file behind `{line}`:\n{shown}"
        );
    }
    for line in ["ckpt-hook log -n ", "ckpt-hook message --prompt "] {
        let shown = complete(&world, line).expect("as before");
        assert!(
            !shown.contains("zzz"),
            "{shell} offers a file behind `{line}`:\n{shown}"
        );
    }
}

/// Bash completes commands options and ids and no files for them.
#[test]
fn bash_completes_commands_options_and_ids() {
    if !has_program("bash") {
        return;
    }
    check("bash", |world, line| {
        let rc = "source <(ckpt-hook completions bash); bind 'set enable-bracketed-paste off'; bind 'set bell-style none'; PS1=READY";
        std::fs::write(world.home().join("rc"), rc).expect("writable");
        complete(world, "bash --noprofile --rcfile ~/rc -i", line)
    });
}

/// Zsh completes commands options and ids and no files for them.
#[test]
fn zsh_completes_commands_options_and_ids() {
    if !has_program("zsh") {
        return;
    }
    check("zsh", |world, line| {
        let rc = "mkdir -p ~/functions; ckpt-hook completions zsh > ~/functions/_ckpt-hook; fpath=(~/functions $fpath)
                  autoload -U compinit; compinit -u -D; unsetopt beep; PS1=READY; RPS1=; unset zle_bracketed_paste";
        std::fs::write(world.home().join(".zshrc"), rc).expect("writable");
        complete(world, "zsh -i", line)
    });
}

/// Fish completes commands options and ids and no files for them.
#[test]
fn fish_completes_commands_options_and_ids() {
    if !has_program("fish") {
        return;
    }
    check("fish", |world, line| {
        let mut fish = Command::new("fish");
        let binary = std::path::Path::new(testing::binary::binary());
        let folder = binary.parent().expect("it is in a folder");
        let script = format!("ckpt-hook completions fish | source; complete -C '{line}'");
        fish.args(["--no-config", "-c", &script])
            .env_clear()
            .env("HOME", world.home())
            .env("CKPT_HOOK_HOME", world.store())
            .env("PATH", format!("{}:/usr/bin:/bin", folder.display()))
            .current_dir(world.workspace());
        Some(finish(&mut fish, b"").exits(0).stdout)
    });
}

/// A script for bash knows each command by the name under which it completes it.
#[test]
fn bash_script_completes_each_command_by_its_name() {
    let world = Sandbox::new();
    let script = world.run(&["completions", "bash"], b"").exits(0).stdout;
    let places: Vec<&str> = script
        .lines()
        .filter_map(|line| line.trim().strip_prefix("cmd=\"")?.strip_suffix('"'))
        .filter(|place| !place.is_empty())
        .collect();
    assert!(places.len() > 40, "every command, and its help: {places:?}");
    for place in places {
        let label = format!("        {place})");
        assert!(
            script.lines().any(|line| line == label),
            "`{place}` is where a command's words are looked for"
        );
    }
}

/// A label that a shell would act on stands quoted on the command line.
#[test]
fn label_with_shell_characters_is_quoted() {
    if !has_program("bash") {
        return;
    }
    let (world, ..) = world();
    let label = "it's \"$HOME\"; touch zzz-made `id`";
    world.run(&["label", "last", label], b"").exits(0);
    let cases = [
        ("ckpt-hook label --delete it", "it"),
        ("ckpt-hook show it", "it"),
        ("ckpt-hook show 'it", "'it"),
        ("ckpt-hook show \"it", "\"it"),
    ];
    for (line, word) in cases {
        // What readline puts in place of the word is read by the shell.
        let script = format!(
            r#"source <(ckpt-hook completions bash)
               COMP_WORDS=({}"$1"); COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1))
               _ckpt_hook_or_ids ckpt-hook it "${{COMP_WORDS[COMP_CWORD-1]}}"
               quote=${{1%it}}
               eval "printf %s $quote${{COMPREPLY[0]}}$quote""#,
            line.strip_suffix(word).expect("the word is its last")
        );
        let mut bash = Command::new("bash");
        let binary = std::path::Path::new(testing::binary::binary());
        let folder = binary.parent().expect("it is in a folder");
        bash.args(["--norc", "-c", &script, "bash", word])
            .env_clear()
            .env("HOME", world.home())
            .env("CKPT_HOOK_HOME", world.store())
            .env("PATH", format!("{}:/usr/bin:/bin", folder.display()))
            .current_dir(world.workspace());
        let run = finish(&mut bash, b"").exits(0);
        assert_eq!(run.stdout, label, "behind `{line}`: {run}");
        let made = world.workspace().join("zzz-made");
        assert!(!made.exists(), "nothing of it ran behind `{line}`");
    }
}

/// A long prompt takes one line of the completions.
#[test]
fn long_prompt_takes_one_completion_line() {
    let (world, ..) = world();
    let prompt = "a prompt that goes on ".repeat(20);
    world
        .run(&["message", "--session", "s", "--prompt", &prompt], b"")
        .exits(0);
    let run = world.run(&["candidates", "messages"], b"").exits(0);
    let longest = run.stdout.lines().map(|line| line.chars().count()).max();
    assert!(
        longest.is_some_and(|longest| (60..=80).contains(&longest)),
        "it is cut: {run}"
    );
}
