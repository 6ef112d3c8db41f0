//! Tests that have to mount something: the test runs again in a process of its own, and nothing is seen, or left, outside of
//! it.

use std::path::Path;
use std::process::Command;

use crate::skip::skip;

/// What mounts: options, what, where.
pub type MountCall = fn(&[&str], &Path, &Path);

fn mount(options: &[&str], what: &Path, place: &Path) {
    let status = Command::new("mount")
        .args(options)
        .args([what, place])
        .status()
        .expect("it is there");
    assert!(
        status.success(),
        "mount {options:?} {} {}",
        what.display(),
        place.display()
    );
}

/// Runs the body of the test of this name in a mount namespace. Where there is none to be had, it is skipped.
pub fn in_namespace(test: &str, body: impl FnOnce(MountCall)) {
    if std::env::var_os("CKPT_TEST_NAMESPACE").is_some() {
        return body(mount);
    }
    let works = Command::new("unshare")
        .args(["--mount", "mount", "-t", "tmpfs", "none", "/mnt"])
        .output();
    if !works.is_ok_and(|output| output.status.success()) {
        return skip("nothing can be mounted here");
    }
    again(test, &["--mount"]);
}

/// Runs the body of the test of this name as the root of a user namespace, whose limits are its own. Where there is none to be
/// had, it is skipped.
pub fn in_user_namespace(test: &str, body: impl FnOnce()) {
    const OPTIONS: [&str; 2] = ["--user", "--map-root-user"];
    if std::env::var_os("CKPT_TEST_NAMESPACE").is_some() {
        return body();
    }
    let works = Command::new("unshare").args(OPTIONS).arg("true").output();
    if !works.is_ok_and(|output| output.status.success()) {
        return skip("there is no user namespace here");
    }
    again(test, &OPTIONS);
}

fn again(test: &str, options: &[&str]) {
    let status = Command::new("unshare")
        .args(options)
        .arg(std::env::current_exe().expect("this test"))
        .args(["--exact", test, "--include-ignored", "--nocapture"])
        .env("CKPT_TEST_NAMESPACE", "1")
        .status()
        .expect("it was there just now");
    assert!(status.success(), "{test}, in a namespace of its own");
}
