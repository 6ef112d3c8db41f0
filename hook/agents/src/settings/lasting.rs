//! The path of this program that is still right after an upgrade.
//!
//! Package managers install each version into a folder of its own, and remove the old one. What they keep is a link, or
//! a script that starts the present version. A hook that names a version's folder records nothing after the upgrade.

use std::ffi::OsString;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use super::file;

/// Folders whose contents are replaced or removed: stores of packages, and those of one shell or one run.
const REPLACED_FOLDERS: [&str; 8] = [
    "Cellar",
    "Caskroom",
    ".pnpm",
    "_npx",
    "dlx",
    "archive-v0",
    "fnm_multishells",
    "node-versions",
];

/// Stores that name a package by a hash.
const PACKAGE_STORES: [&str; 2] = ["/nix/store", "/gnu/store"];

/// The profiles of Nix and Guix in a home directory, and those of the machine.
const HOME_PROFILES: [&str; 4] = [
    ".nix-profile",
    ".local/state/nix/profile",
    ".guix-profile",
    ".guix-home/profile",
];
const MACHINE_PROFILES: [&str; 3] = [
    "/run/current-system/sw",
    "/run/current-system/profile",
    "/nix/var/nix/profiles/default",
];

/// What is known of this program's surroundings.
pub struct Lasting<'a> {
    /// The user's home directory.
    pub home: &'a Path,
    /// The environment, by name.
    pub environment: &'a dyn Fn(&str) -> Option<OsString>,
}

impl Lasting<'_> {
    /// Returns the path by which a program is called: its name on the `PATH` if that leads to it, else a link or a
    /// script of its package manager, else its own path.
    pub fn path(&self, program: &Path) -> PathBuf {
        let own = file::real(program);
        let named = self.on_path(program);
        let links = || self.links(&own);
        let lasts = |path: &PathBuf| !is_passing(path) && file::is_executable(path);
        named
            .iter()
            .find(|path| lasts(path) && leads_to(path, &own))
            .cloned()
            .or_else(|| (!is_passing(program)).then(|| program.to_owned()))
            .or_else(|| {
                links()
                    .into_iter()
                    .find(|path| lasts(path) && leads_to(path, &own))
            })
            .or_else(|| {
                let scripts = named.iter().cloned().chain(scripts(&own));
                scripts
                    .into_iter()
                    .find(|path| lasts(path) && starts(path, &own, self.home))
            })
            .unwrap_or_else(|| program.to_owned())
    }

    /// Returns where the folders of the `PATH` may have the program.
    fn on_path(&self, program: &Path) -> Vec<PathBuf> {
        let path = (self.environment)("PATH").unwrap_or_default();
        let name = program.file_name().unwrap_or_default();
        std::env::split_paths(&path)
            .filter(|folder| folder.is_absolute())
            .map(|folder| folder.join(name))
            .collect()
    }

    /// Returns where package managers may keep a link to a program.
    fn links(&self, own: &Path) -> Vec<PathBuf> {
        let name = own.file_name().unwrap_or_default();
        let mut found = of_homebrew(own);
        found.extend(beside(own));
        let user = (self.environment)("USER").unwrap_or_default();
        let profiles = (HOME_PROFILES.iter().map(|profile| self.home.join(profile)))
            .chain([Path::new("/etc/profiles/per-user").join(user)])
            .chain(MACHINE_PROFILES.iter().map(PathBuf::from));
        found.extend(profiles.map(|profile| profile.join("bin").join(name)));
        found
    }
}

/// Returns whether an upgrade, or the end of a shell, takes a path away: a folder of it has a version in its name, or is
/// one of those known.
pub fn is_passing(path: &Path) -> bool {
    let mut folders = path.parent().into_iter().flat_map(Path::iter);
    PACKAGE_STORES.iter().any(|store| path.starts_with(store))
        || folders.any(|folder| {
            let folder = folder.to_string_lossy();
            REPLACED_FOLDERS.contains(&&*folder) || has_version(&folder)
        })
        || is_of_snap(path)
}

/// Returns whether a name is a version, or ends with one: `1.2.0`, `v20.1.0`, `ckpt-hook-1.2`, `ckpt-hook@1.2.0_1`.
fn has_version(name: &str) -> bool {
    let starts = name.char_indices().filter(|(at, character)| {
        let before = name[..*at].strip_suffix('v').unwrap_or(&name[..*at]);
        character.is_ascii_digit()
            && !before.ends_with(|it: char| it.is_ascii_alphanumeric() || it == '.')
    });
    let mut rests =
        starts.map(|(at, _)| name[at..].trim_start_matches(|it: char| it.is_ascii_digit()));
    rests.any(|rest| {
        rest.strip_prefix('.')
            .is_some_and(|rest| rest.starts_with(|it: char| it.is_ascii_digit()))
    })
}

