//! `config`: the settings, where each comes from, and changing one in the file.

use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use ckpt_agents::settings::file;
use ckpt_command::config::edit::{self, SettingTarget};
use ckpt_command::config::keys::{self, KEYS, SettingKey};
use ckpt_command::config::of_directory;
use ckpt_command::invocation::Invocation;
use ckpt_command::pager::paged;
use ckpt_output::config;
use ckpt_process::failure::{DONE, Failure};
use ckpt_process::surroundings;
use ckpt_schema::report::{ConfigChange, ConfigReport, SettingReport, SettingSource, VERSION};
use ckpt_store::error::Context;
use ckpt_store::{Error, Settings};

use crate::cli::arguments::{ConfigArguments, ConfigCommand};

/// The mode of a settings file that is created here, before the umask.
const MODE: u32 = 0o644;

/// Shows the settings, or changes one.
pub fn run(invocation: &Invocation, arguments: &ConfigArguments) -> Result<u8, Failure> {
    match &arguments.command {
        None => {
            let report = settings(invocation, None)?;
            paged(invocation, &report, |view| config::render(&report, view))?;
        }
        Some(ConfigCommand::Get { key }) => {
            let key = find(key)?;
            let report = settings(invocation, Some(key))?;
            invocation
                .output
                .report(&report, |_| config::render_value(&report))?;
        }
        Some(ConfigCommand::Set { key, value }) => {
            let key = find(key)?;
            let value = edit::value(value, key).ok_or_else(|| refused(key, value))?;
            change(invocation, key.name, |text, target| {
                Ok(edit::set(text, target, &value)?)
            })?;
        }
        // Also one that is no setting any more, and was left in the file.
        Some(ConfigCommand::Unset { key }) => change(invocation, key, |text, target| {
            if !edit::holds(text, target)? {
                find(key)?;
            }
            Ok(edit::unset(text, target)?)
        })?,
    }
    Ok(DONE)
}

fn find(name: &str) -> Result<&'static SettingKey, Failure> {
    keys::find(name).ok_or_else(|| {
        let names: Vec<&str> = KEYS.iter().map(|key| key.name).collect();
        Failure::usage(
            format!("there is no setting `{}`", name.escape_debug()),
            format!("the settings are {}", names.join(", ")),
        )
    })
}

fn refused(key: &SettingKey, value: &str) -> Failure {
    Failure::usage(
        format!(
            "`{}` is not a valid value for `{}`",
            value.escape_debug(),
            key.name
        ),
        format!("it must be {}", key.expected),
    )
}

/// Sets a switch for a workspace, and says nothing of it.
pub fn set_in(
    invocation: &Invocation,
    workspace: &Path,
    key: &str,
    value: bool,
) -> Result<(), Failure> {
    let set = |text: &str, target: SettingTarget<'_>| Ok(edit::set(text, target, &value.into())?);
    edit_file(invocation, key, Some(workspace.to_owned()), set).map(drop)
}

