//! What files of databases look like: by their first bytes, their names, and the names beside them. No IO.

use std::collections::BTreeSet;

use crate::model::metadata::SQLITE_START;

/// How many bytes at the beginning of a file tell what it is.
pub(super) const START: usize = 72;

/// A kind of database in one file. What is not yet in that file is in files beside it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FileKind {
    /// SQLite's.
    Sqlite,
    /// A repository or checkout of Fossil, which is one of SQLite's, and version control's own.
    Fossil,
    /// DuckDB's.
    DuckDb,
}

/// The numbers that Fossil gives its checkouts, repositories and settings.
const FOSSILS: [[u8; 4]; 3] = [
    [0x0f, 0x05, 0x51, 0x11],
    [0x0f, 0x05, 0x51, 0x12],
    [0x0f, 0x05, 0x51, 0x13],
];
/// The extensions by which a database is known that has another beginning, such as an encrypted one.
const SQLITE: [&str; 8] = [
    "db", "db3", "sqlite", "sqlite3", "sqlitedb", "s3db", "sl3", "fossil",
];
const DUCKDB: [&str; 2] = ["duckdb", "ddb"];

impl FileKind {
    /// Returns the kind of a file that begins like this.
    pub fn of_start(start: &[u8]) -> Option<Self> {
        if start.get(8..12) == Some(b"DUCK") {
            return Some(Self::DuckDb);
        }
        start.starts_with(SQLITE_START).then(|| {
            // SQLite keeps the number of the program there.
            match start.get(68..72) {
                Some(number) if FOSSILS.iter().any(|fossil| number == fossil) => Self::Fossil,
                _ => Self::Sqlite,
            }
        })
    }

    /// Returns the kind of a file with this name.
    pub fn of_name(name: &[u8]) -> Option<Self> {
        let dot = name.iter().rposition(|byte| *byte == b'.')?;
        let is = |ending: &&str| name[dot + 1..].eq_ignore_ascii_case(ending.as_bytes());
        if SQLITE.iter().any(&is) {
            return Some(Self::Sqlite);
        }
        DUCKDB.iter().any(is).then_some(Self::DuckDb)
    }

    /// Returns the endings of the files beside it: first the logs, whose loss is a loss of data.
    pub fn companions(self) -> &'static [&'static str] {
        match self {
            Self::Sqlite | Self::Fossil => &["-wal", "-journal", "-shm"],
            Self::DuckDb => &[".wal"],
        }
    }

    /// Returns those of them that hold something that the database itself lacks.
    pub fn logs(self) -> &'static [&'static str] {
        match self {
            Self::Sqlite | Self::Fossil => &["-wal", "-journal"],
            Self::DuckDb => &[".wal"],
        }
    }
}

/// Returns whether a file that begins like this is a log of SQLite's.
pub(super) fn is_log(start: &[u8]) -> bool {
    let wal = [[0x37, 0x7f, 0x06, 0x82], [0x37, 0x7f, 0x06, 0x83]];
    wal.iter().any(|magic| start.starts_with(magic))
        || start.starts_with(&[0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7])
}

/// A kind of database in many files of one folder.
pub(super) struct FolderKind {
    /// What it is called.
    pub name: &'static str,
    /// Whether what is in its subfolders belongs to it as well.
    pub is_deep: bool,
    is_it: fn(&BTreeSet<Vec<u8>>) -> bool,
    has: fn(&[u8]) -> bool,
}

/// Every kind of folder that is known. `docs/files.md` lists them.
static FOLDERS: [FolderKind; 10] = [
    FolderKind {
        name: "a LevelDB or RocksDB database",
        is_deep: false,
        is_it: |names| {
            names.contains(&b"CURRENT"[..]) && any(names, |name| name.starts_with(b"MANIFEST-"))
        },
        has: |name| {
            let endings: [&[u8]; 6] = [b".log", b".ldb", b".sst", b".blob", b".dbtmp", b".ldb.tmp"];
            let starts: [&[u8]; 6] = [
                b"CURRENT",
                b"MANIFEST-",
                b"OPTIONS-",
                b"IDENTITY",
                b"LOG",
                b"LOCK",
            ];
            endings.iter().any(|ending| name.ends_with(ending))
                || starts.iter().any(|start| name.starts_with(start))
        },
    },
    FolderKind {
        name: "an LMDB database",
        is_deep: false,
        is_it: |names| names.contains(&b"data.mdb"[..]),
        has: |name| matches!(name, b"data.mdb" | b"lock.mdb"),
    },
    FolderKind {
        name: "a Berkeley DB environment",
        is_deep: false,
        is_it: |names| {
            any(names, |name| {
                name.starts_with(b"__db.") || is_berkeley_log(name)
            })
        },
        has: |_| true,
    },
    FolderKind {
        name: "Redis' append-only files",
        is_deep: false,
        is_it: |names| any(names, |name| name.ends_with(b".aof.manifest")),
        has: |name| {
            let endings: [&[u8]; 3] = [b".aof", b".rdb", b".manifest"];
            endings.iter().any(|ending| name.ends_with(ending))
        },
    },
    FolderKind {
        name: "a WiredTiger (MongoDB) database",
        is_deep: true,
        is_it: |names| has_all(names, &["WiredTiger", "WiredTiger.wt"]),
        has: |_| true,
    },
    FolderKind {
        name: "a PostgreSQL cluster",
        is_deep: true,
        is_it: |names| has_all(names, &["PG_VERSION", "base", "global"]),
        has: |_| true,
    },
    FolderKind {
        name: "a MySQL or MariaDB data directory",
        is_deep: true,
        is_it: |names| names.contains(&b"ibdata1"[..]),
        has: |_| true,
    },
    FolderKind {
        name: "a Badger database",
        is_deep: false,
        is_it: |names| has_all(names, &["MANIFEST", "KEYREGISTRY"]),
        has: |_| true,
    },
    FolderKind {
        name: "a Lucene index",
        is_deep: false,
        is_it: |names| {
            names.contains(&b"write.lock"[..]) && any(names, |name| name.starts_with(b"segments_"))
        },
        has: |_| true,
    },
    FolderKind {
        name: "a Tantivy index",
        is_deep: false,
        is_it: |names| has_all(names, &["meta.json", ".managed.json"]),
        has: |_| true,
    },
];

