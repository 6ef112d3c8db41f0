//! Tests that have to run as somebody else, or mount something: the test runs again in a process of its own, and nothing is
//! seen, or left, outside of it.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

/// Mounts: options, what, where.
pub type Mount = fn(&[&str], &Path, &Path);

fn mount(options: &[&str], what: &Path, place: &Path) {
    let status = Command::new("mount").args(options).args([what, place]).status().unwrap();
    assert!(status.success(), "mount {options:?} {} {}", what.display(), place.display());
}

/// Runs the body of the test of this name in a mount namespace. Where there is none to be had, it says so, and fails with
/// `CKPT_REQUIRE_MOUNT`.
#[expect(clippy::print_stdout, reason = "a test that did not run says so")]
pub fn in_namespace(test: &str, body: impl FnOnce(Mount)) {
    if std::env::var_os("CKPT_TEST_NAMESPACE").is_some() {
        return body(mount);
    }
    let works = Command::new("unshare").args(["--mount", "mount", "-t", "tmpfs", "none", "/mnt"]).output();
    if !works.is_ok_and(|output| output.status.success()) {
        println!("SKIPPED: {test}: nothing can be mounted here");
        assert!(std::env::var_os("CKPT_REQUIRE_MOUNT").is_none(), "mounts are required");
        return;
    }
    let status = Command::new("unshare")
        .arg("--mount")
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", test, "--include-ignored", "--nocapture"])
        .env("CKPT_TEST_NAMESPACE", "1")
        .status()
        .unwrap();
    assert!(status.success(), "{test}, in a namespace of its own");
}

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
