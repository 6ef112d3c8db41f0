//! Each setting in one place: its name, its meaning, its valid values, and how it is read and shown.

use std::path::PathBuf;
use std::time::Duration;

use bytesize::ByteSize;
use ckpt_store::model::request::ConversationChoice;
use ckpt_store::settings::{Durability, RecordPrompts};
use ckpt_store::{Settings, Unclear};
use toml::Value;

/// A setting.
pub struct SettingKey {
    /// Its name in the file.
    pub name: &'static str,
    /// Its purpose, in a few words.
    pub meaning: &'static str,
    /// What it must be, as the end of a sentence.
    pub expected: &'static str,
    /// Sets it, or returns `None` for an invalid value.
    pub set: fn(&mut Settings, &Value) -> Option<()>,
    /// Returns its value as the file would have it.
    pub get: fn(&Settings) -> Value,
}

const BOOLEAN: &str = "`true` or `false`";
const PATTERNS: &str = "a list of patterns";
const DIRECTORIES: &str = "a list of absolute paths";
const SIZE: &str = "a size like `\"256 MiB\"`, or a number of bytes";
const TIME: &str = "a time like `\"10 s\"` or `\"30 days\"`";

/// Every setting, in the order of `docs/settings.md`.
pub const KEYS: [SettingKey; 17] = [
    SettingKey {
        name: "enabled",
        meaning: "whether anything is recorded",
        expected: BOOLEAN,
        set: |settings, value| set(&mut settings.enabled, value.as_bool()),
        get: |settings| settings.enabled.into(),
    },
    SettingKey {
        name: "include",
        meaning: "patterns of files to capture even if an ignore rule matches",
        expected: PATTERNS,
        set: |settings, value| set(&mut settings.include, patterns(value)),
        get: |settings| settings.include.clone().into(),
    },
    SettingKey {
        name: "exclude",
        meaning: "patterns of files to leave out even if no ignore rule matches",
        expected: PATTERNS,
        set: |settings, value| set(&mut settings.exclude, patterns(value)),
        get: |settings| settings.exclude.clone().into(),
    },
    SettingKey {
        name: "keep_ignored",
        meaning: "patterns of small files that are captured although ignored",
        expected: PATTERNS,
        set: |settings, value| set(&mut settings.keep_ignored, patterns(value)),
        get: |settings| settings.keep_ignored.clone().into(),
    },
    SettingKey {
        name: "hide_from_models",
        meaning: "patterns of files whose contents `mcp` does not give a model",
        expected: PATTERNS,
        set: |settings, value| set(&mut settings.hide_from_models, patterns(value)),
        get: |settings| settings.hide_from_models.clone().into(),
    },
    SettingKey {
        name: "roots",
        meaning: "directories in which every session works besides its own",
        expected: DIRECTORIES,
        set: |settings, value| set(&mut settings.roots, directories(value)),
        get: |settings| {
            let roots = settings.roots.iter();
            let roots = roots.map(|root| root.to_string_lossy().into_owned());
            roots.collect::<Vec<String>>().into()
        },
    },
    SettingKey {
        name: "auto_push",
        meaning: "whether what is new is pushed after each turn",
        expected: BOOLEAN,
        set: |settings, value| set(&mut settings.auto_push, value.as_bool()),
        get: |settings| settings.auto_push.into(),
    },
    SettingKey {
        name: "max_file_size",
        meaning: "larger untracked files are not captured",
        expected: SIZE,
        set: |settings, value| set(&mut settings.max_file_size, bytes(value)),
        get: |settings| size(settings.max_file_size),
    },
    SettingKey {
        name: "hook_deadline",
        meaning: "when a hook gives up",
        expected: TIME,
        set: |settings, value| set(&mut settings.hook_deadline, duration(value)),
        get: |settings| time(settings.hook_deadline),
    },
    SettingKey {
        name: "durability",
        meaning: "what is synced at every step: the objects, or the rows, too",
        expected: "`\"objects\"` or `\"full\"`",
        set: |settings, value| set(&mut settings.durability, word(value, &DURABILITIES)),
        get: |settings| text(settings.durability, &DURABILITIES),
    },
    SettingKey {
        name: "tell_agent",
        meaning: "whether to tell the agent which files went back",
        expected: BOOLEAN,
        set: |settings, value| set(&mut settings.tell_agent, value.as_bool()),
        get: |settings| settings.tell_agent.into(),
    },
    SettingKey {
        name: "record_prompts",
        meaning: "how much of a prompt is kept",
        expected: "`\"full\"`, `\"title\"` or `\"none\"`",
        set: |settings, value| set(&mut settings.record_prompts, word(value, &PROMPTS)),
        get: |settings| text(settings.record_prompts, &PROMPTS),
    },
    SettingKey {
        name: "unclear",
        meaning: "what a revert does with changes that may not be the agent's",
        expected: "`\"keep\"` or `\"take\"`",
        set: |settings, value| set(&mut settings.unclear, word(value, &UNCLEAR)),
        get: |settings| text(settings.unclear, &UNCLEAR),
    },
    SettingKey {
        name: "conversation",
        meaning: "what a revert does with the agent's conversation",
        expected: "`\"ask\"`, `\"no\"` or `\"fork\"`",
        set: |settings, value| set(&mut settings.conversation, word(value, &CONVERSATIONS)),
        get: |settings| text(settings.conversation, &CONVERSATIONS),
    },
    SettingKey {
        name: "keep",
        meaning: "sessions that have been unused for longer may be removed",
        expected: TIME,
        set: |settings, value| set(&mut settings.keep, duration(value)),
        get: |settings| time(settings.keep),
    },
    SettingKey {
        name: "max_store_size",
        meaning: "if the store is larger, the closed sessions unused for longest may be removed",
        expected: SIZE,
        set: |settings, value| set(&mut settings.max_store_size, bytes(value)),
        get: |settings| size(settings.max_store_size),
    },
    SettingKey {
        name: "allow",
        meaning: "whether to capture a workspace that is otherwise refused",
        expected: BOOLEAN,
        set: |settings, value| set(&mut settings.allow, value.as_bool()),
        get: |settings| settings.allow.into(),
    },
];

