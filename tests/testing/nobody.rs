//! Tests that have to run as somebody else: the test runs again in a process of its own.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

const FOLDER: &str = "CKPT_FOLDER_OF_ANOTHER_USER";

/// Runs the body of the test of this name as a user who is not root, who reads and enters everything.
#[track_caller]
pub fn as_nobody(test: &str, body: impl FnOnce()) {
    if rustix::process::geteuid().is_root() {
        again_as_nobody(test, None)
    } else {
        body()
    }
}

/// The same, with a directory that belongs to another user and in which everybody may write. Returns false where there is
/// nobody to be somebody else.
#[track_caller]
pub fn as_nobody_in_a_directory_of_another_user(test: &str, body: impl FnOnce(&Path)) -> bool {
    if rustix::process::geteuid().is_root() {
        let folder = tempfile::tempdir().expect("a scratch directory");
        std::fs::set_permissions(folder.path(), Permissions::from_mode(0o777)).expect("it is ours");
        again_as_nobody(test, Some(folder.path()));
        return true;
    }
    let folder = std::env::var_os(FOLDER).map(PathBuf::from);
    folder.as_deref().map(body).is_some()
}

#[track_caller]
fn again_as_nobody(test: &str, folder: Option<&Path>) {
    let readable = Permissions::from_mode(0o755);
    let scratch = tempfile::Builder::new()
        .permissions(readable)
        .tempdir()
        .expect("a scratch directory");
    let program = scratch.path().join("test");
    crate::executable::copy(
        &std::env::current_exe().expect("this test's program"),
        &program,
    );
    let mut command = Command::new(program);
    command
        .args(["--exact", test, "--include-ignored", "--nocapture"])
        .current_dir("/")
        .uid(65534)
        .gid(65534);
    command.envs(folder.map(|folder| (FOLDER, folder)));
    let output = command.output().expect("it starts");
    let said = String::from_utf8_lossy(&output.stdout);
    let went_well = output.status.success() && said.contains("1 passed");
    assert!(
        went_well,
        "{test}, as nobody:\n{said}{}",
        String::from_utf8_lossy(&output.stderr)
    );
}
