//! The workspace that is shown: names, prompts and contents in several scripts, joined emoji, and some that would act on a terminal.

use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use testing::binary::{Sandbox, binary};

/// 2026-03-10 12:00 UTC: when everything is looked at.
pub const NOON: i64 = 1_773_144_000;

const HOUR: i64 = 3600;
const MINUTE: i64 = 60;

/// Prompts, and parts of names.
const CAKE: &str = "Add sugar to the cake, and write down who wants it with milk";
const JAPANESE: &str =
    "ファイルの名前を全部わかりやすく付け直して、古いものは新しいフォルダーに移してください";
const FAMILY: &str = "👨\u{200d}👩\u{200d}👧 ❤\u{fe0f}\u{200d}🔥 family";
const PERSIAN: &str = "می\u{200c}خواهم این را بخوانم";
const ACTING: &str = "title\u{1b}]0;owned\u{7} clear\u{1b}[2J\u{9b}31m txt.\u{202e}exe\u{2066} two\u{2028}lines\rover";

/// Twelve lines, of which some are others.
fn text(changed: &[(usize, &str)]) -> String {
    let line = |number: usize| {
        let found = changed.iter().find(|(at, _)| *at == number);
        found.map_or_else(
            || format!("line {number}\n"),
            |(_, text)| format!("{text}\n"),
        )
    };
    (1..=12).map(line).collect()
}

/// The first two messages of yesterday, and three of today.
fn messages(world: &Sandbox) {
    world.set_clock(NOON - 30 * HOUR);
    world.play("m1", CAKE, |world| {
        world.write("text", text(&[(2, "two spoons of sugar")]));
        world.write("cake.txt", "flour\neggs\nsugar\nmilk\n");
    });
    world.set_clock(NOON - 29 * HOUR);
    world.play("m2", JAPANESE, |world| {
        world.write(
            "text",
            text(&[(2, "two spoons of sugar"), (7, "七行目"), (8, "line  8")]),
        );
        world.write("日本語のとても長い名前のファイル.txt", "日本語\n");
        std::fs::create_dir(world.workspace().join("new")).expect("writable");
        std::fs::rename(
            world.workspace().join("old name.txt"),
            world.workspace().join("new/new name.txt"),
        )
        .expect("writable");
    });
    world.set_clock(NOON - 3 * HOUR);
    world.play("m3", FAMILY, |world| {
        world.write(&format!("new/{FAMILY}"), "👨\u{200d}👩\u{200d}👧\n");
        world.write("picture.png", [137, 80, 78, 71, 0, 1, 2, 3, 4]);
        world.remove("gone.txt");
    });
    world.set_clock(NOON - 2 * HOUR);
    world.play("m4", PERSIAN, |world| {
        world.write("می\u{200c}خواهم.txt", format!("{PERSIAN}\n"));
        let script = world.workspace().join("run.sh");
        std::fs::set_permissions(script, PermissionsExt::from_mode(0o755)).expect("it is ours");
        symlink("text", world.workspace().join("link")).expect("writable");
    });
    world.set_clock(NOON - 20 * MINUTE);
    world.play("m5", ACTING, |world| {
        world.write(&format!("{ACTING}.txt"), format!("{ACTING}\n"));
        for number in 1..=30 {
            world.write(&format!("many/file {number:02}"), format!("{number}\n"));
        }
        world.remove("cake.txt");
    });
}

/// What people did: labels, an edit that a revert meets, a revert and its way back, a file that came and went.
fn by_people(world: &Sandbox) {
    world.set_clock(NOON - 15 * MINUTE);
    world.run(&["label", "m3", "日本語の印"], b"").exits(0);
    world.run(&["label", "m4", FAMILY], b"").exits(0);
    world.write("mine.txt", "mine\n");
    world.run(&["snapshot", "--label", PERSIAN], b"").exits(0);
    world.set_clock(NOON - 12 * MINUTE);
    let foreign = ["message", "--session", "another", "--prompt", ACTING];
    world.run(&foreign, b"").exits(0);
    world.write(
        "text",
        text(&[
            (2, "two spoons of sugar"),
            (7, "changed by hand"),
            (8, "line  8"),
        ]),
    );
    world.set_clock(NOON - 10 * MINUTE);
    world.run(&["revert", "m5", "--session", "s"], b"");
    world.set_clock(NOON - 8 * MINUTE);
    world.run(&["unrevert"], b"");
    world.remove("mine.txt");
    world.run(&["snapshot"], b"").exits(0);
}

/// What some commands read: requests, calls of tools, and answers to questions.
pub fn given(world: &Sandbox) {
    let write = |name: &str, text: &str| {
        std::fs::write(world.home().join(name), text).expect("writable");
    };
    write(
        "requests",
        concat!(
            "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"show\",\"params\":{\"id\":\"nothing-like-it\"}}\n",
            "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"coffee\"}\n",
        ),
    );
    let mut init = testing::git::command(&world.home(), &world.home());
    testing::git::text(init.args(["init", "-q", "--bare", "history.git"]));
    write("calls", "");
    write("answers", "y\nn\nd\n");
    std::fs::create_dir(world.home().join("pages")).expect("writable");
    std::fs::create_dir_all(world.home().join(".claude")).expect("writable");
}

/// The workspace with its history, at noon. The binary is at a path that is as long on every machine.
pub fn world() -> Sandbox {
    let world = Sandbox::new_in(Path::new("/tmp"));
    let programs = world.path("bin");
    std::fs::create_dir(&programs).expect("writable");
    let program = programs.join("ckpt-hook");
    if std::fs::hard_link(binary(), &program).is_err() {
        std::fs::copy(binary(), &program).expect("there is room for it");
    }
    world.write("text", text(&[]));
    world.write("gone.txt", "1\n2\n");
    world.write("old name.txt", "a\nb\nc\nd\ne\n");
    world.write("picture.png", [137, 80, 78, 71, 0, 1]);
    world.write("run.sh", "#!/bin/sh\necho run\n");
    messages(&world);
    by_people(&world);
    given(&world);
    world.set_clock(NOON);
    world
}
