//! The history of git's state since a message, with the author of each change, for the plan and the warnings. This
//! module does IO, but only reads.

use std::collections::{BTreeMap, BTreeSet};

use ckpt_schema::report::NoteCode;

use super::branches::{self, BranchGoal, BranchLog};
use super::claims::{self, UndoneMessages, Worker};
use super::plan::{GitChange, GitClaim};
use super::reflog::{Moment, RefMove};
use super::refs::{RENAMED, Refs};
use super::repository::{Repository, is_branch};
use super::{GitSide, commands, commits, short};
use crate::error::Result;
use crate::model::Milliseconds;
use crate::model::git_item::{BRANCHES, GitStateRow, TAGS, plain};
use crate::model::note::Note;
use crate::model::number::first_of;
use crate::model::request::Unclear;
use crate::revert::movement::Movement;
use crate::revert::operation::GitFate;
use crate::sessions::{self, SeenGit, StepSpan};
use crate::timeline::step_afterwards;

/// The history of git's state that a movement is about.
pub(super) struct GitPast {
    /// The states from the point on: up to the first revert, or up to now.
    pub line: Vec<SeenGit>,
    /// What changed from each to the next, newest first.
    pub changes: Vec<GitChange>,
    /// The reflogs of the branches that were written since.
    pub branches: BTreeMap<String, BranchLog>,
    /// The branches that were written since without an entry in a reflog.
    unlogged: Vec<String>,
    /// The branches that are gone since, with their last commits.
    gone: Vec<(String, Option<String>)>,
    /// Notes on what else no revert undoes.
    others: Vec<Note>,
}

impl GitSide<'_> {
    /// Gathers the history since the point of a movement. It is empty for a movement that goes all the way forward.
    pub(super) fn past(
        &self,
        repository: &Repository,
        movement: &Movement,
        base: Option<i64>,
        unclear: Unclear,
    ) -> Result<GitPast> {
        let line = self.line(movement, base)?;
        let (Some(to), Some(first)) = (&movement.to, line.first()) else {
            return Ok(GitPast::of_line(line));
        };
        let is_unrecorded = |from: Option<i64>, to: Option<i64>| {
            // If this cannot be read, the change is not called the user's either.
            sessions::was_unrecorded(self.connection, self.place.row.id, from, to).unwrap_or(true)
        };
        let since = UndoneMessages {
            session: &movement.session.id,
            message_seq: to.seq,
            unclear,
            now: self.at,
            is_unrecorded: &is_unrecorded,
        };
        let refs = Refs::since(repository, first.taken_at);
        let spans = match first.snapshot_id {
            Some(first) => sessions::step_spans(self.connection, self.place.row.id, first)?,
            None => Vec::new(),
        };
        let windows = windows(&line, &refs);
        let spans = spans
            .into_iter()
            .filter(|span| is_during((span.started_at, span.finished_at), &windows));
        let workers = self.workers(spans)?;
        let changes = claims::changes(&line, &workers, &refs.head, since);
        let is_before = |one: &str, other: &str| commits::is_before(repository, one, other);
        let claimed = |(name, log): (&String, &Vec<RefMove>)| {
            let asked: claims::MoveQueries<'_> = (&is_before, &|line| refs.is_elsewhere(line));
            let log = claims::branch_log(name, log.clone(), &workers, &changes, asked, since);
            (name.clone(), log)
        };
        let branches = refs.branches.iter().map(claimed).collect();
        let claim = |moment| claims::claim_at(&workers, moment, since);
        let unlogged = refs
            .unlogged
            .iter()
            .filter(|(_, moment)| claim(*moment).is_in_question());
        let unlogged = unlogged.map(|(name, _)| name.clone()).collect();
        let gone = gone_since(repository, &refs, &claim);
        let mut others = others(&refs, &claim);
        others.extend(self.removals(repository, movement, &refs, &gone, &claim)?);
        others.extend(renamed(repository, &refs, &claim));
        Ok(GitPast {
            line,
            changes,
            branches,
            unlogged,
            gone,
            others,
        })
    }

    /// Returns notes on tags and branches that are gone and of which no log of HEAD tells.
    fn removals(
        &self,
        repository: &Repository,
        movement: &Movement,
        refs: &Refs,
        gone: &[(String, Option<String>)],
        claim: &dyn Fn(Moment) -> GitClaim,
    ) -> Result<Vec<Note>> {
        let root = self.place.root.as_path();
        let mut named = commands::removed(self.connection, (root, repository), movement)?;
        named.retain(|name| gone.iter().all(|(gone, _)| plain(name) != gone));
        let is_asked = |moment| claim(moment).is_in_question();
        let notes = [
            removed_refs(
                (NoteCode::TagsGone, "tag", "tags", "git tag -d"),
                names_below(&named, TAGS),
                refs.removed.tags.is_some_and(is_asked),
            ),
            removed_refs(
                (NoteCode::BranchGone, "branch", "branches", "git branch -d"),
                names_below(&named, BRANCHES),
                refs.removed.branches.is_some_and(is_asked) && gone.is_empty(),
            ),
        ];
        Ok(notes.into_iter().flatten().collect())
    }

    fn line(&self, movement: &Movement, base: Option<i64>) -> Result<Vec<SeenGit>> {
        let first = movement
            .to
            .as_ref()
            .and_then(|message| message.snapshot_id)
            .or(base);
        let mut line = match first {
            Some(first) => sessions::git_line(self.connection, self.place.row.id, first, base)?,
            None => Vec::new(),
        };
        if base.is_none() {
            line.push(SeenGit {
                snapshot_id: None,
                taken_at: self.at,
                state: self.now.cloned(),
            });
        }
        Ok(line)
    }

    /// Returns the steps with their evidence. A step without a start snapshot is not known to have moved anything.
    fn workers(&self, spans: impl Iterator<Item = StepSpan>) -> Result<Vec<Worker>> {
        let mut workers = Vec::new();
        for span in spans {
            let step = sessions::step_with_tools(self.connection, &span.step_id)?;
            if let Some(step) = step.filter(|step| step.row.unprotected.is_none()) {
                let mut step = step_afterwards(&step, span.finished_at, self.at);
                step.root.clone_from(&span.session_id);
                workers.push(Worker { span, step });
            }
        }
        Ok(workers)
    }
}

