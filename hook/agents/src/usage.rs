//! What agents write into their own records about models and tokens: one JSON object per line with its time, or per row
//! of a database. No agent documents that; an entry of another shape says nothing.

use std::collections::HashSet;
use std::ops::Range;
use std::path::Path;

use ckpt_store::Milliseconds;
use ckpt_store::query::{MessageUsage, UsageRecord};
use serde_json::Value;

use super::conversations::{opencode, record};
use super::transcripts::parsed;

/// A longer record, in bytes, is not read.
const LONGEST: u64 = 256 << 20;

/// The agents whose records are in a database of their own.
pub const WITH_DATABASE: [&str; 2] = ["opencode", "kilo"];

/// Reads records; the last one stays in memory, because several messages of a conversation follow each other.
#[derive(Debug, Default)]
pub struct UsageOfRecords {
    record: Option<UsageRecord>,
    entries: Vec<(Milliseconds, MessageUsage)>,
}

impl UsageOfRecords {
    /// Returns the usage of a time in a record.
    pub fn read(&mut self, record: &UsageRecord, during: Range<Milliseconds>) -> MessageUsage {
        if self.record.as_ref() != Some(record) {
            self.entries = match record {
                UsageRecord::File(path) => entries(&text(path).unwrap_or_default()),
                UsageRecord::Database(agent, session) => {
                    let answers = opencode::answers(agent, session).unwrap_or_default();
                    let answers = answers.into_iter();
                    answers.map(|(at, entry)| (at, usage_of(&entry))).collect()
                }
            };
            self.record = Some(record.clone());
        }
        let of_it = self.entries.iter().filter(|(at, _)| during.contains(at));
        of_it.fold(MessageUsage::default(), |sum, (_, entry)| MessageUsage {
            model: entry.model.clone().or(sum.model),
            input_tokens: added(sum.input_tokens, entry.input_tokens),
            output_tokens: added(sum.output_tokens, entry.output_tokens),
            cost: match (sum.cost, entry.cost) {
                (Some(one), Some(other)) => Some(one + other),
                (one, other) => one.or(other),
            },
        })
    }
}

fn added(one: Option<i64>, other: Option<i64>) -> Option<i64> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.saturating_add(other)),
        (one, other) => one.or(other),
    }
}

