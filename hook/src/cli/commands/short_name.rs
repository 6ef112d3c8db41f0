//! `ck`: a second name of this program, where nothing of that name is.

use std::fs;
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::{Path, PathBuf};

use ckpt_agents::settings::lasting::is_passing;
use ckpt_process::surroundings;

const NAME: &str = "ck";

/// Makes the link beside the program, or removes it. Returns the link if something was done: not where the program is not
/// found by its name, where the folder is not the user's own, and where another program has that name.
pub fn change(program: &Path, is_wanted: bool) -> Option<PathBuf> {
    let (folder, target) = (program.parent()?, program.file_name()?);
    let path = surroundings::search_path().unwrap_or_default();
    let is_found = std::env::split_paths(&path).any(|other| other == folder);
    let is_own =
        fs::metadata(folder).is_ok_and(|found| found.uid() == rustix::process::geteuid().as_raw());
    if !is_found || !is_own || is_passing(program) {
        return None;
    }
    let link = folder.join(NAME);
    let is_ours = fs::read_link(&link).is_ok_and(|found| found == Path::new(target));
    let is_taken = || {
        let mut folders = std::env::split_paths(&path);
        folders.any(|folder| folder.join(NAME).symlink_metadata().is_ok())
    };
    let done = match is_wanted {
        true if !is_taken() => symlink(target, &link),
        false if is_ours => fs::remove_file(&link),
        _ => return None,
    };
    done.ok().map(|()| link)
}