impl GitPast {
    fn of_line(line: Vec<SeenGit>) -> Self {
        Self {
            line,
            changes: Vec::new(),
            branches: BTreeMap::new(),
            unlogged: Vec::new(),
            gone: Vec::new(),
            others: Vec::new(),
        }
    }

    /// Returns where the branches would go that undone steps moved, as they are now.
    fn branch_goals(&self, repository: &Repository) -> BTreeMap<String, BranchGoal> {
        let goal = |(name, log): (&String, &BranchLog)| {
            let base = repository.value_of(name);
            Some((name.clone(), branches::goal(base.as_deref(), log)?))
        };
        self.branches.iter().filter_map(goal).collect()
    }

    /// Returns the branches that HEAD was on at first, and is on now.
    fn on_head<'s>(&'s self, now: Option<&'s GitStateRow>) -> BTreeSet<&'s String> {
        let then = self.line.first().and_then(|seen| seen.state.as_ref());
        let states = [then, now].into_iter().flatten();
        states.filter_map(|state| state.branch.as_ref()).collect()
    }

    /// Returns notes on what no revert undoes.
    pub fn stays(
        &self,
        repository: &Repository,
        now: Option<&GitStateRow>,
        git: GitFate,
    ) -> Vec<Note> {
        let goals = self.branch_goals(repository);
        let made = goals.iter().filter(|(_, goal)| **goal == BranchGoal::Made);
        let made: Vec<String> = made.map(|(name, _)| plain(name).to_owned()).collect();
        let note = (!made.is_empty()).then(|| {
            let text = format!(
                "the agent made {}, and it stays",
                named("branch", "branches", quoted(&made))
            );
            Note::about(NoteCode::BranchMade, text, made)
        });
        let on_head = self.on_head(now);
        let unlogged = self.unlogged.iter().filter(|name| !on_head.contains(name));
        let unlogged: Vec<String> = unlogged.map(|name| plain(name).to_owned()).collect();
        let unlogged = (!unlogged.is_empty()).then(|| {
            let names = named("branch", "branches", quoted(&unlogged));
            let text = format!("{names} moved or made since, without a reflog that says from where: no revert moves that back");
            Note::about(NoteCode::BranchMoved, text, unlogged)
        });
        let notes = note.into_iter().chain(unlogged);
        let then = self.line.first().and_then(|seen| seen.state.as_ref());
        let then = then.and_then(|state| state.branch.as_deref()).map(plain);
        let gone = gone_note(&self.gone, then, git);
        notes.chain(self.others.clone()).chain(gone).collect()
    }

