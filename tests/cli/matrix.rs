//! Every command that shows something, at many widths and under every condition, of a store whose names, prompts and contents are
//! hostile: no row is wrapped, no column broken, nothing lost, and nothing acts on a terminal.

use std::ffi::OsStr;
use std::num::NonZero;
use std::os::unix::ffi::OsStrExt;

use testing::binary::Sandbox;

use crate::shown::forms::{CHANGING, FITTING, HELP, LOOKING, WHOLE};
use crate::shown::world::given;
use crate::shown::{Shown, on_a_pipe, on_a_terminal, without_sizes};

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

/// The widths of terminals, in columns.
const WIDTHS: [u16; 8] = [20, 27, 40, 60, 80, 100, 133, 200];

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

/// Returns the first row that does not fit. A command to copy is whole, however long it is.
fn wrapped(bytes: &[u8], columns: u16) -> Option<String> {
    let rows = NonZero::new(3000_u16)?;
    let mut parser = vt100::Parser::new(rows, NonZero::new(columns)?, 0);
    parser.process(bytes);
    let screen = parser.screen();
    let mut goes_on = false;
    screen.rows(0, columns).zip(0..).find_map(|(text, row)| {
        let start = text.trim_start().trim_start_matches('`');
        let is_command = goes_on || start.starts_with("ckpt-hook ");
        let is_wrapped = screen.row_wrapped(row);
        goes_on = is_wrapped && is_command;
        (is_wrapped && !is_command).then_some(text)
    })
}

fn squeezed(text: &str) -> String {
    text.split_whitespace().collect()
}

/// A text without colours.
fn plain(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes).into_owned();
    let mut parts = text.split("\u{1b}[");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |plain, part| {
        plain + part.split_once('m').map_or("", |(_, after)| after)
    })
}

/// The first sentence, or beginning of a row, of a whole output that one that fits does not have. What was cut ends or begins with
/// a mark.
fn lost(whole: &str, fitted: &str) -> Option<String> {
    let fitted = without_sizes(fitted);
    let all = squeezed(&fitted);
    let cut: Vec<String> = fitted
        .lines()
        .filter(|line| line.contains('…'))
        .map(squeezed)
        .collect();
    let is_cut = |piece: &str| {
        cut.iter().any(|line| {
            let mut parts = line.split('…').filter(|part| !part.is_empty());
            parts.any(|part| {
                piece.starts_with(part) || piece.ends_with(part) || part.starts_with(piece)
            })
        })
    };
    let is_heading = |line: &str| {
        let cells = line.split("  ").filter(|cell| !cell.is_empty());
        let mut names = cells.map(str::trim);
        names.clone().count() > 1
            && names.all(|name| {
                name.bytes()
                    .all(|byte| byte.is_ascii_lowercase() || b"+- ".contains(&byte))
            })
    };
    let lines = whole.lines().filter(|line| !is_heading(line));
    let mut pieces = lines.map(|line| line.trim().split("  ").next().unwrap_or_default());
    // A full id is shown where there is room for it.
    let shortened =
        |word: &str| match word.len() >= 32 && word.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            true => word[..4].to_owned(),
            false => word.to_owned(),
        };
    let is_lost = |piece: &&str| {
        let piece: String = without_sizes(piece)
            .split_whitespace()
            .map(shortened)
            .collect();
        !all.contains(&piece) && !is_cut(&piece)
    };
    pieces.find(is_lost).map(str::to_owned)
}

/// The first row that has something where the heading above it has a gap between two columns.
fn broken_column(bytes: &[u8], columns: u16) -> Option<String> {
    let rows = NonZero::new(3000_u16)?;
    let mut parser = vt100::Parser::new(rows, NonZero::new(columns)?, 0);
    parser.process(bytes);
    let screen = parser.screen();
    let is_blank = |row: u16, column: u16| {
        let cell = screen.cell(row, column);
        cell.is_none_or(|cell| !cell.is_wide_continuation() && cell.contents().trim().is_empty())
    };
    let texts: Vec<String> = screen.rows(0, columns).collect();
    let is_heading = |text: &str| {
        ["message  ", "operation  ", "snapshot  ", "session  "]
            .iter()
            .any(|name| text.starts_with(name))
    };
    for (heading, _) in (0_u16..).zip(&texts).filter(|(_, text)| is_heading(text)) {
        let below = (heading + 1..).zip(&texts[usize::from(heading) + 1..]);
        let below =
            below.take_while(|(_, text)| text.starts_with(|first: char| first.is_ascii_hexdigit()));
        let below: Vec<_> = below.filter(|(_, text)| text.contains("  ")).collect();
        let ends = (1..columns - 1).filter(|at| {
            !is_blank(heading, at - 1) && is_blank(heading, *at) && is_blank(heading, at + 1)
        });
        for end in ends {
            let Some(begin) = (end..columns).find(|at| !is_blank(heading, *at)) else {
                continue;
            };
            let is_free = |at: u16| below.iter().all(|(row, _)| is_blank(*row, at));
            if !(end..begin).any(is_free) {
                return Some(texts[usize::from(heading)].clone());
            }
        }
    }
    None
}

fn check_on_a_terminal(
    world: &Sandbox,
    forms: &[&'static str],
    whole: &[Shown],
    (columns, variables): (u16, &str),
) {
    let has_colours = !["NO_COLOR=1", "TERM=dumb"].contains(&variables);
    let Some(outputs) = on_a_terminal(world, forms, columns, variables) else {
        return;
    };
    let mut wholes = whole.iter();
    let mut broken = Vec::new();
    for Shown { form, bytes, .. } in outputs {
        let whole = wholes.next().filter(|_| LOOKING.contains(&form));
        if let Some(piece) = whole.and_then(|whole| lost(&plain(&whole.bytes), &plain(&bytes))) {
            broken.push(format!("`{form}` loses: {piece}"));
        }
        if let Some(heading) = broken_column(&bytes, columns) {
            broken.push(format!("`{form}` breaks a column: {heading}"));
        }
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
        let has_columns = columns >= 40 && !is_whole;
        let mut rows = plain.lines().filter(|_| has_columns);
        if let Some(row) = rows.find(|row| row.trim_end().ends_with("  …")) {
            broken.push(format!(
                "`{form}` has a column of which nothing is left: {row}"
            ));
        }
        let is_silent = form.starts_with("run --")
            || form.contains("--strict")
            || form.contains("--html ")
            || form.starts_with("acp --agent")
            // A prompt has no word where nothing is to be told.
            || form == "status --short";
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

/// At any width, nothing is wrapped or lost, no column is broken, and nothing acts on the terminal.
#[test]
fn every_width_shows_everything() {
    let world = world();
    let forms = [LOOKING, FITTING, WHOLE, HELP].concat();
    let Some(whole) = on_a_terminal(&world, &forms, 1000, "") else {
        return;
    };
    for columns in WIDTHS {
        check_on_a_terminal(&world, &forms, &whole, (columns, ""));
    }
    for variables in ["NO_COLOR=1", "TERM=dumb", "LC_ALL=C"] {
        check_on_a_terminal(&world, &forms, &whole, (80, variables));
    }
}

/// What is done is told without a row that is wrapped or acts on a terminal.
#[test]
fn operations_wrap_no_row() {
    for place in [(20, ""), (40, ""), (80, "TERM=dumb"), (200, "LC_ALL=C")] {
        check_on_a_terminal(&world(), CHANGING, &[], place);
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