const DURABILITIES: [(&str, Durability); 2] =
    [("objects", Durability::Objects), ("full", Durability::Full)];
const PROMPTS: [(&str, RecordPrompts); 3] = [
    ("full", RecordPrompts::Full),
    ("title", RecordPrompts::Title),
    ("none", RecordPrompts::None),
];
const CONVERSATIONS: [(&str, Option<ConversationChoice>); 3] = [
    ("ask", None),
    ("no", Some(ConversationChoice::No)),
    ("fork", Some(ConversationChoice::Fork)),
];
const UNCLEAR: [(&str, Unclear); 2] = [("keep", Unclear::Keep), ("take", Unclear::Take)];

/// Returns the setting of a name.
pub fn find(name: &str) -> Option<&'static SettingKey> {
    KEYS.iter().find(|key| key.name == name)
}

fn set<T>(place: &mut T, value: Option<T>) -> Option<()> {
    *place = value?;
    Some(())
}

fn word<T: Copy>(value: &Value, words: &[(&str, T)]) -> Option<T> {
    let found = words.iter().find(|(word, _)| value.as_str() == Some(word));
    found.map(|(_, meaning)| *meaning)
}

fn text<T: PartialEq>(value: T, words: &[(&'static str, T)]) -> Value {
    let found = words.iter().find(|(_, meaning)| *meaning == value);
    found.map_or("", |(word, _)| word).into()
}

fn patterns(value: &Value) -> Option<Vec<String>> {
    let text = |pattern: &Value| pattern.as_str().map(str::to_owned);
    value.as_array()?.iter().map(text).collect()
}

fn directories(value: &Value) -> Option<Vec<PathBuf>> {
    let roots = patterns(value)?.into_iter().map(PathBuf::from);
    roots
        .map(|root| root.is_absolute().then_some(root))
        .collect()
}

fn bytes(value: &Value) -> Option<u64> {
    match value {
        Value::Integer(bytes) => u64::try_from(*bytes).ok(),
        Value::String(text) => text.parse::<ByteSize>().ok().map(|size| size.as_u64()),
        Value::Float(_)
        | Value::Boolean(_)
        | Value::Datetime(_)
        | Value::Array(_)
        | Value::Table(_) => None,
    }
}

fn duration(value: &Value) -> Option<Duration> {
    humantime::parse_duration(value.as_str()?).ok()
}

/// A size in the largest unit that says it exactly.
fn size(bytes: u64) -> Value {
    const UNITS: [(&str, u64); 4] = [
        ("TiB", 1 << 40),
        ("GiB", 1 << 30),
        ("MiB", 1 << 20),
        ("KiB", 1 << 10),
    ];
    let exact = UNITS
        .iter()
        .find(|(_, unit)| bytes >= *unit && bytes.is_multiple_of(*unit));
    match exact {
        Some((name, unit)) => format!("{} {name}", bytes / unit).into(),
        None => format!("{bytes} B").into(),
    }
}

/// A time in the largest unit that says it exactly.
fn time(duration: Duration) -> Value {
    const UNITS: [(&str, u64); 4] = [("days", 86_400), ("hours", 3600), ("min", 60), ("s", 1)];
    let seconds = duration.as_secs();
    let exact = UNITS.iter().find(|(_, unit)| {
        duration.subsec_nanos() == 0 && seconds >= *unit && seconds.is_multiple_of(*unit)
    });
    match exact {
        Some((name, unit)) => format!("{} {name}", seconds / unit).into(),
        None => humantime::format_duration(duration).to_string().into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_setting_shows_is_what_sets_it() {
        let default = Settings::default();
        let other = Settings {
            enabled: false,
            include: vec!["a\"b".to_owned()],
            exclude: vec!["*.iso".to_owned(), "/x/".to_owned()],
            keep_ignored: Vec::new(),
            hide_from_models: vec!["/private/".to_owned()],
            roots: vec![PathBuf::from("/lib")],
            auto_push: true,
            max_file_size: 1_234_567,
            hook_deadline: Duration::from_millis(1500),
            durability: Durability::Full,
            tell_agent: false,
            record_prompts: RecordPrompts::None,
            unclear: Unclear::Take,
            conversation: Some(ConversationChoice::Fork),
            keep: Duration::from_secs(90 * 60),
            max_store_size: 3 << 20,
            allow: true,
            workspaces: Vec::new(),
        };
        for (from, to) in [(&default, &other), (&other, &default)] {
            let mut settings = to.clone();
            for key in &KEYS {
                assert_eq!(
                    (key.set)(&mut settings, &(key.get)(from)),
                    Some(()),
                    "{}",
                    key.name
                );
            }
            assert_eq!(settings, *from, "every setting, exactly");
        }
    }

    #[test]
    fn every_setting_is_documented_with_its_default() {
        let page = include_str!(concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../../docs/settings.md"
        ));
        for key in KEYS.iter().filter(|key| key.name != "allow") {
            let default = (key.get)(&Settings::default());
            let row = format!("| `{}` | `{default}` |", key.name);
            assert!(page.contains(&row), "{row}");
        }
    }
}
