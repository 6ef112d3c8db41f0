//! What an operation leaves as it is: whose it is, and the command that takes it along. `ckpt_store` decides; this says
//! it on a command line.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;

use ckpt_schema::report::{DifferenceReason, KeptKind, KeptReport, OperationReport, PathText};
use ckpt_store::model::instruction::Instruction;
use ckpt_store::model::number::count;

use super::data;
use super::files::says_something;
use super::fold;
use super::operation::Around;
use super::paint::Paint;
use super::text::{bytes, safe_bytes, short, with_ids_shortened};

/// How many paths are named for each reason.
const NAMED: usize = 3;

/// Returns the lines on the paths that still differ from that state, except those with their own line: what is the
/// user's, what other messages changed, and the rest by reason.
pub(super) fn differing(report: &OperationReport, around: &Around, paint: Paint) -> String {
    let Some(receipt) = &report.receipt else {
        return String::new();
    };
    let files = report.files.iter().filter(|file| says_something(file));
    let of_files = files.map(|file| &file.path);
    let of_others = others(report).flat_map(|kept| &kept.paths);
    // A rename is one: the name that it has now.
    let told = of_files.chain(of_others).chain(origins(report));
    let told: BTreeSet<&PathText> = told.collect();
    let mut by_reason: BTreeMap<(DifferenceReason, String), Vec<&PathText>> = BTreeMap::new();
    for difference in &receipt.differences {
        if !told.contains(&difference.path) {
            let reason = (difference.reason, difference.phrase());
            by_reason.entry(reason).or_default().push(&difference.path);
        }
    }
    let (yours, rest): (Vec<_>, Vec<_>) = by_reason
        .into_iter()
        .partition(|((reason, _), _)| *reason == DifferenceReason::Yours);
    let named = |paths: &[&PathText]| fold::names(paths, NAMED).join(", ");
    let mut text = String::new();
    for (_, paths) in &yours {
        let yours = stays(report, "Yours", paths.len());
        text.push_str(&format!("{yours}: {}.\n", named(paths)));
    }
    text.push_str(&of_other_messages(report, around, paint));
    let number: usize = rest.iter().map(|(_, paths)| paths.len()).sum();
    if number > 0 {
        let part = |((_, phrase), paths): &((_, String), Vec<&PathText>)| {
            format!("{phrase} ({})", named(paths))
        };
        let parts: Vec<String> = rest.iter().map(part).collect();
        let verb = match number {
            _ if report.dry_run => "would differ",
            1 => "differs",
            _ => "differ",
        };
        let files = count(number as u64, "other path");
        text.push_str(&format!(
            "{files} {verb} from that state: {}.\n",
            parts.join("; ")
        ));
    }
    text
}

/// That so many things stay, or would.
fn stays(report: &OperationReport, what: &str, number: usize) -> String {
    let verb = match number {
        _ if report.dry_run => "would stay",
        1 => "stays",
        _ => "stay",
    };
    format!("{what} {verb}")
}

/// The former names of files that were renamed and stay.
fn origins(report: &OperationReport) -> impl Iterator<Item = &PathText> {
    let differences = report
        .receipt
        .iter()
        .flat_map(|receipt| &receipt.differences);
    differences.filter_map(|difference| difference.moved_from.as_ref())
}

/// Returns that files of another message stay.
fn named_to_stay(report: &OperationReport, kept: &KeptReport) -> String {
    let origins: BTreeSet<&PathText> = origins(report).collect();
    let paths = kept.paths.iter().filter(|path| !origins.contains(path));
    let paths: Vec<&PathText> = paths.collect();
    stays(report, &fold::names(&paths, NAMED).join(", "), paths.len())
}

/// What stays because another message changed it.
fn others(report: &OperationReport) -> impl Iterator<Item = &KeptReport> {
    let kept = report.kept.iter();
    kept.filter(|kept| kept.kind == KeptKind::OtherMessage)
}

/// Returns a line for each of a few other messages whose files stay, with what takes them back.
fn of_other_messages(report: &OperationReport, around: &Around, paint: Paint) -> String {
    let mut text = String::new();
    for kept in others(report).take(NAMED) {
        let names = named_to_stay(report, kept);
        text.push_str(&format!(
            "{names}, {}{}\n",
            with_ids_shortened(&kept.why),
            way_out(kept, around, paint)
        ));
    }
    let more = others(report).count().saturating_sub(NAMED);
    if more > 0 {
        let more = count(more as u64, "other message");
        let stay = stays(report, &format!("What {more} changed"), 1);
        text.push_str(&format!(
            "{stay}: {} lists them.\n",
            paint.instruction(Instruction::Messages)
        ));
    }
    text
}

/// Returns a line for each of a few other messages whose files stay, for a browser that shows those messages.
pub(super) fn others_in_short(report: &OperationReport) -> String {
    let line = |kept: &KeptReport| {
        let names = named_to_stay(report, kept);
        let why = with_ids_shortened(&kept.why);
        format!(
            "{names}, {why}; {} on that message takes that back.\n",
            Instruction::Revert
        )
    };
    others(report).take(NAMED).map(line).collect()
}

