//! Where the store is: whether another one is in a place where this one could be, and whether it goes with a container.

use std::collections::BTreeSet;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use ckpt_agents::settings::file;
use ckpt_command::invocation::Invocation;
use ckpt_process::surroundings;

/// Returns the user's other stores: the usual one, and those of snaps and Flatpaks, whose programs get a folder of data
/// of their own (`$XDG_DATA_HOME`). None where the store was chosen.
pub fn others(invocation: &Invocation) -> Vec<PathBuf> {
    let surroundings = &invocation.surroundings;
    let is_chosen = invocation.common.store.is_some() || surroundings.store.is_some();
    let Ok(own) = invocation.store_directory() else {
        return Vec::new();
    };
    if is_chosen {
        return Vec::new();
    }
    let real_home = surroundings::variable("SNAP_REAL_HOME").map(PathBuf::from);
    let homes = surroundings.home.iter().cloned().chain(real_home);
    let candidates = homes.flat_map(|home| {
        let snaps = below(&home.join("snap"))
            .into_iter()
            .flat_map(|snap| below(&snap));
        let snaps = snaps.map(|revision| revision.join(".local/share"));
        let flatpaks = below(&home.join(".var/app"))
            .into_iter()
            .map(|app| app.join("data"));
        let usual = home.join(surroundings::DATA_FOLDER);
        [usual]
            .into_iter()
            .chain(snaps)
            .chain(flatpaks)
            .collect::<Vec<_>>()
    });
    let mut seen = BTreeSet::from([file::real(&own)]);
    candidates
        .map(|data| data.join("ckpt-hook"))
        .filter(|store| store.join(ckpt_store::DATABASE).is_file())
        .filter(|store| seen.insert(file::real(store)))
        .collect()
}

/// Returns sentences that name other stores.
pub fn said(invocation: &Invocation) -> String {
    let sentence = |store: PathBuf| {
        let store = store.display();
        format!("There is another store in `{store}`: `ckpt-hook --store {store} log` shows it. ")
    };
    others(invocation).into_iter().map(sentence).collect()
}

fn below(folder: &Path) -> Vec<PathBuf> {
    let names = surroundings::names_in(folder).into_iter();
    names.map(|name| folder.join(name)).collect()
}

/// Returns whether a directory, which need not exist, is on a container's own layer: that goes with the container.
pub fn goes_with_a_container(directory: &Path) -> bool {
    let machine = surroundings::machine();
    let device = |path: &Path| Some(path.metadata().ok()?.dev());
    let there = directory.ancestors().find_map(device);
    let is_in_container = [".dockerenv", "run/.containerenv"]
        .iter()
        .any(|mark| machine.join(mark).exists());
    (is_in_container || is_overlay(&machine)) && there.is_some() && there == device(&machine)
}

#[cfg(target_os = "linux")]
fn is_overlay(directory: &Path) -> bool {
    /// `OVERLAYFS_SUPER_MAGIC`.
    const OVERLAY: i64 = 0x794c_7630;
    // A test's directory is no root of anything.
    directory == Path::new("/")
        && rustix::fs::statfs(directory).is_ok_and(|stat| stat.f_type & 0xffff_ffff == OVERLAY)
}

#[cfg(not(target_os = "linux"))]
fn is_overlay(_: &Path) -> bool {
    false
}

/// What is said of such a store.
pub const ON_A_LAYER: &str =
    "the store is on the container's own layer, and goes with the container";

/// What to do about it.
pub const TO_A_VOLUME: &str = "mount a volume, and set `$CKPT_HOOK_HOME` to a directory on it";
