//! Sets or removes a setting in the text of a settings file; comments, order and everything else stay as they are.

use std::path::Path;

use ckpt_store::error::{Error, Result};
use ckpt_store::lines::split_byte_order_mark;
use toml_edit::{DocumentMut, Item, Table, TableLike};

use super::keys::SettingKey;
use super::{NO_WORKSPACES, WORKSPACES, directory, not_understood};

/// What is changed: a setting, everywhere or in one workspace.
#[derive(Clone, Copy)]
pub struct SettingTarget<'a> {
    /// The setting's name.
    pub key: &'a str,
    /// The workspace's canonical directory, or `None` for the setting of all workspaces.
    pub workspace: Option<&'a Path>,
    /// The user's home directory, which `~/` stands for.
    pub home: Option<&'a Path>,
}

/// Parses a value on the command line: TOML, or a bare word for a text or for a list of one.
pub fn value(text: &str, key: &SettingKey) -> Option<toml::Value> {
    let mut settings = ckpt_store::Settings::default();
    let as_toml = format!("value = {text}").parse::<toml::Table>().ok();
    let typed = as_toml.and_then(|mut table| table.remove("value"));
    // A list with something wrong in it is no bare word, even where any text would do.
    let is_list = typed.as_ref().is_some_and(toml::Value::is_array);
    let words = [text.into(), vec![text].into()];
    let words = words.into_iter().filter(|_| !is_list);
    let mut candidates = typed.into_iter().chain(words);
    candidates.find(|value| (key.set)(&mut settings, value).is_some())
}

/// Returns a file's text with a setting in it.
///
/// # Errors
///
/// A file that is not TOML, or has something else in the setting's place.
pub fn set(text: &str, target: SettingTarget<'_>, value: &toml::Value) -> Result<String> {
    let mut document = parse(text)?;
    let new: toml_edit::Value = value
        .to_string()
        .parse()
        .map_err(|error| Error::failed("cannot write the value").because(error))?;
    let section = section(&mut document, target, IfMissing::Make)?;
    let Some(section) = section else {
        return Err(Error::failed("the settings have no place for it"));
    };
    match section.get_mut(target.key).and_then(Item::as_value_mut) {
        Some(old) => {
            // The blanks before a value and the comment behind it are its decoration.
            let decor = old.decor().clone();
            *old = new;
            *old.decor_mut() = decor;
        }
        None => {
            section.insert(target.key, Item::Value(new));
        }
    }
    Ok(as_before(text, &document.to_string()))
}

/// Returns a file's text without a setting. Its section stays, even if it is empty then.
///
/// # Errors
///
/// As [`set`].
pub fn unset(text: &str, target: SettingTarget<'_>) -> Result<String> {
    let mut document = parse(text)?;
    if let Some(section) = section(&mut document, target, IfMissing::Leave)? {
        section.remove(target.key);
    }
    Ok(as_before(text, &document.to_string()))
}

/// Returns the value of a target in a file's text, as TOML.
///
/// # Errors
///
/// As [`set`].
pub fn get(text: &str, target: SettingTarget<'_>) -> Result<Option<String>> {
    let mut document = parse(text)?;
    let Some(section) = section(&mut document, target, IfMissing::Leave)? else {
        return Ok(None);
    };
    let value = section.get(target.key).cloned();
    Ok(value
        .and_then(|item| item.into_value().ok())
        .map(|mut value| {
            value.decor_mut().clear();
            value.to_string()
        }))
}

/// Returns whether a file's text has something for a target to remove. The sections of workspaces are no setting.
///
/// # Errors
///
/// As [`set`].
pub fn holds(text: &str, target: SettingTarget<'_>) -> Result<bool> {
    let mut document = parse(text)?;
    let is_top = target.workspace.is_none();
    let section = section(&mut document, target, IfMissing::Leave)?;
    let item = section.and_then(|section| section.get(target.key));
    Ok(item
        .is_some_and(|item| !is_top || target.key != WORKSPACES || item.as_table_like().is_none()))
}