/// How many files stay for each kind of reason, and the way out of it.
pub(super) fn reasons_to_keep(
    report: &OperationReport,
    around: &Around,
    paint: Paint,
) -> Vec<String> {
    let kept = report.kept.iter();
    let kept = kept.filter(|kept| kept.kind != KeptKind::OtherMessage);
    let line = |kept: &KeptReport| {
        let files = count(kept.paths.len() as u64, "file");
        format!(
            "{files} kept: {}{}",
            with_ids_shortened(&kept.why),
            way_out(kept, around, paint)
        )
    };
    kept.map(line).collect()
}

/// Returns how a sentence on kept files ends: with the command that takes them along, or that there is none.
fn way_out(kept: &KeptReport, around: &Around, paint: Paint) -> String {
    let Some(way) = &kept.way else {
        return "; nothing takes that back.".to_owned();
    };
    let path = |path: &PathText| around.named(path);
    let command = match (around.keys, kept.kind) {
        (Some(_), KeptKind::Moved) => "a new plan".to_owned(),
        (Some(_), _) if way.first.is_some() => "a new plan".to_owned(),
        (Some(keys), KeptKind::Unclear) => format!("{} in the plan", keys.unclear),
        // It is another message's plan that takes that.
        (Some(keys), kind) if kind != KeptKind::OtherMessage => {
            format!("{} in the plan", keys.kept)
        }
        // A file in another root has that root's directory in its command.
        _ if way.parameters.workspace.is_some() => {
            paint.command(&way.parameters.command(short, path))
        }
        _ => paint.own_command(&way.parameters.command(short, path)),
    };
    let each = match way.parameters.is_written_out() || around.keys.is_some() {
        true => "",
        false => "with the name of each for FILE, ",
    };
    match &way.first {
        None => format!("; {each}{command} {}.", way.does),
        Some(first) => format!("; {first}, then {each}{command} {}.", way.does),
    }
}

/// The keys of a plan that take what would stay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlanKeys {
    /// For a file that stays.
    pub kept: &'static str,
    /// For what is unclear.
    pub unclear: &'static str,
}

impl Around {
    /// Returns how to leave a current directory that is gone: no command works there.
    pub(super) fn leave(&self, paint: Paint) -> Option<String> {
        let leave = format!("cd {}", vec![".."; self.gone].join("/"));
        let leave = paint.own_command(&leave);
        (self.gone > 0).then(|| format!("The current directory is gone. Leave it first: {leave}"))
    }

    /// Returns a path as it is written on a command line in the current directory.
    fn named(&self, path: &PathText) -> String {
        let name = bytes(path);
        let is_plain = std::str::from_utf8(&name).is_ok_and(data::is_only_a_path);
        if data::is_read_by_model() && !is_plain {
            return data::path(path);
        }
        let (path, here) = (PathBuf::from(OsString::from_vec(bytes(path))), &self.below);
        let shared = path.components().zip(here.components());
        let shared = shared.take_while(|(one, other)| one == other).count();
        let mut relative: PathBuf = here.components().skip(shared).map(|_| "..").collect();
        relative.extend(path.components().skip(shared));
        word(relative.as_os_str().as_bytes())
    }
}

/// Returns bytes as one word of a shell.
pub(super) fn word(bytes: &[u8]) -> String {
    let is_plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"/._-+,=@%:".contains(byte);
    match bytes.utf8_chunks().all(|chunk| chunk.invalid().is_empty()) {
        true if !bytes.is_empty() && bytes.iter().all(is_plain) && !bytes.starts_with(b"-") => {
            safe_bytes(bytes)
        }
        true if !safe_bytes(bytes).contains('\\') => {
            let word = safe_bytes(bytes).replace('\'', "'\\''");
            let here = if word.starts_with('-') { "./" } else { "" };
            format!("'{here}{word}'")
        }
        // What is no text, or acts on a terminal, is spelled.
        _ => {
            let spelled: String = bytes.iter().map(|byte| format!("\\x{byte:02x}")).collect();
            format!("$'{spelled}'")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A file is named from the current directory on, as one word of a shell.
    #[test]
    fn file_is_named_as_one_word_from_here() {
        let path = |path: &str| PathText {
            path: path.to_owned(),
            path_hex: None,
        };
        let around = |below: &str| Around {
            below: PathBuf::from(below),
            ..Around::default()
        };
        assert_eq!(around("").named(&path("src/a")), "src/a");
        assert_eq!(around("src").named(&path("src/a")), "a");
        assert_eq!(around("src/deep").named(&path("lib/a")), "../../lib/a");
        assert_eq!(around("").named(&path("it's here")), r"'it'\''s here'");
        assert_eq!(around("").named(&path("-rf")), "'./-rf'");
        assert_eq!(around("").named(&path("a\u{1b}")), r"$'\x61\x1b'");
    }
}