/// Returns whether a path is in a numbered revision of a snap.
fn is_of_snap(path: &Path) -> bool {
    let mut folders = path.strip_prefix("/snap").into_iter().flat_map(Path::iter);
    let (name, revision) = (folders.next(), folders.next());
    name.is_some_and(|name| name != "bin") && revision.is_some_and(|it| it != "current")
}

/// `PREFIX/Cellar/NAME/VERSION/bin/X` is linked as `PREFIX/opt/NAME/bin/X`, and most often as `PREFIX/bin/X`.
fn of_homebrew(own: &Path) -> Vec<PathBuf> {
    let mut above = own.ancestors();
    let Some(cellar) = above.find(|path| path.ends_with("Cellar")) else {
        return Vec::new();
    };
    let (Some(prefix), Ok(inside)) = (cellar.parent(), own.strip_prefix(cellar)) else {
        return Vec::new();
    };
    let mut parts = inside.iter();
    let (name, _version) = (parts.next().unwrap_or_default(), parts.next());
    let rest: PathBuf = parts.collect();
    let file = own.file_name().unwrap_or_default();
    vec![
        prefix.join("bin").join(file),
        prefix.join("opt").join(name).join(rest),
    ]
}

/// Returns a program through the links that stand beside the folders above it, as `latest` or `current` do beside the
/// folder of a version.
fn beside(own: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for folder in own.ancestors().skip(1) {
        let Some(above) = folder.parent() else { break };
        let Ok(rest) = own.strip_prefix(folder) else {
            break;
        };
        let name = folder.file_name().unwrap_or_default().to_string_lossy();
        if !has_version(&name) && !is_of_snap(own) {
            continue;
        }
        let entries = fs::read_dir(above).into_iter().flatten().flatten();
        let mut links: Vec<PathBuf> = entries
            .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_symlink()))
            .map(|entry| entry.path())
            .filter(|link| file::real(link) == folder)
            .collect();
        links.sort_by_key(|link| {
            (
                !link.ends_with("latest") && !link.ends_with("current"),
                link.clone(),
            )
        });
        found.extend(links.into_iter().map(|link| link.join(rest)));
    }
    found
}

/// Returns where version managers keep what starts the present version: asdf, mise and nodenv in `shims`, Volta in `bin`,
/// pnpm above its packages.
fn scripts(own: &Path) -> Vec<PathBuf> {
    let name = own.file_name().unwrap_or_default();
    let folders = own.ancestors().skip(1).flat_map(|folder| match folder {
        folder if folder.ends_with(".volta") => vec![folder.join("bin")],
        folder if folder.ends_with("pnpm") => vec![folder.join("bin"), folder.to_owned()],
        folder => vec![folder.join("shims")],
    });
    folders.map(|folder| folder.join(name)).collect()
}

fn leads_to(path: &Path, own: &Path) -> bool {
    file::real(path) == own
}

/// Returns whether a path is a version manager's way to start a program that it has installed: a script, or a link to
/// the manager itself, in the folder that holds the program, or in one beside it.
fn starts(path: &Path, own: &Path, home: &Path) -> bool {
    let folder = path.parent().unwrap_or(path);
    let above = folder.parent().filter(|above| *above != home);
    let is_beside = above.is_some_and(|above| {
        let is_known =
            folder.ends_with("shims") || above.ends_with(".volta") || above.ends_with("pnpm");
        is_known && own.starts_with(above)
    });
    let is_of_manager = own.starts_with(folder) || is_beside;
    is_of_manager && !is_direct(path)
}

/// Returns whether a path is the program itself or a link to it, and not a script or a link to a version manager, which
/// starts what it is called by.
pub fn is_direct(path: &Path) -> bool {
    file::real(path).file_name() == path.file_name() && !is_script(path)
}

