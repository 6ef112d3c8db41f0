//! The token of a plan: the request with every id in full, and a fingerprint of the plan and of the state it was made
//! for. It is self-contained, so that a dry run leaves nothing in the store.

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ckpt_schema::Word;
use serde_json::{Value, json};

use crate::error::{Error, Result};
use crate::model::entry::ObjectId;
use crate::model::instruction::Instruction;
use crate::model::request::{
    ConversationChoice, OnConflict, RedoRequest, RestoreRequest, RevertRequest, Unclear,
    UndoRequest,
};
use crate::objects::hash::blob_id;
use crate::revert::goal::present::Scene;
use crate::revert::plan::operation::Operation;
use crate::revert::request::conversation::JournalledConversation;
use crate::revert::request::options::PlanRequest;
use crate::sessions;

/// The version of the format. A token of another version comes from another version of the program.
const VERSION: u64 = 1;

/// Returns the fingerprint of several plans together: that of the one, if there is one. `None` if one of them has none.
pub(crate) fn joined(fingerprints: &[Option<ObjectId>]) -> Option<ObjectId> {
    let all: Option<Vec<ObjectId>> = fingerprints.iter().copied().collect();
    match &all?[..] {
        [one] => Some(*one),
        all => {
            let text: String = all.iter().map(ToString::to_string).collect();
            Some(blob_id(text.as_bytes()))
        }
    }
}

/// A decoded token.
#[derive(Clone, Debug)]
pub(crate) struct PlanToken {
    /// The workspace's directory.
    pub workspace: PathBuf,
    pub asked: PlanRequest,
    /// The fingerprint of the plan and the state.
    pub fingerprint: ObjectId,
    /// Whether it is about that workspace alone, whichever roots its session has.
    pub is_limited: bool,
}

impl PlanToken {
    /// Returns the token as text: letters, digits, `-` and `_`.
    pub fn encode(&self) -> String {
        let asked = match &self.asked {
            PlanRequest::Revert(request) => json!({
                "revert": request.message, "alone": request.alone, "step": request.step, "session": request.session, "git": request.git,
                "only": paths(&request.only), "on_conflict": request.on_conflict.name(),
                "unclear": request.unclear.map(Unclear::name), "conversation": request.conversation.name(),
            }),
            PlanRequest::Redo(request) => json!({
                "redo": request.all, "session": request.session, "git": request.git,
                "on_conflict": request.on_conflict.map(OnConflict::name),
            }),
            PlanRequest::Restore(request) => json!({
                "restore": request.id, "git": request.git, "only": paths(&request.paths),
                "overwrite_mine": request.overwrite_mine,
            }),
            PlanRequest::Undo(request) => json!({"undo": request.operation}),
            PlanRequest::Recover(named) => json!({"recover": paths(named)}),
        };
        let token = json!({
            "v": VERSION, "workspace": bytes(self.workspace.as_os_str().as_bytes()),
            "plan": self.fingerprint.to_string(), "asked": asked, "here": self.is_limited,
        });
        bytes(token.to_string().as_bytes())
    }

    /// Parses a token. Fails if the text is not one, or is one of another version.
    pub fn decode(text: &str) -> Result<Self> {
        let wrong =
            || Error::failed("this is not a plan's token").hint(Instruction::MakePlan.to_string());
        let token = decoded(text).ok_or_else(wrong)?;
        let token: Value = serde_json::from_slice(&token).map_err(|_| wrong())?;
        if token["v"] != json!(VERSION) {
            // `Stale`: the caller makes a new plan then, which is needed here.
            return Err(Error::stale("the plan was made by another version"));
        }
        Self::of(&token).ok_or_else(wrong)
    }

    fn of(token: &Value) -> Option<Self> {
        Some(Self {
            workspace: path(&token["workspace"])?,
            asked: asked(&token["asked"])?,
            fingerprint: ObjectId::from_hex(token["plan"].as_str()?)?,
            is_limited: token["here"].as_bool()?,
        })
    }
}

fn asked(asked: &Value) -> Option<PlanRequest> {
    if asked["recover"].is_array() {
        return paths_of(&asked["recover"]).map(PlanRequest::Recover);
    }
    if let Some(operation) = asked["undo"].as_str() {
        return Some(PlanRequest::Undo(UndoRequest {
            operation: operation.to_owned(),
            ..UndoRequest::default()
        }));
    }
    let git = asked["git"].as_bool()?;
    let text = |key: &str| text_or_none(&asked[key]);
    let on_conflict = match asked["on_conflict"].as_str() {
        None => None,
        Some(word) => Some(OnConflict::from_name(word)?),
    };
    if let Some(message) = text("revert")? {
        return Some(PlanRequest::Revert(RevertRequest {
            message,
            alone: asked["alone"].as_bool()?,
            step: text("step")?,
            session: text("session")?,
            only: paths_of(&asked["only"])?,
            on_conflict: on_conflict?,
            unclear: match asked["unclear"].as_str() {
                None => None,
                Some(word) => Some(Unclear::from_name(word)?),
            },
            git,
            conversation: ConversationChoice::from_name(asked["conversation"].as_str()?)?,
            ..RevertRequest::default()
        }));
    }
    if let Some(id) = text("restore")? {
        return Some(PlanRequest::Restore(RestoreRequest {
            id,
            paths: paths_of(&asked["only"])?,
            overwrite_mine: asked["overwrite_mine"].as_bool()?,
            git,
            ..RestoreRequest::default()
        }));
    }
    Some(PlanRequest::Redo(RedoRequest {
        session: text("session")?,
        all: asked["redo"].as_bool()?,
        on_conflict,
        git,
        ..RedoRequest::default()
    }))
}

