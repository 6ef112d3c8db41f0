//! The agents, where the hook is installed, and what `install` and `uninstall` did to settings.

use std::borrow::Cow;
use std::collections::BTreeSet;

use ckpt_schema::report::{
    AgentReport, AgentSettings, AgentsReport, InstallReport, SettingsChange, SkippedAgent,
};

use ckpt_store::model::number::count;

use super::View;
use super::paint::Paint;
use super::table::Table;
use super::text::safe;

/// Returns a row per agent, and what keeps an installed hook from working.
pub fn list(report: &AgentsReport, view: &View) -> String {
    let paint = view.paint;
    let mut table = Table::new(&[]).dropping(&[4, 1, 3]);
    let heads = ["agent", "on this machine", "user", "project", "proven on"];
    table.row(heads.iter().map(|name| paint.faint(name)).collect());
    for agent in &report.agents {
        table.row(row(agent, paint));
    }
    let mut text = table.render(view);
    for agent in &report.agents {
        let of_settings = agent.settings.iter().flat_map(|settings| &settings.notes);
        let of_version = agent.notes.iter().filter(|_| is_there(agent));
        for note in of_version.chain(of_settings) {
            text.push_str(&format!(
                "{} {}: {}\n",
                paint.warning("note:"),
                safe(&agent.agent),
                safe(note)
            ));
        }
    }
    text
}

/// Returns whether any part of the hook is there.
fn is_there(agent: &AgentReport) -> bool {
    let mut settings = agent.settings.iter();
    agent.package.is_some()
        || agent.managed.is_some()
        || settings.any(|settings| settings.state != "absent")
}

fn row(agent: &AgentReport, paint: Paint) -> Vec<String> {
    let found = match agent.found {
        Some(true) => paint.good(&safe(agent.version.as_deref().unwrap_or("yes"))),
        Some(false) => paint.faint("no"),
        None => paint.faint("-"),
    };
    let proven_on = match agent.proven_on.as_slice() {
        [] => paint.faint("its documentation only"),
        versions => safe(&versions.join(", ")).into_owned(),
    };
    let settings = |scope: &str| {
        let mut all = agent.settings.iter();
        all.find(|settings| settings.scope == scope)
    };
    let name = paint.strong(&safe(&agent.agent));
    let user = match (&agent.package, settings("user")) {
        (None, Some(AgentSettings { state, .. }))
            if state == "absent" && agent.managed.is_some() =>
        {
            paint.good("administrator")
        }
        (Some(_), Some(AgentSettings { state, .. })) if state == "absent" && !agent.works => {
            paint.bad("package, blocked")
        }
        (Some(_), Some(AgentSettings { state, .. })) if state == "absent" => paint.good("package"),
        (Some(_), settings @ Some(_)) => {
            format!("{}, {}", state(settings, paint), paint.warning("package"))
        }
        (_, settings) => state(settings, paint),
    };
    vec![
        name,
        found,
        user,
        state(settings("project"), paint),
        proven_on,
    ]
}

fn state(settings: Option<&AgentSettings>, paint: Paint) -> String {
    match settings.map(|settings| settings.state.as_str()) {
        None => paint.faint("by hand"),
        Some("absent") => paint.faint("-"),
        Some("installed") => paint.good("installed"),
        Some(state @ ("moved" | "broken" | "blocked")) => paint.bad(state),
        Some(state) => paint.warning(&safe(state)),
    }
}

