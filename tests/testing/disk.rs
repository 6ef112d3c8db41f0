//! A disk that keeps what it was told to sync, and of the rest whatever it likes: the power-cut model.
//!
//! What a process does to files is read from a trace of its system calls. A cut comes after any of them. What was synced before the
//! cut is on the disk. Of all else, every change stands for itself: a page of a file may be there or not, and so may a name, whichever
//! came first. Only a rename is one change. That is weaker than what file systems with a journal do, which keep names in their order.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use crate::tree::{self, Node, Tree};

/// The length of what is written to a file as a whole, in bytes.
const PAGE: usize = 4096;

/// The number of a file or a directory.
type Inode = usize;

/// What a file or a directory is.
#[derive(Clone, Debug)]
enum DiskContent {
    File(Vec<u8>),
    Link(Vec<u8>),
    Directory(BTreeMap<Vec<u8>, Inode>),
}

/// One change.
#[derive(Clone, Debug)]
enum DiskChange {
    Page(Inode, usize, Vec<u8>),
    Length(Inode, usize),
    Mode(Inode, u32),
    /// Names of directories, each with what it names then.
    Names(Vec<(Inode, Vec<u8>, Option<Inode>)>),
}

/// One thing that was done.
#[derive(Clone, Debug)]
enum DiskEvent {
    /// A file or a directory that no name names yet: the next number is its own.
    New(DiskContent, u32),
    Change(DiskChange),
    Sync(Inode),
    SyncAll,
}

/// The files at one moment.
#[derive(Clone, Debug, Default)]
struct DiskFiles {
    all: Vec<(DiskContent, u32)>,
}

/// What was done to the files below some directories.
pub struct Record {
    roots: Vec<(PathBuf, Inode)>,
    base: DiskFiles,
    events: Vec<DiskEvent>,
}

impl DiskFiles {
    fn add(&mut self, content: DiskContent, mode: u32) -> Inode {
        self.all.push((content, mode));
        self.all.len() - 1
    }

    fn add_tree(&mut self, root: &Path) -> Inode {
        let mut numbers = BTreeMap::from([(PathBuf::new(), self.directory())]);
        let mut nodes: Vec<(PathBuf, Node)> = tree::read(root).into_iter().collect();
        nodes.sort_by_key(|(path, _)| path.components().count());
        for (path, node) in nodes {
            let number = match node {
                Node::File(bytes, mode) => self.add(DiskContent::File(bytes), mode),
                Node::Link(target) => self.add(DiskContent::Link(target), 0o777),
                Node::Directory(mode) => {
                    let number = self.directory();
                    self.all[number].1 = mode;
                    number
                }
                Node::Other => continue,
            };
            let parent = numbers[path.parent().expect("below the root")];
            let name = path
                .file_name()
                .expect("a name")
                .as_encoded_bytes()
                .to_vec();
            self.name(parent, name, Some(number));
            numbers.insert(path, number);
        }
        numbers[Path::new("")]
    }

    fn directory(&mut self) -> Inode {
        self.add(DiskContent::Directory(BTreeMap::new()), 0o700)
    }

    fn name(&mut self, directory: Inode, name: Vec<u8>, to: Option<Inode>) {
        if let DiskContent::Directory(names) = &mut self.all[directory].0 {
            match to {
                Some(to) => drop(names.insert(name, to)),
                None => drop(names.remove(&name)),
            }
        }
    }

    fn apply(&mut self, change: &DiskChange) {
        match change {
            DiskChange::Page(inode, at, bytes) => {
                if let DiskContent::File(file) = &mut self.all[*inode].0 {
                    let end = at + bytes.len();
                    file.resize(file.len().max(end), 0);
                    file[*at..end].copy_from_slice(bytes);
                }
            }
            DiskChange::Length(inode, length) => {
                if let DiskContent::File(file) = &mut self.all[*inode].0 {
                    file.resize(*length, 0);
                }
            }
            DiskChange::Mode(inode, mode) => self.all[*inode].1 = *mode,
            DiskChange::Names(names) => {
                for (directory, name, to) in names {
                    self.name(*directory, name.clone(), *to);
                }
            }
        }
    }

