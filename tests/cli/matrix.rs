//! Every command that shows something, under every condition, of a store whose names, prompts and contents are hostile: no row is wrapped,
//! and nothing acts on a terminal.

use std::ffi::OsStr;
use std::num::NonZero;
use std::os::unix::ffi::OsStrExt;

use testing::binary::Sandbox;

use crate::screen::Screen;

/// What is in names, prompts, labels and files.
const HOSTILE: [&str; 8] = [
    "title\u{1b}]0;owned\u{7}",
    "clear\u{1b}[2J\u{9b}31m",
    "txt.\u{202e}exe\u{2066}",
    "two\u{2028}lines\rover",
    "日本語のとても長い名前のファイルでありまして表示の幅は二倍になります",
    "👨\u{200d}👩\u{200d}👧 ❤\u{fe0f}\u{200d}🔥 family",
    "می\u{200c}خواهم این را بخوانم",
    "a-name-without-any-place-to-break-it-that-is-longer-than-the-narrowest-terminal-of-all",
];

/// What stands whole in every output that has room for it.
const SHOWN_WHOLE: [&str; 2] = ["👨\u{200d}👩\u{200d}👧", "می\u{200c}خواهم"];

/// Every command that shows something. `OPERATION`, `SNAPSHOT` and `SESSION` stand for ids.
const COMMANDS: [&str; 85] = [
    "log",
    "log --everywhere",
    "log --operations --everywhere",
    "log --operations",
    "log --graph",
    "log --snapshots",
    "log --stat",
    "log --operations --stat",
    "log --since yesterday --grep family",
    "log --grep nothing-like-it",
    "sessions",
    "sessions --everywhere",
    "status",
    "show last",
    "show last --stat",
    "show last --steps",
    "show m1",
    "show OPERATION",
    "show SNAPSHOT",
    "show SESSION",
    "show nothing-like-it",
    "diff m1 --stat",
    "blame text",
    "recover",
    "recover --deleted",
    "label",
    "labels",
    "du",
    "doctor",
    "revert m1 --dry-run",
    "undo --dry-run",
    "workspace",
    "log text",
    "log -v",
    "log -S nothing-like-it",
    "log --agent nobody",
    "log --state hidden",
    "log --graph -v",
    "show m1 -v",
    "show OPERATION -v",
    "show OPERATION --stat",
    "diff m1 --stat -v",
    "blame text -L 2,3",
    "blame nothing-like-it",
    "cat last:nothing-like-it",
    "label --list family",
    "label m5 m6",
    "status -v",
    "status --session SESSION",
    "workspace list",
    "config",
    "config get unclear",
    "config get nothing-like-it",
    "du --by session",
    "du --by message",
    "gc --dry-run",
    "forget --path new/* --dry-run",
    "forget --path nothing-like-it --dry-run",
    "forget --message last --dry-run",
    "forget --session SESSION --dry-run",
    "forget --workspace --dry-run",
    "forget --all --dry-run",
    "install --list",
    "install --list -v",
    "install claude-code --dry-run",
    "install nobody",
    "uninstall --all --dry-run",
    "doctor --all",
    "doctor -v",
    "recover text --dry-run",
    "restore m1 --dry-run",
    "restore m1 --dry-run -v",
    "revert m3 --alone --dry-run",
    "revert m3 --only text --dry-run",
    "revert m1 --dry-run -v",
    "revert m1 --on-conflict overwrite --dry-run",
    "revert nothing-like-it",
    "redo --dry-run",
    "unrevert --dry-run",
    "run",
    "watch --nothing-like-it",
    "schema nothing-like-it",
    "nothing-like-it",
    "--help",
    "--version",
];

/// What changes something, in an order in which each has something to do.
const CHANGES: [&str; 16] = [
    "revert m7 --session s",
    "redo --session s",
    "unrevert",
    "undo",
    "undo -v",
    "undo",
    "revert m6 --alone",
    "restore m2",
    "undo",
    "revert m2 --on-conflict keep",
    "recover",
    "label last another",
    "label --delete another",
    "gc",
    "forget --path new/* --yes",
    "uninstall --purge --yes",
];