    /// Returns notes on the branches that the agent moved and that stay, except the one that HEAD is or was on.
    pub fn branches_stay(&self, repository: &Repository, now: Option<&GitStateRow>) -> Vec<Note> {
        let on_head = self.on_head(now);
        let goals = self.branch_goals(repository);
        let others = goals.iter().filter(|(name, _)| !on_head.contains(name));
        let note = |(name, goal): (&String, &BranchGoal)| {
            branch_stays(plain(name), goal, repository.value_of(name).as_deref())
        };
        others.filter_map(note).collect()
    }
}

/// Returns the note on a branch that is at `now` and stays there, unless the agent made it.
fn branch_stays(name: &str, goal: &BranchGoal, now: Option<&str>) -> Option<Note> {
    let (before, end) = match goal {
        BranchGoal::Back(before) => (before, "and it stays; `--git` moves it back".to_owned()),
        BranchGoal::Left(before, reason) => (before, format!("and it stays: {reason}")),
        BranchGoal::Made => return None,
    };
    let (from, to) = (commit_name(before.as_deref()), commit_name(now));
    let text = format!("`{name}` was moved from {from} to {to} since, {end}");
    Some(Note::about(
        NoteCode::BranchMoved,
        text,
        vec![name.to_owned()],
    ))
}

/// Returns what people call a commit, or the absence of one.
fn commit_name(commit: Option<&str>) -> &str {
    commit.map_or("nothing", short)
}

/// Returns whether a step was at work in one of these windows of time. A reflog has whole seconds, so each window is
/// one longer at both ends.
fn is_during(
    (start, end): (Milliseconds, Option<Milliseconds>),
    windows: &[(Milliseconds, Milliseconds)],
) -> bool {
    windows.iter().any(|(from, to)| {
        let ended_before = end.is_some_and(|end| end < from.saturating_sub(1000));
        start <= to.saturating_add(1000) && !ended_before
    })
}

/// Returns the times at which something happened to git's state that may be a step's work. The evidence of a step is
/// many rows, and most steps never touch git: only those are read that were at work at such a time.
fn windows(line: &[SeenGit], refs: &Refs) -> Vec<(Milliseconds, Milliseconds)> {
    let changed = line
        .windows(2)
        .filter(|pair| pair[0].state != pair[1].state);
    let logs = refs.branches.values().chain(refs.remotes.values());
    let lines = logs.flatten().chain(&refs.stash).chain(&refs.head);
    let moments = lines.map(|line| line.moment);
    let moments = moments.chain(refs.tags.iter().map(|(_, moment)| *moment));
    let moments = moments.chain(
        [refs.removed.tags, refs.removed.branches, refs.removed.stash]
            .into_iter()
            .flatten(),
    );
    changed
        .map(|pair| (pair[0].taken_at, pair[1].taken_at))
        .chain(moments.map(|moment| (moment.earliest, moment.latest)))
        .collect()
}

