//! Where Watchman listens.

use std::path::PathBuf;

use serde_json::Value;

use crate::process::{printed, programs};
use crate::surroundings::variable;

/// Returns the path of Watchman's socket, whether or not anybody listens there. It is `$WATCHMAN_SOCK`, else what its
/// program says
/// ([`get-sockname`](https://facebook.github.io/watchman/docs/cmd/get-sockname)). `None` if Watchman is not installed.
pub(super) fn socket() -> Option<PathBuf> {
    if let Some(given) = variable("WATCHMAN_SOCK") {
        return Some(given.into());
    }
    let mut ask = programs::named("watchman");
    // It would start Watchman otherwise.
    ask.args(["--no-spawn", "get-sockname"]);
    let told: Value = serde_json::from_str(&printed(&mut ask)?).ok()?;
    told["sockname"].as_str().map(PathBuf::from)
}
