//! The watcher as an agent of launchd, which macOS has instead of systemd (launchd.plist(5), launchctl(1)).

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use ckpt_store::Result;
use maud::html;

use super::service::{ServiceManager, ask};
use crate::surroundings::Environment;

/// The agent's name among all others of its user.
const LABEL: &str = "ckpt-hook.watch";

/// A line of our property lists; one without it is not ours. Two dashes would end the comment.
const MARK: &str =
    "<!-- Written by ckpt-hook. Its command `watch` has an option that removes it. -->";

/// How long an agent that is told to end may need for that.
const PATIENCE: Duration = Duration::from_secs(5);

/// The launchd of the user's session.
pub struct Launchd;

impl ServiceManager for Launchd {
    fn name(&self) -> &'static str {
        "launchd"
    }

    fn description(&self) -> &'static str {
        "property list"
    }

    fn path(&self, surroundings: &Environment) -> Option<PathBuf> {
        let agents = surroundings.home.as_ref()?.join("Library/LaunchAgents");
        Some(agents.join(format!("{LABEL}.plist")))
    }

    fn text(&self, command: &[&str]) -> String {
        let words: String = command
            .iter()
            .map(|word| format!("\t\t{}\n", html! { string { (word) } }.into_string()))
            .collect();
        format!(
            r#"<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
{MARK}
<plist version="1.0">
<dict>
	<key>Label</key>
	<string>{LABEL}</string>
	<key>ProgramArguments</key>
	<array>
{words}	</array>
	<key>RunAtLoad</key>
	<true/>
	<key>KeepAlive</key>
	<true/>
</dict>
</plist>
"#
        )
    }

    fn is_ours(&self, text: &str) -> bool {
        text.lines().any(|line| line == MARK)
    }

    fn check(&self) -> Result<()> {
        launchctl(&["print", &domain()])
    }

    fn start(&self, path: &Path) -> Result<()> {
        // Nothing may run yet.
        if self.stop().is_ok() {
            wait_until_gone();
        }
        let path = path.display().to_string();
        launchctl(&["enable", &agent()])?;
        launchctl(&["bootstrap", &domain(), &path])
    }

    fn stop(&self) -> Result<()> {
        launchctl(&["bootout", &agent()])
    }

    fn forget(&self, _path: &Path, _is_stopped: bool) -> Result<()> {
        Ok(())
    }
}

/// Waits for an agent that was told to end. It cannot be started again before that, and `bootout` does not wait.
fn wait_until_gone() {
    let end = Instant::now() + PATIENCE;
    while Instant::now() < end && launchctl(&["print", &agent()]).is_ok() {
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Returns the name of the user's graphical session.
fn domain() -> String {
    format!("gui/{}", rustix::process::getuid().as_raw())
}

fn agent() -> String {
    format!("{}/{LABEL}", domain())
}

fn launchctl(arguments: &[&str]) -> Result<()> {
    ask("launchctl", arguments)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_property_list_of_ours_is_known_and_has_every_word_as_it_is() {
        let text = Launchd.text(&["/a & <b>/ckpt-hook", "watch"]);
        assert!(Launchd.is_ours(&text));
        assert!(
            text.contains("<string>/a &amp; &lt;b&gt;/ckpt-hook</string>"),
            "{text}"
        );
        assert!(!Launchd.is_ours(&text.replace("Written by", "Not written by")));
    }
}