/// Returns notes on tags, the stash and what was pushed, as far as it may be an undone step's work.
fn others(refs: &Refs, claim: &dyn Fn(Moment) -> GitClaim) -> Vec<Note> {
    let is_asked = |moment| claim(moment).is_in_question();
    let is_line_asked = |line: &&RefMove| is_asked(line.moment);
    let below = |name: &str, folder: &str| name.trim_start_matches(folder).to_owned();
    let tags = refs.tags.iter().filter(|(_, moment)| is_asked(*moment));
    let tags: Vec<String> = tags.map(|(name, _)| below(name, TAGS)).collect();
    let stashed = refs.stash.iter().filter(is_line_asked);
    let stashed: Vec<String> = stashed.map(|line| line.what.clone()).collect();
    let is_pushed = |(_, log): &(&String, &Vec<RefMove>)| {
        // git's words for a push. A fetch writes others, and publishes nothing.
        let mut pushes = log.iter().filter(|line| line.what == "update by push");
        pushes.any(|line| is_line_asked(&line))
    };
    let pushed = refs.remotes.iter().filter(is_pushed);
    let pushed: Vec<String> = pushed
        .map(|(name, _)| below(name, "refs/remotes/"))
        .collect();
    let removed = |code, at: Option<Moment>, text: &str| {
        at.filter(|at| is_asked(*at)).map(|_| Note::new(code, text))
    };
    [
        note(
            NoteCode::Tags,
            ("tag", "tags"),
            tags,
            "made or moved since: no revert takes that back",
        ),
        note(
            NoteCode::Stashed,
            ("stashed since:", "stashed since:"),
            stashed,
            "in `git stash list`",
        ),
        removed(
            NoteCode::StashDropped,
            refs.removed.stash,
            "an entry of the stash was dropped since, and no revert puts it back: `git fsck --unreachable --no-reflogs` names its commit",
        ),
        note(
            NoteCode::Pushed,
            ("pushed since:", "pushed since:"),
            pushed,
            "which no revert takes back",
        ),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// Returns the note on tags or branches that are gone: those that commands named, or else that some are. A command may
/// have named one that never was.
fn removed_refs(
    (code, one, many, command): (NoteCode, &str, &str, &str),
    named: Vec<String>,
    is_seen: bool,
) -> Option<Note> {
    let end = "git keeps no record of them, and no revert makes them again";
    let text = match &named[..] {
        [] if !is_seen => return None,
        [] => format!("{many} were removed since; {end}"),
        named => format!(
            "`{command}` ran since for what is not there: {}; {end}",
            self::named(one, many, quoted(named))
        ),
    };
    Some(Note::about(code, text, named))
}

/// Returns the names of refs below a folder.
fn names_below(refs: &[String], folder: &str) -> Vec<String> {
    let names = refs.iter().filter_map(|name| name.strip_prefix(folder));
    names.map(str::to_owned).collect()
}

/// Returns a note on each branch that has another name since, as far as it may be an undone step's work.
fn renamed(repository: &Repository, refs: &Refs, claim: &dyn Fn(Moment) -> GitClaim) -> Vec<Note> {
    let lines = refs.branches.values().flatten();
    let asked = lines.filter(|line| claim(line.moment).is_in_question());
    let names = asked.filter_map(|line| line.what.strip_prefix(RENAMED)?.split_once(" to "));
    let stays = |(old, new): &(&str, &str)| {
        repository.value_of(old).is_none() && repository.value_of(new).is_some()
    };
    let note = |(old, new): (&str, &str)| {
        let (old, new) = (plain(old).to_owned(), plain(new).to_owned());
        let text = format!("branch `{old}` was renamed to `{new}` since, and keeps that name");
        Note::about(NoteCode::BranchMoved, text, vec![old, new])
    };
    names.filter(stays).map(note).collect()
}

/// Returns the note on some names, unless there are none.
fn note(code: NoteCode, (one, many): (&str, &str), names: Vec<String>, end: &str) -> Option<Note> {
    if names.is_empty() {
        return None;
    }
    let text = format!("{} {end}", named(one, many, quoted(&names)));
    Some(Note::about(code, text, names))
}

/// Returns the note on deleted branches, unless there are none. HEAD's branch is made again with git's state.
fn gone_note(
    gone: &[(String, Option<String>)],
    on_head: Option<&str>,
    git: GitFate,
) -> Option<Note> {
    let is_heads = |name: &str| Some(name) == on_head;
    let told = gone
        .iter()
        .filter(|(name, _)| !(git == GitFate::Along && is_heads(name)));
    let told: Vec<&(String, Option<String>)> = told.collect();
    if told.is_empty() {
        return None;
    }
    let names = told
        .iter()
        .map(|(name, commit)| format!("`{name}` (was {})", commit_name(commit.as_deref())));
    let names = named("branch", "branches", names.collect());
    let text = match told.iter().find(|(name, _)| is_heads(name)) {
        Some(_) if told.len() == 1 => format!("{names} gone since: `--git` makes it again"),
        Some((name, _)) => {
            format!("{names} gone since: `--git` makes `{name}` again, and no revert the others")
        }
        None => format!("{names} gone since: no revert makes it again"),
    };
    let about = told.into_iter().map(|(name, _)| name.clone()).collect();
    Some(Note::about(NoteCode::BranchGone, text, about))
}

/// Returns the deleted branches with their last commits, as far as it may be an undone step's work.
fn gone_since(
    repository: &Repository,
    refs: &Refs,
    claim: &dyn Fn(Moment) -> GitClaim,
) -> Vec<(String, Option<String>)> {
    let is_asked = |line: &&RefMove| claim(line.moment).is_in_question();
    gone(repository, refs.head.iter().filter(is_asked))
}

/// Returns the deleted branches that HEAD went to or came from, with their last commits.
fn gone<'l>(
    repository: &Repository,
    lines: impl Iterator<Item = &'l RefMove>,
) -> Vec<(String, Option<String>)> {
    let mut gone = BTreeMap::new();
    for line in lines {
        let way = line.what.strip_prefix("checkout: moving from ");
        let Some((from, to)) = way.and_then(|way| way.split_once(" to ")) else {
            continue;
        };
        for (name, commit) in [(from, &line.old), (to, &line.new)] {
            let branch = format!("{BRANCHES}{name}");
            // `git checkout COMMIT` writes the same line, with the commit in the place of a branch's name.
            let is_commit = name.len() >= 7 && name.bytes().all(|byte| byte.is_ascii_hexdigit());
            // Or with that of a tag.
            let names = [branch.clone(), format!("refs/tags/{name}")];
            let is_there = names.iter().any(|name| repository.value_of(name).is_some());
            if is_branch(&branch) && !is_commit && !is_there {
                gone.insert(name.to_owned(), commit.clone());
            }
        }
    }
    gone.into_iter().collect()
}

fn quoted(names: &[String]) -> Vec<String> {
    names.iter().map(|name| format!("`{name}`")).collect()
}

/// Names some things, with what they are.
fn named(one: &str, many: &str, names: Vec<String>) -> String {
    const NAMED: usize = 5;
    let what = if names.len() == 1 { one } else { many };
    format!("{what} {}", first_of(names.into_iter(), NAMED))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_is_at_work_in_a_window_up_to_a_second_away() {
        let windows = [(10_000, 11_000)];
        assert!(
            is_during((0, Some(9_000)), &windows),
            "it ended in the second before"
        );
        assert!(!is_during((0, Some(8_999)), &windows));
        assert!(
            is_during((12_000, None), &windows),
            "it began in the second after"
        );
        assert!(!is_during((12_001, None), &windows));
        assert!(is_during((0, None), &windows), "it is still open");
        assert!(!is_during((0, None), &[]), "nothing happened");
    }

    #[test]
    fn a_branch_that_stays_is_named_with_its_way_and_the_reason() {
        let text =
            |goal: &BranchGoal, now| branch_stays("topic", goal, now).map(|note| note.text());
        let before = Some("1111111111".to_owned());
        let back = BranchGoal::Back(before.clone());
        let expected = format!(
            "`topic` was moved from {} to nothing since, and it stays; `--git` moves it back",
            short("1111111111")
        );
        assert_eq!(text(&back, None), Some(expected));
        let left = BranchGoal::Left(None, "others moved it".to_owned());
        let expected = format!(
            "`topic` was moved from nothing to {} since, and it stays: others moved it",
            short("2222222222")
        );
        assert_eq!(text(&left, Some("2222222222")), Some(expected));
        assert_eq!(
            text(&BranchGoal::Made, None),
            None,
            "nothing else names its commits"
        );
    }
}
