//! Databases of many files, and what only looks like one.

use ckpt_schema::report::{FileReport, FileResult, KeptKind};
use ckpt_store::model::request::OnConflict;

use super::databases::{said, say, sqlite_that_tidies};
use testing::scenario::{World, paths_with, to_with, with_result};

/// Folders of databases: the files, the one that the agent writes, and one that the user writes later.
const FOLDERS: [(&[&str], &str, &str); 12] = [
    (
        &["CURRENT", "MANIFEST-000002", "000003.log", "LOCK", "LOG"],
        "MANIFEST-000002",
        "000003.log",
    ),
    (&["data.mdb", "lock.mdb"], "data.mdb", "data.mdb"),
    (
        &["log.0000000001", "accounts"],
        "accounts",
        "log.0000000001",
    ),
    (
        &["a.aof.manifest", "a.aof.1.base.rdb", "a.aof.1.incr.aof"],
        "a.aof.manifest",
        "a.aof.1.incr.aof",
    ),
    (
        &["PG_VERSION", "global/1", "base/1/2"],
        "base/1/2",
        "global/1",
    ),
    (
        &["_delta_log/0.json", "part-0.parquet"],
        "part-0.parquet",
        "_delta_log/1.json",
    ),
    (&["words.dat", "words.dir"], "words.dir", "words.dat"),
    (
        &[
            "metadata/v1.metadata.json",
            "metadata/snap-1.avro",
            "data/1",
        ],
        "data/1",
        "metadata/v2.metadata.json",
    ),
    (
        &["service.properties", "seg0/c10.dat", "log/log1.dat"],
        "seg0/c10.dat",
        "log/log1.dat",
    ),
    (
        &["databases/store_lock", "databases/a/b", "transactions/a/b"],
        "databases/a/b",
        "transactions/a/b",
    ),
    (
        &["x.indexeddb.leveldb/CURRENT", "x.indexeddb.blob/1"],
        "x.indexeddb.blob/1",
        "x.indexeddb.leveldb/CURRENT",
    ),
    (&["SALES.DBF", "SALES.FPT"], "SALES.FPT", "SALES.DBF"),
];

/// A folder of a database goes back as a whole or not at all.
///
/// Invariant `work/databases`.
#[test]
fn database_folder_goes_back_whole_or_stays() {
    for (files, of_the_agent, of_the_user) in FOLDERS {
        for is_changed in [false, true] {
            let mut world = World::new();
            let before = |world: &World| {
                for file in files {
                    world.write(format!("store/{file}"), "mine\n");
                }
            };
            before(&world);
            world.write("store/notes.txt", "mine\n");
            world.turn("m1", |world| {
                world.write(format!("store/{of_the_agent}"), "agent\n");
                world.write("store/new.log", "agent\n");
                world.write("other", "agent\n");
            });
            let agents = world.tree();
            if is_changed {
                world.write(format!("store/{of_the_user}"), "later\n");
            }
            let report = world.revert("m1");
            assert!(!world.exists("other"), "{files:?}: {report:#?}");
            let is_back = world.read(format!("store/{of_the_agent}")) == "mine\n";
            assert_eq!(is_back, !is_changed, "{files:?}: {report:#?}");
            if is_changed {
                assert_eq!(world.read(format!("store/{of_the_user}")), "later\n");
                let kept = with_result(&report, FileResult::Conflict);
                let is_named = |file: &&FileReport| {
                    let reason = file.reason.as_deref().unwrap_or_default();
                    file.path.path == format!("store/{of_the_agent}") && !reason.is_empty()
                };
                assert!(kept.iter().any(is_named), "{files:?}: {report:#?}");
            } else {
                world.unrevert();
                assert_eq!(world.tree(), agents, "{files:?}: and forward");
            }
        }
    }
}

/// A folder of a database stays if a part of it is ignored.
#[test]
fn partly_ignored_database_folder_stays() {
    let mut world = World::git(&[(".gitignore", "*.log\n")]);
    for file in ["CURRENT", "MANIFEST-000002", "000003.log"] {
        world.write(format!("levels/{file}"), "mine\n");
    }
    world.turn("m1", |world| {
        world.write("levels/CURRENT", "agent\n");
        world.write("levels/MANIFEST-000002", "agent\n");
    });
    let report = world.revert("m1");
    assert_eq!(world.read("levels/CURRENT"), "agent\n");
    assert_eq!(
        paths_with(&report, FileResult::Conflict),
        ["levels/CURRENT", "levels/MANIFEST-000002"],
        "{report:#?}"
    );
}