impl FolderKind {
    /// Returns the kind of a folder with these names in it.
    pub fn of(names: &BTreeSet<Vec<u8>>) -> Option<&'static Self> {
        FOLDERS.iter().find(|kind| (kind.is_it)(names))
    }

    /// Returns whether a path below the folder belongs to it.
    pub fn holds(&self, below: &[u8]) -> bool {
        (self.is_deep || !below.contains(&b'/')) && (self.has)(below)
    }
}

/// Returns whether a file of such a folder may differ: it only says that a program has the database open, or had.
pub(super) fn holds_nothing(name: &[u8]) -> bool {
    let known: [&[u8]; 6] = [
        b"LOCK",
        b"LOG",
        b"lock.mdb",
        b"write.lock",
        b"postmaster.pid",
        b"postmaster.opts",
    ];
    known.contains(&name)
        || name.starts_with(b"LOG.old")
        || name.ends_with(b".lock")
        || name.ends_with(b".pid")
}

fn has_all(names: &BTreeSet<Vec<u8>>, wanted: &[&str]) -> bool {
    wanted.iter().all(|name| names.contains(name.as_bytes()))
}

fn any(names: &BTreeSet<Vec<u8>>, is_it: impl Fn(&[u8]) -> bool) -> bool {
    names.iter().any(|name| is_it(name))
}

/// Berkeley DB numbers its logs with ten digits.
fn is_berkeley_log(name: &[u8]) -> bool {
    name.strip_prefix(b"log.")
        .is_some_and(|number| number.len() == 10 && number.iter().all(u8::is_ascii_digit))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(of: &[&str]) -> BTreeSet<Vec<u8>> {
        of.iter().map(|name| name.as_bytes().to_vec()).collect()
    }

    #[test]
    fn a_file_is_known_by_its_first_bytes() {
        let mut sqlite = b"SQLite format 3\0".to_vec();
        sqlite.resize(START, 0);
        let mut fossil = sqlite.clone();
        fossil.splice(68..72, FOSSILS[1]);
        let duck = [&[0; 8][..], b"DUCK", &[0; 60]].concat();
        for (start, kind) in [
            (&sqlite[..], Some(FileKind::Sqlite)),
            (&sqlite[..16], Some(FileKind::Sqlite)),
            (&fossil, Some(FileKind::Fossil)),
            (&duck, Some(FileKind::DuckDb)),
            (b"SQLite format 2\0", None),
            (b"DUCK", None),
            (b"", None),
        ] {
            assert_eq!(FileKind::of_start(start), kind, "{start:?}");
        }
    }

    /// A folder is known by the names in it.
    #[test]
    fn database_folder_is_known_by_its_names() {
        let known = |of: &[&str]| FolderKind::of(&names(of)).map(|kind| kind.name);
        for (of, part) in [
            (&["CURRENT", "MANIFEST-000004", "000005.ldb"][..], "LevelDB"),
            (&["data.mdb", "lock.mdb"], "LMDB"),
            (&["log.0000000001", "x"], "Berkeley"),
            (&["__db.001"], "Berkeley"),
            (&["appendonly.aof.manifest"], "Redis"),
            (&["WiredTiger", "WiredTiger.wt"], "WiredTiger"),
            (&["PG_VERSION", "base", "global"], "PostgreSQL"),
            (&["ibdata1"], "MySQL"),
            (&["MANIFEST", "KEYREGISTRY"], "Badger"),
            (&["segments_2", "write.lock"], "Lucene"),
            (&["meta.json", ".managed.json"], "Tantivy"),
        ] {
            assert!(known(of).is_some_and(|name| name.contains(part)), "{of:?}");
        }
        for of in [
            &["CURRENT"][..],
            &["MANIFEST-x", "MANIFEST"],
            &["log.1", "log.txt", "meta.json"],
            &[],
        ] {
            assert_eq!(known(of), None, "{of:?}");
        }
    }

    /// What is beside a database does not belong to it.
    #[test]
    fn neighbours_do_not_belong_to_a_database() {
        let levels = FolderKind::of(&names(&["CURRENT", "MANIFEST-1"])).expect("known");
        assert!(levels.holds(b"000003.log") && levels.holds(b"MANIFEST-1"));
        assert!(!levels.holds(b"main.rs") && !levels.holds(b"below/000003.log"));
        let cluster = FolderKind::of(&names(&["PG_VERSION", "base", "global"])).expect("known");
        assert!(cluster.holds(b"base/1/1234"));
    }
}