/// Patches and names, which are whole, as git's are: to be applied or copied, on a pipe byte by byte.
const PATCHES: [&str; 8] = [
    "log --name-only",
    "show m2 --name-status",
    "diff m1 --name-only",
    "show last -p",
    "diff m1",
    "diff m1 --word-diff",
    "log -p",
    "diff m1 --side-by-side",
];

fn contents(number: usize) -> String {
    HOSTILE
        .iter()
        .map(|line| format!("{line}\t{number}\n"))
        .collect()
}

fn world() -> Sandbox {
    let world = Sandbox::new();
    world.write("text", contents(0));
    for (number, name) in HOSTILE.iter().enumerate() {
        world.write(&format!("dir {number}/{name}"), contents(number));
    }
    let raw = world
        .workspace()
        .join(OsStr::from_bytes(b"not \xff\xfe text"));
    std::fs::write(raw, "1\n").expect("the workspace is writable");
    for (number, name) in HOSTILE.iter().enumerate() {
        let message = format!("m{}", number + 1);
        world.play(&message, name, |world| {
            world.write("text", contents(number + 1));
            world.write(&format!("dir {number}/{name}"), contents(number + 9));
            world.write(&format!("new/{name}\n{number}"), contents(number));
        });
    }
    world.run(&["label", "m3", HOSTILE[4]], b"");
    world.run(&["label", "m4", HOSTILE[5]], b"");
    world.run(&["snapshot", "--label", HOSTILE[6]], b"");
    let foreign = ["message", "--session", HOSTILE[0], "--prompt", HOSTILE[1]];
    world.run(&foreign, b"").exits(0);
    world.write("text", contents(99));
    world.run(&["revert", "m8", "--session", "s"], b"");
    world.run(&["unrevert"], b"");
    world.remove(&format!("dir 5/{}", HOSTILE[5]));
    world.run(&["snapshot"], b"");
    world
}

/// Returns a line of a shell that runs all commands, each between marks.
fn script(world: &Sandbox, commands: &[&str], environment: &str) -> String {
    let id = |arguments: &[&str], list: &str, name: &str| {
        let document = world.json(arguments);
        let id = document[list][0][name].as_str().expect("there is one");
        id.to_owned()
    };
    let operation = id(&["log", "--operations"], "operations", "id");
    let snapshot = id(&["log", "--snapshots"], "snapshots", "snapshot");
    let session = id(&["sessions"], "sessions", "id");
    let line = |command: &&str| {
        let command = command
            .replace("OPERATION", &operation)
            .replace("SNAPSHOT", &snapshot)
            .replace("SESSION", &session);
        // No file of the workspace is meant by a pattern.
        format!("set -f; printf '\\001{command}\\002'; {environment} ckpt-hook {command} 2>&1; ")
    };
    commands.iter().map(line).collect()
}

/// Returns what each command printed.
fn outputs(raw: &[u8]) -> Vec<(String, Vec<u8>)> {
    let parts = raw.split(|byte| *byte == 1).skip(1);
    parts
        .map(|part| {
            let end = part.iter().position(|byte| *byte == 2).expect("its mark");
            let name = String::from_utf8_lossy(&part[..end]).into_owned();
            (name, part[end + 1..].to_vec())
        })
        .collect()
}

/// Returns what in a text acts on a terminal, leaving out line ends and, where they are wanted, colours.
fn acts(text: &str, has_colours: bool) -> Option<String> {
    let mut rest = text;
    while let Some(character) = rest.chars().next() {
        if let Some(sequence) = rest.strip_prefix("\u{1b}[").filter(|_| has_colours) {
            let end = sequence.find(|next: char| !next.is_ascii_digit() && next != ';');
            if let Some(after) = end.and_then(|end| sequence[end..].strip_prefix('m')) {
                rest = after;
                continue;
            }
        }
        let is_bad = (character.is_control() && !matches!(character, '\r' | '\n'))
            || matches!(character, '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}');
        if is_bad {
            return Some(
                rest.chars()
                    .take(40)
                    .collect::<String>()
                    .escape_debug()
                    .to_string(),
            );
        }
        rest = &rest[character.len_utf8()..];
    }
    None
}

