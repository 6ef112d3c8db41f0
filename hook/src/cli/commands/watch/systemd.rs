//! The watcher as a unit of the user's systemd (systemd.unit(5), systemd.service(5), systemctl(1)).

use std::path::{Path, PathBuf};

use ckpt_store::Result;
use ckpt_store::error::Context;

use super::service::{ServiceManager, ask};
use crate::surroundings::Environment;

/// The unit's name.
const NAME: &str = "ckpt-hook-watch.service";

/// The beginning of our unit file; a file without it is not ours.
const MARK: &str =
    "# Written by `ckpt-hook watch --install`; `ckpt-hook watch --uninstall` removes it.\n";

/// The user's instance of systemd.
pub struct Systemd;

impl ServiceManager for Systemd {
    fn name(&self) -> &'static str {
        "systemd"
    }

    fn description(&self) -> &'static str {
        "unit"
    }

    fn path(&self, surroundings: &Environment) -> Option<PathBuf> {
        let config = surroundings.config_home.clone().or_else(|| {
            let home = surroundings.home.as_ref()?;
            Some(home.join(".config"))
        });
        Some(config?.join("systemd/user").join(NAME))
    }

    fn text(&self, command: &[&str]) -> String {
        let command: Vec<_> = command.iter().map(|word| quoted(word)).collect();
        format!(
            "{MARK}
[Unit]
Description=Tells the hooks of coding agents which directories changed

[Service]
ExecStart={}
Restart=always
RestartSec=10

[Install]
WantedBy=default.target
",
            command.join(" ")
        )
    }

    fn is_ours(&self, text: &str) -> bool {
        text.starts_with(MARK)
    }

    fn check(&self) -> Result<()> {
        systemctl(&["show-environment"])
    }

    fn start(&self, _path: &Path) -> Result<()> {
        systemctl(&["daemon-reload"])?;
        systemctl(&["enable", NAME])?;
        systemctl(&["restart", NAME])
    }

    fn stop(&self) -> Result<()> {
        systemctl(&["disable", "--now", NAME])
    }

    fn forget(&self, path: &Path, is_stopped: bool) -> Result<()> {
        if is_stopped {
            return systemctl(&["daemon-reload"]);
        }
        // What `enable` makes, in a folder beside the unit.
        let link = path.with_file_name("default.target.wants").join(NAME);
        if link.symlink_metadata().is_ok() {
            std::fs::remove_file(&link)
                .context(|| format!("cannot remove `{}`", link.display()))?;
        }
        Ok(())
    }
}

fn systemctl(arguments: &[&str]) -> Result<()> {
    ask("systemctl", &[&["--user"], arguments].concat())
}

/// Returns a word of a command line. `$` and `%` would be replaced, and a backslash begins an escape.
fn quoted(word: &str) -> String {
    let mut quoted = String::from("\"");
    for character in word.chars() {
        match character {
            '"' | '\\' => quoted.extend(['\\', character]),
            '$' | '%' => quoted.extend([character, character]),
            character => quoted.push(character),
        }
    }
    quoted.push('"');
    quoted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_is_itself_whatever_is_in_it() {
        assert_eq!(quoted("/usr/bin/x y"), "\"/usr/bin/x y\"");
        assert_eq!(quoted("a\"b\\c"), r#""a\"b\\c""#);
        assert_eq!(quoted("$HOME %h"), "\"$$HOME %%h\"");
    }

    #[test]
    fn a_unit_of_ours_is_known() {
        assert!(Systemd.is_ours(&Systemd.text(&["ckpt-hook", "watch"])));
        assert!(!Systemd.is_ours("[Unit]\nDescription=mine\n"));
    }
}
