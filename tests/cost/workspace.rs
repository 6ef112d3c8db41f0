//! A workspace of known size whose files are old enough for their times to be trusted.

use testing::binary::Sandbox;
use testing::clock::await_tick;
use testing::count::{self, Counts};

/// A git repository with files in directories of ten, in which a session goes on.
pub struct SizedWorkspace {
    world: Sandbox,
    directories: u64,
}

impl SizedWorkspace {
    /// Two hundred files.
    pub fn small() -> Self {
        Self::written(20).begun()
    }

    /// Two hundred files, and a thousand and two hundred; they grow old together.
    pub fn both() -> [Self; 2] {
        [20, 120].map(Self::written).map(Self::begun)
    }

    /// A few files that nothing was recorded of.
    pub fn untouched() -> Self {
        Self::written(2)
    }

    /// Two hundred files that were written a moment ago, and looked at once.
    pub fn just_written() -> Self {
        let tree = Self::written(20);
        await_tick();
        tree.world
            .event(serde_json::json!({"event": "user_message", "session_id": "s"}))
            .ends_silently();
        tree
    }

    /// Returns whether the file system is one whose leases show every writer.
    pub fn tells_of_writers(&self) -> bool {
        let mut stat = std::process::Command::new("stat");
        let told = stat
            .args(["-f", "-c", "%T"])
            .arg(self.world.workspace())
            .output();
        let name = told.expect("`stat` runs").stdout;
        [&b"ext2/ext3\n"[..], b"xfs\n", b"btrfs\n", b"f2fs\n"].contains(&&name[..])
    }

    fn written(directories: u64) -> Self {
        let tree = Self {
            world: Sandbox::new(),
            directories,
        };
        for number in 0..directories * 10 {
            tree.world.write(
                &format!("d{:03}/f{number}", number / 10),
                format!("{number}\n").repeat(50),
            );
        }
        tree.world.run_git(&["init", "-q"]);
        tree
    }

    fn begun(self) -> Self {
        self.settle();
        for event in [
            "user_message",
            "step_start",
            "step_finish",
            "step_start",
            "step_finish",
        ] {
            self.world
                .event(serde_json::json!({"event": event, "session_id": "s"}))
                .ends_silently();
        }
        self
    }

    /// From now on the times of all files are old enough.
    pub fn settle(&self) {
        self.world.grow_old();
    }

    /// Returns how many files there are.
    pub fn files(&self) -> u64 {
        self.directories * 10
    }

    /// Returns how many directories there are, the root among them.
    pub fn directories(&self) -> u64 {
        self.directories + 1
    }

    /// Appends to some files.
    pub fn edit(&self, count: usize) {
        for number in 0..count {
            let path = format!("d{:03}/f{number}", number / 10);
            let content = [self.world.read(&path), b"edited\n".to_vec()].concat();
            self.world.write(&path, content);
        }
    }

    /// Plays a message whose agent edits so many files, and makes as many.
    pub fn play(&self, message: &str, count: usize) {
        self.world.play(message, "go on", |_| {
            self.edit(count);
            (0..count).for_each(|number| {
                self.world
                    .write(&format!("d{:03}/new{number}", number / 10), "made\n")
            });
        });
    }

    /// Runs a command to its good end.
    pub fn run(&self, arguments: &[&str]) {
        self.world.run(arguments, b"").exits(0);
    }

    /// Returns how many files have an unclear change.
    pub fn unclear(&self) -> usize {
        let status = self.world.json(&["status"]);
        status["unclear"].as_array().map_or(0, Vec::len)
    }

    /// Runs a command and counts what it does.
    pub fn counts_of(&self, arguments: &[&str]) -> Counts {
        count::count_run(&self.world, arguments, "", &[])
    }

    /// Sends an event and counts what the call does.
    pub fn counts(&self, event: &str) -> Counts {
        self.counts_with(event, &[])
    }

    /// The same with options of `strace`.
    pub fn counts_with(&self, event: &str, options: &[&str]) -> Counts {
        self.count_event(serde_json::json!({"event": event}), options)
    }

    /// Counts the start of an edit tool that names a file.
    pub fn counts_of_edit(&self, file: &str) -> Counts {
        let path = self.world.workspace().join(file);
        let event = serde_json::json!({
            "event": "tool_start", "tool_kind": "edit", "tool_use_id": file, "paths": [path.to_str().expect("a plain path")]
        });
        self.count_event(event, &[])
    }

    fn count_event(&self, mut event: serde_json::Value, options: &[&str]) -> Counts {
        let cwd = self.world.workspace();
        event["session_id"] = "s".into();
        event["cwd"] = cwd.to_str().expect("a plain path").into();
        count::count(&self.world, &event.to_string(), options)
    }

    /// Commits everything, and has git ignore some names.
    pub fn commit(&self, ignored: &str) {
        self.world.write(".gitignore", ignored);
        self.world.run_git(&["add", "-A"]);
        self.world.run_git(&["commit", "-qm", "begin"]);
    }

    /// Returns how many files the folders of packs hold.
    pub fn packs(&self) -> usize {
        let keys = std::fs::read_dir(self.world.store().join("snapshots")).expect("the store");
        let packs = keys.map(|key| {
            key.expect("an entry")
                .path()
                .join("repository.git/objects/pack")
        });
        packs
            .map(|packs| std::fs::read_dir(packs).map_or(0, Iterator::count))
            .sum()
    }
}
