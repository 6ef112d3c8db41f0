//! Hints on which directories of a workspace may have changed since a look at it. A hint makes a look cheap, and is
//! never the truth.
//!
//! A watcher (`ckpt-hook watch`, [`serve()`]) listens to the kernel's notifications, and answers that question on a socket in the store's directory, which only the user can enter. If it is in doubt, it says that
//! anything may have changed. A hook asks ([`ask`]) if there is a watcher, waits for it a moment at most, and looks at
//! everything if it gets no answer.
//!
//! ```text
//! question   `ckpt-hook 1` device inode token root folder      each ends with a zero byte; a missing token is empty
//! answer     `ckpt-hook 1` token `all` `end`                   anything may have changed
//!            `ckpt-hook 1` token `some` (`d`PATH|`t`PATH|`l`PATH)* `end`   in these directories and trees; `l` is not watched
//! token      32 hexadecimal digits of the watch, and a number: what came until then was seen
//! ```
//!
//! What no snapshot held is not watched: the folder of the workspace's snapshots says which directories the last look
//! saw. Should one that is left out come in view, a hook that knows it looks at it each time.

mod ask;
mod changes;
#[cfg(all(target_os = "linux", not(ckpt_portable)))]
mod inotify;
mod peer;
#[cfg(not(all(target_os = "linux", not(ckpt_portable))))]
mod portable;
mod protocol;
mod serve;
mod watched_directory;

pub(crate) use ask::WatcherClient;
#[cfg(all(target_os = "linux", not(ckpt_portable)))]
use inotify::WatchTree;
#[cfg(not(all(target_os = "linux", not(ckpt_portable))))]
use portable::EventTree as WatchTree;
pub(crate) use protocol::{Answer, ChangedPlaces, Question, WatchToken};
pub use serve::{WatchLimits, serve};