fn is_script(path: &Path) -> bool {
    let mut start = [0; 2];
    let read = fs::File::open(path).and_then(|mut file| file.read_exact(&mut start));
    read.is_ok() && start == *b"#!"
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use testing::executable;

    use super::*;

    struct World(tempfile::TempDir);

    impl World {
        fn new() -> Self {
            Self(
                tempfile::Builder::new()
                    .prefix("lasting")
                    .tempdir()
                    .expect("a scratch directory"),
            )
        }

        fn at(&self, name: &str) -> PathBuf {
            file::real(self.0.path()).join(name)
        }

        fn program(&self, name: &str, text: &str) -> PathBuf {
            let path = self.at(name);
            fs::create_dir_all(path.parent().expect("a folder")).expect("new");
            executable::write(&path, text);
            path
        }

        fn link(&self, target: &str, name: &str) {
            let path = self.at(name);
            fs::create_dir_all(path.parent().expect("a folder")).expect("new");
            symlink(self.at(target), path).expect("new");
        }

        /// Returns the path that is written for a program, below the scratch directory.
        fn lasting(&self, program: &Path, on_path: &[&str]) -> String {
            let folders: Vec<PathBuf> = on_path.iter().map(|folder| self.at(folder)).collect();
            let path = std::env::join_paths(folders).expect("no colons");
            let environment = |name: &str| (name == "PATH").then(|| path.clone());
            let home = self.at("home");
            let lasting = Lasting {
                home: &home,
                environment: &environment,
            };
            let found = lasting.path(program);
            let below = found
                .strip_prefix(file::real(self.0.path()))
                .expect("in the world");
            below.display().to_string()
        }
    }

    /// The name on the path is written where it leads here.
    #[test]
    fn name_on_the_path_is_written_if_right() {
        let world = World::new();
        let own = world.program("brew/Cellar/ckpt-hook/1.2.0/bin/ckpt-hook", "");
        world.link(
            "brew/Cellar/ckpt-hook/1.2.0/bin/ckpt-hook",
            "brew/bin/ckpt-hook",
        );
        world.link("brew/Cellar/ckpt-hook/1.2.0", "brew/opt/ckpt-hook");
        world.program("other/ckpt-hook", "another");
        let lasting = |on_path: &[&str]| world.lasting(&own, on_path);
        assert_eq!(lasting(&["other", "brew/bin"]), "brew/bin/ckpt-hook");
        assert_eq!(lasting(&["other"]), "brew/bin/ckpt-hook", "not on the PATH");
        fs::remove_file(world.at("brew/bin/ckpt-hook")).expect("it was there");
        assert_eq!(
            lasting(&[]),
            "brew/opt/ckpt-hook/bin/ckpt-hook",
            "not linked"
        );
        assert_eq!(
            lasting(&["brew/Cellar/ckpt-hook/1.2.0/bin"]),
            "brew/opt/ckpt-hook/bin/ckpt-hook",
            "a version's folder on the PATH does not stay"
        );
    }

    #[test]
    fn a_version_managers_link_or_script_is_written() {
        let cases = [
            (
                "home/.local/share/mise/installs/ckpt-hook/1.2.0",
                "home/.local/share/mise/shims/ckpt-hook",
            ),
            (
                "home/.asdf/installs/ckpt-hook/1.2.0",
                "home/.asdf/shims/ckpt-hook",
            ),
            (
                "home/.volta/tools/image/packages/ckpt-hook/1.2.0",
                "home/.volta/bin/ckpt-hook",
            ),
            (
                "home/.local/share/pnpm/global/5/.pnpm/ckpt-hook@1.2.0",
                "home/.local/share/pnpm/ckpt-hook",
            ),
        ];
        for (folder, script) in cases {
            let world = World::new();
            let own = world.program(&format!("{folder}/bin/ckpt-hook"), "\u{7f}ELF");
            world.program(script, "#!/bin/sh\n");
            assert_eq!(world.lasting(&own, &[]), script);
        }
        let world = World::new();
        let own = world.program("mise/installs/ckpt-hook/1.2.0/bin/ckpt-hook", "");
        world.link("mise/installs/ckpt-hook/1.2.0", "mise/installs/ckpt-hook/1");
        world.link(
            "mise/installs/ckpt-hook/1.2.0",
            "mise/installs/ckpt-hook/latest",
        );
        assert_eq!(
            world.lasting(&own, &["mise/installs/ckpt-hook/1.2.0/bin"]),
            "mise/installs/ckpt-hook/latest/bin/ckpt-hook"
        );
    }

    #[test]
    fn a_program_without_another_name_keeps_its_path() {
        let world = World::new();
        for name in ["opt/bin/ckpt-hook", "src/app-2.0/target/debug/ckpt-hook"] {
            let own = world.program(name, "");
            world.program("bin/ckpt-hook", "#!/bin/sh\n");
            assert_eq!(
                world.lasting(&own, &["bin"]),
                name,
                "another is on the PATH"
            );
        }
    }

    #[test]
    fn a_folder_of_one_version_is_known() {
        for path in [
            "/opt/homebrew/Cellar/ckpt-hook/1/bin/ckpt-hook",
            "/nix/store/abc-ckpt-hook/bin/ckpt-hook",
            "/usr/local/stow/ckpt-hook-1.2/bin/ckpt-hook",
            "/home/u/.nvm/versions/node/v20.1.0/bin/ckpt-hook",
            "/run/user/1000/fnm_multishells/7_1/bin/ckpt-hook",
            "/snap/ckpt-hook/17/bin/ckpt-hook",
        ] {
            assert!(is_passing(Path::new(path)), "{path}");
        }
        for path in [
            "/opt/homebrew/bin/ckpt-hook",
            "/usr/lib/python3.12/ckpt-hook",
            "/home/u.2/.cargo/bin/ckpt-hook",
            "/snap/bin/ckpt-hook",
            "/opt/mise/installs/ckpt-hook/latest/bin/ckpt-hook",
        ] {
            assert!(!is_passing(Path::new(path)), "{path}");
        }
    }
}
