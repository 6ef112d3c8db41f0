//! `push` and `fetch`: the history of a workspace at a repository that the user names.

mod git;
mod seal;

use std::path::Path;

use ckpt_output::exchange;
use ckpt_process::failure::{DONE, Failure};
use ckpt_process::surroundings::variable;
use ckpt_schema::report::{FetchReport, PushReport, VERSION};
use ckpt_store::exchange::{Outgoing, Remote};
use ckpt_store::model::shell::quoted;
use ckpt_store::sessions::{Diagnostic, DiagnosticLevel};
use ckpt_store::{Error, Result as Outcome, Store};
use git::{Transport, is_name, ref_of};
use seal::Identities;

use super::{ask, config};
use crate::cli::arguments::{FetchArguments, PushArguments};
use ckpt_command::invocation::Invocation;

/// Sends what is new to a remote, and sets whether that goes on by itself.
pub fn push(invocation: &Invocation, arguments: &PushArguments) -> Result<u8, Failure> {
    if arguments.no_auto {
        return push_no_more(invocation);
    }
    let sent = match send(invocation, arguments) {
        // As the process in the background is called, which has no terminal.
        Err(failure) if invocation.common.quiet => {
            note(invocation, &failure)?;
            return Err(failure);
        }
        sent => sent?,
    };
    let Some(outgoing) = sent else {
        return Ok(DONE);
    };
    let mut said = "";
    if arguments.auto && !arguments.dry_run {
        let root = invocation.open()?.root(&invocation.directory()?)?;
        config::set_in(invocation, &root, "auto_push", true)?;
        said = "From now on, what is new is pushed after each turn; `ckpt-hook push --no-auto` ends that.\n";
    }
    show(invocation, &outgoing, arguments.dry_run, said)
}

/// Ends that what is new is pushed by itself. Sends nothing, and needs no remote.
fn push_no_more(invocation: &Invocation) -> Result<u8, Failure> {
    let directory = invocation.directory()?;
    let mut store = invocation.open()?;
    let root = store.root(&directory)?;
    config::set_in(invocation, &root, "auto_push", false)?;
    let remote = store.remotes(&directory)?.into_iter().next();
    let (remote, name) = remote.map(|it| (it.shown(), it.name)).unwrap_or_default();
    let report = PushReport {
        version: VERSION,
        workspace: root.to_string_lossy().into_owned(),
        remote,
        name,
        machine: store.machine(&host())?,
        ..PushReport::default()
    };
    let output = &invocation.output;
    output.report_done(&report, Some("the setting was changed"), |_| {
        "Nothing was sent, and nothing is pushed by itself here from now on.\n".to_owned()
    })?;
    Ok(DONE)
}

/// Notes for `status` and `doctor` that a push in the background failed.
fn note(invocation: &Invocation, failure: &Failure) -> Result<(), Failure> {
    let directory = invocation.directory()?;
    let workspace = directory.to_string_lossy();
    let Failure::Store(error) = failure else {
        return Ok(());
    };
    let detail = error.with_causes();
    invocation.open()?.diagnose(&Diagnostic {
        level: DiagnosticLevel::Warning,
        workspace: Some(&workspace),
        message: "what is new could not be pushed: it goes with the next push",
        detail: Some(&detail),
        ..Diagnostic::default()
    })?;
    Ok(())
}

/// Fails where a push would: for an address, a name or keys that make no sense.
pub fn check(store: &Store, directory: &Path, arguments: &PushArguments) -> Result<(), Failure> {
    let given = (arguments.remote.as_deref(), arguments.name.as_deref());
    remote(store, directory, given)?;
    seal::keys(&arguments.encrypt)?;
    Ok(())
}

