//! What a message cost: the agent's own record says it, and is read when a person looks at the history.

use std::ops::Range;
use std::path::PathBuf;

use rusqlite::params;

use crate::error::{Context, Result};
use crate::model::Milliseconds;
use crate::sessions::read::all;
use crate::store::Store;

/// How many messages are looked up at once: the newest.
const MOST: i64 = 200;

/// What a model did for a message; `None` where the record does not say it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MessageUsage {
    /// The model that answered last.
    pub model: Option<String>,
    /// The tokens that it read, from caches as well.
    pub input_tokens: Option<i64>,
    /// The tokens that it wrote.
    pub output_tokens: Option<i64>,
    /// What that cost, in US dollars.
    pub cost: Option<f64>,
}

/// Where an agent writes down what a message cost.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UsageRecord {
    /// A file of the conversation.
    File(PathBuf),
    /// A database of the agent's, by the agent and its own id of the session.
    Database(String, String),
}

/// A message that is over and of which nothing was read yet.
struct UnreadMessage {
    id: String,
    record: UsageRecord,
    during: Range<Milliseconds>,
}

/// Reads what a record says of a time.
pub type UsageReader<'a> = &'a mut dyn FnMut(&UsageRecord, Range<Milliseconds>) -> MessageUsage;

/// The messages with a record that was not read for them. The newest one of a session may go on until its turn ends.
const UNREAD: &str = "
    SELECT messages.id AS id, ifnull(messages.transcript, sessions.transcript) AS record, agent, sessions.agent_id, created_at,
           (SELECT min(later.created_at) FROM messages AS later
             WHERE later.session_id = messages.session_id AND later.seq > messages.seq) AS until
      FROM messages JOIN sessions ON sessions.id = session_id
     WHERE (record IS NOT NULL OR agent IN (SELECT value FROM json_each(?2)))
       AND NOT EXISTS (SELECT 1 FROM message_usage WHERE message_id = messages.id)
       AND (until IS NOT NULL OR last_event IN ('turn_end', 'session_end'))
     ORDER BY messages.seq DESC LIMIT ?1";

impl Store {
    /// Reads what the agents' records say of messages that are over, such as their tokens, and keeps it. Each is read once.
    /// Some agents have a database instead of a file for each conversation.
    pub fn read_usage(&mut self, with_database: &[&str], read: UsageReader<'_>) -> Result<()> {
        read_usage(self, with_database, read)
    }
}

fn read_usage(store: &mut Store, with_database: &[&str], read: UsageReader<'_>) -> Result<()> {
    let parameters = params![MOST, serde_json::json!(with_database).to_string()];
    let unread: Vec<UnreadMessage> = all(store.database.connection(), UNREAD, parameters, |row| {
        let until: Option<Milliseconds> = row.get("until")?;
        let from: Milliseconds = row.get("created_at")?;
        Ok(UnreadMessage {
            id: row.get("id")?,
            record: match row.get::<_, Option<String>>("record")? {
                Some(file) => UsageRecord::File(file.into()),
                None => UsageRecord::Database(row.get("agent")?, row.get("agent_id")?),
            },
            during: from..until.unwrap_or(Milliseconds::MAX),
        })
    })?;
    if unread.is_empty() {
        return Ok(());
    }
    let read = unread
        .into_iter()
        .map(|of| (of.id, read(&of.record, of.during)));
    let read: Vec<(String, MessageUsage)> = read.collect();
    store.database.write(|connection| {
        let sql = "INSERT OR IGNORE INTO message_usage VALUES (?1, ?2, ?3, ?4, ?5)";
        let mut insert = connection.prepare(sql).context(WHAT)?;
        for (id, of) in &read {
            let row = params![id, of.model, of.input_tokens, of.output_tokens, of.cost];
            insert.execute(row).context(WHAT)?;
        }
        Ok(())
    })
}

const WHAT: fn() -> &'static str = || "cannot keep what messages cost";
