//! Parts that this test binary plays in a process of its own: with another umask, as another user, under `strace`.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Output};

use crate::{crash, modes, scarcity};
use testing::apply::PlannedWorkspace;

/// What the other process does.
#[derive(Clone, Debug)]
pub enum Part {
    Umask(u32),
    ReadOnly,
    FewDescriptors,
    Crash,
}

impl Part {
    fn name(&self) -> String {
        match self {
            Self::Umask(umask) => format!("umask-{umask}"),
            Self::ReadOnly => "read-only".to_owned(),
            Self::FewDescriptors => "few-descriptors".to_owned(),
            Self::Crash => "crash".to_owned(),
        }
    }
}

/// Not a test: what the other process runs. Without its environment it does nothing.
#[test]
fn play_a_part() {
    let (Some(part), Some(folder)) = (
        std::env::var("CKPT_PART").ok(),
        std::env::var_os("CKPT_FOLDER"),
    ) else {
        return;
    };
    let mut world = PlannedWorkspace::at(Path::new(&folder));
    match part.split_once('-') {
        Some(("umask", umask)) => modes::under_umask(umask.parse().expect("a number"), &mut world),
        Some(("few", _)) => scarcity::with_few_descriptors(&mut world),
        Some(("read", _)) => modes::in_a_read_only_directory(&mut world),
        _ => crash::act(&mut world),
    }
}

/// Returns the command that plays a part, behind the words of a wrapper.
pub fn command(wrapper: &[String], part: &Part, folder: &Path) -> Command {
    let binary = std::env::current_exe().expect("this test's binary");
    let mut words = wrapper.to_vec();
    words.push(binary.to_str().expect("a path in text").to_owned());
    words.extend(
        [
            "--exact",
            "parts::play_a_part",
            "--nocapture",
            "--test-threads=1",
        ]
        .map(str::to_owned),
    );
    let mut command = Command::new(&words[0]);
    command
        .args(&words[1..])
        .env_clear()
        .env("CKPT_PART", part.name())
        .env("CKPT_FOLDER", folder);
    command
}

/// Plays a part to its end and asserts that it went well; as this user where the test runs as root, else as the user who runs it.
#[track_caller]
pub fn play(part: &Part, folder: &Path, user: Option<u32>) {
    let user = user.filter(|_| rustix::process::geteuid().is_root());
    let Some(user) = user else {
        assert_went_well(&command(&[], part, folder).output().expect("it starts"));
        return;
    };
    // The binary is where the build put it, which the other user may not be able to read.
    let binary = folder.join("binary");
    testing::executable::copy(
        &std::env::current_exe().expect("this test's binary"),
        &binary,
    );
    fs::set_permissions(folder, fs::Permissions::from_mode(0o755)).expect("ours");
    for path in [folder.join("work"), folder.join("outside")] {
        std::os::unix::fs::chown(path, Some(user), Some(user)).expect("root may");
    }
    let mut command = Command::new(&binary);
    command
        .args(["--exact", "parts::play_a_part", "--nocapture"])
        .env_clear();
    command
        .env("CKPT_PART", part.name())
        .env("CKPT_FOLDER", folder)
        .uid(user)
        .gid(user)
        .current_dir(folder);
    assert_went_well(&command.output().expect("it starts"));
}

#[track_caller]
fn assert_went_well(output: &Output) {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(
        output.status.success(),
        "{}{}",
        text(&output.stdout),
        text(&output.stderr)
    );
}