/// Sends what is new to a remote. Returns it, or `None` if the user does not want that.
pub fn send(
    invocation: &Invocation,
    arguments: &PushArguments,
) -> Result<Option<Outgoing>, Failure> {
    let directory = invocation.directory()?;
    let mut store = invocation.open_to_record()?;
    let given = (arguments.remote.as_deref(), arguments.name.as_deref());
    let (mut remote, mut is_named) = remote(&store, &directory, given)?;
    let keys = seal::keys(&arguments.encrypt)?;
    let has_new_keys = keys.is_some() && keys != remote.keys;
    if has_new_keys {
        (remote.keys, is_named) = (keys, false);
    }
    let machine = store.machine(&host())?;
    let transport = Transport::to(&remote)?;
    let there = transport.list(&remote.name)?;
    let there = there.into_iter().find(|(name, _)| *name == machine);
    let there = there.map(|(_, commit)| commit);
    let known = match known_end(&transport, &remote, there.as_deref()) {
        Err(error) => {
            return Err(name_taken(&store, &directory, &remote)?
                .unwrap_or(error)
                .into());
        }
        known => known?,
    };
    let former = FormerName::of(&store, &directory, &remote, (&transport, &machine))?;
    let scratch = transport.scratch();
    let is_anew = known.is_none() || has_new_keys || former.is_some();
    let mut outgoing = store.outgoing(&directory, &remote, is_anew, &scratch)?;
    outgoing.report.machine.clone_from(&machine);
    let removed = former.as_ref().filter(|former| former.is_own);
    outgoing.report.former = removed.map(|former| former.name.clone());
    if arguments.dry_run || outgoing.is_empty() {
        return Ok(Some(outgoing));
    }
    if !is_named {
        let list = exchange::push(&outgoing.report, true, invocation.output.view());
        if !arguments.yes && !ask::agrees(invocation, &format!("{list}Push it? [y/n]"), "sent")? {
            return Ok(None);
        }
        // Until what was pushed by the former name is removed, that is the name.
        if former.is_none() {
            store.name_remote(&directory, &remote)?;
        }
    }
    let after = known.filter(|_| !outgoing.report.anew);
    let bundle = outgoing.bundle()?;
    let (end, text) = transport.commit(&bundle, remote.keys.as_deref(), after.as_deref())?;
    store.begin_push(&directory, &remote.address, &text)?;
    let instead_of = there.as_deref().filter(|_| after.is_none());
    transport.push(&remote.name, &machine, &end, instead_of)?;
    if let Some(former) = former {
        match former.is_own {
            true => former.remove(&remote, (&transport, &machine))?,
            false => {
                let (name, shown) = (ref_of(&former.name, &machine), quoted(&remote.shown()));
                invocation.output.tell(&format!(
                    "ckpt-hook: `{name}` stays there: this store has not pushed it; `git push {shown} :{name}` removes it\n"
                ));
            }
        }
        store.name_remote(&directory, &remote)?;
    }
    store.end_push(&directory, &outgoing, &text)?;
    outgoing.report.pushed = true;
    Ok(Some(outgoing))
}

/// What was pushed by another name, and would stay there.
struct FormerName {
    name: String,
    commit: String,
    is_own: bool,
}

impl FormerName {
    /// Returns the history of the workspace by another name than it has now.
    fn of(
        store: &Store,
        directory: &Path,
        remote: &Remote,
        (transport, machine): (&Transport, &str),
    ) -> Outcome<Option<Self>> {
        let mut known = store.remotes(directory)?.into_iter();
        let is_former = |it: &Remote| it.address == remote.address && it.name != remote.name;
        let Some(known) = known.find(is_former) else {
            return Ok(None);
        };
        let mut there = transport.list(&known.name)?.into_iter();
        let there = there.find(|(name, _)| name == machine);
        let commit = there.map(|(_, commit)| commit);
        Ok(commit.map(|commit| Self {
            // What a copy of this store has pushed is not this one's to remove.
            is_own: known_end(transport, &known, Some(&commit)).is_ok(),
            name: known.name,
            commit,
        }))
    }

    fn remove(&self, remote: &Remote, (transport, machine): (&Transport, &str)) -> Outcome<()> {
        let removed = transport.remove(&self.name, machine, &self.commit);
        removed.map_err(|error| {
            let name = ref_of(&self.name, machine);
            let pushed = format!(
                "it was pushed as `{}`, but `{name}` still has what was pushed before",
                remote.name
            );
            let shown = remote.shown();
            error.after(Some(pushed)).hint(format!(
                "give the same command again, or remove it: `git push {} :{name}`",
                quoted(&shown)
            ))
        })
    }
}