    fn find(&self, root: Inode, path: &Path) -> Option<Inode> {
        path.components()
            .try_fold(root, |inode, name| match &self.all[inode].0 {
                DiskContent::Directory(names) => {
                    names.get(name.as_os_str().as_encoded_bytes()).copied()
                }
                DiskContent::File(_) | DiskContent::Link(_) => None,
            })
    }

    fn tree(&self, root: Inode) -> Tree {
        let mut tree = Tree::new();
        let mut rest = vec![(PathBuf::new(), root)];
        while let Some((path, inode)) = rest.pop() {
            let (content, mode) = &self.all[inode];
            let node = match content {
                DiskContent::File(bytes) => Node::File(bytes.clone(), *mode),
                DiskContent::Link(target) => Node::Link(target.clone()),
                DiskContent::Directory(names) => {
                    let below = names.iter().map(|(name, inode)| {
                        let name = std::ffi::OsString::from_vec(name.clone());
                        (path.join(name), *inode)
                    });
                    rest.extend(below);
                    Node::Directory(*mode)
                }
            };
            if inode != root {
                tree.insert(path, node);
            }
        }
        tree
    }
}

impl Record {
    /// Begins with what is below some directories now.
    pub fn begin(roots: &[PathBuf]) -> Self {
        let mut base = DiskFiles::default();
        let number = |root: &PathBuf| (root.clone(), base.add_tree(root));
        let roots = roots.iter().map(number).collect();
        Self {
            roots,
            base,
            events: Vec::new(),
        }
    }

    /// Reads what a traced process did since, and checks that the files are what that comes to.
    pub fn read(&mut self, trace: &str) {
        let reader = Reader {
            files: self.base.clone(),
            roots: &self.roots,
            events: Vec::new(),
            places: BTreeMap::new(),
        };
        let (files, events) = reader.read(trace);
        self.events = events;
        for (root, inode) in &self.roots {
            let is_plain = |path: &Path| !is_memory(path);
            let mut expected = tree::read(root);
            expected.retain(|path, _| is_plain(path));
            let mut found = files.tree(*inode);
            found.retain(|path, _| is_plain(path));
            tree::assert_same(&found, &expected, "all that was done was read in the trace");
        }
    }

    /// Returns after how many things that were done the power can go.
    pub fn cuts(&self) -> usize {
        self.events.len()
    }

    /// Puts what a disk may hold after a cut in the place of what is there. A `chance` of none takes nothing that was not synced, of
    /// 256 all of it.
    pub fn cut(&self, after: usize, chance: u64, seed: u64) {
        let done = &self.events[..after];
        let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) + 1;
        let mut is_lucky = || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % 256 < chance
        };
        let mut files = self.base.clone();
        for event in &self.events {
            if let DiskEvent::New(content, mode) = event {
                files.add(content.clone(), *mode);
            }
        }
        for (number, event) in done.iter().enumerate() {
            if let DiskEvent::Change(change) = event
                && (is_synced(change, &done[number..]) || is_lucky())
            {
                files.apply(change);
            }
        }
        for (root, inode) in &self.roots {
            write(root, &files.tree(*inode));
        }
    }
}

/// What SQLite keeps in memory that is shared: after a cut nobody believes it.
fn is_memory(path: &Path) -> bool {
    path.to_string_lossy().ends_with("-shm")
}

/// Returns whether a change is on the disk for certain, with what was done from it on.
fn is_synced(change: &DiskChange, since: &[DiskEvent]) -> bool {
    let inodes: BTreeSet<Inode> = match change {
        DiskChange::Page(inode, ..) | DiskChange::Length(inode, _) | DiskChange::Mode(inode, _) => {
            BTreeSet::from([*inode])
        }
        DiskChange::Names(names) => names.iter().map(|(directory, ..)| *directory).collect(),
    };
    let is_all = since
        .iter()
        .any(|event| matches!(event, DiskEvent::SyncAll));
    is_all
        || inodes.iter().all(|inode| {
            since
                .iter()
                .any(|event| matches!(event, DiskEvent::Sync(synced) if synced == inode))
        })
}

