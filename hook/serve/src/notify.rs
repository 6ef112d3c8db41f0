//! Notifications about what any process does, as it happens.
//!
//! SQLite knows without reading the disk whether another process has committed (`data_version`), so we ask it ten times
//! a second. A client that reconnects continues from the last `seq` that it handled.

use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::mpsc::SyncSender;
use std::time::{Duration, Instant};

use ckpt_command::invocation::Invocation;
use ckpt_process::failure::Failure;
use ckpt_process::locks;
use ckpt_schema::report::Notification;
use ckpt_store::Store;
use serde_json::{Value, json};

use super::queue::RequestQueue;

/// How often to check whether something happened.
const CHECK_INTERVAL: Duration = Duration::from_millis(100);

/// How often to check whether the store is still the same file, and whether a silent agent still counts as busy.
const POLL_INTERVAL: Duration = Duration::from_secs(2);

/// What a client subscribes to.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Subscription {
    /// Whether it wants anything.
    pub is_active: bool,
    /// The position after which to begin; without it, now.
    pub since: Option<i64>,
    /// The workspace; every one without it.
    pub workspace: Option<PathBuf>,
    /// The names of the notifications; those of `Notification` where it names none.
    pub events: Option<Vec<String>>,
    /// Counts subscriptions, so that subscribing twice starts again.
    pub number: u64,
}

impl Subscription {
    /// Subscribes to everything from a position on.
    pub fn from(since: Option<i64>, workspace: Option<PathBuf>) -> Self {
        Self {
            is_active: true,
            since,
            workspace,
            ..Self::default()
        }
    }

    /// Sends a notification under each of its names that is wanted. Returns false if the client is gone.
    fn send(&self, told: &Notification, lines: &SyncSender<String>) -> bool {
        let value = json!(told);
        let names = [Some(told.name()), embedders_name(told)];
        let mut wanted = names.into_iter().flatten().filter(|name| self.wants(name));
        wanted.all(|name| lines.send(super::notification(name, &value)).is_ok())
    }

    fn wants(&self, name: &str) -> bool {
        match &self.events {
            Some(events) => events.iter().any(|event| event == name),
            None => !EMBEDDERS.contains(&name),
        }
    }
}

/// Names under which embedders of checkpoint services know some notifications; sent only on request.
const EMBEDDERS: [&str; 3] = ["checkpoint", "restored", "error"];

/// Returns the embedders' name for a notification.
fn embedders_name(told: &Notification) -> Option<&'static str> {
    match told {
        Notification::Message { .. } => Some("checkpoint"),
        Notification::Step { step, .. } if !step.open => Some("checkpoint"),
        Notification::Operation { operation, .. } if operation.state == "done" => Some("restored"),
        Notification::Failed { .. } => Some("error"),
        _ => None,
    }
}

/// Sends a client of `serve` what it subscribes to, until it is gone.
pub fn run(
    invocation: &Invocation,
    subscription: &Mutex<Subscription>,
    queue: &RequestQueue,
    lines: &SyncSender<String>,
) {
    while !queue.is_over() {
        let current = locks::lock(subscription).clone();
        if !current.is_active {
            std::thread::sleep(CHECK_INTERVAL);
            continue;
        }
        let is_still_wanted = || {
            let now = locks::lock(subscription);
            *now == current && !queue.is_over()
        };
        let tell = |told: &Notification| current.send(told, lines);
        let followed = follow_with(invocation, current.clone(), tell, &is_still_wanted);
        if let Err(failure) = followed {
            // Try again: a store that is locked or replaced is soon back.
            let document = ckpt_output::failure::document(&failure);
            if current.wants("error") {
                let _ = lines.send(super::notification("error", &document));
            }
            let until = Instant::now() + POLL_INTERVAL;
            while is_still_wanted() && Instant::now() < until {
                std::thread::sleep(CHECK_INTERVAL);
            }
        }
    }
}

/// Writes what happens as lines of JSON until a line cannot be written or the subscription ends.
pub fn follow(
    invocation: &Invocation,
    subscription: Subscription,
    mut tell: impl FnMut(Value) -> bool,
    goes_on: impl Fn() -> bool,
) -> Result<(), Failure> {
    follow_with(invocation, subscription, |told| tell(json!(told)), &goes_on)
}