fn show(
    invocation: &Invocation,
    outgoing: &Outgoing,
    is_dry_run: bool,
    said: &str,
) -> Result<u8, Failure> {
    let report = &outgoing.report;
    let done = report.pushed.then_some("it was pushed");
    let output = &invocation.output;
    output.report_done(report, done, |view| {
        exchange::push(report, is_dry_run, view) + said
    })?;
    Ok(DONE)
}

/// Returns the end that this store has pushed, if it is what is there.
fn known_end(
    transport: &Transport,
    remote: &Remote,
    there: Option<&str>,
) -> Outcome<Option<String>> {
    let Some(there) = there else {
        return Ok(None);
    };
    for end in remote.tip.iter().chain(&remote.pushing) {
        if transport.know(end)? == there {
            return Ok(Some(there.to_owned()));
        }
    }
    let what = format!(
        "what `{}` has of this machine is not what this store has pushed",
        remote.shown()
    );
    Err(Error::unavailable(what)
        .hint("a copy of this store may have pushed it, or one from a backup: give another `--name`, or remove that ref there"))
}

/// Returns the error for a name that another workspace of this machine has at a remote.
fn name_taken(store: &Store, directory: &Path, remote: &Remote) -> Outcome<Option<Error>> {
    let other = store.called_so(directory, remote)?;
    Ok(other.map(|other| {
        let what = format!(
            "another workspace of this machine, `{}`, is called `{}` at `{}`",
            other.display(),
            remote.name,
            remote.shown()
        );
        Error::unavailable(what).hint("give this one another name there, with `--name`")
    }))
}

/// Gets what other machines have pushed.
pub fn fetch(invocation: &Invocation, arguments: &FetchArguments) -> Result<u8, Failure> {
    let directory = invocation.directory()?;
    let mut store = invocation.open_to_record()?;
    let given = (arguments.remote.as_deref(), arguments.name.as_deref());
    let (remote, _) = remote(&store, &directory, given)?;
    let own = store.machine(&host())?;
    let transport = Transport::to(&remote)?;
    let known = store.fetched(&directory, &remote.address)?;
    let identities = Identities::read(&arguments.identity)?;
    let (mut came, mut failed): (Vec<(String, u64)>, _) = (Vec::new(), None);
    for (machine, commit) in transport.list(&remote.name)? {
        let end = known.iter().find(|(name, _)| *name == machine);
        let end = end
            .map(|(_, end)| end.as_str())
            .filter(|end| !end.is_empty());
        let is_known = end.is_some_and(|end| transport.know(end).is_ok_and(|id| id == commit));
        if machine == own && store.called_so(&directory, &remote)?.is_none() {
            // A copy of this store may have pushed under its name.
            let end = known_end(&transport, &remote, Some(&commit));
            failed = failed.or(end.err().map(|error| (machine.clone(), error)));
        }
        if machine == own || is_known {
            continue;
        }
        let mut pushes = 0;
        let got = transport
            .fetch(&remote.name, &machine, end)
            .and_then(|(commits, end)| {
                let mut bundles = commits.iter().filter_map(|commit| {
                    let bundle = transport.bundle(commit, &identities).transpose()?;
                    pushes += 1;
                    Some(bundle)
                });
                store.take_in(&directory, &remote.address, &machine, &mut bundles, &end)
            });
        // What one machine has pushed does not keep that of the others away.
        match got {
            Ok(()) => came.push((machine, pushes)),
            Err(error) => failed = failed.or(Some((machine, error))),
        }
    }
    if let Some((machine, error)) = failed {
        let is_alone = came.is_empty();
        let left = || format!("what `{machine}` has pushed was left out");
        return Err(error.after((!is_alone).then(left)).into());
    }
    let pushes = |machine: &str| {
        let found = came.iter().find(|(name, _)| name == machine);
        found.map_or(0, |(_, pushes)| *pushes)
    };
    let report = FetchReport {
        version: VERSION,
        workspace: store.project(&directory)?.0.to_string_lossy().into_owned(),
        machines: store.machines(&directory, &remote.address, &pushes)?,
        remote: remote.shown(),
        name: remote.name,
    };
    let done = Some("it was fetched");
    let output = &invocation.output;
    output.report_done(&report, done, |view| exchange::fetch(&report, view))?;
    Ok(DONE)
}

