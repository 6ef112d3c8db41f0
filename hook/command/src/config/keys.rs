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

/// What settings of one kind have in common.
struct SettingKind<T> {
    expected: &'static str,
    read: fn(&Value) -> Option<T>,
    show: fn(&T) -> Value,
}

const BOOLEAN: SettingKind<bool> = SettingKind {
    expected: "`true` or `false`",
    read: Value::as_bool,
    show: |is_on| (*is_on).into(),
};
const PATTERNS: SettingKind<Vec<String>> = SettingKind {
    expected: "a list of patterns",
    read: patterns,
    show: |patterns| patterns.clone().into(),
};
const DIRECTORIES: SettingKind<Vec<PathBuf>> = SettingKind {
    expected: "a list of absolute paths",
    read: directories,
    show: |roots| {
        let roots = roots.iter();
        let roots = roots.map(|root| root.to_string_lossy().into_owned());
        roots.collect::<Vec<String>>().into()
    },
};
const SIZE: SettingKind<u64> = SettingKind {
    expected: "a size like `\"256 MiB\"`, or a number of bytes",
    read: bytes,
    show: |bytes| size(*bytes),
};
const TIME: SettingKind<Duration> = SettingKind {
    expected: "a time like `\"10 s\"` or `\"30 days\"`",
    read: duration,
    show: |duration| time(*duration),
};
const DURABILITY: SettingKind<Durability> = SettingKind {
    expected: "`\"objects\"` or `\"full\"`",
    read: |value| word(value, &DURABILITIES),
    show: |durability| text(*durability, &DURABILITIES),
};
const PROMPTS: SettingKind<RecordPrompts> = SettingKind {
    expected: "`\"full\"`, `\"title\"` or `\"none\"`",
    read: |value| word(value, &PROMPT_WORDS),
    show: |prompts| text(*prompts, &PROMPT_WORDS),
};
const UNCLEAR: SettingKind<Unclear> = SettingKind {
    expected: "`\"keep\"` or `\"take\"`",
    read: |value| word(value, &UNCLEAR_WORDS),
    show: |unclear| text(*unclear, &UNCLEAR_WORDS),
};
const CONVERSATION: SettingKind<Option<ConversationChoice>> = SettingKind {
    expected: "`\"ask\"`, `\"no\"` or `\"fork\"`",
    read: |value| word(value, &CONVERSATIONS),
    show: |choice| text(*choice, &CONVERSATIONS),
};

/// Declares settings: the field, which has the name that it has in the file, the kind, and the meaning.
macro_rules! settings {
    ($($field:ident: $kind:ident, $meaning:literal;)*) => {
        /// Every setting, in the order of `docs/settings.md`.
        pub const KEYS: &[SettingKey] = &[$(SettingKey {
            name: stringify!($field),
            meaning: $meaning,
            expected: $kind.expected,
            set: |settings, value| set(&mut settings.$field, ($kind.read)(value)),
            get: |settings| ($kind.show)(&settings.$field),
        }),*];
    };
}

settings! {
    enabled: BOOLEAN, "whether anything is recorded";
    include: PATTERNS, "patterns of files to capture even if an ignore rule matches";
    exclude: PATTERNS, "patterns of files to leave out even if no ignore rule matches";
    keep_ignored: PATTERNS, "patterns of small files that are captured although ignored";
    hide_from_models: PATTERNS, "patterns of files whose contents `mcp` does not give a model";
    roots: DIRECTORIES, "directories in which every session works besides its own";
    auto_push: BOOLEAN, "whether what is new is pushed after each turn";
    max_file_size: SIZE, "larger untracked files are not captured";
    hook_deadline: TIME, "when a hook gives up";
    durability: DURABILITY, "what is synced at every step: the objects, or the rows, too";
    tell_agent: BOOLEAN, "whether to tell the agent which files went back";
    record_prompts: PROMPTS, "how much of a prompt is kept";
    unclear: UNCLEAR, "what a revert does with changes that may not be the agent's";
    conversation: CONVERSATION, "what a revert does with the agent's conversation";
    keep: TIME, "sessions that have been unused for longer may be removed";
    max_store_size: SIZE, "if the store is larger, the closed sessions unused for longest may be removed";
    allow: BOOLEAN, "whether to capture a workspace that is otherwise refused";
}

const DURABILITIES: [(&str, Durability); 2] =
    [("objects", Durability::Objects), ("full", Durability::Full)];
const PROMPT_WORDS: [(&str, RecordPrompts); 3] = [
    ("full", RecordPrompts::Full),
    ("title", RecordPrompts::Title),
    ("none", RecordPrompts::None),
];
const CONVERSATIONS: [(&str, Option<ConversationChoice>); 3] = [
    ("ask", None),
    ("no", Some(ConversationChoice::No)),
    ("fork", Some(ConversationChoice::Fork)),
];
const UNCLEAR_WORDS: [(&str, Unclear); 2] = [("keep", Unclear::Keep), ("take", Unclear::Take)];

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
            for key in KEYS {
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
