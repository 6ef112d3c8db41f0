//! Tests that have to run as somebody else: the test runs again in a process of its own.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::process::Command;

/// Runs the body of the test of this name as a user who is not root, who reads and enters everything.
pub fn as_nobody(test: &str, body: impl FnOnce()) {
    if !rustix::process::geteuid().is_root() {
        return body();
    }
    let readable = Permissions::from_mode(0o755);
    let folder = tempfile::Builder::new().permissions(readable).tempdir().unwrap();
    let program = folder.path().join("test");
    crate::executable::copy(&std::env::current_exe().unwrap(), &program);
    let mut command = Command::new(program);
    command.args(["--exact", test, "--include-ignored", "--nocapture"]).current_dir("/").uid(65534).gid(65534);
    assert!(command.status().unwrap().success(), "{test}, as nobody");
}
