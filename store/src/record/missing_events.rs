//! Tools of which events were lost: the end of a tool without its start, or the end of a step that names a tool of
//! which nothing was heard.

use std::path::PathBuf;

use ckpt_schema::EventKind;
use ckpt_schema::event::{Event, ToolKind, ToolUse};
use rusqlite::Connection;

use crate::error::Result;
use crate::model::Milliseconds;
use crate::model::path::WorkspacePath;
use crate::sessions::{self, OpenStep, SessionRow, ToolRow};
use crate::timeline::Place;

/// The tools that an event says to have run and that no event told of before, without those that only read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct UnheardTools {
    pub tools: Vec<ToolUse>,
    /// The directory that relative paths start from.
    pub cwd: Option<PathBuf>,
    /// When the earliest of them may have begun.
    pub since: Milliseconds,
}

impl UnheardTools {
    /// Finds them. `None` if the event names no tools, or its agent does not report them.
    pub fn of(
        connection: &Connection,
        event: &Event,
        session: &SessionRow,
        own: Option<&OpenStep>,
    ) -> Result<Option<Self>> {
        let named = ended_tools(event);
        if named.is_empty() || !session.tool_events {
            return Ok(None);
        }
        let is_own = |tool: &ToolUse| {
            let mut tools = own.iter().flat_map(|step| &step.tools);
            tools.any(|known| known.agent_id.as_deref() == Some(tool.tool_use_id.as_str()))
        };
        // Qwen Code calls a tool otherwise at the end of its step than at its own start and end. So if nothing that
        // was heard of is named, what is named was heard of under other names.
        let has_tools = own.is_some_and(|step| !step.tools.is_empty());
        if event.event == EventKind::StepFinish && has_tools && !named.iter().any(is_own) {
            return Ok(None);
        }
        let is_in = |tools: &[ToolUse], tool: &ToolUse| {
            let mut ids = tools.iter().map(|known| &known.tool_use_id);
            ids.any(|id| *id == tool.tool_use_id)
        };
        let mut tools = Vec::new();
        for tool in named {
            let is_known = tool.tool_kind == Some(ToolKind::Read)
                || is_own(&tool)
                || is_in(&tools, &tool)
                || sessions::is_tool_known(connection, &session.id, &tool.tool_use_id)?;
            if !is_known {
                tools.push(tool);
            }
        }
        // An unheard tool may have run at any time since the boundary before the step, so that is how far the doubt
        // reaches.
        let since = match own.filter(|_| !tools.is_empty()) {
            Some(step) => sessions::boundary_before(connection, &step.row.id)?,
            None => session.last_event_at,
        };
        let cwd = event.cwd.clone();
        Ok(Some(Self { tools, cwd, since }))
    }

    /// Returns whether one of them can have changed a path.
    pub fn reach(&self, place: &Place, path: &WorkspacePath) -> bool {
        let mut rows = self.rows(place).into_iter();
        rows.any(|tool| tool.paths.is_empty() || tool.paths.contains(path))
    }

    /// Returns them as tools of a step of which only its end told.
    pub fn rows(&self, place: &Place) -> Vec<ToolRow> {
        self.tools
            .iter()
            .map(|tool| self.row(place, tool))
            .collect()
    }

    fn row(&self, place: &Place, tool: &ToolUse) -> ToolRow {
        let cwd = self.cwd.as_deref();
        let paths = tool
            .paths
            .iter()
            .flat_map(|path| place.named(cwd, path).inside);
        ToolRow {
            agent_id: Some(tool.tool_use_id.clone()),
            kind: tool.tool_kind,
            paths: paths.collect(),
            started_at: self.since,
            is_unheard: true,
            ..ToolRow::default()
        }
    }
}

/// Returns the tools that an event says to have ended.
fn ended_tools(event: &Event) -> Vec<ToolUse> {
    match (event.event, &event.tool_use_id) {
        (EventKind::StepFinish, _) => event.tools.clone(),
        (EventKind::ToolFinish, Some(id)) => vec![ToolUse {
            tool_use_id: id.clone(),
            tool_name: event.tool_name.clone(),
            tool_command: event.tool_command.clone(),
            paths: event.paths.clone(),
            tool_kind: event.tool_kind,
        }],
        _ => Vec::new(),
    }
}
