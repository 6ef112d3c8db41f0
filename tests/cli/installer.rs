//! The installer that needs no root: what it put somewhere is noted before it is there, wherever it is killed.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use testing::skip::skip;
use testing::tree;

/// A release whose program says its version, and nothing else.
struct Release(tempfile::TempDir);

impl Release {
    fn new() -> Self {
        let release = Self(tempfile::tempdir().expect("a scratch directory"));
        let machine = std::env::consts::ARCH;
        let name = format!("ckpt-hook-1.0-{machine}-unknown-linux-gnu");
        let make = format!(
            "set -e; mkdir -p {name}/man {name}/completions; printf '#!/bin/sh\\necho 1.0\\n' >{name}/ckpt-hook
             chmod +x {name}/ckpt-hook; touch {name}/man/a.1 {name}/man/b.1
             for shell in bash fish zsh; do touch {name}/completions/ckpt-hook.$shell; done
             tar -czf {name}.tar.gz {name}; sha256sum {name}.tar.gz >SHA256SUMS"
        );
        assert!(release.sh(&["-c", &make], None).success());
        let script = include_str!("../../packaging/install.sh").replace("@VERSION@", "1.0");
        fs::write(release.path("install.sh"), script).expect("writable");
        release
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Runs a shell; `mv` is another one if a folder is given.
    fn sh(&self, arguments: &[&str], first: Option<&Path>) -> std::process::ExitStatus {
        let first = first.map(|first| format!("{}:", first.display()));
        let mut shell = Command::new("sh");
        shell
            .args(arguments)
            .current_dir(self.0.path())
            .env_clear()
            .env("HOME", self.0.path())
            .env("PATH", first.unwrap_or_default() + "/usr/bin:/bin")
            .env("CKPT_PREFIX", self.path("prefix"))
            .env(
                "CKPT_DOWNLOADS",
                format!("file://{}", self.0.path().display()),
            );
        shell.output().expect("there is a shell").status
    }
}

#[test]
fn an_installation_that_is_killed_can_be_removed() {
    if cfg!(not(target_os = "linux")) || !Path::new("/usr/bin/curl").exists() {
        return skip("the archive is one for Linux, and curl fetches it");
    }
    for renames in 1.. {
        let release = Release::new();
        let counting = release.path("counting");
        fs::create_dir(&counting).expect("writable");
        let script = format!(
            "#!/bin/sh\necho >>'{0}'\n[ $(wc -l <'{0}') -lt {renames} ] || {{ kill -9 $PPID; exit; }}\nexec /bin/mv \"$@\"\n",
            release.path("counted").display()
        );
        fs::write(counting.join("mv"), script).expect("writable");
        let mode = fs::Permissions::from_mode(0o755);
        fs::set_permissions(counting.join("mv"), mode).expect("ours");
        let is_whole = release.sh(&["install.sh"], Some(&counting)).success();
        let prefix = release.path("prefix");
        let is_begun = prefix.join("share/ckpt-hook-installed").exists();
        let removed = release.sh(&["install.sh", "--uninstall"], None).success();
        assert_eq!(removed, is_begun, "killed at rename {renames}");
        let left: Vec<PathBuf> = match prefix.exists() && is_begun {
            true => tree::read(&prefix).into_keys().collect(),
            false => Vec::new(),
        };
        let left = left
            .iter()
            .filter(|path| prefix.join(path).is_file())
            .count();
        assert_eq!(left, 0, "killed at rename {renames}");
        if is_whole {
            assert!(renames > 7, "each file was one of them");
            return;
        }
    }
}

/// A dev container runs it as root, and its user then writes to the volume.
#[test]
fn dev_container_gets_the_program() {
    if cfg!(not(target_os = "linux")) || !Path::new("/usr/bin/curl").exists() {
        return skip("the archive is one for Linux, and curl fetches it");
    }
    let release = Release::new();
    let folder = release.path("feature");
    fs::create_dir(&folder).expect("writable");
    fs::rename(release.path("install.sh"), folder.join("installer.sh")).expect("ours");
    let script = include_str!("../../packaging/devcontainer/install.sh");
    fs::write(folder.join("install.sh"), script).expect("writable");
    let volume = release.path("volume");
    let run = format!(
        "CKPT_VOLUME='{}' _REMOTE_USER=$(id -un) sh feature/install.sh",
        volume.display()
    );
    assert!(release.sh(&["-c", &run], None).success());
    assert!(release.path("prefix/bin/ckpt-hook").exists());
    let mode = fs::metadata(&volume).expect("it is there").permissions();
    assert_eq!(mode.mode() & 0o777, 0o700);
    let feature = include_str!("../../packaging/devcontainer/devcontainer-feature.json");
    let feature: serde_json::Value = serde_json::from_str(feature).expect("JSON");
    let target = feature["mounts"][0]["target"].as_str().expect("a folder");
    let home = feature["containerEnv"]["CKPT_HOOK_HOME"].as_str();
    assert!(home.is_some_and(|home| Path::new(home).starts_with(target)));
    assert!(
        script.contains(&format!("CKPT_VOLUME:-{target}}}")),
        "the same folder"
    );
}

/// Wget takes no plain HTTP for HTTPS either.
#[test]
fn wget_follows_nobody_to_another_protocol() {
    let release = Release::new();
    let programs = release.path("programs");
    fs::create_dir(&programs).expect("writable");
    let link = |name: &str| {
        let place = ["/usr/bin", "/bin"].map(|folder| Path::new(folder).join(name));
        let place = place.into_iter().find(|place| place.exists());
        std::os::unix::fs::symlink(place.expect("it is there"), programs.join(name))
    };
    for name in ["sh", "uname", "mktemp", "rm", "env"] {
        link(name).expect("writable");
    }
    let asked = release.path("asked");
    let script = format!(
        "#!/bin/sh\necho \"$http_proxy\" >>'{}'\nexit 1\n",
        asked.display()
    );
    fs::write(programs.join("wget"), script).expect("writable");
    let mode = fs::Permissions::from_mode(0o755);
    fs::set_permissions(programs.join("wget"), mode).expect("ours");
    for (downloads, proxy) in [
        ("https://x.invalid", "http://0.0.0.0:0\n"),
        ("http://x.invalid", "\n"),
    ] {
        let run = Command::new("/bin/sh")
            .arg("install.sh")
            .current_dir(release.path(""))
            .env_clear()
            .env("HOME", release.path(""))
            .env("PATH", &programs)
            .env("CKPT_DOWNLOADS", downloads)
            .output()
            .expect("there is a shell");
        assert!(!run.status.success());
        let told = fs::read_to_string(&asked).expect("wget was asked");
        assert_eq!(told, proxy, "for {downloads}");
        fs::remove_file(&asked).expect("ours");
    }
}
