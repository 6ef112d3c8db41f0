//! Every command that shows something, under every condition, of a store whose names, prompts and contents are hostile: no row is wrapped,
//! and nothing acts on a terminal.

use std::ffi::OsStr;
use std::num::NonZero;
use std::os::unix::ffi::OsStrExt;

use testing::binary::Sandbox;

use crate::shown::forms::{CHANGING, FITTING, HELP, LOOKING, WHOLE};
use crate::shown::world::given;
use crate::shown::{Shown, on_a_pipe, on_a_terminal};

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
    given(&world);
    world
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

fn check_on_a_terminal(
    world: &Sandbox,
    forms: &[&'static str],
    columns: u16,
    variables: &str,
    has_colours: bool,
) {
    let Some(outputs) = on_a_terminal(world, forms, columns, variables) else {
        return;
    };
    let mut broken = Vec::new();
    for Shown { form, bytes, .. } in outputs {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let is_whole = WHOLE.contains(&form) || form.contains(" -p ");
        // A tab is what a file has in it, or git's format.
        let told = if is_whole {
            text.replace('\t', " ")
        } else {
            text.clone()
        };
        if let Some(acts) = acts(&told, has_colours) {
            broken.push(format!("`{form}` acts: {acts}"));
        }
        // Where there is room for two sides.
        let is_for_people =
            !form.contains("--json") && (columns >= 80 || !form.ends_with("--help"));
        let fits =
            is_for_people && !is_whole || (form.ends_with("--side-by-side") && columns >= 80);
        if let Some(row) = wrapped(&bytes, columns).filter(|_| fits) {
            broken.push(format!("`{form}` wraps: {row}"));
        }
        let plain = text.replace("\u{1b}[0m", "").replace("\u{1b}[2m", "");
        if let Some(row) = plain.lines().find(|row| row.trim_end().ends_with("  …")) {
            broken.push(format!(
                "`{form}` has a column of which nothing is left: {row}"
            ));
        }
        let is_silent = form.starts_with("run --") || form.contains("--strict");
        assert!(
            is_silent || !text.trim().is_empty(),
            "`{form}` says something"
        );
    }
    assert!(
        broken.is_empty(),
        "at {columns} columns {variables}:\n{}",
        broken.join("\n")
    );
}

/// Nothing is wrapped and nothing acts on a terminal.
#[test]
fn nothing_wraps_or_acts_on_a_terminal() {
    let world = world();
    let forms = [LOOKING, FITTING, WHOLE, HELP].concat();
    for columns in [40, 80, 200] {
        check_on_a_terminal(&world, &forms, columns, "", true);
    }
    for variables in ["NO_COLOR=1", "TERM=dumb", "LC_ALL=C"] {
        let has_colours = variables == "LC_ALL=C";
        check_on_a_terminal(&world, &forms, 80, variables, has_colours);
    }
}

/// What is done is told without a row that is wrapped or acts on a terminal.
#[test]
fn operations_wrap_no_row() {
    for (columns, variables) in [(40, ""), (80, "TERM=dumb"), (200, "LC_ALL=C")] {
        let has_colours = variables != "TERM=dumb";
        check_on_a_terminal(&world(), CHANGING, columns, variables, has_colours);
    }
}

/// Nothing acts on a pipe and nothing is cut.
#[test]
fn pipe_output_is_plain_and_whole() {
    let world = world();
    for Shown { form, bytes, .. } in on_a_pipe(&world, LOOKING, "") {
        let text = String::from_utf8_lossy(&bytes);
        assert_eq!(acts(&text, false), None, "`{form}`");
        assert!(
            !text.contains('…') || form.ends_with("--dry-run"),
            "`{form}` cuts:\n{text}"
        );
        if form == "log" {
            for whole in SHOWN_WHOLE {
                assert!(
                    text.contains(whole),
                    "`{form}` shows {whole} whole:\n{text}"
                );
            }
        }
    }
}
