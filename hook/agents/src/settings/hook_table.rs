//! The table of hooks that most agents keep in a JSON file: `{"hooks": {EVENT: [{"hooks": [HANDLER]}]}}`.
//!
//! Text in, text out. The file is edited as a syntax tree, so that comments, trailing commas, indentation and every
//! byte outside our own handlers stay as they were. Nothing here reads or writes a file.

use std::path::PathBuf;

use ckpt_store::error::{Error, Result};
use ckpt_store::lines::split_byte_order_mark;
use jsonc_parser::cst::{CstArray, CstInputValue, CstObject, CstObjectProp, CstRootNode};
use serde_json::{Value, json};

use super::command;
use super::content::{OwnHandlers, SettingsContent, SettingsFile};
use super::jsonc::{append_element, append_property, input, is_empty_object, parse, replace};
use super::place::{SettingsPlace, SettingsScope};
use super::version::AgentVersion;

/// What we want in the table: one handler per event, in the order in which they are written; nothing, if another file
/// has them.
#[derive(Default)]
pub struct HookTable {
    /// Our handlers, by event.
    pub handlers: Vec<(&'static str, Handler)>,
    /// Handlers that stay if they are there, but are not added.
    pub tolerated: Vec<(&'static str, Handler)>,
}

/// One handler: its fields, in the order in which they are written.
#[derive(Clone, Debug, PartialEq)]
pub struct Handler(pub Vec<(&'static str, Value)>);

/// Where one of our handlers stands.
#[derive(Debug)]
pub struct HandlerPosition {
    /// The event.
    pub event: String,
    /// The place of its group in the event's list.
    pub group: usize,
    /// Its place in the group's list.
    pub handler: usize,
    /// The handler.
    pub handler_json: Value,
}

impl HookTable {
    /// Returns the table with a handler for each of these events.
    ///
    /// # Errors
    ///
    /// Those of `handler`, which is given the event's name.
    pub fn of_events(
        events: &[&'static str],
        handler: impl Fn(&str) -> Result<Handler>,
    ) -> Result<Self> {
        let handlers = events
            .iter()
            .map(|event| Ok((*event, handler(event)?)))
            .collect::<Result<_>>()?;
        Ok(Self {
            handlers,
            tolerated: Vec::new(),
        })
    }

    /// Returns the table with only those events that an agent knows, for agents that reject unknown ones. If the
    /// version is not known, existing handlers of newer events stay.
    pub fn known_to(
        self,
        version: Option<AgentVersion>,
        since: impl Fn(&str) -> AgentVersion,
    ) -> Self {
        let lowest = AgentVersion(0, 0, 0);
        let (handlers, others) = self
            .handlers
            .into_iter()
            .partition(|(event, _)| since(event) <= version.unwrap_or(lowest));
        Self {
            handlers,
            tolerated: if version.is_none() {
                others
            } else {
                Vec::new()
            },
        }
    }
}

impl SettingsContent for HookTable {
    /// Returns the text with our handlers in it, all other bytes as they were.
    ///
    /// # Errors
    ///
    /// A text that is not JSON (comments and trailing commas apart), or whose `hooks` have another shape.
    fn insert(&self, text: &str) -> Result<String> {
        let (mark, text) = split_byte_order_mark(text);
        let mut text = self.tidied(text)?;
        for (event, handler) in &self.handlers {
            // Parsed again for each event: text that was appended to a line is not part of the tree.
            text = with_handler(&parse(&text)?, event, handler)?;
        }
        Ok(format!("{mark}{text}"))
    }

    /// Returns the text without our handlers, or `None` if nothing else is in it.
    ///
    /// # Errors
    ///
    /// As for [`HookTable::insert`].
    fn remove(&self, text: &str) -> Result<Option<String>> {
        let root = parse(text)?;
        let Some(hooks) = hooks(&root)? else {
            return Ok(Some(text.to_owned()));
        };
        let mut removed = false;
        for event in events(&hooks) {
            for own in own_handlers(&groups(&event)?) {
                remove_handler(own, &event);
                removed = true;
            }
        }
        // Only what our removal emptied may go: an empty `hooks`, or an empty file, of the user's own stays.
        if !removed {
            return Ok(Some(text.to_owned()));
        }
        remove_empty_hooks(&root);
        let rest = root.to_string();
        // The tree has no byte order mark.
        let mark = split_byte_order_mark(text).0;
        Ok((!is_empty_object(&rest)).then(|| format!("{mark}{rest}")))
    }

    /// Returns our handlers in a text.
    ///
    /// # Errors
    ///
    /// As for [`HookTable::insert`].
    fn find(&self, text: &str) -> Result<OwnHandlers> {
        let mut found = OwnHandlers {
            exact: true,
            ..OwnHandlers::default()
        };
        let mut met = Vec::new();
        if let Some(hooks) = hooks(&parse(text)?)? {
            for event in events(&hooks) {
                let own = own_handlers(&groups(&event)?);
                found.doubled |= own.len() > 1;
                for own in own {
                    found.binaries.extend(command::binary(&own.line));
                    let wanted = self.wanted(&event);
                    found.exact &= wanted.is_some_and(|handler| own.is(handler));
                    found.hurried |=
                        wanted.is_some_and(|handler| own.timeout() < handler.timeout());
                    met.push(name(&event));
                }
            }
        }
        found.doubled |= self.handlers.is_empty() && !met.is_empty();
        found.exact &= !found.doubled
            && self
                .handlers
                .iter()
                .all(|(event, _)| met.iter().any(|name| name == event));
        Ok(found)
    }

    fn empty(&self) -> &'static str {
        "{}\n"
    }
}

impl HookTable {
    /// Returns the text with at most one of our handlers in each event, and that one as we want it.
    fn tidied(&self, text: &str) -> Result<String> {
        let root = parse(text)?;
        for event in hooks(&root)?.iter().flat_map(events) {
            self.tidy(&event)?;
        }
        Ok(root.to_string())
    }

    fn tidy(&self, event: &CstObjectProp) -> Result<()> {
        let wanted = self.wanted(event);
        let mut kept = false;
        for own in own_handlers(&groups(event)?) {
            // A matcher of the user's would keep some tools from us.
            match wanted.filter(|_| !kept && !own.has_matcher) {
                None => remove_handler(own, event),
                Some(handler) => {
                    kept = true;
                    if !own.is(handler) {
                        replace(&own.node, handler.to_input());
                    }
                }
            }
        }
        Ok(())
    }

    fn wanted(&self, event: &CstObjectProp) -> Option<&Handler> {
        let name = name(event);
        self.handlers
            .iter()
            .chain(&self.tolerated)
            .find(|(event, _)| *event == name)
            .map(|(_, handler)| handler)
    }
}

impl SettingsFile {
    /// Returns a file with a table of hooks.
    pub fn with_table(path: PathBuf, scope: SettingsScope, table: HookTable) -> Self {
        Self {
            path,
            mode: scope.mode(),
            content: Box::new(table),
        }
    }
}

impl Handler {
    fn timeout(&self) -> Option<f64> {
        self.0
            .iter()
            .find(|(name, _)| *name == "timeout")
            .and_then(|(_, value)| value.as_f64())
    }

    fn to_input(&self) -> CstInputValue {
        CstInputValue::Object(
            self.0
                .iter()
                .map(|(name, value)| ((*name).to_owned(), input(value)))
                .collect(),
        )
    }

    fn to_json(&self) -> Value {
        Value::Object(
            self.0
                .iter()
                .map(|(name, value)| ((*name).to_owned(), value.clone()))
                .collect(),
        )
    }
}

/// Returns a handler that runs our guarded line, in the shape that most agents share.
///
/// # Errors
///
/// As for [`command::text`].
pub fn handler(
    place: &SettingsPlace<'_>,
    agent: &str,
    event: &str,
    timeout: u32,
) -> Result<Handler> {
    let line = command::guarded(place.binary, agent, event)?;
    Ok(Handler(vec![
        ("type", json!("command")),
        ("command", json!(line)),
        ("timeout", json!(timeout)),
    ]))
}

/// Returns settings as a value.
///
/// # Errors
///
/// A text that is not JSON, comments and trailing commas apart.
pub fn settings(text: &str) -> Result<Value> {
    Ok(parse(text)?
        .object_value()
        .and_then(|settings| settings.to_serde_value())
        .unwrap_or_default())
}

/// Returns the places of our handlers.
///
/// # Errors
///
/// As for [`HookTable::insert`].
pub fn positions(text: &str) -> Result<Vec<HandlerPosition>> {
    let mut positions = Vec::new();
    for event in hooks(&parse(text)?)?.iter().flat_map(events) {
        for own in own_handlers(&groups(&event)?) {
            let handler_json = own.node.to_serde_value().unwrap_or_default();
            positions.push(HandlerPosition {
                event: name(&event),
                group: own.group,
                handler: own.handler,
                handler_json,
            });
        }
    }
    Ok(positions)
}

/// Returns the text of the settings with a handler for an event, if it has none of ours yet.
fn with_handler(root: &CstRootNode, event: &str, handler: &Handler) -> Result<String> {
    let groups_of = |groups| CstInputValue::Array(vec![groups]);
    match hooks(root)? {
        None => {
            let hooks = CstInputValue::Object(vec![(event.to_owned(), groups_of(group(handler)))]);
            append_property(&root.object_value_or_set(), "hooks", hooks);
        }
        Some(hooks) => match last(&hooks, event) {
            None => append_property(&hooks, event, groups_of(group(handler))),
            Some(event) => {
                let groups = groups(&event)?;
                if own_handlers(&groups).is_empty() {
                    append_element(&groups, group(handler));
                }
            }
        },
    }
    Ok(root.to_string())
}

/// One of our handlers in a file.
struct Own {
    node: CstObject,
    /// The places of its group and of itself.
    group: usize,
    handler: usize,
    /// What it runs: the command and its arguments.
    line: String,
    /// Whether its group is limited to some tools.
    has_matcher: bool,
}

impl Own {
    /// Returns its timeout, if it has one; the agents' own default is long.
    fn timeout(&self) -> Option<f64> {
        let value = self.node.to_serde_value()?;
        Some(value.get("timeout").map_or(f64::INFINITY, |timeout| {
            timeout.as_f64().unwrap_or_default()
        }))
    }

    fn is(&self, handler: &Handler) -> bool {
        !self.has_matcher && self.node.to_serde_value() == Some(handler.to_json())
    }
}

/// Returns the member of a name. Where there are several, agents read the last one.
fn last(object: &CstObject, wanted: &str) -> Option<CstObjectProp> {
    let mut members = object.properties().into_iter().rev();
    members.find(|member| name(member) == wanted)
}

fn hooks(root: &CstRootNode) -> Result<Option<CstObject>> {
    let Some(property) = root
        .object_value()
        .and_then(|object| last(&object, "hooks"))
    else {
        return Ok(None);
    };
    property
        .object_value()
        .map(Some)
        .ok_or_else(|| Error::failed("`hooks` is not an object"))
}

/// Returns the events whose handlers have the shape that we know; others are not ours.
fn events(hooks: &CstObject) -> Vec<CstObjectProp> {
    hooks
        .properties()
        .into_iter()
        .filter(|event| event.array_value().is_some())
        .collect()
}

fn name(event: &CstObjectProp) -> String {
    event.decoded_name().unwrap_or_default()
}

fn groups(event: &CstObjectProp) -> Result<CstArray> {
    event.array_value().ok_or_else(|| {
        Error::failed(format!(
            "`hooks.{}` is not a list",
            name(event).escape_debug()
        ))
    })
}

fn own_handlers(groups: &CstArray) -> Vec<Own> {
    let mut found = Vec::new();
    for (group, node) in groups.elements().iter().enumerate() {
        let Some(fields) = node.as_object() else {
            continue;
        };
        let has_matcher = fields.get("matcher").is_some();
        let handlers = fields
            .array_value("hooks")
            .map(|handlers| handlers.elements())
            .unwrap_or_default();
        for (handler, node) in handlers.iter().enumerate() {
            let Some(node) = node.as_object() else {
                continue;
            };
            if let Some(line) = line(&node).filter(|line| command::is_ours(line)) {
                found.push(Own {
                    node,
                    group,
                    handler,
                    line,
                    has_matcher,
                });
            }
        }
    }
    found
}

/// The command of a handler, as one line.
fn line(handler: &CstObject) -> Option<String> {
    let Value::Object(fields) = handler.to_serde_value()? else {
        return None;
    };
    let mut line = fields.get("command")?.as_str()?.to_owned();
    for argument in fields
        .get("args")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
    {
        line.push(' ');
        line.push_str(argument.as_str()?);
    }
    Some(line)
}

/// Removes a handler, and whatever is empty without it.
fn remove_handler(own: Own, event: &CstObjectProp) {
    let handlers = own.node.parent().and_then(|parent| parent.as_array());
    let group = handlers.as_ref().and_then(|handlers| {
        handlers
            .ancestors()
            .find_map(|ancestor| ancestor.as_object())
    });
    own.node.remove();
    if handlers.is_some_and(|handlers| handlers.elements().is_empty())
        && let Some(group) = group
    {
        group.remove();
    }
    if event
        .array_value()
        .is_some_and(|groups| groups.elements().is_empty())
    {
        event.clone().remove();
    }
}

fn remove_empty_hooks(root: &CstRootNode) {
    let property = root
        .object_value()
        .and_then(|object| last(&object, "hooks"));
    if let Some(property) = property
        && property
            .object_value()
            .is_some_and(|hooks| hooks.properties().is_empty())
    {
        property.remove();
    }
}

fn group(handler: &Handler) -> CstInputValue {
    CstInputValue::Object(vec![(
        "hooks".to_owned(),
        CstInputValue::Array(vec![handler.to_input()]),
    )])
}