/// Replaces the file's text if the change alters it, and reports it.
fn change(
    invocation: &Invocation,
    key: &str,
    edit: impl FnOnce(&str, SettingTarget<'_>) -> Result<String, Failure>,
) -> Result<(), Failure> {
    let workspace = invocation.common.workspace.as_deref();
    let workspace = workspace
        .map(|given| invocation.surroundings.absolute(given).map(canonical))
        .transpose()?;
    let (report, is_changed) = edit_file(invocation, key, workspace, edit)?;
    let done = is_changed.then_some("the setting was changed");
    invocation
        .output
        .report_done(&report, done, |view| config::render_change(&report, view))
}

/// Replaces the file's text if the change alters it. Returns the report, and whether anything changed.
fn edit_file(
    invocation: &Invocation,
    key: &str,
    workspace: Option<PathBuf>,
    edit: impl FnOnce(&str, SettingTarget<'_>) -> Result<String, Failure>,
) -> Result<(ConfigChange, bool), Failure> {
    let path = invocation.surroundings.config_file().ok_or_else(|| {
        Error::failed("cannot find a place for the settings: the home directory is unknown")
            .hint("set $HOME, or set $CKPT_HOOK_CONFIG to a path")
    })?;
    let target = SettingTarget {
        key,
        workspace: workspace.as_deref(),
        home: invocation.surroundings.home.as_deref(),
    };
    let before = file::read(&path)?;
    let text = before.as_deref().unwrap_or_default();
    let after = edit(text, target)?;
    if after != text {
        // A user who may write to the folder could put other settings there, so the umask does not decide on its
        // mode.
        let folder = path.parent().unwrap_or(&path);
        let made = DirBuilder::new().recursive(true).mode(0o700).create(folder);
        made.context(|| format!("cannot create `{}`", folder.display()))?;
        file::replace(&path, before.as_deref(), &after, MODE)?;
    }
    let report = ConfigChange {
        version: VERSION,
        file: path.display().to_string(),
        key: key.to_owned(),
        workspace: workspace.as_ref().map(|path| path.display().to_string()),
        former: edit::get(text, target)?,
        value: edit::get(&after, target)?,
    };
    Ok((report, after != text))
}

fn canonical(path: PathBuf) -> PathBuf {
    path.canonicalize().unwrap_or(path)
}

/// The effective settings for a directory, each with its source.
fn settings(
    invocation: &Invocation,
    only: Option<&'static SettingKey>,
) -> Result<ConfigReport, Failure> {
    let directory = canonical(invocation.directory()?);
    let read = &invocation.config;
    let file = invocation.surroundings.config_file();
    let mut settings = of_keys(invocation, &directory, only);
    if only.is_none() {
        settings.extend(places(invocation)?);
    }
    Ok(ConfigReport {
        version: VERSION,
        is_there: file.as_ref().is_some_and(|file| file.exists()),
        file: file.map(|file| file.display().to_string()),
        workspace: directory.display().to_string(),
        settings,
        problems: {
            let unknown = read.unknown.iter().map(|unknown| &unknown.text);
            read.problems.iter().chain(unknown).cloned().collect()
        },
    })
}

fn of_keys(
    invocation: &Invocation,
    directory: &Path,
    only: Option<&'static SettingKey>,
) -> Vec<SettingReport> {
    let config = &invocation.config;
    let (section, here) = of_directory(&config.settings, directory);
    let defaults = Settings::default();
    let asked = |key: &&SettingKey| only.is_none_or(|only| only.name == key.name);
    KEYS.iter()
        .filter(asked)
        .map(|key| {
            let is_in = |place: Option<&Path>| {
                let mut given = config.given.iter();
                given.any(|(path, name)| path.as_deref() == place && *name == key.name)
            };
            let report = SettingReport {
                key: key.name.to_owned(),
                value: (key.get)(here).to_string(),
                default: Some((key.get)(&defaults).to_string()),
                source: SettingSource::Default,
                place: None,
                meaning: key.meaning.to_owned(),
            };
            if key.name == "enabled" && surroundings::is_disabled() {
                SettingReport {
                    value: false.to_string(),
                    source: SettingSource::Environment,
                    place: Some("CKPT_HOOK_DISABLE".to_owned()),
                    ..report
                }
            } else if let Some(path) = section.filter(|path| is_in(Some(path))) {
                SettingReport {
                    source: SettingSource::Workspace,
                    place: Some(path.display().to_string()),
                    ..report
                }
            } else if is_in(None) {
                SettingReport {
                    source: SettingSource::File,
                    ..report
                }
            } else {
                report
            }
        })
        .collect()
}

/// What is set outside the file: where the store and the file are, and the log's level.
fn places(invocation: &Invocation) -> Result<Vec<SettingReport>, Failure> {
    let (common, surroundings) = (&invocation.common, &invocation.surroundings);
    let variable = |name, is_set: bool| is_set.then_some(name);
    let store = invocation.store_directory()?.display().to_string();
    let mut store = outside(
        "(store)",
        store,
        variable("CKPT_HOOK_HOME", surroundings.store.is_some()),
        "the store's directory",
    );
    if common.store.is_some() {
        store.source = SettingSource::Flag;
        store.place = Some("--store".to_owned());
    }
    let level = surroundings.log_level.as_ref();
    let level_text = level.map_or("warning".into(), |level| {
        level.to_string_lossy().into_owned()
    });
    let log = outside(
        "(log)",
        level_text,
        variable("CKPT_HOOK_LOG", level.is_some()),
        "the level of the log file in the store",
    );
    let file = surroundings.config_file().map(|file| {
        outside(
            "(file)",
            file.display().to_string(),
            variable("CKPT_HOOK_CONFIG", surroundings.config.is_some()),
            "the settings file",
        )
    });
    Ok([Some(store), file, Some(log)]
        .into_iter()
        .flatten()
        .collect())
}

/// The value from outside the file: that of an environment variable, if one is named.
fn outside(key: &str, value: String, variable: Option<&str>, meaning: &str) -> SettingReport {
    SettingReport {
        key: key.to_owned(),
        value: toml::Value::String(value).to_string(),
        default: None,
        source: match variable {
            Some(_) => SettingSource::Environment,
            None => SettingSource::Default,
        },
        place: variable.map(str::to_owned),
        meaning: meaning.to_owned(),
    }
}
