//! Bundles as commits, moved by the user's own git.
//!
//! ```text
//! refs/ckpt-hook/<workspace>/<machine> ──► end ──► bundle ──► end ──► bundle
//!                                          empty   rows, pack.*
//! ```
//!
//! Each push adds a commit with its bundle, and one without files: what was pushed or fetched last is known by such an
//! end alone, which is a line of text, and stands in for all that is behind it. Encrypted, a bundle is `age.*` alone.
//!
//! Git works in an empty repository of our own, made for one call: no configuration but the user's is read.

use std::io::{Read, Write};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

use ckpt_output::text::safe;
use ckpt_process::failure::Failure;
use ckpt_process::surroundings::{now, variable};
use ckpt_process::{PrivateFolder, programs, signals};
use ckpt_store::error::Context;
use ckpt_store::exchange::{Bundle, Remote};
use ckpt_store::model::address;
use ckpt_store::model::number::count;
use ckpt_store::{Error, Result as Outcome};

use super::seal::{self, Identities};

/// Where all histories are in a repository.
const REFS: &str = "refs/ckpt-hook";
/// Many servers refuse blobs of more than 100 MB.
const LARGEST_PART: usize = 32 << 20;
/// What the names of the parts of a pack, and of an encrypted bundle, begin with.
const PACK: &str = "pack.";
const SEALED: &str = "age.";
/// How long nothing may come from a server, which may run hooks or wait for a passphrase.
const SILENCE_TIMEOUT: Duration = Duration::from_secs(180);
/// What git's lines on its progress have in them.
const PROGRESS: [&str; 4] = ["objects: ", "deltas: ", "Total ", "Delta compression"];
/// What the user may have set for git's connections.
const VARIABLES: [&str; 5] = [
    "GIT_SSH",
    "GIT_SSH_COMMAND",
    "GIT_SSH_VARIANT",
    "GIT_ASKPASS",
    "GIT_TERMINAL_PROMPT",
];

/// The user's git, and a repository elsewhere.
pub struct Transport {
    folder: PrivateFolder,
    address: String,
    shown: String,
}

impl Transport {
    /// Makes an empty repository to work in.
    pub fn to(remote: &Remote) -> Result<Self, Failure> {
        let what = || "cannot create a temporary directory";
        let folder = PrivateFolder::new().context(what)?;
        folder.make(Path::new("pack")).context(what)?;
        let transport = Self {
            folder,
            address: remote.address.clone(),
            shown: remote.shown(),
        };
        transport.run(
            &[
                "init",
                "--quiet",
                "--bare",
                "--template=",
                "--object-format=sha1",
            ],
            &[],
        )?;
        Ok(transport)
    }

    /// Returns an empty folder for a bundle's objects.
    pub fn scratch(&self) -> PathBuf {
        self.folder.path().join("pack")
    }

    fn git(&self) -> Command {
        let mut git = programs::git();
        for name in VARIABLES {
            if let Some(value) = variable(name) {
                git.env(name, value);
            }
        }
        git.env("GIT_DIR", self.folder.path().join("git"));
        git.env("GIT_ALLOW_PROTOCOL", "file:git:http:https:ssh");
        git.env("LC_ALL", "C");
        git.args(["-c", "core.hooksPath=/dev/null", "-c", "gc.auto=0"]);
        git.args([
            "-c",
            "maintenance.auto=false",
            "-c",
            "fetch.fsckObjects=true",
        ]);
        git
    }

    /// Runs git with something to read, and returns what it prints.
    fn run(&self, arguments: &[&str], input: &[u8]) -> Outcome<Vec<u8>> {
        let what = || "cannot start git";
        let mut child = self
            .git()
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .context(what)?;
        // It ends with its input, and prints little before that. One that ends before it has read all of it says why.
        if let Some(mut stdin) = child.stdin.take() {
            let _ = stdin.write_all(input);
        }
        let done = child.wait_with_output().context(what)?;
        match done.status.success() {
            true => Ok(done.stdout),
            false => Err(self.failed(arguments, &done.stderr)),
        }
    }

    /// Runs git towards the repository, and returns what it prints. It shows its progress, so that a server from which
    /// nothing comes any more is known.
    fn reach(&self, arguments: &[&str]) -> Outcome<Vec<u8>> {
        let what = || "cannot start git";
        let mut git = self.git();
        git.args(arguments).stdin(Stdio::null());
        git.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = git.spawn().context(what)?;
        let attended = self.folder.attend(&child);
        let (sender, said) = mpsc::channel();
        pass_on(child.stdout.take(), Stream::Out, sender.clone());
        pass_on(child.stderr.take(), Stream::Err, sender);
        let (mut out, mut err) = (Vec::new(), Vec::new());
        let mut is_stalled = false;
        loop {
            match said.recv_timeout(silence_timeout()) {
                Ok((Stream::Out, bytes)) => out.extend(bytes),
                Ok((Stream::Err, bytes)) => err.extend(bytes),
                Err(RecvTimeoutError::Disconnected) => break,
                Err(RecvTimeoutError::Timeout) => {
                    // What it started, such as a connection that is kept, may hold its streams.
                    is_stalled = matches!(child.try_wait(), Ok(None));
                    signals::end(&child);
                    break;
                }
            }
        }
        signals::wait_for_end(&child);
        drop(attended);
        let status = child.wait().context(what)?;
        let again =
            "give the same command again: nothing is lost, and nothing is sent or shown twice";
        let shown = safe(&self.shown);
        match status.signal() {
            _ if status.success() => Ok(out),
            _ if is_stalled => Err(Error::failed(format!(
                "nothing has come from `{shown}` for {}, so git was ended",
                count(silence_timeout().as_secs(), "second")
            ))
            .hint(again)),
            Some(_) => Err(
                Error::failed(format!("git was interrupted before `{shown}` was done")).hint(again),
            ),
            None => Err(self.failed(arguments, &err)),
        }
    }