/// Returns a text with the byte order mark and the line ends of the text that it was made from: `toml_edit` writes
/// neither. Lines that are new end as the first one does.
fn as_before(before: &str, after: &str) -> String {
    let (mark, lines) = split_byte_order_mark(before);
    let old: Vec<&str> = lines.split_inclusive('\n').collect();
    let new: Vec<&str> = after.split_inclusive('\n').collect();
    let is_same = |(old, new): &(&&str, &&str)| parts(old) == parts(new);
    let first = old.iter().zip(&new).take_while(is_same).count();
    let rest = (&old[first..], &new[first..]);
    let ends = rest.0.iter().rev().zip(rest.1.iter().rev());
    let last = ends.take_while(is_same).count();
    let end = match old.first().is_some_and(|line| line.ends_with("\r\n")) {
        true => "\r\n",
        false => "\n",
    };
    let changed = rest.1[..rest.1.len() - last].iter().map(|line| {
        let (line, is_ended) = parts(line);
        format!("{line}{}", if is_ended { end } else { "" })
    });
    [
        mark,
        &old[..first].concat(),
        &changed.collect::<String>(),
        &old[old.len() - last..].concat(),
    ]
    .concat()
}

/// Returns a line without its end, and whether it has one.
fn parts(line: &str) -> (&str, bool) {
    match line.strip_suffix('\n') {
        Some(line) => (line.strip_suffix('\r').unwrap_or(line), true),
        None => (line, false),
    }
}

fn parse(text: &str) -> Result<DocumentMut> {
    text.parse::<DocumentMut>().map_err(|error| {
        Error::failed(not_understood(error.message()))
            .hint("correct the file by hand, and try again")
    })
}

/// What to do where a file has no section for a target.
#[derive(Clone, Copy, PartialEq, Eq)]
enum IfMissing {
    Make,
    Leave,
}

/// Returns the table that holds a target's settings; a workspace's is found however its directory is written.
fn section<'d>(
    document: &'d mut DocumentMut,
    target: SettingTarget<'_>,
    if_missing: IfMissing,
) -> Result<Option<&'d mut dyn TableLike>> {
    let Some(workspace) = target.workspace else {
        return Ok(Some(document.as_table_mut()));
    };
    let path = workspace.to_str().ok_or_else(|| {
        Error::failed(format!(
            "`{}` cannot be written to the settings: it is not UTF-8",
            workspace.display()
        ))
    })?;
    if !document.contains_key(WORKSPACES) {
        if if_missing == IfMissing::Leave {
            return Ok(None);
        }
        let mut all = Table::new();
        // Each section below names it, so it needs no header of its own.
        all.set_implicit(true);
        document.insert(WORKSPACES, Item::Table(all));
    }
    let wrong = || Error::failed(NO_WORKSPACES);
    let all = document
        .get_mut(WORKSPACES)
        .and_then(Item::as_table_like_mut)
        .ok_or_else(wrong)?;
    let same = all
        .iter()
        .map(|(name, _)| name.to_owned())
        .find(|name| directory(name, target.home).as_deref() == Some(workspace));
    let name = match same {
        Some(name) => name,
        None if if_missing == IfMissing::Make => {
            all.insert(path, Item::Table(Table::new()));
            path.to_owned()
        }
        None => return Ok(None),
    };
    let section = all.get_mut(&name).and_then(Item::as_table_like_mut);
    section.map(Some).ok_or_else(wrong)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::keys::find;

    fn target(key: &'static str, workspace: Option<&'static str>) -> SettingTarget<'static> {
        SettingTarget {
            key: find(key).expect("it is a setting").name,
            workspace: workspace.map(Path::new),
            home: Some(Path::new("/home/u")),
        }
    }

    fn set_to(text: &str, key: &'static str, workspace: Option<&'static str>, to: &str) -> String {
        let target = target(key, workspace);
        let key = find(key).expect("it is a setting");
        let value = value(to, key).expect("it is one of its values");
        set(text, target, &value).expect("the file is TOML")
    }

    const FILE: &str = "\
# mine
tell_agent = false # slow disk
exclude = [
  \"*.iso\", # images
]