/// Returns a line for each agent and the next step; for each settings file, with its diff, if nothing was changed yet or
/// details are asked for. If no agent was found, it also says what to do then.
pub fn changes(
    report: &InstallReport,
    is_installed: bool,
    found_none: bool,
    view: &View,
) -> String {
    let is_whole = view.verbose || report.dry_run;
    let of_one = |one: &SettingsChange, other: &SettingsChange| {
        !is_whole && (&one.agent, &one.action) == (&other.agent, &other.action)
    };
    let groups = report.changes.chunk_by(of_one);
    let changes = groups.map(|group| settings(group, view));
    let (named, together): (Vec<&SkippedAgent>, Vec<&SkippedAgent>) =
        report.skipped.iter().partition(|agent| {
            let has_way = agent.hint.is_some();
            view.verbose || agent.failed || has_way || report.skipped.len() == 1
        });
    let names: Vec<Cow<'_, str>> = together.iter().map(|agent| safe(&agent.agent)).collect();
    let names = (!names.is_empty()).then(|| {
        let what = view.paint.faint("left out");
        format!("{what} (-v says why): {}\n", names.join(", "))
    });
    let skipped = named.into_iter().map(|agent| skipped(agent, view.paint));
    let skipped = skipped.chain(names);
    let is_new = |change: &SettingsChange| {
        is_installed && !change.dry_run && ["created", "updated"].contains(&change.action.as_str())
    };
    let new = report.changes.iter().filter(|change| is_new(change));
    let new: BTreeSet<&str> = new.map(|change| change.agent.as_str()).collect();
    let next = (!new.is_empty()).then(|| {
        let log = view.paint.command("ckpt-hook log");
        let restart = match new.len() {
            1 => "restart the agent, and send it a message",
            _ => "restart the agents, and send one of them a message",
        };
        format!("Next: {restart}. Then {log} lists it.\n")
    });
    let hint = format!(
        "{} no agent was found that needs the hook: name one to install it in advance\n",
        view.paint.id("hint:")
    );
    let short_name = report.short_name.iter().map(|link| {
        let link = safe(link);
        match (is_installed, report.dry_run) {
            (false, false) => format!("removed {link}\n"),
            (false, true) => format!("would remove {link}\n"),
            (true, false) => format!("`ck` is short for `ckpt-hook` from now on: {link}\n"),
            (true, true) => format!("`ck` would become short for `ckpt-hook`: {link}\n"),
        }
    });
    changes
        .chain(skipped)
        .chain(found_none.then_some(hint))
        .chain(notes(report, view.paint))
        .chain(short_name)
        .chain(next)
        .collect()
}

/// Returns the notes on all agents, each once, below their lines.
fn notes(report: &InstallReport, paint: Paint) -> Vec<String> {
    let mut told = BTreeSet::new();
    let notes = report.changes.iter().flat_map(|change| &change.notes);
    let new = notes.filter(|note| told.insert(*note));
    new.map(|note| format!("{} {}\n", paint.warning("note:"), safe(note)))
        .collect()
}

fn skipped(agent: &SkippedAgent, paint: Paint) -> String {
    let what = if agent.failed {
        paint.bad("failed")
    } else {
        paint.faint("left out")
    };
    let mut text = format!(
        "{}: {what}: {}\n",
        paint.strong(&safe(&agent.agent)),
        safe(&agent.reason)
    );
    if let Some(hint) = &agent.hint {
        text.push_str(&format!("  {} {}\n", paint.id("hint:"), safe(hint)));
    }
    text
}

/// Returns the line on one agent's files, with the diff of each change that is only planned.
fn settings(group: &[SettingsChange], view: &View) -> String {
    let paint = view.paint;
    let Some((change, others)) = group.split_first() else {
        return String::new();
    };
    let action = match (change.action.as_str(), change.dry_run) {
        ("created", true) => "would create",
        ("updated", true) => "would update",
        ("removed", true) => "would remove",
        (action, _) => action,
    };
    let more = match others.len() {
        0 => String::new(),
        more => format!(", and {}", count(more as u64, "other file")),
    };
    let mut text = format!(
        "{}: {} {}{more}\n",
        paint.strong(&safe(&change.agent)),
        safe(action),
        safe(&change.file)
    );
    let diffs = group.iter().filter_map(|change| change.diff.as_deref());
    for line in diffs
        .filter(|_| change.dry_run || view.verbose)
        .flat_map(str::lines)
    {
        text.push_str(&format!("  {}\n", painted(line, paint)));
    }
    text
}

fn painted(line: &str, paint: Paint) -> String {
    let shown = safe(line);
    match line.as_bytes().first() {
        Some(b'+') => paint.good(&shown),
        Some(b'-') => paint.bad(&shown),
        _ => shown.into_owned(),
    }
}