/// Returns a record, if it can be read.
fn text(path: &Path) -> Option<String> {
    let bytes = record::bytes(path, LONGEST)?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// Returns the usage of each entry. An answer in several pieces counts once.
fn entries(text: &str) -> Vec<(Milliseconds, MessageUsage)> {
    let mut answers = HashSet::new();
    let mut found = Vec::new();
    for line in text.lines() {
        let Ok(entry) = serde_json::from_str::<Value>(line) else {
            continue;
        };
        let Some(at) = entry["timestamp"].as_str().and_then(parsed) else {
            continue;
        };
        let mut usage = usage_of(&entry);
        // Claude Code repeats the tokens with each piece of an answer, Codex with each change of its limits.
        let answer = match &entry["payload"]["info"]["total_token_usage"] {
            Value::Null => entry["message"]["id"].to_string(),
            total => total.to_string(),
        };
        let has_tokens = usage.input_tokens.or(usage.output_tokens).is_some();
        if has_tokens && answer != "null" && !answers.insert(answer) {
            (usage.input_tokens, usage.output_tokens, usage.cost) = (None, None, None);
        }
        if usage != MessageUsage::default() {
            found.push((at, usage));
        }
    }
    found
}

/// Returns the usage of an entry's own answer.
fn usage_of(entry: &Value) -> MessageUsage {
    let places = [
        &entry["message"]["usage"],
        &entry["usage"],
        &entry["usageMetadata"],
        &entry["tokens"],
        &entry["payload"]["info"]["last_token_usage"],
    ];
    let tokens = places.into_iter().find(|place| place.is_object());
    let sum = |names: &[&str]| {
        let number = |name: &&str| tokens?.pointer(&format!("/{name}"))?.as_i64();
        names.iter().filter_map(number).reduce(i64::saturating_add)
    };
    let models = [
        &entry["message"]["model"],
        &entry["model"],
        &entry["modelID"],
        &entry["payload"]["model"],
        &entry["data"]["model"],
    ];
    let model = models.into_iter().find_map(Value::as_str);
    let cost = tokens.and_then(|tokens| tokens["cost"]["total"].as_f64());
    MessageUsage {
        // Claude Code calls its own notices so.
        model: model
            .filter(|name| *name != "<synthetic>")
            .map(str::to_owned),
        input_tokens: sum(&[
            "input_tokens",
            "cache_creation_input_tokens",
            "cache_read_input_tokens",
            "promptTokenCount",
            "input",
            "cacheRead",
            "cacheWrite",
            "cache/read",
            "cache/write",
        ]),
        output_tokens: sum(&[
            "output_tokens",
            "candidatesTokenCount",
            "thoughtsTokenCount",
            "output",
            "thoughts",
            "reasoning",
        ]),
        cost: [&entry["costUSD"], &entry["cost"]]
            .into_iter()
            .find_map(Value::as_f64)
            .or(cost),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(lines: &[&str], during: Range<Milliseconds>) -> MessageUsage {
        let record = UsageRecord::File("".into());
        let mut records = UsageOfRecords {
            record: Some(record.clone()),
            entries: entries(&lines.join("\n")),
        };
        records.read(&record, during)
    }

    fn usage(model: &str, input: i64, output: i64, cost: Option<f64>) -> MessageUsage {
        MessageUsage {
            model: Some(model.to_owned()),
            input_tokens: Some(input),
            output_tokens: Some(output),
            cost,
        }
    }

    /// An answer that comes in pieces counts once, and only what is of the time.
    #[test]
    fn answer_in_pieces_counts_once() {
        let piece = r#"{"type":"assistant","timestamp":"1970-01-01T00:00:02Z","message":{"id":"a","model":"m","usage":{"input_tokens":3,"cache_read_input_tokens":40,"output_tokens":5}}}"#;
        let later = r#"{"type":"assistant","timestamp":"1970-01-01T00:00:09Z","message":{"id":"b","model":"n","usage":{"input_tokens":1,"output_tokens":1}}}"#;
        assert_eq!(
            read(&[piece, piece, later, "{"], 0..5_000),
            usage("m", 43, 5, None)
        );
        assert_eq!(read(&[piece, later], 0..10_000), usage("n", 44, 6, None));
        assert_eq!(read(&[piece], 5_000..9_000), MessageUsage::default());
    }

    /// Each agent's way to say it is understood.
    #[test]
    fn every_agents_tokens_are_understood() {
        let at = r#""timestamp":"1970-01-01T00:00:01Z""#;
        let all = 0..5_000;
        let gemini = format!(
            r#"{{{at},"tokens":{{"input":1000,"output":20,"cached":0,"thoughts":2}},"model":"g"}}"#
        );
        assert_eq!(read(&[&gemini], all.clone()), usage("g", 1000, 22, None));
        let qwen = format!(
            r#"{{{at},"model":"q","usageMetadata":{{"promptTokenCount":7,"candidatesTokenCount":2}}}}"#
        );
        assert_eq!(read(&[&qwen], all.clone()), usage("q", 7, 2, None));
        let pi = format!(
            r#"{{{at},"message":{{"model":"p","usage":{{"input":1,"output":2,"cacheRead":3,"cost":{{"total":0.5}}}}}}}}"#
        );
        assert_eq!(read(&[&pi], all.clone()), usage("p", 4, 2, Some(0.5)));
        let model = format!(r#"{{{at},"type":"turn_context","payload":{{"model":"c"}}}}"#);
        let count = format!(
            r#"{{{at},"payload":{{"type":"token_count","info":{{"total_token_usage":{{"input_tokens":9}},"last_token_usage":{{"input_tokens":9,"output_tokens":1}}}}}}}}"#
        );
        assert_eq!(read(&[&model, &count, &count], all), usage("c", 9, 1, None));
    }
}
