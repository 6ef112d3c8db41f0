//! The settings as values. `docs/settings.md` says what each means; the binary reads `config.toml`.

use std::path::PathBuf;
use std::time::Duration;

use crate::model::request::{ConversationChoice, Unclear};

/// How much of a step is synced to the disk before the hook returns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Durability {
    /// The objects. A power cut may cost the last steps, but never consistency.
    #[default]
    Objects,
    /// The rows, too.
    Full,
}

/// How much of a prompt is kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RecordPrompts {
    /// The whole text.
    #[default]
    Full,
    /// The first line, up to 80 characters.
    Title,
    /// No text, only that there was a message.
    None,
}

/// The default of [`Settings::keep_ignored`]: configuration that people write by hand, keep out of git, and cannot
/// recreate. Tools' own state is not in it, nor are files whose directory is ignored.
pub const KEEP_IGNORED: [&str; 14] = [
    ".env",
    ".env.*",
    ".envrc",
    "*.local",
    "local.properties",
    "local_settings.py",
    "secrets.*",
    "*.tfvars",
    "*.pem",
    "*.key",
    "*.p12",
    "*.jks",
    "*.keystore",
    "**/.vscode/*.json",
];

/// Every setting that the library uses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Whether anything is recorded at all.
    pub enabled: bool,
    /// Ignore-file patterns of files that are captured even if ignored.
    pub include: Vec<String>,
    /// Ignore-file patterns of files that are not captured.
    pub exclude: Vec<String>,
    /// Ignore-file patterns of small files that are captured even if ignored. They never match directories.
    pub keep_ignored: Vec<String>,
    /// Ignore-file patterns of files whose contents a model does not get, besides those of `keep_ignored`.
    pub hide_from_models: Vec<String>,
    /// Directories in which every session works besides its own.
    pub roots: Vec<PathBuf>,
    /// Whether what is new is pushed after each turn, to the remote that was named first.
    pub auto_push: bool,
    /// The size in bytes over which an untracked file is a gap.
    pub max_file_size: u64,
    /// The time after which a hook gives up.
    pub hook_deadline: Duration,
    /// What is synced in every step.
    pub durability: Durability,
    /// Whether the agent learns, with the user's next message, which files were put back.
    pub tell_agent: bool,
    /// How much of a prompt is kept.
    pub record_prompts: RecordPrompts,
    /// The time after which the next `gc` prunes an unused session.
    pub keep: Duration,
    /// The size in bytes above which the next `gc` prunes the longest unused closed sessions.
    pub max_store_size: u64,
    /// What a revert does with an unclear change.
    pub unclear: Unclear,
    /// What a revert does with the agent's conversation; `None`: a terminal asks, and else it stays.
    pub conversation: Option<ConversationChoice>,
    /// Whether a workspace that is refused by rule (`/`, the home directory) is allowed.
    pub allow: bool,
    /// Settings for single directories. The longest path that contains the workspace wins.
    pub workspaces: Vec<(PathBuf, Box<Settings>)>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            enabled: true,
            include: Vec::new(),
            exclude: Vec::new(),
            keep_ignored: KEEP_IGNORED.map(str::to_owned).to_vec(),
            hide_from_models: Vec::new(),
            roots: Vec::new(),
            auto_push: false,
            max_file_size: 256 << 20,
            hook_deadline: Duration::from_secs(10),
            durability: Durability::default(),
            tell_agent: true,
            record_prompts: RecordPrompts::default(),
            keep: Duration::from_secs(30 * 24 * 3600),
            max_store_size: 5 << 30,
            unclear: Unclear::default(),
            conversation: None,
            allow: false,
            workspaces: Vec::new(),
        }
    }
}

impl Settings {
    /// Returns the settings for a directory.
    pub fn for_directory(&self, directory: &std::path::Path) -> &Settings {
        self.workspaces
            .iter()
            .filter(|(path, _)| directory.starts_with(path))
            .max_by_key(|(path, _)| path.as_os_str().len())
            .map_or(self, |(_, settings)| settings)
    }
}
