//! A list of hooks in a TOML file: a table `[[hooks]]` with `event`, `command` and `timeout` for each.
//!
//! Text in, text out. What is added stands at the end, and what is taken out was added, so that every other byte stays.

use ckpt_store::error::{Error, Result};
use toml_edit::{ArrayOfTables, DocumentMut, Item, Table};

use super::command;
use super::content::{OwnHandlers, SettingsContent};

/// What we want in the list.
pub struct TomlHooks {
    /// The lines to run, by event.
    pub lines: Vec<(&'static str, String)>,
    /// The seconds after which the agent continues without us.
    pub timeout: u32,
}

impl TomlHooks {
    fn tables(&self) -> String {
        let table = |(event, line): &(&str, String)| {
            let (line, timeout) = (toml_edit::Value::from(line.as_str()), self.timeout);
            format!("\n[[hooks]]\nevent = \"{event}\"\ncommand = {line}\ntimeout = {timeout}\n")
        };
        self.lines.iter().map(table).collect()
    }

    fn is_wanted(&self, table: &Table) -> bool {
        let wanted = |(event, line): &(&str, String)| {
            text(table, "event") == Some(*event)
                && text(table, "command") == Some(line.as_str())
                && seconds(table) == Some(i64::from(self.timeout))
                && table.len() == 3
        };
        self.lines.iter().any(wanted)
    }
}

impl SettingsContent for TomlHooks {
    /// Returns the settings with our tables at their end, unless exactly those are in it.
    ///
    /// # Errors
    ///
    /// A text that is not TOML, or whose `hooks` have another shape.
    fn insert(&self, before: &str) -> Result<String> {
        if self.find(before)?.exact {
            return Ok(before.to_owned());
        }
        let mut text = self.remove(before)?.unwrap_or_default();
        if !text.is_empty() && !text.ends_with('\n') {
            text.push('\n');
        }
        text.push_str(&self.tables());
        parse(&text)?;
        Ok(text)
    }

    fn remove(&self, text: &str) -> Result<Option<String>> {
        // There may be another reason that it is not TOML.
        if !text.lines().any(command::is_ours) {
            return Ok(Some(text.to_owned()));
        }
        let mut document = parse(text)?;
        let Some(hooks) = hooks(&mut document)? else {
            return Ok(Some(text.to_owned()));
        };
        let count = hooks.len();
        hooks.retain(|table| !is_ours(table));
        if hooks.len() == count {
            return Ok(Some(text.to_owned()));
        }
        if hooks.is_empty() {
            document.remove("hooks");
        }
        let rest = document.to_string();
        Ok((!rest.trim().is_empty()).then_some(rest))
    }

    fn find(&self, text: &str) -> Result<OwnHandlers> {
        let mut found = OwnHandlers::default();
        let mut document = parse(text)?;
        let Some(hooks) = hooks(&mut document)? else {
            return Ok(found);
        };
        let own: Vec<&Table> = hooks.iter().filter(|table| is_ours(table)).collect();
        for (index, table) in own.iter().enumerate() {
            found.binaries.extend(line(table).and_then(command::binary));
            let event = self::text(table, "event");
            let mut others = own.iter().take(index);
            found.doubled |= others.any(|other| self::text(other, "event") == event);
            found.hurried |= seconds(table).is_some_and(|it| it < i64::from(self.timeout));
        }
        found.exact =
            own.len() == self.lines.len() && own.iter().all(|table| self.is_wanted(table));
        found.exact &= !found.doubled;
        Ok(found)
    }
}

fn parse(text: &str) -> Result<DocumentMut> {
    let because = |error: toml_edit::TomlError| Error::failed("it is not TOML").because(error);
    text.parse::<DocumentMut>().map_err(because)
}

fn hooks(document: &mut DocumentMut) -> Result<Option<&mut ArrayOfTables>> {
    match document.get_mut("hooks") {
        None => Ok(None),
        Some(Item::ArrayOfTables(hooks)) => Ok(Some(hooks)),
        Some(_) => Err(Error::failed("`hooks` is not a list of tables")),
    }
}

fn is_ours(table: &Table) -> bool {
    line(table).is_some_and(command::is_ours)
}

fn line(table: &Table) -> Option<&str> {
    text(table, "command")
}

fn text<'t>(table: &'t Table, name: &str) -> Option<&'t str> {
    table.get(name)?.as_str()
}

fn seconds(table: &Table) -> Option<i64> {
    table.get("timeout")?.as_integer()
}
