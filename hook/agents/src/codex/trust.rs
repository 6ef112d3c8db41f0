//! Codex's trust in a hook: a hash of it in `config.toml`, without which Codex passes over the hook.
//!
//! Codex asks the user to review a hook in its terminal interface. Writing the hash takes the place of that review,
//! which is why only `--trust` does it. Text in, text out; the file is edited as a syntax tree, comments and all.

use std::path::Path;

use ckpt_store::DryRun;
use ckpt_store::error::{Error, Result};
use ckpt_store::lines::split_byte_order_mark;
use sha2::{Digest, Sha256};
use toml_edit::{DocumentMut, Item, Table, TableLike, value};

use crate::settings::content::{OwnHandlers, SettingsContent};
use crate::settings::hook_table::HandlerPosition;
use crate::settings::target::is_package;
use ckpt_store::model::hex::Hex;

/// What Codex is to trust: the key and the hash of each of our handlers.
pub struct Trust(Vec<(String, String)>);

impl Trust {
    /// Returns the trust in handlers that are at these places of a `hooks.json`.
    pub fn in_handlers(hooks_json: &Path, positions: &[HandlerPosition]) -> Self {
        Self(
            positions
                .iter()
                .filter_map(|position| Some((key(hooks_json, position), hash(position)?)))
                .collect(),
        )
    }

    /// Returns whether there is nothing to trust.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns whether the settings trust every handler as it is.
    pub fn is_in(&self, text: &str) -> bool {
        let Ok(mut document) = parse(text) else {
            return false;
        };
        let Some(state) = state(&mut document) else {
            return self.is_empty();
        };
        let is_trusted = |(key, hash): &(String, String)| {
            state
                .get(key)
                .and_then(|hook| text_of(hook, "trusted_hash"))
                == Some(hash)
        };
        self.0.iter().all(is_trusted)
    }

    /// The number of handlers that the user has switched off.
    pub fn switched_off_in(&self, text: &str) -> usize {
        let Ok(mut document) = parse(text) else {
            return 0;
        };
        let Some(state) = state(&mut document) else {
            return 0;
        };
        let is_off = |(key, _): &&(String, String)| {
            let enabled = state.get(key).and_then(Item::as_table_like);
            let enabled = enabled.and_then(|hook| hook.get("enabled"));
            enabled.and_then(Item::as_bool) == Some(false)
        };
        self.0.iter().filter(is_off).count()
    }
}

impl SettingsContent for Trust {
    /// Returns the settings with the hashes in them, all other bytes as they were.
    ///
    /// # Errors
    ///
    /// A text that is not TOML, or whose `hooks.state` has another shape.
    fn insert(&self, text: &str) -> Result<String> {
        let mut document = parse(text)?;
        let state = state_for_writing(&mut document)?;
        for (key, hash) in &self.0 {
            trust(state, key, hash);
        }
        written_like(text, &document.to_string())
    }

    /// Returns the settings without the hashes, or `None` if they hold nothing else.
    ///
    /// # Errors
    ///
    /// A text that is not TOML.
    fn remove(&self, text: &str) -> Result<Option<String>> {
        let mut document = parse(text)?;
        let removed = state(&mut document).map_or(0, |state| {
            self.0
                .iter()
                .filter_map(|(key, _)| state.remove(key))
                .count()
        });
        if removed == 0 {
            return Ok(Some(text.to_owned()));
        }
        remove_empty(&mut document);
        let rest = written_like(text, &document.to_string())?;
        Ok((!rest.trim().is_empty()).then_some(rest))
    }

    fn find(&self, text: &str) -> Result<OwnHandlers> {
        Ok(OwnHandlers {
            exact: self.is_in(text),
            ..OwnHandlers::default()
        })
    }

    fn note(&self, before: Option<&str>, after: &str, dry_run: DryRun) -> Option<String> {
        let trusts = match dry_run {
            DryRun::Yes => "would trust the hook",
            DryRun::No => "trusts the hook now",
        };
        (before != Some(after) && self.is_in(after))
            .then(|| format!("Codex {trusts} without a review"))
    }
}

/// Trusts a hook. What else is said of it stays: with `enabled`, the user switches it off in `/hooks`.
fn trust(state: &mut dyn TableLike, key: &str, hash: &str) {
    let known = state.get_mut(key).and_then(Item::as_table_like_mut);
    if let Some(known) = known {
        if known.get("trusted_hash").and_then(Item::as_str) != Some(hash) {
            known.insert("trusted_hash", value(hash));
        }
        return;
    }
    let mut trusted = Table::new();
    trusted.insert("trusted_hash", value(hash));
    state.insert(key, Item::Table(trusted));
}

