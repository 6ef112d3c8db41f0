//! What every command prints on a terminal of 80 columns, for people to read: `*.txt` beside this file. `matrix` has the rules for all
//! other widths. `forms` lists the command lines; a test of the binary, beside its arguments, finds a command or option that is missing.

mod documents;
pub mod forms;
mod keys;
pub mod world;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use expect_test::expect_file;
use testing::binary::{Sandbox, binary, finish};

use self::forms::{CHANGING, FOR_PROGRAMS, HELP, LOOKING, WHOLE};
use crate::screen::Screen;

/// A command line, what it printed on both streams, and its exit code.
pub struct Shown {
    pub form: &'static str,
    pub bytes: Vec<u8>,
    pub code: String,
}

/// How wide the terminal is.
const COLUMNS: u16 = 80;

/// Where it looks the same, but for colours.
const ALIKE: [&str; 3] = ["NO_COLOR=1", "TERM=dumb", "LC_ALL=C"];

/// Returns a script that runs command lines with these variables and options, each between marks.
fn script(world: &Sandbox, forms: &[&str], variables: &str, options: &str) -> String {
    let id = |arguments: &[&str], list: &str, name: &str| {
        let document = world.json(arguments);
        let id = document[list][0][name].as_str().unwrap_or_default();
        id.to_owned()
    };
    let ids = [
        (
            "OPERATION",
            id(&["log", "--operations"], "operations", "id"),
        ),
        (
            "SNAPSHOT",
            id(&["log", "--snapshots"], "snapshots", "snapshot"),
        ),
        ("SESSION", id(&["sessions"], "sessions", "id")),
        ("STEP", id(&["show", "m2"], "steps", "id")),
        ("PLAN", token(world)),
    ];
    let mut script = preamble(world, variables);
    for (number, form) in forms.iter().enumerate() {
        let line = match form.contains("ckpt-hook") {
            true => (*form).to_owned(),
            false => format!("ckpt-hook {options}{form}"),
        };
        let line = ids
            .iter()
            .fold(line, |line, (word, id)| line.replace(word, id));
        // What an earlier line left there has the id of its process, whose length another one's may not have.
        let log = world.path("store/log");
        script.push_str(&format!(
            "rm -f '{}'; printf '\\001{number}\\002'; {line} 2>&1; printf '\\003%s' $?; ",
            log.display()
        ));
    }
    script
}

/// Returns the beginning of a script: the binary is found, nothing is paged, and a test's clock and ids are those of its world.
fn preamble(world: &Sandbox, variables: &str) -> String {
    let folder = Path::new(binary()).parent().expect("it is in a folder");
    // No file of the workspace is meant by a pattern.
    let mut script = format!(
        "set -f; export PATH='{}:{}':\"$PATH\" CKPT_HOOK_PAGER= {variables}; ",
        world.path("bin").display(),
        folder.display()
    );
    let like = world.command::<&str>(&[]);
    for (name, value) in like.get_envs() {
        let name = name.to_string_lossy();
        if let Some(value) = value.filter(|_| name.starts_with("CKPT_HOOK_TEST_")) {
            script.push_str(&format!("export {name}='{}'; ", value.to_string_lossy()));
        }
    }
    script
}

/// The token of a plan, of which one word is shown.
fn token(world: &Sandbox) -> String {
    let planned = world.json(&["revert", "m2", "--dry-run"]);
    planned["plan"].as_str().unwrap_or("none").to_owned()
}

