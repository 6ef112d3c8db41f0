//! The tools: each is a method of `serve` with that method's parameters, except those that lead out of the workspace.

use std::sync::Arc;

use ckpt_schema::documents;
use rmcp::model::{JsonObject, Tool as Description, ToolAnnotations};
use serde_json::{Value, json};

use crate::methods::OUTWARD;

/// A tool.
pub struct McpTool {
    pub name: &'static str,
    /// The method of `serve`.
    pub method: &'static str,
    /// The document of the parameters.
    parameters: &'static str,
    description: &'static str,
}

const TOOLS: [McpTool; 7] = [
    McpTool {
        name: "list",
        method: "messages",
        parameters: "parameters-messages",
        description: "List the recorded user messages, newest first: prompt, agent, files, and whether a revert can go back to just before it. Give a `limit`.",
    },
    McpTool {
        name: "show",
        method: "show",
        parameters: "parameters-show",
        description: "Show a message, step, session, operation or snapshot by its id, with the files that it changed. `last` is the newest message.",
    },
    McpTool {
        name: "diff",
        method: "patch",
        parameters: "parameters-patch",
        description: "The patch of what an `id` changed, or between two states `from` and `to` (`current` is the workspace as it is now).",
    },
    McpTool {
        name: "blame",
        method: "blame",
        parameters: "parameters-blame",
        description: "Which prompt wrote which lines of a file, as it is now.",
    },
    McpTool {
        name: "status",
        method: "status",
        parameters: "parameters-status",
        description: "What is reverted, whether an agent is at work, and what is not protected.",
    },
    McpTool {
        name: "plan",
        method: "plan",
        parameters: "parameters-operation",
        description: "Plan a revert (to just before a `message`), redo, unrevert, restore or undo. Nothing is changed. The report says for each file what would happen and why; `plan` is the token for `apply`.",
    },
    McpTool {
        name: "apply",
        method: "apply",
        parameters: "parameters-apply",
        description: "Carry out a plan that the user has agreed to, by its token. If anything has changed since, nothing is done and the error is `stale`: plan again.",
    },
];

/// Returns the tools that a server has.
pub fn all(may_apply: bool) -> impl Iterator<Item = &'static McpTool> {
    TOOLS
        .iter()
        .filter(move |tool| may_apply || tool.name != "apply")
}

impl McpTool {
    /// Returns the tool as the protocol lists it.
    pub fn describe(&self) -> Description {
        let is_applying = self.name == "apply";
        let annotations = ToolAnnotations::new()
            .read_only(!is_applying)
            .destructive(is_applying)
            .open_world(false);
        Description::new(self.name, self.description, Arc::new(self.schema()))
            .with_annotations(annotations)
    }

    fn schema(&self) -> JsonObject {
        let all = serde_json::from_str(documents::ALL).unwrap_or_default();
        let Some(Value::Object(mut schema)) = documents::document(&all, self.parameters) else {
            return JsonObject::new();
        };
        for key in ["$id", "$schema", "title", "description"] {
            schema.remove(key);
        }
        if let Some(Value::Object(properties)) = schema.get_mut("properties") {
            properties.retain(|name, _| !OUTWARD.contains(&name.as_str()));
        }
        schema.insert("type".to_owned(), json!("object"));
        schema
    }
}