/// Puts a tree in the place of what is below a directory, which stays itself.
fn write(root: &Path, tree: &Tree) {
    empty(root);
    let (mut directories, mut rest): (Vec<_>, Vec<_>) = tree
        .iter()
        .partition(|(_, node)| matches!(node, Node::Directory(_)));
    directories.sort_by_key(|(path, _)| path.components().count());
    rest.retain(|(path, _)| !is_memory(path));
    for (path, _) in &directories {
        fs::create_dir(root.join(path)).expect("its parent is there");
    }
    for (path, node) in rest {
        let path = root.join(path);
        match node {
            Node::File(bytes, mode) => {
                fs::write(&path, bytes).expect("its directory is there");
                set_mode(&path, *mode);
            }
            Node::Link(target) => {
                let target = std::ffi::OsString::from_vec(target.clone());
                std::os::unix::fs::symlink(target, &path).expect("its directory is there");
            }
            Node::Directory(_) | Node::Other => {}
        }
    }
    for (path, node) in directories {
        if let Node::Directory(mode) = node {
            set_mode(&root.join(path), *mode);
        }
    }
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("ours");
}

fn empty(directory: &Path) {
    for entry in fs::read_dir(directory).expect("readable") {
        let entry = entry.expect("readable");
        if entry.file_type().expect("readable").is_dir() {
            empty(&entry.path());
            fs::remove_dir(entry.path()).expect("it is empty");
        } else {
            fs::remove_file(entry.path()).expect("ours");
        }
    }
}

/// Reads a trace, and does to the files what is done there.
struct Reader<'a> {
    files: DiskFiles,
    roots: &'a [(PathBuf, Inode)],
    events: Vec<DiskEvent>,
    /// Where each descriptor reads and writes next; `None` if it appends.
    places: BTreeMap<String, Option<usize>>,
}

