//! What files of databases look like: by their first bytes, their names, and the names beside them. No IO.

use std::collections::BTreeSet;

use crate::model::metadata::SQLITE_START;

/// How many bytes at the beginning of a file tell what it is.
pub(super) const START: usize = 72;

/// A kind of database in one file. What is not yet in that file is in files beside it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum FileKind {
    /// SQLite's.
    Sqlite,
    /// A repository or checkout of Fossil, which is one of SQLite's, and version control's own.
    Fossil,
    /// DuckDB's.
    DuckDb,
    /// Kuzu's.
    Kuzu,
    /// A file with all its revisions, of RCS or in a repository of CVS: version control's own.
    Rcs,
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
        if start.starts_with(b"KUZU") {
            return Some(Self::Kuzu);
        }
        start.starts_with(SQLITE_START).then(|| {
            // SQLite keeps the number of the program there.
            match start.get(68..72) {
                Some(number) if FOSSILS.iter().any(|fossil| number == fossil) => Self::Fossil,
                _ => Self::Sqlite,
            }
        })
    }

    /// Returns why it stays if it is version control's own, as `.git` is.
    pub fn version_control(self) -> Option<&'static str> {
        match self {
            Self::Fossil => Some("a Fossil repository"),
            Self::Rcs => Some("a file of RCS or CVS"),
            Self::Sqlite | Self::DuckDb | Self::Kuzu => None,
        }
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
            Self::Kuzu => &[".wal", ".shadow"],
            Self::Rcs => &[],
        }
    }

    /// Returns those of them that hold something that the database itself lacks.
    pub fn logs(self) -> &'static [&'static str] {
        match self {
            Self::Sqlite | Self::Fossil => &["-wal", "-journal"],
            Self::DuckDb => &[".wal"],
            Self::Kuzu => &[".wal", ".shadow"],
            Self::Rcs => &[],
        }
    }
}

/// Returns whether a file that begins like this is a log of SQLite's.
pub(super) fn is_log(start: &[u8]) -> bool {
    let wal = [[0x37, 0x7f, 0x06, 0x82], [0x37, 0x7f, 0x06, 0x83]];
    wal.iter().any(|magic| start.starts_with(magic))
        || start.starts_with(&[0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7])
}

/// A kind of database in many files of one folder. Names have a space between them. `*` at one end of a name stands for
/// anything, and `#` for a digit.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct FolderKind {
    /// What it is called.
    pub name: &'static str,
    /// Whether what is in its subfolders belongs to it as well.
    pub is_deep: bool,
    /// The names in the folder by which it is known: all of them.
    known_by: &'static str,
    /// The names of its files.
    files: &'static str,
}

const ALL: &str = "*";
const LEVELS: &str = "CURRENT* MANIFEST-* OPTIONS-* IDENTITY* LOG* LOCK marker.* *.log *.ldb *.sst \
    *.blob *.dbtmp *.ldb.tmp";
/// Often in the folder of a project.
const CHROMA: &str = "chroma.sqlite3* */data_level0.bin */header.bin */length.bin */link_lists.bin \
    */index_metadata.pickle";

/// Every kind of folder that is known. `docs/together.md` lists them.
static FOLDERS: [FolderKind; 22] = [
    part(
        "a LevelDB or RocksDB database",
        "CURRENT MANIFEST-*",
        LEVELS,
    ),
    part("a Pebble database", "marker.manifest.* MANIFEST-*", LEVELS),
    part("an LMDB database", "data.mdb", "data.mdb lock.mdb"),
    part("a Berkeley DB environment", "__db.*", ALL),
    part("a Berkeley DB environment", "log.##########", ALL),
    part(
        "Redis' append-only files",
        "*.aof.manifest",
        "*.aof *.rdb *.manifest",
    ),
    part("a Badger database", "MANIFEST KEYREGISTRY", ALL),
    part("a Lucene index", "segments_* write.lock", ALL),
    part("a Tantivy index", "meta.json .managed.json", ALL),
    part("a Xapian database", "iam* postlist.*", ALL),
    part("a Kuzu database", "catalog.kz data.kz", ALL),
    deep(
        "a WiredTiger (MongoDB) database",
        "WiredTiger WiredTiger.wt",
        ALL,
    ),
    deep("a PostgreSQL cluster", "PG_VERSION base global", ALL),
    deep("a MySQL or MariaDB data directory", "ibdata1", ALL),
    deep("a Chroma database", "chroma.sqlite3", CHROMA),
    deep(
        "a Delta table",
        "_delta_log",
        "_delta_log/* *.parquet *.bin",
    ),
    deep("a Hudi table", ".hoodie", ALL),
    deep("a Lance table", "_versions _transactions", ALL),
    deep("a Prometheus database", "chunks_head wal", ALL),
    deep("an etcd member", "snap wal", "*.wal *.snap snap/db"),
    deep(
        "a restic repository",
        "config data index keys snapshots",
        ALL,
    ),
    deep(SUBVERSION, "conf db format hooks locks", ALL),
];

/// What only a server of version control has: commits are in it, so it is never written to.
const SUBVERSION: &str = "a Subversion repository";

/// Returns a kind whose files are in the folder itself.
const fn part(name: &'static str, known_by: &'static str, files: &'static str) -> FolderKind {
    FolderKind {
        name,
        is_deep: false,
        known_by,
        files,
    }
}

