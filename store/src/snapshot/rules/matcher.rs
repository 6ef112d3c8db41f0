//! Decides what is in view, by rules and the `.gitignore` files.

use std::cell::OnceCell;
use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, RwLock};

use super::patterns::{MatchCost, Patterns};
use super::{BUILT_IN, Rules, has_below};
use crate::fs::threads;
use crate::model::path::PathKind;

/// Which part of a directory is captured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DirectoryView {
    /// What its ignore files do not match.
    Open,
    /// Everything: an `include` pattern matched it.
    Included,
    /// It is ignored: only what is forced or included. A file with this view is captured all the same, because it is
    /// forced or kept.
    Ignored,
}

impl DirectoryView {
    /// Returns whether a directory with this view is an entry if it is empty.
    pub fn shows_empty(self) -> bool {
        matches!(self, Self::Open | Self::Included)
    }
}

/// Returns the ignore file of a directory.
type Ignores<'a> = dyn Fn(&[u8]) -> Option<Vec<u8>> + Send + Sync + 'a;

/// Decides what is in view.
pub(crate) struct Matcher<'a> {
    global: Patterns,
    info: Patterns,
    include: Patterns,
    exclude: Patterns,
    kept: Patterns,
    built_in: Patterns,
    untracked: HashMap<Vec<u8>, Patterns>,
    ignores_case: bool,
    forced: BTreeSet<Vec<u8>>,
    gitignores: Box<Ignores<'a>>,
    chains: RwLock<HashMap<Vec<u8>, Chain>>,
    work: MatchCost,
}

/// The ignore files that apply in a directory, innermost first.
type Chain = Option<Arc<Link>>;

/// The ignore files that apply in one directory, searched for when they first matter.
#[derive(Default)]
pub(crate) struct Neighbours(OnceCell<Chain>);

struct Link {
    directory_length: usize,
    patterns: Patterns,
    outer: Chain,
}

impl Drop for Link {
    /// Drops the chain in a loop: recursion through thousands of nested ignore files would overflow the stack.
    fn drop(&mut self) {
        let mut next = self.outer.take();
        while let Some(mut link) = next.and_then(Arc::into_inner) {
            next = link.outer.take();
        }
    }
}

impl Rules {
    /// Returns a matcher for these rules and the `.gitignore` files that `gitignores` returns by directory (the root's
    /// path is empty). It asks for each once, when it first matters.
    pub fn matcher<'a>(
        &self,
        gitignores: impl Fn(&[u8]) -> Option<Vec<u8>> + Send + Sync + 'a,
    ) -> Matcher<'a> {
        let parse = |bytes: &[u8]| Patterns::parse(bytes, self.ignores_case);
        Matcher {
            global: parse(&self.global),
            info: parse(&self.info),
            include: parse(&self.include),
            exclude: parse(&self.exclude),
            kept: parse(&self.kept),
            built_in: parse(if self.built_in {
                BUILT_IN.as_bytes()
            } else {
                b""
            }),
            untracked: self
                .untracked
                .iter()
                .map(|(path, lines)| (path.clone(), parse(lines)))
                .collect(),
            ignores_case: self.ignores_case,
            forced: self.forced.clone(),
            gitignores: Box::new(gitignores),
            chains: RwLock::new(HashMap::new()),
            work: MatchCost::default(),
        }
    }
}