impl Reader<'_> {
    fn read(mut self, trace: &str) -> (DiskFiles, Vec<DiskEvent>) {
        let mut unfinished: BTreeMap<&str, &str> = BTreeMap::new();
        for line in trace.lines() {
            let Some((thread, call)) = line.split_once(' ') else {
                continue;
            };
            let call = call.trim_start();
            if let Some(front) = call.strip_suffix(" <unfinished ...>") {
                unfinished.insert(thread, front);
                continue;
            }
            let whole = match call
                .strip_prefix("<... ")
                .and_then(|call| call.split_once(" resumed>"))
            {
                Some((_, rest)) => [unfinished.remove(thread).unwrap_or_default(), rest].concat(),
                None => call.to_owned(),
            };
            let Some((front, result)) = whole.rsplit_once(" = ") else {
                continue;
            };
            let Some((name, arguments)) = front.trim_end().split_once('(') else {
                continue;
            };
            let arguments = arguments.strip_suffix(')').unwrap_or(arguments);
            if !result.starts_with('-') && !result.starts_with('?') {
                self.call(name, &split(arguments), result);
            }
        }
        (self.files, self.events)
    }

    fn call(&mut self, name: &str, of: &[&str], result: &str) {
        match name {
            "openat" | "openat2" => self.open(&path_at(of[0], of[1]), of[2], result),
            "open" => self.open(&path_at("", of[0]), of[1], result),
            "read" => self.advance(of[0], number(result)),
            "lseek" => drop(self.places.insert(descriptor(of[0]), Some(number(result)))),
            "write" => {
                let at = self.places.get(&descriptor(of[0])).copied().flatten();
                if let Some(inode) = self.inode(of[0]) {
                    let at = at.unwrap_or_else(|| self.length(inode));
                    let bytes = bytes(of[1]);
                    self.write(inode, at, &bytes[..number(result)]);
                }
                self.advance(of[0], number(result));
            }
            "pwrite64" => {
                if let Some(inode) = self.inode(of[0]) {
                    self.write(inode, number(of[3]), &bytes(of[1])[..number(result)]);
                }
            }
            "ftruncate" => {
                if let Some(inode) = self.inode(of[0]) {
                    self.change(DiskChange::Length(inode, number(of[1])));
                }
            }
            "fallocate" => {
                if let Some(inode) = self.inode(of[0]) {
                    let end = (number(of[2]) + number(of[3])).max(self.length(inode));
                    self.change(DiskChange::Length(inode, end));
                }
            }
            "fchmod" => {
                if let Some(inode) = self.inode(of[0]) {
                    self.change(DiskChange::Mode(inode, mode(of[1])));
                }
            }
            "chmod" => self.set_mode(&path_at("", of[0]), mode(of[1])),
            "fchmodat" => self.set_mode(&path_at(of[0], of[1]), mode(of[2])),
            "mkdir" => self.make_directory(&path_at("", of[0]), mode(of[1])),
            "mkdirat" => self.make_directory(&path_at(of[0], of[1]), mode(of[2])),
            "symlink" | "symlinkat" => {
                let path = if name == "symlink" {
                    path_at("", of[1])
                } else {
                    path_at(of[1], of[2])
                };
                self.make(&path, DiskContent::Link(bytes(of[0])), 0o777);
            }
            "link" => self.link(&path_at("", of[0]), &path_at("", of[1])),
            "linkat" => self.link(&path_at(of[0], of[1]), &path_at(of[2], of[3])),
            "rename" => self.rename(&path_at("", of[0]), &path_at("", of[1]), false),
            "renameat" => self.rename(&path_at(of[0], of[1]), &path_at(of[2], of[3]), false),
            "renameat2" => {
                let is_exchange = of[4].contains("EXCHANGE");
                self.rename(&path_at(of[0], of[1]), &path_at(of[2], of[3]), is_exchange);
            }
            "unlink" | "rmdir" => self.name(&path_at("", of[0]), None),
            "unlinkat" => self.name(&path_at(of[0], of[1]), None),
            "fsync" | "fdatasync" => {
                if let Some(inode) = self.inode(of[0]) {
                    self.events.push(DiskEvent::Sync(inode));
                }
            }
            "syncfs" | "sync" => self.events.push(DiskEvent::SyncAll),
            "creat" => panic!("{name} is not read here: {of:?}"),
            "writev" | "pwritev" | "copy_file_range" | "sendfile"
                if self.inode(of[0]).is_some() =>
            {
                panic!("{name} is not read here: {of:?}")
            }
            _ => {}
        }
    }

    fn change(&mut self, change: DiskChange) {
        self.files.apply(&change);
        self.events.push(DiskEvent::Change(change));
    }

    fn write(&mut self, inode: Inode, at: usize, bytes: &[u8]) {
        let mut at = at;
        let mut rest = bytes;
        while !rest.is_empty() {
            let (page, after) = rest.split_at(rest.len().min(PAGE - at % PAGE));
            self.change(DiskChange::Page(inode, at, page.to_vec()));
            at += page.len();
            rest = after;
        }
    }

    fn open(&mut self, path: &Path, flags: &str, result: &str) {
        let place = (!flags.contains("O_APPEND")).then_some(0);
        self.places.insert(descriptor(result), place);
        if !flags.contains("O_CREAT") && !flags.contains("O_TRUNC") {
            return;
        }
        match self.find(path) {
            Some(inode) if flags.contains("O_TRUNC") => self.change(DiskChange::Length(inode, 0)),
            Some(_) => {}
            None => self.make(path, DiskContent::File(Vec::new()), 0o600),
        }
    }

    fn make_directory(&mut self, path: &Path, mode: u32) {
        self.make(path, DiskContent::Directory(BTreeMap::new()), mode & 0o755);
    }

    /// Something new has its kind and its mode from its first moment on, and then a name.
    fn make(&mut self, path: &Path, content: DiskContent, mode: u32) {
        if self.parent(path).is_some() {
            self.events.push(DiskEvent::New(content.clone(), mode));
            let new = self.files.add(content, mode);
            self.name(path, Some(new));
        }
    }

    fn set_mode(&mut self, path: &Path, mode: u32) {
        if let Some(inode) = self.find(path) {
            self.change(DiskChange::Mode(inode, mode));
        }
    }

    fn link(&mut self, old: &Path, new: &Path) {
        if let Some(inode) = self.find(old) {
            self.name(new, Some(inode));
        }
    }

    fn rename(&mut self, old: &Path, new: &Path, is_exchange: bool) {
        let (Some(from), Some(to)) = (self.parent(old), self.parent(new)) else {
            return;
        };
        let (what, there) = (self.find(old), self.find(new));
        let back = there.filter(|_| is_exchange);
        self.change(DiskChange::Names(vec![
            (from.0, from.1, back),
            (to.0, to.1, what),
        ]));
    }

    fn name(&mut self, path: &Path, to: Option<Inode>) {
        if let Some((directory, name)) = self.parent(path) {
            self.change(DiskChange::Names(vec![(directory, name, to)]));
        }
    }

    fn parent(&self, path: &Path) -> Option<(Inode, Vec<u8>)> {
        let name = path.file_name()?.as_encoded_bytes().to_vec();
        Some((self.find(path.parent()?)?, name))
    }

    fn find(&self, path: &Path) -> Option<Inode> {
        let (root, inode) = self.roots.iter().find(|(root, _)| path.starts_with(root))?;
        self.files.find(*inode, path.strip_prefix(root).ok()?)
    }

    fn inode(&self, argument: &str) -> Option<Inode> {
        self.find(&path_of_descriptor(argument)?)
    }

    fn length(&self, inode: Inode) -> usize {
        match &self.files.all[inode].0 {
            DiskContent::File(bytes) => bytes.len(),
            DiskContent::Link(_) | DiskContent::Directory(_) => 0,
        }
    }

    fn advance(&mut self, argument: &str, by: usize) {
        if let Some(Some(place)) = self.places.get_mut(&descriptor(argument)) {
            *place += by;
        }
    }
}

