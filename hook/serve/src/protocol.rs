//! JSON-RPC 2.0 (jsonrpc.org/specification), one message a line, as MCP and ACP have it on standard streams.

use std::io::{BufRead, Read};

use ckpt_output::failure;
use ckpt_process::failure::{FAILED, Failure, USAGE};
use ckpt_process::json::Object;
use ckpt_schema::report::{FailureKind, FailureReport};
use serde_json::{Map, Value, json};

use super::{Shared, surrogates};

/// The longest line that is read, in bytes.
pub const LONGEST_LINE: usize = 4 << 20;

/// Up to here, the id of a request whose line is too long is looked for.
const ID_SEARCH_LIMIT: usize = 4 << 10;

/// A line of input.
pub enum Input {
    /// All of it, without its end.
    Whole(Vec<u8>),
    /// A line that is too long; it was skipped. The id of its request, if it stands near the beginning.
    TooLong(Value),
    /// The end of input.
    End,
}

/// Reads a line in bounded memory. A last line without a line feed is incomplete, and is ignored.
pub fn line(input: &mut impl BufRead) -> Input {
    let mut line = Vec::new();
    // With the line feed.
    let most = LONGEST_LINE as u64 + 1;
    match input.by_ref().take(most).read_until(b'\n', &mut line) {
        Ok(_) if line.ends_with(b"\n") => {
            line.pop();
            Input::Whole(line)
        }
        Ok(length) if length as u64 == most => {
            let id = id_near_beginning(&line);
            drop(line);
            pass_over(input, id)
        }
        Ok(_) | Err(_) => Input::End,
    }
}

/// Returns the id of a request whose line is too long to be parsed; null if it does not stand near the beginning.
fn id_near_beginning(line: &[u8]) -> Value {
    let beginning = &line[..line.len().min(ID_SEARCH_LIMIT)];
    let beginning = String::from_utf8_lossy(beginning);
    // A number at the end may go on, and would be the id of another request.
    let beginning = beginning.trim_end_matches(|last: char| last.is_ascii_digit());
    let (fields, _) = Object::read(beginning);
    let number = || fields.number("id").map(Value::from);
    let id = fields.text("id").map(Value::from).or_else(number);
    id.unwrap_or_default()
}

/// Returns the JSON of a line.
fn json_of(line: &[u8]) -> serde_json::Result<Value> {
    serde_json::from_slice(line).or_else(|error| match surrogates::replaced(line) {
        Some(replaced) => serde_json::from_slice(&replaced),
        None => Err(error),
    })
}

fn pass_over(input: &mut impl BufRead, id: Value) -> Input {
    loop {
        let (length, is_end) = match input.fill_buf() {
            Ok([]) | Err(_) => return Input::End,
            Ok(bytes) => match bytes.iter().position(|byte| *byte == b'\n') {
                Some(at) => (at + 1, true),
                None => (bytes.len(), false),
            },
        };
        input.consume(length);
        if is_end {
            return Input::TooLong(id);
        }
    }
}

/// A request that expects an answer.
#[derive(Clone, Debug)]
pub struct Job {
    /// Its id: text or a number.
    pub id: Value,
    /// Its method.
    pub method: String,
    /// Parameters by name.
    pub parameters: Map<String, Value>,
    /// Whether the client wants no answer any more.
    pub is_cancelled: Shared<bool>,
}

/// A message from the client.
pub enum Incoming {
    /// A request.
    Request(Job),
    /// The client cancels the request with this id.
    Cancel(Value),
    /// A notification.
    Notification,
}