impl Matcher<'_> {
    /// Returns whether an entry at this path is captured.
    pub fn shows(&self, path: &[u8], kind: PathKind) -> bool {
        self.view_of(path, kind).is_some()
    }

    fn view_of(&self, path: &[u8], kind: PathKind) -> Option<DirectoryView> {
        let decide = |view, path: &[u8], kind| {
            self.decide(view, path, kind, &|path, kind| self.is_forced(path, kind))
        };
        let mut view = self.root_view();
        for end in (0..path.len()).filter(|end| path[*end] == b'/') {
            view = decide(view, &path[..end], PathKind::Directory)?;
        }
        decide(view, path, kind)
    }

    /// Returns some of the patterns that were too complicated to decide. What they may match is in view.
    pub fn undecided(&self) -> Vec<Vec<u8>> {
        self.work.undecided()
    }

    /// Returns the view of the workspace's root.
    pub fn root_view(&self) -> DirectoryView {
        DirectoryView::Open
    }

    /// Returns whether ignore files alone would leave this path out, regardless of tracking, edit tools and
    /// `keep_ignored`.
    pub fn is_ignored(&self, path: &[u8]) -> bool {
        if self.has_no_patterns_for(path) {
            return false;
        }
        let mut view = self.root_view();
        for end in (0..path.len()).filter(|end| path[*end] == b'/') {
            match self.decide(view, &path[..end], PathKind::Directory, &|_, _| false) {
                Some(next) => view = next,
                None => return true,
            }
        }
        // A file that is not forced can only be kept.
        let view = self.decide(view, path, PathKind::File, &|_, _| false);
        view.is_none_or(|view| view == DirectoryView::Ignored)
    }

    /// Returns the view of an entry of a directory with the view `parent`, or `None` if it is left out. `is_forced`
    /// returns whether a path, or something below a directory, is captured even if ignored.
    pub fn decide(
        &self,
        parent: DirectoryView,
        path: &[u8],
        kind: PathKind,
        is_forced: &dyn Fn(&[u8], PathKind) -> bool,
    ) -> Option<DirectoryView> {
        self.decide_among(&Neighbours::default(), parent, path, kind, is_forced)
    }

    /// Like `decide`, for one of many entries of a directory.
    pub fn decide_among(
        &self,
        neighbours: &Neighbours,
        parent: DirectoryView,
        path: &[u8],
        kind: PathKind,
        is_forced: &dyn Fn(&[u8], PathKind) -> bool,
    ) -> Option<DirectoryView> {
        // The first of these that holds decides. What the user wrote in the settings goes before what ignore files
        // say. Even a file that a tool named stays out if the settings exclude it.
        //
        //     excluded                                         left out
        //     included                                         captured, with everything below
        //     in an included directory                         the same
        //     not ignored                                      captured
        //     forced, kept, or on the way to an included one   captured, though ignored
        //     any other                                        left out
        let name = path
            .iter()
            .rposition(|byte| *byte == b'/')
            .map(|slash| slash + 1);
        let excluded = !self.exclude.is_empty()
            && self.exclude.matched(path, name, kind, &self.work) == Some(true);
        if excluded {
            return None;
        }
        if !self.include.is_empty()
            && self.include.matched(path, name, kind, &self.work) == Some(true)
        {
            return Some(DirectoryView::Included);
        }
        match parent {
            DirectoryView::Included => Some(DirectoryView::Included),
            DirectoryView::Open if !self.is_ignored_here(neighbours, path, name, kind) => {
                Some(DirectoryView::Open)
            }
            DirectoryView::Open | DirectoryView::Ignored => {
                let is_wanted = is_forced(path, kind)
                    || match kind {
                        PathKind::Directory => self.leads_to_included(path),
                        PathKind::File => {
                            parent != DirectoryView::Ignored && self.keeps(path, name)
                        }
                    };
                is_wanted.then_some(DirectoryView::Ignored)
            }
        }
    }

    /// Returns whether an ignored file is captured because of `keep_ignored`. No file in an ignored directory is, even
    /// if the directory is entered for another file: it may be a virtual environment, for example, full of
    /// certificates.
    fn keeps(&self, path: &[u8], name: Option<usize>) -> bool {
        !self.kept.is_empty()
            && self.kept.matched(path, name, PathKind::File, &self.work) == Some(true)
    }

    fn is_forced(&self, path: &[u8], kind: PathKind) -> bool {
        match kind {
            PathKind::Directory => has_below(&self.forced, path),
            PathKind::File => self.forced.contains(path),
        }
    }

    /// Returns whether an ignored directory is entered for an `include` pattern: only if the pattern spells out the way
    /// to it.
    fn leads_to_included(&self, directory: &[u8]) -> bool {
        self.include.spell_out_a_way_through(directory)
    }

    /// Returns whether no pattern of any source can match a path.
    fn has_no_patterns_for(&self, path: &[u8]) -> bool {
        let outer = [
            &self.global,
            &self.info,
            &self.include,
            &self.exclude,
            &self.built_in,
        ];
        let directory = path
            .iter()
            .rposition(|byte| *byte == b'/')
            .unwrap_or_default();
        outer.iter().all(|patterns| patterns.is_empty()) && self.chain(&path[..directory]).is_none()
    }

    fn is_ignored_here(
        &self,
        neighbours: &Neighbours,
        path: &[u8],
        name: Option<usize>,
        kind: PathKind,
    ) -> bool {
        let directory = &path[..name.map_or(0, |name| name - 1)];
        let mut chain = neighbours.0.get_or_init(|| self.chain(directory));
        while let Some(link) = chain {
            let start = if link.directory_length == 0 {
                0
            } else {
                link.directory_length + 1
            };
            let inner_name = name.map(|name| name - start).filter(|name| *name > 0);
            if let Some(ignored) =
                link.patterns
                    .matched(&path[start..], inner_name, kind, &self.work)
            {
                return ignored;
            }
            chain = &link.outer;
        }
        // The order of gitignore(5): `info/exclude` decides before the user's own file. The built-in list is no
        // choice of the user's, so any line overrules it.
        let outer = [&self.info, &self.global, &self.built_in];
        outer
            .iter()
            .find_map(|patterns| patterns.matched(path, name, kind, &self.work))
            .unwrap_or(false)
    }

    fn chain(&self, directory: &[u8]) -> Chain {
        if let Some(chain) = threads::read(&self.chains).get(directory) {
            return chain.clone();
        }
        let ends = (0..directory.len())
            .filter(|end| directory[*end] == b'/')
            .chain([directory.len()]);
        let ends: Vec<_> = if directory.is_empty() {
            vec![0]
        } else {
            [0].into_iter().chain(ends).collect()
        };
        let (known, mut chain) = {
            let chains = threads::read(&self.chains);
            let known = ends
                .iter()
                .rposition(|end| chains.contains_key(&directory[..*end]));
            (
                known,
                known.and_then(|known| chains[&directory[..ends[known]]].clone()),
            )
        };
        for end in &ends[known.map_or(0, |known| known + 1)..] {
            // The file is read without a lock held. The first result counts for all threads.
            chain = self.put(&directory[..*end], self.link(&directory[..*end], chain));
        }
        chain
    }

    fn put(&self, directory: &[u8], chain: Chain) -> Chain {
        let mut chains = threads::write(&self.chains);
        chains.entry(directory.to_vec()).or_insert(chain).clone()
    }

    /// Notes that a directory has no ignore file, so that nothing tries to read it.
    pub fn note_without_rules(&self, directory: &[u8]) {
        if self.untracked.contains_key(directory) {
            return;
        }
        let outer = match directory.iter().rposition(|byte| *byte == b'/') {
            Some(end) => self.chain(&directory[..end]),
            None if directory.is_empty() => None,
            None => self.chain(b""),
        };
        self.put(directory, outer);
    }

    fn link(&self, directory: &[u8], outer: Chain) -> Chain {
        let patterns = match self.untracked.get(directory) {
            Some(patterns) => patterns.clone(),
            None => {
                let bytes = (self.gitignores)(directory).unwrap_or_default();
                Patterns::parse(&bytes, self.ignores_case)
            }
        };
        if patterns.is_empty() {
            return outer;
        }
        Some(Arc::new(Link {
            directory_length: directory.len(),
            patterns,
            outer,
        }))
    }
}