/// Returns a kind whose files are in the folder and below it.
const fn deep(name: &'static str, known_by: &'static str, files: &'static str) -> FolderKind {
    FolderKind {
        is_deep: true,
        ..part(name, known_by, files)
    }
}

impl FolderKind {
    /// Returns the kind of a folder with these names in it.
    pub fn of(names: &BTreeSet<Vec<u8>>) -> Option<&'static Self> {
        let has = |pattern: &str| names.iter().any(|name| is_like(name, pattern));
        let mut kinds = FOLDERS.iter();
        kinds.find(|kind| kind.known_by.split(' ').all(has))
    }

    /// Returns whether a path below the folder belongs to it.
    pub fn holds(&self, below: &[u8]) -> bool {
        (self.is_deep || !below.contains(&b'/')) && is_one_of(below, self.files)
    }

    /// Returns whether it is a repository, and stays as it is.
    pub fn is_version_control(&self) -> bool {
        self.name == SUBVERSION
    }
}

/// Returns whether a file of such a folder may differ: it only says that a program has the database open, or had.
pub(super) fn holds_nothing(name: &[u8]) -> bool {
    let known = "LOCK LOG LOG.old* *.lock lock.mdb *.pid postmaster.opts";
    is_one_of(name, known)
}

/// Files with one stem and several endings.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct StemKind {
    /// What they are called.
    pub name: &'static str,
    /// The two endings by which they are known, and those of further files, with a space between.
    endings: &'static str,
}

/// Every kind of such files that is known. `docs/together.md` lists them.
static STEMS: [StemKind; 4] = [
    stem("a dbm database", ".dir .pag"),
    stem("a dbm database", ".dir .dat .bak"),
    stem(
        "a shapefile",
        ".shp .shx .dbf .prj .cpg .sbn .sbx .qix .shp.xml",
    ),
    stem("a MyISAM table", ".MYD .MYI .frm .sdi"),
];

const fn stem(name: &'static str, endings: &'static str) -> StemKind {
    StemKind { name, endings }
}

impl StemKind {
    /// Returns what a name in a folder with these names belongs to, and how long the stem is.
    pub fn of(name: &[u8], names: &BTreeSet<Vec<u8>>) -> Option<(&'static Self, usize)> {
        STEMS.iter().find_map(|kind| {
            let mut stems = kind.endings.split(' ');
            let stem = stems.find_map(|ending| name.strip_suffix(ending.as_bytes()))?;
            let mut known_by = kind.endings.split(' ').take(2);
            let is_it = known_by.all(|end| names.contains(&[stem, end.as_bytes()].concat()));
            is_it.then_some((kind, stem.len()))
        })
    }

    /// Returns the paths of its files.
    pub fn files(&self, stem: &[u8]) -> Vec<Vec<u8>> {
        let endings = self.endings.split(' ');
        endings.map(|end| [stem, end.as_bytes()].concat()).collect()
    }
}

fn is_one_of(name: &[u8], patterns: &str) -> bool {
    patterns.split(' ').any(|pattern| is_like(name, pattern))
}

fn is_like(name: &[u8], pattern: &str) -> bool {
    if let Some(end) = pattern.strip_prefix('*') {
        return name.ends_with(end.as_bytes());
    }
    if let Some(start) = pattern.strip_suffix('*') {
        return name.starts_with(start.as_bytes());
    }
    let is = |(own, other): (&u8, u8)| *own == other || other == b'#' && own.is_ascii_digit();
    name.len() == pattern.len() && name.iter().zip(pattern.bytes()).all(is)
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
            (
                &["marker.manifest.000001.MANIFEST-1", "MANIFEST-1"],
                "Pebble",
            ),
            (&["_delta_log", "part-0.parquet"], "Delta"),
            (
                &["format", "db", "hooks", "locks", "conf", "README.txt"],
                "Subversion",
            ),
        ] {
            assert!(known(of).is_some_and(|name| name.contains(part)), "{of:?}");
        }
        for of in [
            &["CURRENT"][..],
            &["MANIFEST-x", "MANIFEST"],
            &["log.1", "log.txt", "meta.json", "log.000000000x"],
            &["db", "hooks", "conf"],
            &[],
        ] {
            assert_eq!(known(of), None, "{of:?}");
        }
    }

    /// Files of one stem are known by two endings.
    #[test]
    fn files_of_a_stem_are_known() {
        let beside = names(&[
            "x.dat", "x.dir", "x.bak", "y.dat", "z.dir", "a.shp", "a.shx",
        ]);
        let stem = |name: &str| StemKind::of(name.as_bytes(), &beside).map(|(_, stem)| stem);
        for (name, expected) in [
            ("x.dat", Some(1)),
            ("x.bak", Some(1)),
            ("a.dbf", Some(1)),
            ("y.dat", None),
            ("z.dir", None),
            ("x", None),
        ] {
            assert_eq!(stem(name), expected, "{name}");
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
        let member = FolderKind::of(&names(&["snap", "wal"])).expect("known");
        assert!(member.holds(b"wal/0-0.wal") && !member.holds(b"wal/encoder.go"));
        let chroma = FolderKind::of(&names(&["chroma.sqlite3", "src"])).expect("known");
        assert!(chroma.holds(b"4f7c/header.bin") && !chroma.holds(b"src/main.rs"));
    }
}