/// Returns a text that may be missing: `None` for what is no text. Taken for a missing one, a damaged `step` would ask
/// for a whole message.
fn text_or_none(value: &Value) -> Option<Option<String>> {
    match value {
        Value::Null => Some(None),
        Value::String(text) => Some(Some(text.clone())),
        _ => None,
    }
}

/// Returns a list of paths; `None` if anything in it is no path.
fn paths_of(value: &Value) -> Option<Vec<PathBuf>> {
    value.as_array()?.iter().map(path).collect()
}

fn paths(paths: &[PathBuf]) -> Vec<String> {
    paths
        .iter()
        .map(|path| bytes(path.as_os_str().as_bytes()))
        .collect()
}

fn path(value: &Value) -> Option<PathBuf> {
    let bytes = decoded(value.as_str()?)?;
    let path = PathBuf::from(OsString::from_vec(bytes));
    path.is_absolute().then_some(path)
}

fn bytes(bytes: &[u8]) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

fn decoded(text: &str) -> Option<Vec<u8>> {
    URL_SAFE_NO_PAD.decode(text.trim()).ok()
}

/// Makes the paths of a request absolute, so that a token means the same wherever it is used.
pub(crate) fn absolute(cwd: &Path, paths: &[PathBuf]) -> Vec<PathBuf> {
    paths.iter().map(|path| cwd.join(path)).collect()
}

/// Returns a fingerprint of a plan and of the state that it was made for: the workspace with the rules that decide what
/// is captured, the result for each path, the messages it hides, git's own state if that moves, too, and the last
/// operation here.
pub(crate) fn fingerprint(scene: Scene<'_>, operation: &Operation<'_>) -> Result<ObjectId> {
    let Scene {
        store, place, seen, ..
    } = scene;
    let movement = operation.movement.map(|movement| {
        let id =
            |message: &Option<sessions::MessageRow>| message.as_ref().map(|row| row.id.clone());
        (&movement.session.id, id(&movement.from), id(&movement.to))
    });
    let hidden = operation
        .movement
        .map(|movement| crate::revert::report::hidden(store, movement));
    let last = sessions::newest_operation(store.database.connection(), place.row.id)?;
    let git = operation.git.as_ref().map(|items| (items, &seen.git));
    // The form of `Debug` may change with a version. Then older tokens are refused as stale, which is safe.
    let text = format!(
        "{:?}",
        (
            (place.row.id, operation.kind, movement, hidden, last),
            (&seen.snapshot, &seen.gaps),
            (
                &operation.plan.items,
                operation.on_conflict,
                operation.unclear
            ),
            git,
            operation
                .conversation
                .as_ref()
                .map(JournalledConversation::fingerprint),
        )
    );
    Ok(blob_id(text.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn token(asked: PlanRequest) -> PlanToken {
        PlanToken {
            workspace: "/w/caf\u{e9}".into(),
            asked,
            fingerprint: ObjectId::new([7; 20]),
            is_limited: true,
        }
    }

    /// What was asked for is read as it was written.
    #[test]
    fn request_is_read_as_written() {
        let revert = RevertRequest {
            message: "m1".to_owned(),
            session: Some("s".to_owned()),
            only: vec![PathBuf::from(OsString::from_vec(b"/w/\xff".to_vec()))],
            on_conflict: OnConflict::Overwrite,
            unclear: Some(Unclear::Take),
            alone: true,
            git: true,
            ..RevertRequest::default()
        };
        let redo = RedoRequest {
            all: true,
            on_conflict: Some(OnConflict::Keep),
            ..RedoRequest::default()
        };
        let restore = RestoreRequest {
            id: "t".to_owned(),
            paths: vec!["/w/a".into()],
            ..RestoreRequest::default()
        };
        for asked in [
            PlanRequest::Revert(revert),
            PlanRequest::Redo(redo),
            PlanRequest::Restore(restore),
            PlanRequest::Recover(vec!["/w/a".into()]),
        ] {
            let token = token(asked);
            let read = PlanToken::decode(&token.encode()).expect("our own");
            assert_eq!(format!("{read:?}"), format!("{token:?}"));
        }
    }

    #[test]
    fn what_is_no_token_is_refused() {
        let good = token(PlanRequest::Redo(RedoRequest::default())).encode();
        for text in [
            "",
            "x",
            "{}",
            &good[..good.len() - 4],
            &bytes(b"{}"),
            &bytes(b"[1]"),
        ] {
            assert!(PlanToken::decode(text).is_err(), "{text:?}");
        }
    }
}