#[test]
fn known_databases_log_keeps_it() {
    let litedb = [&[0; 32][..], b"** This is a LiteDB file **"].concat();
    for (database, log, start) in [
        ("sales", "sales.wal", &b"\0\0\0\0\0\0\0\0DUCK"[..]),
        ("sales", "sales.wal", b"KUZU"),
        ("sales.db", "sales-log.db", &litedb),
        ("v1.0/sales", "v1.0/sales-log", &litedb),
    ] {
        let with = |text: &str| [start, text.as_bytes()].concat();
        let mut world = World::new();
        world.write(database, with("mine"));
        world.turn("m1", |world| world.write(database, with("agent")));
        world.write(log, "later");
        let report = world.revert("m1");
        assert_eq!(
            world.read(database),
            String::from_utf8_lossy(&with("agent"))
        );
        assert_eq!(
            paths_with(&report, FileResult::Conflict),
            [database],
            "{report:#?}"
        );
    }
}

/// What looks like another set takes no database without its log.
#[test]
fn look_alike_set_leaves_a_database_whole() {
    for (database, others) in [
        ("x.data", ["x.script", "x.properties"]),
        ("db", ["conf", "snap.1"]),
    ] {
        let mut world = World::new();
        for other in others {
            world.write(other, "mine\n");
        }
        let say_and_tidy = |world: &World, word: &str| {
            let database = sqlite_that_tidies(world, database);
            let said = database.execute("INSERT INTO words VALUES (?1)", [word]);
            said.expect("a row");
        };
        say_and_tidy(&world, "mine");
        world.turn("m1", |world| {
            say_and_tidy(world, "agent");
            world.write(others[0], "agent\n");
        });
        say(&world, database, "later");
        let report = world.revert("m1");
        assert_eq!(said(&world, database), "mine agent later", "{report:#?}");
        let kept = paths_with(&report, FileResult::Conflict);
        assert!(kept.contains(&database), "{report:#?}");
    }
}

/// Databases of one transaction that crashed are whole only together, as the end of a journal says.
#[test]
fn unfinished_transaction_over_several_databases_stays() {
    let mut world = World::new();
    let journal = [0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7];
    world.write("x.db", "mine\0");
    world.turn("m1", |world| {
        world.write("x.db", "agent\0");
        let super_journal = b"/y/x.db-mj1234567891\0\0\0\x14\0\0\x01\0";
        world.write(
            "x.db-journal",
            [&journal[..], super_journal, &journal].concat(),
        );
    });
    let report = world.revert("m1");
    assert_eq!(world.read("x.db"), "agent\0", "{report:#?}");
    let reasons = report
        .files
        .iter()
        .filter_map(|file| file.reason.as_deref());
    assert!(
        reasons.clone().count() > 0
            && reasons
                .clone()
                .all(|reason| reason.contains("several databases"))
    );
}

/// Where no option takes a file, the receipt offers none.
#[test]
fn edited_fossil_repository_has_no_way_out() {
    let fossil = |text: &str| {
        let mut bytes = b"SQLite format 3\0".to_vec();
        bytes.resize(68, 0);
        bytes.extend([0x0f, 0x05, 0x51, 0x12]);
        [&bytes, text.as_bytes()].concat()
    };
    let mut world = World::new();
    world.write("repo.fossil", fossil("mine"));
    world.turn("m1", |world| world.write("repo.fossil", fossil("agent")));
    world.write("repo.fossil", fossil("later"));
    let report = world.revert("m1");
    let kept = &report.kept[0];
    assert_eq!(
        (kept.kind, &kept.way),
        (KeptKind::Database, &None),
        "{report:#?}"
    );
    let overwriting = to_with("m1", OnConflict::Overwrite);
    let report = world.try_revert(&overwriting).expect("it is planned");
    assert!(world.read("repo.fossil").ends_with("later"), "{report:#?}");
}
