//! A history for the tests of the browser.

use ckpt_schema::report::{
    ChangeKind, ChangeReport, MessageReport, MessageState, OperationEntry, OperationKind, PathText,
    TimelineEntry,
};

use crate::model::Model;
use ckpt_output::View;
use ckpt_output::graph::{self, RowNames};
use ckpt_output::paint::Paint;
use ckpt_output::time::TimeContext;

/// The width of a row of the list on a terminal with 80 columns.
const LIST: usize = 34;

/// Returns a message with an id of eight times the same letter.
pub fn message(letter: char, prompt: &str, not_revertable: Option<&str>) -> TimelineEntry {
    TimelineEntry::Message(MessageReport {
        seq: 1,
        id: String::from(letter).repeat(8),
        agent_id: None,
        session: "session".to_owned(),
        agent_session: "s".to_owned(),
        agent: "codex".to_owned(),
        labels: Vec::new(),
        prompt: Some(prompt.to_owned()),
        time: 0,
        state: MessageState::Live,
        steps: 1,
        files: 1,
        unclear: 0,
        additions: 1,
        deletions: 0,
        unprotected: None,
        revertable: not_revertable.is_none(),
        not_revertable: not_revertable.map(str::to_owned),
        workspace: "/w".to_owned(),
        finished: Some(1_000),
        undone_alone: false,
        left: false,
        roots: Vec::new(),
    })
}

/// Returns an operation.
pub fn operation() -> TimelineEntry {
    TimelineEntry::Operation(OperationEntry {
        id: "oooooooo".to_owned(),
        kind: OperationKind::Revert,
        session: Some("session".to_owned()),
        message: Some("aaaaaaaa".to_owned()),
        time: 0,
        state: "done".to_owned(),
        outcome: None,
        before: None,
        after: None,
        files: 1,
        conflicts: 0,
        git: false,
        conversation: false,
        alone: None,
        part: None,
        undoes: None,
        workspace: "/w".to_owned(),
        roots: Vec::new(),
    })
}

/// Returns changes of our own.
pub fn outside() -> TimelineEntry {
    TimelineEntry::Outside {
        time: 0,
        from: None,
        to: None,
        files: 1,
        additions: 1,
        deletions: 0,
    }
}

/// Returns a change of a file.
pub fn file(path: &str) -> ChangeReport {
    ChangeReport {
        path: PathText {
            path: path.to_owned(),
            path_hex: None,
        },
        kind: ChangeKind::Modified,
        old_mode: Some("100644".to_owned()),
        new_mode: Some("100644".to_owned()),
        old_blob: Some("1".to_owned()),
        new_blob: Some("2".to_owned()),
        additions: Some(2),
        deletions: Some(1),
        binary: false,
        whitespace_only: false,
        attribution: None,
        reason: None,
        renamed_from: None,
        renamed_to: None,
    }
}

/// Returns a view with or without colours.
pub fn view(colours: bool) -> View {
    View {
        paint: Paint::new(colours),
        width: None,
        times: TimeContext {
            now: 0,
            offset: time::UtcOffset::UTC,
        },
        verbose: false,
    }
}

/// Returns a browser with a list and two files.
pub fn model(entries: Vec<TimelineEntry>) -> Model {
    let mut model = Model::new();
    let view = View {
        width: Some(LIST),
        ..view(false)
    };
    let rows = graph::rows(&entries, &Default::default(), RowNames::Times, &view);
    model.list(entries, rows);
    model.show_files(vec![file("src/cart.rs"), file("src/main.rs")]);
    model.patch = vec![
        "@@ -1 +1 @@".to_owned(),
        "-old".to_owned(),
        "+new".to_owned(),
    ];
    model
}
