//! Agents that were not seen in real runs. They follow Claude Code's shape, according to their documentation.

use ckpt_schema::event::{Event, EventKind};

use super::{Agent, Payload, PayloadError, shape};

/// What distinguishes such an agent.
pub struct Documented {
    /// The name that settings and the command line use.
    pub name: &'static str,
    /// The meaning of one of its events.
    pub kind: fn(&str) -> Option<EventKind>,
    /// The field with the user's words.
    pub prompt: &'static str,
    /// The tools whose input names the file that they change.
    pub edit_tools: &'static [&'static str],
    /// Whether the model reads what a hook prints at a user message.
    pub is_told: bool,
}

impl Agent for Documented {
    fn name(&self) -> &'static str {
        self.name
    }

    fn proven_on(&self) -> &'static [&'static str] {
        &[]
    }

    fn tell(&self, line: &str) -> Option<String> {
        self.is_told
            .then(|| shape::additional_context("UserPromptSubmit", line))
    }

    fn translate(&self, payload: &Payload<'_>) -> Result<Vec<Event>, PayloadError> {
        let Some(kind) = (self.kind)(&payload.event_name()?) else {
            return Err(PayloadError::UnknownEvent);
        };
        let mut event = shape::event(payload, kind, self.edit_tools)?;
        if kind == EventKind::UserMessage {
            event.prompt = payload.prompt(&[self.prompt, "prompt"]);
        }
        Ok(shape::bounded_by_tools(event))
    }
}
