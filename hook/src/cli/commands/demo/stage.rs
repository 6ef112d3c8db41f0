//! The demo's scratch folder, the commands that run in it, and the text in between.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use ckpt_command::invocation::Invocation;
use ckpt_output::text::safe;
use ckpt_process::failure::Failure;
use ckpt_process::surroundings;
use ckpt_process::{PrivateFolder, programs};
use ckpt_store::Error;
use ckpt_store::error::Context;
use ckpt_store::model::number::count;
use serde_json::{Value, json};

/// Modes and bytes by path; directories have no bytes.
pub type StageFiles = BTreeMap<String, (u32, Vec<u8>)>;

/// A scratch folder with a home, a store and a workspace. It is removed when this is dropped.
pub struct Stage<'a> {
    invocation: &'a Invocation,
    scratch: PrivateFolder,
    binary: PathBuf,
    calls: u64,
    titles: u32,
}

impl<'a> Stage<'a> {
    /// Creates the scratch folder.
    pub fn set(invocation: &'a Invocation) -> ckpt_store::Result<Self> {
        let scratch =
            PrivateFolder::new().context(|| "cannot create a scratch folder for the demo")?;
        let binary = surroundings::program()?;
        let stage = Self {
            invocation,
            scratch,
            binary,
            calls: 0,
            titles: 0,
        };
        for name in ["home", "bakery"] {
            let path = stage.scratch.path().join(name);
            fs::create_dir(&path).context(|| format!("cannot create `{}`", path.display()))?;
        }
        Ok(stage)
    }

    fn workspace(&self) -> PathBuf {
        self.scratch.path().join("bakery")
    }

    /// Prints a paragraph.
    pub fn say(&self, text: &str) -> Result<(), Failure> {
        self.invocation.output.text(&format!("{text}\n"))
    }

    /// Begins a chapter.
    pub fn title(&mut self, text: &str) -> Result<(), Failure> {
        self.titles += 1;
        let title = self
            .invocation
            .output
            .view()
            .paint
            .strong(&format!("{}. {text}", self.titles));
        self.say(&format!("\n{title}"))
    }

    /// Prints what the user or the agent does.
    pub fn act(&self, text: &str) -> Result<(), Failure> {
        self.say(&format!("   {text}"))
    }

    /// Prints what was compared.
    pub fn checked(&self, what: &str, files: usize) -> Result<(), Failure> {
        let sign = self.invocation.output.view().paint.good("✓");
        self.act(&format!(
            "{sign} {what} ({} compared).",
            count(files as u64, "path")
        ))
    }

    /// Prints how often the hook was called.
    pub fn calls(&self) -> Result<(), Failure> {
        let times = count(self.calls, "time");
        self.act(&format!(
            "It was called {times}, and said nothing: an agent is never disturbed."
        ))
    }

    /// Lists the files of the workspace.
    pub fn list(&self) -> Result<(), Failure> {
        for (name, (_, bytes)) in self.files()? {
            self.act(&if bytes.is_empty() {
                format!("{name}/")
            } else {
                name
            })?;
        }
        Ok(())
    }

    /// Writes a file of the workspace.
    pub fn write(&self, name: &str, text: &str) -> Result<(), Failure> {
        let path = self.workspace().join(name);
        let parent = path.parent().expect("it is below the workspace");
        fs::create_dir_all(parent).context(|| format!("cannot create `{}`", parent.display()))?;
        Ok(fs::write(&path, text).context(|| format!("cannot write `{}`", path.display()))?)
    }

    /// Reads all of the workspace.
    pub fn files(&self) -> Result<StageFiles, Failure> {
        let mut files = StageFiles::new();
        read(&self.workspace(), Path::new(""), &mut files)?;
        Ok(files)
    }

    /// Sends an event to the hook as an agent does.
    pub fn event(&mut self, mut event: Value) -> Result<(), Failure> {
        let fields = event.as_object_mut().expect("an event is an object");
        fields.insert("session_id".to_owned(), json!("demo"));
        fields.insert("cwd".to_owned(), json!(self.workspace()));
        self.calls += 1;
        let output = self.run(&["event", "--strict"], event.to_string().as_bytes())?;
        if output.status.success() && output.stdout.is_empty() {
            return Ok(());
        }
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        let causes: Vec<&str> = said
            .lines()
            .filter_map(|line| Some(line.split_once(": ")?.1))
            .collect();
        Err(Error::failed("the hook failed in the demo")
            .because(safe(&causes.join(": ")).into_owned())
            .into())
    }

    /// Runs a shell command between the events of a tool.
    pub fn shell(&mut self, id: &str, command: &str) -> Result<(), Failure> {
        self.act(&format!(
            "The agent runs: {}",
            self.invocation.output.view().paint.id(command)
        ))?;
        self.event(json!({"event": "tool_start", "tool_name": "Bash", "tool_use_id": id}))?;
        let status = programs::named("/bin/sh")
            .args(["-c", command])
            .current_dir(self.workspace())
            .status()
            .context(|| "cannot run a shell")?;
        if !status.success() {
            return Err(
                Error::failed(format!("a shell command of the demo failed: `{command}`")).into(),
            );
        }
        self.event(json!({"event": "tool_finish", "tool_name": "Bash", "tool_use_id": id}))
    }

    /// Runs a command as the user does, and shows what it prints.
    pub fn command(&self, arguments: &[&str]) -> Result<(), Failure> {
        let line = format!("$ ckpt-hook {}", arguments.join(" "));
        self.act(&self.invocation.output.view().paint.id(&line))?;
        let output = self.run(arguments, b"")?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned()
            + &String::from_utf8_lossy(&output.stderr);
        for line in text.lines() {
            self.say(format!("   {line}").trim_end())?;
        }
        if output.status.success() {
            return Ok(());
        }
        Err(Error::failed(format!(
            "`ckpt-hook {}` failed in the demo",
            arguments.join(" ")
        ))
        .into())
    }

    /// Runs this program with no variable of the user's environment except `PATH`.
    fn run(&self, arguments: &[&str], stdin: &[u8]) -> Result<Output, Failure> {
        let color = if self.invocation.output.view().paint.is_on() {
            "always"
        } else {
            "never"
        };
        let mut child = Command::new(&self.binary)
            .args(["--color", color])
            .args(arguments)
            .env_clear()
            .env("HOME", self.scratch.path().join("home"))
            .env("CKPT_HOOK_HOME", self.scratch.path().join("store"))
            .current_dir(self.workspace())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .context(|| "cannot start this program")?;
        let mut pipe = child.stdin.take().expect("it is piped");
        pipe.write_all(stdin)
            .context(|| "cannot write to this program")?;
        drop(pipe);
        Ok(child
            .wait_with_output()
            .context(|| "cannot wait for this program")?)
    }
}

fn read(root: &Path, below: &Path, files: &mut StageFiles) -> ckpt_store::Result<()> {
    let directory = root.join(below);
    let cannot = || format!("cannot read `{}`", directory.display());
    for entry in fs::read_dir(&directory).context(cannot)? {
        let entry = entry.context(cannot)?;
        let path = below.join(entry.file_name());
        let metadata = entry.metadata().context(cannot)?;
        let bytes = if metadata.is_dir() {
            Vec::new()
        } else {
            fs::read(entry.path()).context(cannot)?
        };
        files.insert(
            path.to_string_lossy().into_owned(),
            (metadata.permissions().mode(), bytes),
        );
        if metadata.is_dir() {
            read(root, &path, files)?;
        }
    }
    Ok(())
}