/// Returns whether Codex's settings hold our package, and do not switch it off.
pub fn enables_package(config: &str) -> bool {
    let Ok(document) = parse(config) else {
        return false;
    };
    let Some(plugins) = document.get("plugins").and_then(Item::as_table_like) else {
        return false;
    };
    let is_on = |plugin: &Item| plugin.get("enabled").and_then(Item::as_bool) != Some(false);
    plugins
        .iter()
        .any(|(name, plugin)| is_package(name) && is_on(plugin))
}

/// Returns whether Codex's settings call a project trusted.
pub fn trusts_project(config: &str, project: &Path) -> bool {
    let Ok(document) = parse(config) else {
        return false;
    };
    let projects = document.get("projects").and_then(Item::as_table_like);
    let project = projects.zip(project.to_str());
    let project = project.and_then(|(projects, name)| projects.get(name));
    project.and_then(|project| text_of(project, "trust_level")) == Some("trusted")
}

/// Returns the text of a key in a table.
fn text_of<'i>(table: &'i Item, key: &str) -> Option<&'i str> {
    table.as_table_like()?.get(key)?.as_str()
}

/// Codex names a hook by its file, the event in snake case, and its place in the event's list.
fn key(hooks_json: &Path, position: &HandlerPosition) -> String {
    let HandlerPosition {
        event,
        group,
        handler,
        ..
    } = position;
    format!(
        "{}:{}:{group}:{handler}",
        hooks_json.display(),
        snake_case(event)
    )
}

/// The hash of the handler as compact JSON with sorted names, as Codex 0.169.0 computes it.
fn hash(position: &HandlerPosition) -> Option<String> {
    let command = position.handler_json.get("command")?;
    let timeout = position.handler_json.get("timeout")?;
    let event = snake_case(&position.event);
    // Codex hashes `async` with its default, though the file does not name it.
    let json = format!(
        r#"{{"event_name":"{event}","hooks":[{{"async":false,"command":{command},"timeout":{timeout},"type":"command"}}]}}"#
    );
    let digest = Sha256::digest(json.as_bytes());
    Some(format!("sha256:{}", Hex(&digest)))
}

fn snake_case(name: &str) -> String {
    let mut snake = String::new();
    for character in name.chars() {
        if character.is_ascii_uppercase() && !snake.is_empty() {
            snake.push('_');
        }
        snake.push(character.to_ascii_lowercase());
    }
    snake
}

fn parse(text: &str) -> Result<DocumentMut> {
    text.parse::<DocumentMut>().map_err(|error| {
        let at = error.span().map_or(0, |span| span.start);
        let line = text.as_bytes()[..at.min(text.len())]
            .iter()
            .filter(|byte| **byte == b'\n')
            .count();
        Error::failed("not valid TOML").because(format!("{} on line {}", error.message(), line + 1))
    })
}

/// Returns an edited text with the byte order mark and the line endings of the original. The tree knows no mark, and
/// only one kind of line ending.
fn written_like(before: &str, after: &str) -> Result<String> {
    let mark = split_byte_order_mark(before).0;
    match (before.matches("\r\n").count(), before.matches('\n').count()) {
        (0, _) => Ok(format!("{mark}{after}")),
        (windows, all) if windows == all => Ok(mark.to_owned() + &after.replace('\n', "\r\n")),
        _ => Err(Error::failed(
            "its line ends are mixed, and only one kind would remain",
        )),
    }
}

fn state(document: &mut DocumentMut) -> Option<&mut dyn TableLike> {
    document
        .get_mut("hooks")?
        .as_table_like_mut()?
        .get_mut("state")?
        .as_table_like_mut()
}

fn state_for_writing(document: &mut DocumentMut) -> Result<&mut dyn TableLike> {
    let hooks = document
        .entry("hooks")
        .or_insert_with(implicit_table)
        .as_table_like_mut();
    let hooks = hooks.ok_or_else(|| Error::failed("`hooks` is not a table"))?;
    let state = hooks
        .entry("state")
        .or_insert_with(implicit_table)
        .as_table_like_mut();
    state.ok_or_else(|| Error::failed("`hooks.state` is not a table"))
}

/// A table without a header: only its contents are written.
fn implicit_table() -> Item {
    let mut table = Table::new();
    table.set_implicit(true);
    Item::Table(table)
}

/// Removes the tables without a header that were made for removed entries.
fn remove_empty(document: &mut DocumentMut) {
    let is_ours = |item: &Item| {
        item.as_table()
            .is_some_and(|table| table.is_implicit() && table.is_empty())
    };
    if let Some(hooks) = document.get_mut("hooks").and_then(Item::as_table_like_mut)
        && hooks.get("state").is_some_and(is_ours)
    {
        hooks.remove("state");
    }
    if document.get("hooks").is_some_and(is_ours) {
        document.remove("hooks");
    }
}