impl Incoming {
    /// Parses a line. An error carries the id of its request, or null if that is not known.
    pub fn parse(line: &[u8]) -> Result<Self, (Value, RequestError)> {
        let message = json_of(line)
            .map_err(|error| (Value::Null, RequestError::parse(&error.to_string())))?;
        let Value::Object(mut message) = message else {
            let what = "a message must be an object: batches are not accepted";
            return Err((Value::Null, RequestError::request(what)));
        };
        let id = message.remove("id");
        if let Some(what) = id.as_ref().and_then(wrong_id) {
            return Err((Value::Null, RequestError::request(what)));
        }
        let refuse = |what: &str| {
            let id = id.clone().unwrap_or(Value::Null);
            Err((id, RequestError::request(what)))
        };
        if message.remove("jsonrpc") != Some(json!("2.0")) {
            return refuse("`jsonrpc` is not \"2.0\"");
        }
        let Some(Value::String(method)) = message.remove("method") else {
            return refuse("there is no `method`");
        };
        let parameters = match message.remove("params") {
            None | Some(Value::Null) => Map::new(),
            Some(Value::Object(parameters)) => parameters,
            Some(_) => return refuse("`params` must be an object: parameters are named"),
        };
        if method == "cancel" {
            if id.is_some() {
                return refuse("`cancel` is a notification: it has no `id` beside `params`");
            }
            return match parameters.get("id") {
                Some(id) => Ok(Self::Cancel(id.clone())),
                None => refuse("there is no `id` to cancel"),
            };
        }
        Ok(match id {
            None => Self::Notification,
            Some(id) => Self::Request(Job {
                id,
                method,
                parameters,
                is_cancelled: Shared::default(),
            }),
        })
    }
}

/// The fault of an id: an answer has to carry exactly the same one.
fn wrong_id(id: &Value) -> Option<&'static str> {
    match id {
        Value::String(_) => None,
        Value::Number(number) if number.is_i64() || number.is_u64() => None,
        Value::Number(number) if number.as_f64().is_some_and(|id| id.abs() < EXACT) => None,
        Value::Number(_) => Some("an `id` must not have more digits than a number can hold"),
        _ => Some("an `id` must be a string or a number"),
    }
}

/// Up to here, numbers with a point hold every whole number: 2 to the power of 53.
const EXACT: f64 = 9_007_199_254_740_992.0;

/// Why a request has no result.
#[derive(Debug)]
pub enum RequestError {
    /// The message itself is wrong: one of JSON-RPC's own codes.
    Protocol(i32, String),
    /// The client cancelled it.
    Cancelled,
    /// What was asked for failed.
    Failure(Box<Failure>),
}

impl RequestError {
    fn parse(what: &str) -> Self {
        Self::Protocol(-32700, format!("this is not JSON: {what}"))
    }

    /// The message is not a request.
    pub fn request(what: impl Into<String>) -> Self {
        Self::Protocol(-32600, what.into())
    }

    /// There is no such method.
    pub fn method(name: &str) -> Self {
        Self::Protocol(-32601, format!("there is no method `{name}`"))
    }

    /// The parameters are not those of the method.
    pub fn parameters(what: &str) -> Self {
        Self::Protocol(-32602, what.to_owned())
    }

    /// Returns the answer. `data` is an `error` as the documents of commands have it, with its `kind`.
    pub fn response(&self, id: &Value) -> Value {
        let (code, data) = match self {
            Self::Protocol(code, message) => {
                (*code, own(USAGE, FailureKind::Usage, message.clone()))
            }
            // The code is that of the Language Server Protocol.
            Self::Cancelled => {
                let message = "the request was cancelled".to_owned();
                (-32800, own(FAILED, FailureKind::Cancelled, message))
            }
            Self::Failure(problem) => {
                let code = match problem.kind() {
                    FailureKind::Usage => -32602,
                    _ => -32000,
                };
                (code, failure::document(problem).error)
            }
        };
        let error = json!({"code": code, "message": data.message, "data": data});
        json!({"jsonrpc": "2.0", "id": id, "error": error})
    }
}

/// Returns a failure of the server itself.
fn own(code: u8, kind: FailureKind, message: String) -> FailureReport {
    FailureReport {
        code,
        kind,
        message,
        causes: Vec::new(),
        hint: None,
        notes: Vec::new(),
        candidates: Vec::new(),
    }
}

