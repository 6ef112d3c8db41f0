//! Programs that a test makes and then runs.
//!
//! A process of its own writes them. A descriptor that this process had open for writing is inherited by whatever another
//! test's thread starts at that moment, until that executes, and the kernel runs no file that is open for writing
//! (`ETXTBSY`, execve(2)).

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

/// Copies a program; everybody may run the copy.
#[track_caller]
pub fn copy(from: &Path, to: &Path) {
    let status = Command::new("install")
        .args(["-m", "755"])
        .args([from, to])
        .status()
        .expect("coreutils are there");
    assert!(
        status.success(),
        "cannot copy `{}` to `{}`",
        from.display(),
        to.display()
    );
}

/// Writes a script that everybody may run.
#[track_caller]
pub fn write(path: &Path, text: &str) {
    let mut install = Command::new("install");
    install
        .args(["-m", "755", "/dev/stdin"])
        .arg(path)
        .stdin(Stdio::piped());
    let mut install = install.spawn().expect("coreutils are there");
    install
        .stdin
        .take()
        .expect("a pipe")
        .write_all(text.as_bytes())
        .expect("it reads");
    assert!(
        install.wait().expect("it ends").success(),
        "cannot write `{}`",
        path.display()
    );
}
