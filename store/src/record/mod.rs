//! An event becomes a snapshot, a patch and rows: design section 4.

use std::path::Path;

use ckpt_schema::event::Event;
use ckpt_schema::report;

use crate::Store;
use crate::error::Result;
use crate::snapshot::Progress;

pub(crate) fn record(_store: &mut Store, _event: &Event) -> Result<report::EventReport> {
    todo!("the record room")
}

pub(crate) fn snapshot(
    _store: &mut Store,
    _cwd: &Path,
    _label: Option<&str>,
    _progress: Option<&(dyn Fn(Progress) + Sync)>,
) -> Result<report::SnapshotReport> {
    todo!("the record room")
}