fn follow_with(
    invocation: &Invocation,
    subscription: Subscription,
    mut tell: impl FnMut(&Notification) -> bool,
    goes_on: &dyn Fn() -> bool,
) -> Result<(), Failure> {
    let mut since = subscription.since;
    let mut working: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut left: BTreeMap<String, Vec<String>> = BTreeMap::new();
    while goes_on() {
        let mut store = invocation.open()?;
        let file = identity(invocation);
        let mut from = match since {
            Some(since) => since,
            None => store.newest_in_feed()?,
        };
        // SQLite's `data_version` means something only to the connection that was asked, so a store that was opened
        // anew begins without one.
        let (mut version, mut looked) = (None, Instant::now());
        while goes_on() {
            // Asked before the news are read: a commit in between is seen the next time.
            let now = store.data_version()?;
            // Also without a commit: an agent that falls silent counts as busy only for a time, and no row says when that
            // ends.
            let is_due = looked.elapsed() >= POLL_INTERVAL;
            if version != Some(now) || is_due {
                version = Some(now);
                let mut heard = BTreeMap::new();
                let mut hear = |told: &Notification| {
                    heard.extend(session_of(told));
                    tell(told)
                };
                if !news(&mut store, &subscription, &mut from, &mut hear)? {
                    return Ok(());
                }
                let mut changes = changes_of_work(&mut store, &subscription, &mut working, from)?;
                changes.extend(rewinds(&mut store, heard, &mut left, from)?);
                for told in changes {
                    if !tell(&told) {
                        return Ok(());
                    }
                }
            }
            if is_due {
                looked = Instant::now();
                if identity(invocation) != file || store.is_missing() {
                    break;
                }
            }
            std::thread::sleep(CHECK_INTERVAL);
        }
        // The client must not miss what happens until the store is open again.
        since = Some(from);
    }
    Ok(())
}

/// Sends the events since; false if the client is gone.
fn news(
    store: &mut Store,
    subscription: &Subscription,
    from: &mut i64,
    tell: &mut impl FnMut(&Notification) -> bool,
) -> Result<bool, Failure> {
    loop {
        let feed = store.feed(subscription.workspace.as_deref(), *from)?;
        *from = feed.seq;
        if !feed.notifications.iter().all(&mut *tell) {
            return Ok(false);
        }
        if !feed.has_more {
            return Ok(true);
        }
    }
}

/// Returns the session that a notification is about, with its workspace, where its agent may have rewound before.
fn session_of(told: &Notification) -> Option<(String, Option<String>)> {
    match told {
        Notification::Message {
            workspace, message, ..
        } => Some((message.session.clone(), workspace.clone())),
        Notification::Step {
            workspace, step, ..
        } => Some((step.session.clone(), workspace.clone())),
        _ => None,
    }
}

/// Returns which of these sessions have left other messages than before. The agent's record is read here, where no agent
/// waits.
fn rewinds(
    store: &mut Store,
    heard: BTreeMap<String, Option<String>>,
    before: &mut BTreeMap<String, Vec<String>>,
    seq: i64,
) -> Result<Vec<Notification>, Failure> {
    let mut told = Vec::new();
    for (session, workspace) in heard {
        let directory = PathBuf::from(workspace.as_deref().unwrap_or_default());
        let status = store.status(&directory, Some(&session));
        // What is gone meanwhile is told of by others.
        let messages = status.map(|status| status.left).unwrap_or_default();
        if before.get(&session).map_or(&[][..], Vec::as_slice) != messages {
            before.insert(session.clone(), messages.clone());
            told.push(Notification::Rewound {
                seq,
                workspace,
                session,
                messages,
            });
        }
    }
    Ok(told)
}

/// Returns the workspaces whose busy sessions have changed.
fn changes_of_work(
    store: &mut Store,
    subscription: &Subscription,
    before: &mut BTreeMap<String, Vec<String>>,
    seq: i64,
) -> Result<Vec<Notification>, Failure> {
    let mut now = store.agents_at_work()?;
    if let Some(workspace) = &subscription.workspace {
        now.retain(|path, _| workspace.starts_with(path));
    }
    let mut told = Vec::new();
    let ended = before.keys().filter(|path| !now.contains_key(*path));
    for path in now.keys().chain(ended) {
        let agents = now.get(path).cloned().unwrap_or_default();
        if before.get(path).cloned().unwrap_or_default() != agents {
            told.push(Notification::Busy {
                seq,
                workspace: Some(path.clone()),
                agents_at_work: agents,
            });
        }
    }
    *before = now;
    Ok(told)
}

/// Returns the identity of the session store's file. One that was emptied counts as gone: it cannot be used
/// before every process has closed it.
fn identity(invocation: &Invocation) -> Option<(u64, u64)> {
    let path = invocation
        .store_directory()
        .ok()?
        .join(ckpt_store::DATABASE);
    let file = path.metadata().ok()?;
    (file.len() > 0).then(|| (file.dev(), file.ino()))
}
