//! The parameters of a method, checked; an error names the one that is wrong.

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::protocol::{Job, RequestError};

/// What serde calls a type, and what a client's author does.
const TYPES: [(&str, &str); 5] = [
    (
        "expected usize",
        "expected a whole number that is not negative",
    ),
    (
        "expected u64",
        "expected a whole number that is not negative",
    ),
    ("expected i64", "expected a whole number"),
    ("expected a sequence", "expected a list"),
    ("expected struct Event", "expected an event"),
];

/// Returns the parameters of a request. One that is null counts as missing, and so does a field of an event.
pub fn parameters<T: DeserializeOwned>(job: &Job) -> Result<T, RequestError> {
    let mut given = job.parameters.clone();
    given.retain(|_, value| !value.is_null());
    for fields in given.values_mut().filter_map(Value::as_object_mut) {
        fields.retain(|_, value| !value.is_null());
    }
    parse(given.clone())
        .map_err(|error| RequestError::parameters(&explained::<T>(&given, &error.to_string())))
}

fn parse<T: DeserializeOwned>(given: Map<String, Value>) -> serde_json::Result<T> {
    serde_json::from_value(Value::Object(given))
}

/// The reason of a refusal, after the name of the parameter. An unknown or missing one is named by the error itself.
fn explained<T: DeserializeOwned>(given: &Map<String, Value>, error: &str) -> String {
    let mut text = error.to_owned();
    for (theirs, ours) in TYPES {
        text = text.replace(theirs, ours);
    }
    match culprit::<T>(given, error) {
        Some(name) if !error.starts_with("unknown field") => format!("`{name}`: {text}"),
        _ => text,
    }
}

/// Returns the parameter without which there is no such error.
fn culprit<'a, T: DeserializeOwned>(given: &'a Map<String, Value>, error: &str) -> Option<&'a str> {
    let is_to_blame = |name: &&String| {
        let mut others = given.clone();
        others.remove(*name);
        parse::<T>(others).map_or_else(|other| other.to_string() != error, |_| true)
    };
    given.keys().find(is_to_blame).map(String::as_str)
}

#[cfg(test)]
mod tests {
    use ckpt_schema::protocol::{
        MessagesParameters, OperationParameters, RecordParameters, ShowParameters,
    };
    use serde_json::json;

    use super::*;

    fn wrong<T: DeserializeOwned>(given: Value) -> String {
        let given = given.as_object().expect("parameters have names").clone();
        match parse::<T>(given.clone()) {
            Ok(_) => panic!("{given:?} is refused"),
            Err(error) => explained::<T>(&given, &error.to_string()),
        }
    }

    /// An error names the parameter and no type of ours.
    #[test]
    fn error_names_the_parameter_not_our_type() {
        assert_eq!(
            wrong::<MessagesParameters>(json!({"session": "s", "limit": -1})),
            "`limit`: invalid value: integer `-1`, expected a whole number that is not negative"
        );
        assert_eq!(
            wrong::<OperationParameters>(json!({"message": "m", "only": "a"})),
            "`only`: invalid type: string \"a\", expected a list"
        );
        assert_eq!(
            wrong::<ShowParameters>(json!({"id": 7})),
            "`id`: invalid type: integer `7`, expected a string"
        );
        assert_eq!(
            wrong::<RecordParameters>(json!({"event": {"event": "user_message"}})),
            "`event`: missing field `session_id`"
        );
        assert_eq!(wrong::<ShowParameters>(json!({})), "missing field `id`");
        let unknown = wrong::<ShowParameters>(json!({"id": "a", "nmae": 1}));
        assert!(unknown.starts_with("unknown field `nmae`"), "{unknown}");
    }

    #[test]
    fn what_is_null_counts_as_missing() {
        let event = json!({"event": "user_message", "session_id": "s", "tells_of_tools": null, "paths": null});
        let job = |parameters: Value| Job {
            id: json!(1),
            method: "record".to_owned(),
            parameters: parameters.as_object().expect("they have names").clone(),
            is_cancelled: Default::default(),
        };
        let asked: RecordParameters = parameters(&job(json!({"event": event}))).expect("accepted");
        assert!(!asked.event.tells_of_tools);
        let asked: MessagesParameters =
            parameters(&job(json!({"everywhere": null, "limit": null}))).expect("accepted");
        assert!(!asked.everywhere && asked.limit.is_none());
        assert!(parameters::<ShowParameters>(&job(json!({"id": null}))).is_err());
    }
}
