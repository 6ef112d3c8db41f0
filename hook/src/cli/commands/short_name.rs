//! `ck`: a second name of this program, where nothing of that name is.

use std::fs;
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::{Path, PathBuf};

use ckpt_agents::settings::file;
use ckpt_agents::settings::lasting::{is_direct, is_passing};
use ckpt_process::surroundings;

const NAME: &str = "ck";

/// Returns the link beside the program if it is to be made, or removed. None is made where the program is not found by its
/// name, where the folder is not the user's own or is replaced by an upgrade, where a version manager starts the program
/// by the name that it is called by, and where another program has that name; what is there is removed whatever `PATH`
/// is now.
pub fn due(program: &Path, is_wanted: bool) -> Option<PathBuf> {
    let (folder, target) = (program.parent()?, program.file_name()?);
    let link = folder.join(NAME);
    if !is_wanted {
        let is_ours = fs::read_link(&link).is_ok_and(|found| found == Path::new(target));
        return is_ours.then_some(link);
    }
    let path = surroundings::search_path().unwrap_or_default();
    let folders = || std::env::split_paths(&path);
    let is_found = folders().any(|other| other == folder);
    let is_own =
        fs::metadata(folder).is_ok_and(|found| found.uid() == rustix::process::geteuid().as_raw());
    let is_taken = folders().any(|folder| folder.join(NAME).symlink_metadata().is_ok());
    let lasts = !is_passing(&link) && !is_passing(&file::real(folder).join(NAME));
    let is_due = is_found && is_own && !is_taken && lasts && is_direct(program);
    is_due.then_some(link)
}

/// Makes or removes a link that is due; returns whether it could.
pub fn change(link: &Path, program: &Path, is_wanted: bool) -> bool {
    match program.file_name().filter(|_| is_wanted) {
        Some(target) => symlink(target, link).is_ok(),
        None => fs::remove_file(link).is_ok(),
    }
}
