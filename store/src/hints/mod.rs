//! Hints on which directories of a workspace may have changed since a look at it. A hint makes a look cheap, and is
//! never the truth.
//!
//! A watcher (`ckpt-hook watch`, [`serve()`]) listens to the kernel's notifications, and answers that question on a
//! socket in the store's directory, which only the user can enter. If it is in doubt, it says that anything may have
//! changed. A hook asks ([`ask`]) if there is a watcher, waits for it a moment at most, and looks at everything if it
//! gets no answer.
//!
//! ```text
//! question   `ckpt-hook 1` device inode token root             each ends with a zero byte; an empty token is none
//! answer     `ckpt-hook 1` token `all` `end`                   anything may have changed
//!            `ckpt-hook 1` token `some` (`d`PATH|`t`PATH)* `end`   in these directories, and in these trees
//! token      32 hexadecimal digits of the watch, and a number: what came until then was seen
//! ```

#![cfg_attr(
    not(target_os = "linux"),
    expect(dead_code, reason = "there is no watcher to ask or to be")
)]

#[cfg(target_os = "linux")]
mod ask;
mod changes;
mod protocol;
#[cfg(target_os = "linux")]
mod serve;
#[cfg(target_os = "linux")]
mod tree;

#[cfg(target_os = "linux")]
pub(crate) use ask::WatcherClient;
pub(crate) use protocol::{Answer, ChangedPlaces, Question, WatchToken};
#[cfg(target_os = "linux")]
pub use serve::{WatchLimits, serve};

/// The watcher's socket, in the store's directory.
pub(crate) const SOCKET: &str = "watch.sock";

/// There is a watcher only on Linux.
#[cfg(not(target_os = "linux"))]
pub(crate) enum WatcherClient {}

#[cfg(not(target_os = "linux"))]
impl WatcherClient {
    /// Returns `None`.
    pub fn find(_store: &std::path::Path) -> Option<Self> {
        None
    }

    /// Never called.
    pub fn ask(self, _question: &Question<'_>) -> Option<Answer> {
        match self {}
    }
}