# the big one
[workspaces.\"~/big\"]
durability = \"full\"   # it is huge
";

    #[test]
    fn a_value_is_replaced_and_every_comment_stays() {
        assert_eq!(
            set_to(FILE, "tell_agent", None, "true"),
            FILE.replace("tell_agent = false #", "tell_agent = true #"),
            "also the one behind it"
        );
        assert_eq!(
            set_to(FILE, "durability", Some("/home/u/big"), "objects"),
            FILE.replace("\"full\"   #", "\"objects\"   #"),
            "however the directory is written"
        );
    }

    #[test]
    fn line_ends_and_a_byte_order_mark_stay() {
        let windows = format!("\u{feff}{}", FILE.replace('\n', "\r\n"));
        assert_eq!(
            set_to(&windows, "tell_agent", None, "true"),
            windows.replace("tell_agent = false", "tell_agent = true"),
            "all of them"
        );
        let added = set_to(&windows, "keep", None, "90 days");
        assert!(
            added.contains("\r\nkeep = \"90 days\"\r\n")
                && !added.replace("\r\n", "").contains('\n'),
            "a new line ends as the others do: {added:?}"
        );
        let keep = target("keep", None);
        assert_eq!(unset(&added, keep).expect("it is TOML"), windows);
        let mixed = "a = 1\nb = 2\r\ntell_agent = false\r\nc = 3";
        assert_eq!(
            set_to(mixed, "tell_agent", None, "true"),
            "a = 1\nb = 2\r\ntell_agent = true\nc = 3\n",
            "what was not asked for stays as it is, but for the end of the file"
        );
    }

    /// A new setting stands before the sections and a new section at the end.
    #[test]
    fn new_setting_stands_before_the_sections() {
        let with = set_to(FILE, "keep", None, "60 days");
        assert!(with.contains("]\nkeep = \"60 days\"\n"), "{with}");
        let parsed = crate::config::parse(&with, Some(Path::new("/home/u")));
        assert_eq!(
            parsed.settings.keep.as_secs(),
            60 * 86_400,
            "it is read so: {with}"
        );
        let with = set_to(FILE, "enabled", Some("/home/u/secret"), "false");
        assert!(
            with.ends_with("[workspaces.\"/home/u/secret\"]\nenabled = false\n"),
            "{with}"
        );
        assert_eq!(
            set_to("", "tell_agent", None, "false"),
            "tell_agent = false\n",
            "an empty file"
        );
    }

    #[test]
    fn a_setting_is_taken_out_alone() {
        let unset = |text, key, workspace| unset(text, target(key, workspace)).expect("TOML");
        let without = unset(FILE, "durability", Some("/home/u/big"));
        assert!(
            without.contains("[workspaces.\"~/big\"]") && !without.contains("durability"),
            "{without}"
        );
        assert_eq!(unset(FILE, "keep", None), FILE, "what is not there");
        assert_eq!(
            unset(FILE, "durability", Some("/elsewhere")),
            FILE,
            "nor there"
        );
    }

    /// A bare word is a text or a list of one.
    #[test]
    fn bare_word_is_a_text_or_list() {
        let read =
            |key, text| value(text, find(key).expect("a setting")).map(|value| value.to_string());
        assert_eq!(read("include", ".env").as_deref(), Some("[\".env\"]"));
        assert_eq!(read("include", "[ab]*.o").as_deref(), Some("[\"[ab]*.o\"]"));
        assert_eq!(
            read("include", "[\"a\", 3]"),
            None,
            "a number is no pattern"
        );
        assert_eq!(
            read("include", "[\"a\", \"b\"]").as_deref(),
            Some("[\"a\", \"b\"]")
        );
        assert_eq!(read("hook_deadline", "2 s").as_deref(), Some("\"2 s\""));
        assert_eq!(read("max_file_size", "1000").as_deref(), Some("1000"));
        assert_eq!(read("tell_agent", "perhaps"), None, "no value of it");
    }

    /// A broken file is left alone and not quoted.
    #[test]
    fn broken_settings_file_is_left_alone() {
        let value = toml::Value::Boolean(true);
        let error =
            set("prompt = secret words", target("tell_agent", None), &value).expect_err("no TOML");
        assert!(!error.to_string().contains("secret"), "{error}");
        set("workspaces = 3", target("tell_agent", Some("/w")), &value)
            .expect_err("no place for it");
    }
}
