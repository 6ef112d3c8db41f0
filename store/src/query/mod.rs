//! Answers to questions: rows and trees become reports. Nothing here changes the workspace.

pub(crate) mod ids;
pub(crate) mod rows;

use std::path::{Path, PathBuf};

use ckpt_schema::report;

use crate::Store;
use crate::error::Result;

/// Which messages `log` lists.
#[derive(Clone, Debug, Default)]
pub struct LogFilter {
    /// Only those of this session, by any id.
    pub session: Option<String>,
    /// At most so many.
    pub limit: Option<usize>,
    /// Those of every workspace, not only of the one that holds the current directory.
    pub everywhere: bool,
}

/// Which states `diff` compares.
#[derive(Clone, Debug, Default)]
pub struct DiffRequest {
    /// The left side; the newest message's where it is not given.
    pub from: Option<String>,
    /// The right side; `current` where it is not given.
    pub to: Option<String>,
    /// Only paths at or below these, relative to the current directory.
    pub paths: Vec<PathBuf>,
}

pub(crate) fn status(_store: &mut Store, _cwd: &Path, _session: Option<&str>) -> Result<report::StatusReport> {
    todo!("the query room")
}

pub(crate) fn log(_store: &mut Store, _cwd: &Path, _filter: &LogFilter) -> Result<report::LogReport> {
    todo!("the query room")
}

pub(crate) fn operations(_store: &mut Store, _cwd: &Path) -> Result<report::OperationsReport> {
    todo!("the query room")
}

pub(crate) fn sessions(_store: &mut Store, _cwd: Option<&Path>) -> Result<report::SessionsReport> {
    todo!("the query room")
}

pub(crate) fn show(_store: &mut Store, _cwd: &Path, _id: &str) -> Result<report::ShowReport> {
    todo!("the query room")
}

pub(crate) fn diff(_store: &mut Store, _cwd: &Path, _request: &DiffRequest) -> Result<report::DiffReport> {
    todo!("the query room")
}

pub(crate) fn blob(_store: &mut Store, _cwd: &Path, _blob: &str) -> Result<Vec<u8>> {
    todo!("the query room")
}