/// Splits arguments at commas that stand in no text, path or list.
fn split(arguments: &str) -> Vec<&str> {
    let (mut parts, mut begin, mut depth, mut is_text) = (Vec::new(), 0, 0_i32, false);
    for (at, character) in arguments.char_indices() {
        match character {
            '"' => is_text = !is_text,
            '{' | '[' | '<' if !is_text => depth += 1,
            '}' | ']' | '>' if !is_text => depth -= 1,
            ',' if !is_text && depth == 0 => {
                parts.push(arguments[begin..at].trim());
                begin = at + 1;
            }
            _ => {}
        }
    }
    parts.push(arguments[begin..].trim());
    parts
}

/// Returns the bytes of a text, all of which are written as `\xHH`.
fn bytes(text: &str) -> Vec<u8> {
    let text = text.trim_start_matches('"').trim_end_matches('"');
    let digits = text.split("\\x").skip(1);
    let byte = |digits: &str| u8::from_str_radix(&digits[..2], 16).expect("two digits");
    digits.map(byte).collect()
}

fn path(text: &str) -> PathBuf {
    PathBuf::from(std::ffi::OsString::from_vec(bytes(text)))
}

fn path_at(directory: &str, name: &str) -> PathBuf {
    let name = path(name);
    match path_of_descriptor(directory) {
        Some(directory) if name == Path::new(".") => directory,
        Some(directory) => directory.join(name),
        None => name,
    }
}

/// Returns the path of `N<path>`.
fn path_of_descriptor(argument: &str) -> Option<PathBuf> {
    let (_, path_text) = argument.split_once('<')?;
    let is_deleted = path_text.ends_with("(deleted)");
    (!is_deleted).then(|| path(path_text.strip_suffix('>').unwrap_or(path_text)))
}

fn descriptor(argument: &str) -> String {
    argument.split('<').next().unwrap_or_default().to_owned()
}

fn number(text: &str) -> usize {
    let digits = text
        .split(|character: char| !character.is_ascii_digit())
        .next();
    digits
        .and_then(|digits| digits.parse().ok())
        .unwrap_or_default()
}

fn mode(text: &str) -> u32 {
    u32::from_str_radix(text, 8).unwrap_or(0o700) & 0o777
}