/// Returns the remote that is meant, and whether the user has named it for this workspace before.
fn remote(
    store: &Store,
    directory: &Path,
    (address, name): (Option<&str>, Option<&str>),
) -> Result<(Remote, bool), Failure> {
    let known = store.remotes(directory)?;
    let (root, own) = store.project(directory)?;
    let Some(address) = address else {
        let first = known.into_iter().next();
        let first = first.ok_or_else(|| {
            Failure::usage(
                "no remote was named for this workspace",
                "give a repository, as git takes it: `ckpt-hook push REMOTE` or `ckpt-hook fetch REMOTE`",
            )
        })?;
        return Ok((first, true));
    };
    if own.iter().any(|own| own == address) {
        return Err(Error::failed(format!(
            "`{address}` is a remote of the project, and who can read it could read your prompts"
        ))
        .hint(format!(
            "if that is what you want, give its address, which `git remote get-url {}` prints",
            quoted(address)
        ))
        .into());
    }
    let address = absolute(address, directory)?;
    // Git runs the hooks of what it pushes to, and a clone may bring what looks like a repository.
    if Path::new(&address).starts_with(&root) {
        return Err(Failure::usage(
            "that is in the workspace itself",
            "give a repository elsewhere",
        ));
    }
    let of_root = root
        .file_name()
        .map(|name| name.to_string_lossy().into_owned());
    let name = name.map(str::to_owned);
    // By what is shown of it as well: that is in every hint.
    let at = known.iter().position(|remote| remote.address == address);
    let at = at.or_else(|| known.iter().position(|remote| remote.shown() == address));
    let mut known = at.and_then(|at| known.into_iter().nth(at));
    let is_it = |known: &mut Remote| name.as_ref().is_none_or(|name| *name == known.name);
    if let Some(known) = known.take_if(is_it) {
        return Ok((known, true));
    }
    let name = name.or(of_root).unwrap_or_default();
    if !is_name(&name) {
        return Err(Failure::usage(
            "the name of the workspace has characters that git does not take in a ref",
            "give another with `--name`: letters, digits, `-`, `_` and `.`",
        ));
    }
    let new = known.unwrap_or(Remote {
        address,
        name: String::new(),
        pushing: None,
        tip: None,
        keys: None,
    });
    Ok((Remote { name, ..new }, false))
}

/// Returns an address as git takes it from anywhere: a path of the file system is made absolute.
fn absolute(address: &str, directory: &Path) -> Result<String, Failure> {
    if address.is_empty() || address.starts_with('-') || address.contains("::") {
        return Err(Failure::usage(
            "that is not the address of a repository",
            "give a directory, or an address such as `me@example.org:history.git`",
        ));
    }
    // Git takes what follows the host for the path, and decodes it.
    let path = match address.strip_prefix("file://") {
        Some(url) if url.contains('%') => {
            return Err(Failure::usage(
                "that address of a directory has encoded characters",
                "give the directory by its path",
            ));
        }
        Some(url) => Path::new(url.trim_start_matches(|it| it != '/')).to_owned(),
        None => directory.join(address),
    };
    match path.canonicalize() {
        Ok(path) => path.into_os_string().into_string().map_err(|_| {
            Failure::usage(
                "the path of the repository is not UTF-8",
                "rename its directory",
            )
        }),
        Err(_) => Ok(address.to_owned()),
    }
}

fn host() -> String {
    if cfg!(debug_assertions)
        && let Some(host) = variable("CKPT_HOOK_TEST_HOST")
    {
        return host.to_string_lossy().into_owned();
    }
    let names = rustix::system::uname();
    names.nodename().to_string_lossy().into_owned()
}