/// Returns the first row that does not fit.
fn wrapped(bytes: &[u8], columns: u16) -> Option<String> {
    let rows = NonZero::new(3000_u16)?;
    let mut parser = vt100::Parser::new(rows, NonZero::new(columns)?, 0);
    parser.process(bytes);
    let screen = parser.screen();
    screen
        .rows(0, columns)
        .zip(0..)
        .find_map(|(text, row)| screen.row_wrapped(row).then_some(text))
}

fn on_a_terminal(
    world: &Sandbox,
    commands: &[&str],
    columns: u16,
    environment: &str,
    has_colours: bool,
) {
    let line = script(world, commands, &format!("CKPT_HOOK_PAGER= {environment}"));
    let Some(mut screen) = Screen::open(world, columns, &line) else {
        return;
    };
    screen.end();
    let outputs = outputs(screen.raw());
    assert_eq!(outputs.len(), commands.len(), "every command ran");
    let mut broken = Vec::new();
    for (name, bytes) in outputs {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let is_whole = PATCHES.contains(&name.as_str());
        // A tab is what a file has in it, or git's format.
        let told = if is_whole {
            text.replace('\t', " ")
        } else {
            text.clone()
        };
        if let Some(acts) = acts(&told, has_colours) {
            broken.push(format!("`{name}` acts: {acts}"));
        }
        // Where there is room for two sides.
        let fits = !is_whole || (name.ends_with("--side-by-side") && columns >= 80);
        if let Some(row) = wrapped(&bytes, columns).filter(|_| fits) {
            broken.push(format!("`{name}` wraps: {row}"));
        }
        let plain = text.replace("\u{1b}[0m", "").replace("\u{1b}[2m", "");
        if let Some(row) = plain.lines().find(|row| row.trim_end().ends_with("  …")) {
            broken.push(format!(
                "`{name}` has a column of which nothing is left: {row}"
            ));
        }
        assert!(!text.trim().is_empty(), "`{name}` says something");
    }
    assert!(
        broken.is_empty(),
        "at {columns} columns {environment}:\n{}",
        broken.join("\n")
    );
}

#[test]
fn nothing_is_wrapped_and_nothing_acts_on_a_terminal() {
    let world = world();
    let commands = [&COMMANDS[..], &PATCHES].concat();
    for columns in [40, 80, 200] {
        on_a_terminal(&world, &commands, columns, "", true);
    }
    for environment in ["NO_COLOR=1", "TERM=dumb", "LC_ALL=C"] {
        let has_colours = environment == "LC_ALL=C";
        on_a_terminal(&world, &commands, 80, environment, has_colours);
    }
}

#[test]
fn what_is_done_is_told_without_a_row_that_is_wrapped_or_acts_on_a_terminal() {
    for (columns, environment) in [(40, ""), (80, "TERM=dumb"), (200, "LC_ALL=C")] {
        let has_colours = environment != "TERM=dumb";
        on_a_terminal(&world(), &CHANGES, columns, environment, has_colours);
    }
}

#[test]
fn nothing_acts_on_a_pipe_and_nothing_is_cut() {
    let world = world();
    let line = script(&world, &COMMANDS, "");
    let mut shell = world.command::<&str>(&[]);
    let environment: Vec<_> = shell
        .get_envs()
        .filter_map(|(name, value)| Some((name.to_owned(), value?.to_owned())))
        .filter(|(name, _)| name != "PATH")
        .collect();
    let binary = std::path::Path::new(testing::binary::binary());
    let folder = binary.parent().expect("it is in a folder");
    shell = std::process::Command::new("sh");
    shell
        .args(["-c", &line])
        .env_clear()
        .envs(environment)
        .env("PATH", format!("{}:/usr/bin:/bin", folder.display()))
        .current_dir(world.workspace());
    let run = testing::binary::finish(&mut shell, b"");
    for (name, bytes) in outputs(run.stdout.as_bytes()) {
        let text = String::from_utf8_lossy(&bytes);
        assert_eq!(acts(&text, false), None, "`{name}`");
        assert!(
            !text.contains('…') || name.ends_with("--dry-run"),
            "`{name}` cuts:\n{text}"
        );
        if name == "log" {
            for whole in SHOWN_WHOLE {
                assert!(
                    text.contains(whole),
                    "`{name}` shows {whole} whole:\n{text}"
                );
            }
        }
    }
}