    fn failed(&self, arguments: &[&str], said: &[u8]) -> Error {
        let said = String::from_utf8_lossy(said);
        let lines = said.lines().filter_map(|line| line.rsplit('\r').next());
        let lines = lines.map(str::trim).filter(|line| {
            let is_progress = |word: &&str| line.contains(*word);
            !line.is_empty() && !PROGRESS.iter().any(is_progress)
        });
        let said: Vec<&str> = lines.collect();
        Error::failed(format!(
            "git cannot {} `{}`: {}",
            arguments.first().unwrap_or(&"reach"),
            safe(&self.shown),
            // Git may have rewritten the address, as `insteadOf` says.
            safe(&address::hidden_in(
                &said.join("; ").replace(&self.address, &self.shown)
            ))
        ))
    }

    fn text(&self, arguments: &[&str], input: &[u8]) -> Outcome<String> {
        let printed = self.run(arguments, input)?;
        Ok(String::from_utf8_lossy(&printed).trim_end().to_owned())
    }

    /// Returns the machines that pushed a workspace, and the commit of each.
    pub fn list(&self, workspace: &str) -> Outcome<Vec<(String, String)>> {
        let refs = format!("{REFS}/{workspace}/*");
        let listed = self.reach(&["ls-remote", "--", &self.address, &refs])?;
        let listed = String::from_utf8_lossy(&listed);
        let prefix = format!("{REFS}/{workspace}/");
        let line = |line: &str| {
            let (commit, name) = line.split_once('\t')?;
            let machine = name.strip_prefix(&prefix)?;
            is_name(machine).then(|| (machine.to_owned(), commit.to_owned()))
        };
        Ok(listed.lines().filter_map(line).collect())
    }

    /// Stores an end, and makes it stand in for what is behind it. Returns its id.
    pub fn know(&self, end: &str) -> Outcome<String> {
        self.run(&["hash-object", "-w", "-t", "tree", "--stdin"], &[])?;
        let write = ["hash-object", "-w", "-t", "commit", "--stdin"];
        let commit = self.text(&write, end.as_bytes())?;
        let path = self.folder.path().join("git/shallow");
        let mut shallow = std::fs::read_to_string(&path).unwrap_or_default();
        shallow.push_str(&format!("{commit}\n"));
        std::fs::write(&path, shallow).context(|| "cannot write a temporary file")?;
        Ok(commit)
    }

    /// Makes the commits of a bundle, after another end. Returns the new end: its id, and as git stores it.
    pub fn commit(
        &self,
        bundle: &Bundle,
        keys: Option<&str>,
        after: Option<&str>,
    ) -> Outcome<(String, String)> {
        let store = ["hash-object", "-w", "--stdin"];
        let sealed = keys.map(|keys| seal::seal(bundle, keys)).transpose()?;
        let (name, bytes) = match &sealed {
            Some(sealed) => (SEALED, sealed),
            None => (PACK, &bundle.pack),
        };
        let mut entries = String::new();
        for (number, part) in bytes.chunks(LARGEST_PART).enumerate() {
            let blob = self.text(&store, part)?;
            entries.push_str(&format!("100644 blob {blob}\t{name}{number:05}\n"));
        }
        if sealed.is_none() {
            let rows = self.text(&store, &bundle.rows)?;
            entries.push_str(&format!("100644 blob {rows}\trows\n"));
        }
        let tree = self.text(&["mktree"], entries.as_bytes())?;
        let (bundle, _) = self.write_commit(&tree, after)?;
        let empty = self.text(&["mktree"], &[])?;
        self.write_commit(&empty, Some(&bundle))
    }

    fn write_commit(&self, tree: &str, parent: Option<&str>) -> Outcome<(String, String)> {
        let parent = parent.map_or_else(String::new, |parent| format!("parent {parent}\n"));
        let at = now().max(0) / 1000;
        let who = format!("ckpt-hook <ckpt-hook@localhost> {at} +0000");
        let text = format!("tree {tree}\n{parent}author {who}\ncommitter {who}\n\nckpt-hook\n");
        let write = ["hash-object", "-w", "-t", "commit", "--stdin"];
        Ok((self.text(&write, text.as_bytes())?, text))
    }