/// Takes apart what a script printed.
fn taken_apart(raw: &[u8], forms: &[&'static str]) -> Vec<Shown> {
    let parts = raw.split(|byte| *byte == 1).skip(1);
    let shown: Vec<Shown> = parts
        .zip(forms.iter().copied())
        .map(|(part, form)| {
            let begin = part.iter().position(|byte| *byte == 2).expect("its mark");
            let end = part.iter().rposition(|byte| *byte == 3).expect("its mark");
            Shown {
                form,
                bytes: part[begin + 1..end].to_vec(),
                code: String::from_utf8_lossy(&part[end + 1..]).trim().to_owned(),
            }
        })
        .collect();
    assert_eq!(shown.len(), forms.len(), "every command ran");
    shown
}

/// Runs command lines on a terminal; nothing where none can be played.
pub fn on_a_terminal(
    world: &Sandbox,
    forms: &[&'static str],
    columns: u16,
    variables: &str,
) -> Option<Vec<Shown>> {
    let mut screen = Screen::open(world, columns, &script(world, forms, variables, ""))?;
    screen.end();
    Some(taken_apart(screen.raw(), forms))
}

/// Runs command lines on a pipe, each with these options.
pub fn on_a_pipe(world: &Sandbox, forms: &[&'static str], options: &str) -> Vec<Shown> {
    let like = world.command::<&str>(&[]);
    let mut shell = Command::new("sh");
    shell
        .args(["-c", &script(world, forms, "", options)])
        .env_clear()
        .envs(
            like.get_envs()
                .filter_map(|(name, value)| Some((name, value?))),
        )
        .current_dir(world.workspace());
    let run = finish(&mut shell, b"");
    taken_apart(run.stdout.as_bytes(), forms)
}

/// Returns what was printed as it is written down: without colours, unless they were asked for, with what is another one each time replaced by something as wide,
/// and what would act on a terminal as its number.
fn written(world: &Sandbox, shown: &Shown) -> String {
    let text = String::from_utf8_lossy(&shown.bytes).replace("\r\n", "\n");
    let mut plain = String::new();
    let mut rest = text.as_str();
    while let Some((before, after)) = rest.split_once("\u{1b}[") {
        plain.push_str(before);
        let end = after.find(|next: char| !next.is_ascii_digit() && next != ';');
        match end.filter(|end| after[*end..].starts_with('m')) {
            // Those that were asked for are shown.
            Some(end) => {
                if shown.form.contains("--color always") {
                    plain.push_str(&format!("‹{}›", &after[..end]));
                }
                rest = &after[end + 1..];
            }
            None => {
                plain.push_str("\u{1b}[");
                rest = after;
            }
        }
    }
    plain.push_str(rest);
    let mut written = masked(world, &plain);
    if shown.form.starts_with("serve --stdio") {
        // Requests are answered side by side, and the next may be ready first.
        let mut answers: Vec<&str> = written.split_inclusive('\n').collect();
        answers.sort_unstable();
        written = answers.concat();
    }
    if !written.is_empty() && !written.ends_with('\n') {
        written.push_str("⏎\n");
    }
    if shown.code != "0" {
        written.push_str(&format!("exit code: {}\n", shown.code));
    }
    written
}

/// Replaces what is another one each time, and what acts on a terminal.
fn masked(world: &Sandbox, text: &str) -> String {
    // A path may be cut off at its beginning, within the name of the scratch directory.
    let scratch = world.path("");
    let scratch = scratch.file_name().unwrap_or_default().to_string_lossy();
    let text = text.replace(scratch.trim_start_matches(".tmp"), "xxxxxx");
    let text = with_crosses(&text, "/tmp/.tmp", char::is_alphanumeric);
    let text = with_crosses(&text, "http://127.0.0.1:", |next| next.is_ascii_digit());
    let token = |piece: &str| piece.starts_with("eyJ") && piece.len() > 80;
    let pieces = text.split('"');
    let pieces: Vec<&str> = pieces
        .map(|piece| {
            if token(piece) {
                "the token of a plan"
            } else {
                piece
            }
        })
        .collect();
    let text = without_sizes(&pieces.join("\""));
    let text = world.redact(&text.replace(env!("CARGO_PKG_VERSION"), "1.2.3"));
    without_cut_ids(&text)
        .chars()
        .map(|next| match next {
            '\n' | '\t' => next.to_string(),
            next if next.is_control() => next.escape_unicode().to_string(),
            next => next.to_string(),
        })
        .collect()
}

/// Replaces what is left of an id that was cut off to fit.
fn without_cut_ids(text: &str) -> String {
    let mut written = String::new();
    for piece in text.split_inclusive('…') {
        let before = piece.strip_suffix('…').unwrap_or(piece);
        let begin = before.rfind(|last: char| !matches!(last, '0'..='9' | 'a'..='f'));
        let (text, id) = before.split_at(begin.map_or(0, |begin| {
            begin + before[begin..].chars().next().map_or(0, char::len_utf8)
        }));
        let is_cut_id = before.len() < piece.len() && (4..8).contains(&id.len());
        written.push_str(text);
        written.push_str(if is_cut_id {
            &"1234567"[..id.len()]
        } else {
            id
        });
        written.push_str(&piece[before.len()..]);
    }
    written
}

/// Replaces each size by one that is always the same: packs and databases are not as large each time, and some are about
/// a mebibyte.
pub fn without_sizes(text: &str) -> String {
    let mut pieces: Vec<&str> = text.split_inclusive(char::is_whitespace).collect();
    for at in 1..pieces.len() {
        let unit = pieces[at].trim_end_matches(|last: char| !last.is_ascii_alphabetic());
        // A line may be broken between the two.
        let before = (0..at).rev().find(|at| !pieces[*at].trim().is_empty());
        let Some(before) = before.filter(|_| ["bytes", "KiB", "MiB", "GiB"].contains(&unit)) else {
            continue;
        };
        if pieces[before].starts_with(|first: char| first.is_ascii_digit()) {
            pieces[before] = match pieces[before].ends_with('\n') {
                true => "123.4\n",
                false => "123.4 ",
            };
        }
    }
    pieces.concat().replace("KiB", "MiB")
}

/// Replaces what comes behind a beginning, as long as it is in it, by as many crosses.
fn with_crosses(text: &str, begin: &str, is_in_it: fn(char) -> bool) -> String {
    let mut parts = text.split(begin);
    let mut crossed = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let end = part.find(|next| !is_in_it(next)).unwrap_or(part.len());
        let crosses = "x".repeat(part[..end].chars().count());
        crossed.push_str(&format!("{begin}{crosses}{}", &part[end..]));
    }
    crossed
}

/// The file in which a command line is written down, without `.txt`.
fn file_of(form: &str) -> &str {
    let words = form
        .rsplit_once("ckpt-hook ")
        .map_or(form, |(_, words)| words);
    let is_name = |word: &&str| {
        word.bytes()
            .all(|byte| byte.is_ascii_lowercase() || byte == b'-')
            && !word.starts_with('-')
    };
    // An option before the command may have a value.
    let names = words.split(' ').filter(is_name);
    let known = |name: &str| HELP.iter().any(|help| help.split(' ').next() == Some(name));
    let hidden = ["settle", "inside", "candidates"];
    let mut names = names.filter(|name| known(name) || hidden.contains(name));
    names.next().unwrap_or("other")
}

/// Everything that is written down: by file, one text after the other.
#[derive(Default)]
struct Pages {
    texts: BTreeMap<String, String>,
    /// What looks different where it should look the same.
    different: Vec<String>,
}

impl Pages {
    fn add(&mut self, form: &str, text: &str) {
        let page = self.texts.entry(file_of(form).to_owned()).or_default();
        let line = match form.contains("ckpt-hook") {
            true => form.to_owned(),
            false => format!("ckpt-hook {form}"),
        };
        if !page.is_empty() {
            page.push('\n');
        }
        page.push_str(&format!("$ {line}\n{text}"));
    }

    /// Compares all with the files.
    fn compare(&self) {
        let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../tests/cli/shown");
        for (name, page) in &self.texts {
            expect_file![folder.join(format!("{name}.txt"))].assert_eq(page);
        }
        for entry in folder.read_dir().expect("it is there") {
            let name = entry.expect("readable").file_name();
            let name = name.to_string_lossy().into_owned();
            if let Some(page) = name.strip_suffix(".txt").filter(|page| *page != "keys") {
                assert!(
                    self.texts.contains_key(page),
                    "`{name}` shows nothing any more"
                );
            }
        }
        assert!(self.different.is_empty(), "{}", self.different.join("\n"));
    }
}

/// Adds command lines as they are printed on a terminal, each kind of it with a world of its own where they change it.
fn add_shown(pages: &mut Pages, forms: &[&'static str], has_own: bool) -> bool {
    let shared = (!has_own).then(world::world);
    if let Some(world) = &shared {
        // The first time leaves caches, and `du` counts them.
        on_a_pipe(world, forms, "");
    }
    let show = |variables: &str| -> Option<Vec<String>> {
        let own = has_own.then(world::world);
        let world = own.as_ref().or(shared.as_ref()).expect("one of them");
        let shown = on_a_terminal(world, forms, COLUMNS, variables)?;
        Some(shown.iter().map(|shown| written(world, shown)).collect())
    };
    let Some(usual) = show("") else {
        return false;
    };
    for variables in ALIKE {
        let texts = show(variables).expect("as before");
        for ((form, text), usual) in forms.iter().zip(&texts).zip(&usual) {
            // A command that is bold is not broken between its words. Without colours nothing shows where it begins.
            let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
            if words(text) != words(usual) {
                let what = format!("`{form}` with {variables}:\n{text}and without:\n{usual}");
                pages.different.push(what);
            }
        }
    }
    for (form, text) in forms.iter().zip(&usual) {
        pages.add(form, text);
    }
    true
}

#[test]
fn every_command_prints_what_is_written_down() {
    let mut pages = Pages::default();
    let looking = [LOOKING, WHOLE].concat();
    if !add_shown(&mut pages, &looking, false) {
        return;
    }
    let world = world::world();
    for shown in on_a_pipe(&world, &[FOR_PROGRAMS, HELP].concat(), "") {
        let text = written(&world, &shown);
        pages.add(shown.form, &text);
    }
    if add_shown(&mut pages, CHANGING, true) {
        pages.compare();
    }
}