impl<E: Into<Failure>> From<E> for RequestError {
    fn from(error: E) -> Self {
        Self::Failure(Box::new(error.into()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(line: &str) -> i64 {
        let Err((id, problem)) = Incoming::parse(line.as_bytes()) else {
            panic!("{line} is refused");
        };
        problem.response(&id)["error"]["code"]
            .as_i64()
            .expect("a code")
    }

    /// What is no request has the code of the specification.
    #[test]
    fn malformed_request_has_the_specified_code() {
        assert_eq!(code("{"), -32700);
        assert_eq!(code("\u{0}"), -32700);
        for line in [
            "[]",
            "1",
            "{}",
            r#"{"jsonrpc":"1.0","id":1,"method":"status"}"#,
            r#"{"jsonrpc":"2.0","id":{},"method":"status"}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":"status","params":[1]}"#,
            r#"{"jsonrpc":"2.0","id":1}"#,
        ] {
            assert_eq!(code(line), -32600, "{line}");
        }
    }

    /// A request is answered with its own id or refused.
    #[test]
    fn request_is_answered_with_its_id_or_refused() {
        for id in ["7", "-1", "1.5", "18446744073709551615", r#""a""#] {
            let line = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"status"}}"#);
            let Ok(Incoming::Request(job)) = Incoming::parse(line.as_bytes()) else {
                panic!("{line} is a request");
            };
            assert_eq!(job.id.to_string(), id, "to the last digit");
        }
        for id in ["99999999999999999999999999", "-1e300", "true", "null"] {
            let line = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"status"}}"#);
            assert_eq!(code(&line), -32600, "{line}");
        }
    }

    /// A cancellation that asks for an answer is refused.
    ///
    /// A client that sent it as a request would wait for ever.
    #[test]
    fn cancellation_that_wants_an_answer_is_refused() {
        let line = r#"{"jsonrpc":"2.0","id":8,"method":"cancel","params":{"id":7}}"#;
        assert_eq!(code(line), -32600);
        let line = r#"{"jsonrpc":"2.0","method":"cancel","params":{"id":7}}"#;
        let parsed = Incoming::parse(line.as_bytes());
        assert!(matches!(parsed, Ok(Incoming::Cancel(id)) if id == json!(7)));
    }

    /// A line that is too long is refused with its id.
    #[test]
    fn overlong_line_is_refused_with_its_id() {
        for (id, found) in [
            ("7", json!(7)),
            (r#""a""#, json!("a")),
            ("[7]", Value::Null),
        ] {
            let mut text = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"record","params":""#);
            text.push_str(&"x".repeat(LONGEST_LINE));
            text.push_str("\"}\n");
            let read = line(&mut text.as_bytes());
            assert!(matches!(read, Input::TooLong(id) if id == found), "{found}");
        }
    }

    /// An id that is cut off is not that of another request.
    #[test]
    fn truncated_id_is_not_another_requests() {
        for shown in 0..=5 {
            let around = r#"{"method":"","id":"#.len();
            let method = "m".repeat(ID_SEARCH_LIMIT - around - shown);
            let text = format!(r#"{{"method":"{method}","id":1234,"params":{{}}}}"#);
            let found = id_near_beginning(text.as_bytes());
            assert!(found.is_null() || found == 1234, "a part of it: {found}");
        }
    }

    /// A line that is too long is passed over and the next is read.
    #[test]
    fn overlong_line_is_skipped() {
        let mut text = vec![b'x'; LONGEST_LINE + 10];
        text.extend(b"\nnext\nhalf");
        let mut input = text.as_slice();
        assert!(matches!(line(&mut input), Input::TooLong(id) if id.is_null()));
        assert!(matches!(line(&mut input), Input::Whole(line) if line == b"next"));
        assert!(
            matches!(line(&mut input), Input::End),
            "half a line is none"
        );
    }
}