    /// Pushes an end. What is there is replaced only if it is `instead_of`.
    pub fn push(
        &self,
        workspace: &str,
        machine: &str,
        end: &str,
        instead_of: Option<&str>,
    ) -> Outcome<()> {
        let name = ref_of(workspace, machine);
        let refspec = format!("{end}:{name}");
        let lease = instead_of.map(|old| format!("--force-with-lease={name}:{old}"));
        let mut arguments = vec!["push", "--progress", "--no-verify"];
        arguments.extend(lease.as_deref());
        arguments.extend(["--", &self.address, &refspec]);
        self.reach(&arguments).map(drop)
    }

    /// Removes what a machine has pushed of a workspace, if it is `old`.
    pub fn remove(&self, workspace: &str, machine: &str, old: &str) -> Outcome<()> {
        let name = ref_of(workspace, machine);
        let lease = format!("--force-with-lease={name}:{old}");
        let refspec = format!(":{name}");
        let push = ["push", "--progress", "--no-verify", &lease, "--"];
        self.reach(&[&push[..], &[&self.address, &refspec]].concat())
            .map(drop)
    }

    /// Fetches what a machine has pushed after an end that is known. Returns the commits with bundles, in their order,
    /// and the new end as git stores it.
    pub fn fetch(
        &self,
        workspace: &str,
        machine: &str,
        known: Option<&str>,
    ) -> Outcome<(Vec<String>, String)> {
        let have = known.map(|end| self.know(end)).transpose()?;
        if let Some(have) = &have {
            self.run(&["update-ref", &format!("refs/have/{machine}"), have], &[])?;
        }
        let got = format!("refs/got/{machine}");
        let refspec = format!("+{REFS}/{workspace}/{machine}:{got}");
        let fetch = [
            "fetch",
            "--progress",
            "--no-tags",
            "--no-write-fetch-head",
            "--",
        ];
        self.reach(&[&fetch[..], &[&self.address, &refspec]].concat())?;
        let end = self.run(&["cat-file", "commit", &got], &[]).map_err(|_| {
            let name = ref_of(workspace, machine);
            Error::unavailable(format!("`{name}` is no history that was pushed"))
        })?;
        let mut list = vec!["rev-list", "--reverse", "--first-parent", &got];
        let without = have.map(|have| format!("^{have}"));
        let is_behind = without.as_deref().is_some_and(|without| {
            let have = without.trim_start_matches('^');
            self.run(&["merge-base", "--is-ancestor", have, &got], &[])
                .is_ok()
        });
        if is_behind {
            list.extend(without.as_deref());
        }
        let commits = self.text(&list, &[])?;
        let end = String::from_utf8_lossy(&end).into_owned();
        Ok((commits.lines().map(str::to_owned).collect(), end))
    }

    /// Reads the bundle of a commit, with the identities that may open it; `None` of an end.
    pub fn bundle(&self, commit: &str, identities: &Identities) -> Outcome<Option<Bundle>> {
        let names = self.text(&["ls-tree", "--name-only", commit], &[])?;
        let read = |name: &str| self.run(&["cat-file", "blob", &format!("{commit}:{name}")], &[]);
        let read_all = |start: &str| {
            let parts = names.lines().filter(|name| name.starts_with(start));
            parts.map(read).collect::<Outcome<Vec<_>>>()
        };
        let sealed = read_all(SEALED)?.concat();
        if !sealed.is_empty() {
            return identities.open(&sealed).map(Some);
        }
        if !names.lines().any(|name| name == "rows") {
            return Ok(None);
        }
        Ok(Some(Bundle {
            rows: read("rows")?,
            pack: read_all(PACK)?.concat(),
        }))
    }
}

#[derive(Clone, Copy)]
enum Stream {
    Out,
    Err,
}

/// Passes on what comes from a stream, until it ends.
fn pass_on(
    from: Option<impl Read + Send + 'static>,
    stream: Stream,
    to: mpsc::Sender<(Stream, Vec<u8>)>,
) {
    let Some(mut from) = from else { return };
    std::thread::spawn(move || {
        let mut buffer = [0; 8192];
        while let Ok(read @ 1..) = from.read(&mut buffer) {
            if to.send((stream, buffer[..read].to_vec())).is_err() {
                break;
            }
        }
    });
}

/// Returns how long nothing may come from a server.
fn silence_timeout() -> Duration {
    if cfg!(debug_assertions)
        && let Some(text) = variable("CKPT_HOOK_TEST_PATIENCE")
        && let Ok(milliseconds) = text.to_string_lossy().parse()
    {
        return Duration::from_millis(milliseconds);
    }
    SILENCE_TIMEOUT
}

/// Returns the ref of what a machine has pushed of a workspace.
pub fn ref_of(workspace: &str, machine: &str) -> String {
    format!("{REFS}/{workspace}/{machine}")
}

/// Returns whether text can be a part of a ref's name, and of a path.
pub fn is_name(text: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    let is_odd = text.starts_with(['.', '-']) || text.ends_with('.') || text.contains("..");
    !text.is_empty()
        && text.len() <= 100
        && text.bytes().all(is_plain)
        && !is_odd
        && !text.ends_with(".lock")
}
