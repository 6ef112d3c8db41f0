//! What files of databases look like: by their first bytes, their names, and the names beside them. No IO.

use std::collections::BTreeSet;

use crate::model::metadata::SQLITE_START;
use crate::model::path::split;

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
    /// LiteDB's.
    LiteDb,
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
/// What is in LiteDB's first page, and at which bytes: of version 5, and of older ones.
const LITEDB: &[u8] = b"** This is a LiteDB file **";
const LITEDB_AT: [usize; 2] = [32, 25];

impl FileKind {
    /// Returns the kind of a file that begins like this.
    pub fn of_start(start: &[u8]) -> Option<Self> {
        if start.get(8..12) == Some(b"DUCK") {
            return Some(Self::DuckDb);
        }
        if start.starts_with(b"KUZU") {
            return Some(Self::Kuzu);
        }
        let is_at = |at: usize| start.get(at..at + LITEDB.len()) == Some(LITEDB);
        if LITEDB_AT.into_iter().any(is_at) {
            return Some(Self::LiteDb);
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
            Self::Sqlite | Self::DuckDb | Self::Kuzu | Self::LiteDb => None,
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
            Self::Sqlite | Self::Fossil => &["-wal", "-wal2", "-journal", "-shm"],
            _ => self.logs(),
        }
    }

    /// Returns those of them that hold something that the database itself lacks.
    pub fn logs(self) -> &'static [&'static str] {
        match self {
            Self::Sqlite | Self::Fossil => &["-wal", "-wal2", "-journal"],
            Self::DuckDb => &[".wal"],
            Self::Kuzu => &[".wal", ".shadow"],
            Self::LiteDb => &["-log", "-journal"],
            Self::Rcs => &[],
        }
    }

    /// Returns the path of a file beside a database. LiteDB's endings come before that of the database.
    pub fn beside(self, database: &[u8], ending: &str) -> Vec<u8> {
        let (stem, extension) = self.stem(database);
        [stem, ending.as_bytes(), extension].concat()
    }

    /// Returns the path of the database that a file with an ending is beside.
    pub fn beside_which(self, path: &[u8], ending: &str) -> Option<Vec<u8>> {
        let (stem, extension) = self.stem(path);
        Some([stem.strip_suffix(ending.as_bytes())?, extension].concat())
    }

    /// Returns a path up to where the endings of files beside a database are, and the rest.
    fn stem(self, path: &[u8]) -> (&[u8], &[u8]) {
        let name = path.len() - split(path).1.len();
        let dot = path[name..].iter().rposition(|byte| *byte == b'.');
        match dot.filter(|_| self == Self::LiteDb) {
            Some(dot) => path.split_at(name + dot),
            None => (path, b""),
        }
    }
}

/// How a journal of SQLite's begins, and how it ends if its transaction is one of several databases.
pub(super) const JOURNAL: [u8; 8] = [0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7];

/// Returns whether a file that begins like this is a log of SQLite's.
pub(super) fn is_log(start: &[u8]) -> bool {
    let wal = [[0x37, 0x7f, 0x06, 0x82], [0x37, 0x7f, 0x06, 0x83]];
    wal.iter().any(|magic| start.starts_with(magic)) || start.starts_with(&JOURNAL)
}

/// A kind of database in many files of one folder. Names have a space between them. `*` at one end of a name stands for
/// anything, and `#` for a digit.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct FolderKind {
    /// What it is called.
    pub name: &'static str,
    /// Whether what is in its subfolders belongs to it as well.
    pub is_deep: bool,
    /// The names in the folder by which it is known: all of them. One may be in a subfolder.
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
static FOLDERS: [FolderKind; 43] = [
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
        "an append-only database of Redis",
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
    deep(
        "an Iceberg table",
        "metadata/*.metadata.json metadata/snap-*",
        "metadata/* data/*",
    ),
    deep("a DuckLake", "*.ducklake *.ducklake.files", DUCKLAKE),
    deep("a Prometheus database", "chunks_head wal", ALL),
    deep("an etcd member", "snap wal", "*.wal *.snap snap/db"),
    deep(
        "a restic repository",
        "config data index keys snapshots",
        ALL,
    ),
    deep(
        "a Borg repository",
        "config data hints.* index.* integrity.*",
        ALL,
    ),
    deep("a Derby database", "service.properties seg0 log", ALL),
    deep(
        "Neo4j's data",
        "transactions databases/store_lock",
        "databases/* transactions/*",
    ),
    deep("a Neo4j database", "neostore neostore.*", ALL),
    deep(ELASTICSEARCH, "node.lock _state indices", ALL),
    deep(ELASTICSEARCH, "_state index translog", ALL),
    deep("a Solr core", "index/segments_* tlog", "index/* tlog/*"),
    deep("an IndexedDB folder", "*.indexeddb.leveldb", ALL),
    deep("Kafka's logs", "meta.properties *-offset-checkpoint", ALL),
    deep("ZooKeeper's data", "version-2/snapshot.*", "version-2/*"),
    deep("Cassandra's data", "commitlog saved_caches", ALL),
    deep(
        "ClickHouse's data",
        "metadata store preprocessed_configs",
        ALL,
    ),
    deep("InfluxDB's data", "influxd.bolt engine", ALL),
    deep("InfluxDB's data", "data wal meta/meta.db", ALL),
    deep(
        "a sled database",
        "conf db snap.*",
        "conf db snap.* blobs/*",
    ),
    deep("Qdrant's storage", "collections raft_state.json", ALL),
    deep(
        "Meilisearch's data",
        "VERSION auth/data.mdb tasks/data.mdb",
        ALL,
    ),
    part("a Whoosh index", "_MAIN_* MAIN_*", "_MAIN_* MAIN_*"),
    part("a file geodatabase", "*.gdbtable *.gdbtablx", ALL),
    deep(SUBVERSION, "conf db format hooks locks", ALL),
];

const ELASTICSEARCH: &str = "Elasticsearch's or OpenSearch's data";
const DUCKLAKE: &str = "*.ducklake *.ducklake.wal *.parquet";

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
    /// Returns the kind of a folder with these names in it. `below` returns those in a subfolder.
    pub fn of(
        names: &BTreeSet<Vec<u8>>,
        below: impl Fn(&str) -> BTreeSet<Vec<u8>>,
    ) -> Option<&'static Self> {
        let is_in = |names: &BTreeSet<Vec<u8>>, pattern: &str| {
            names.iter().any(|name| is_like(name, pattern))
        };
        let has = |pattern: &str| match pattern.split_once('/') {
            Some((folder, pattern)) => {
                names.contains(folder.as_bytes()) && is_in(&below(folder), pattern)
            }
            None => is_in(names, pattern),
        };
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
static STEMS: [StemKind; 18] = [
    stem("a dbm database", ".dir .pag"),
    stem("a dbm database", ".dir .dat .bak"),
    stem(
        "a shapefile",
        ".shp .shx .dbf .prj .cpg .sbn .sbx .qix .shp.xml",
    ),
    stem("a MyISAM table", ".MYD .MYI .frm .sdi"),
    stem(
        "a HSQLDB database",
        ".script .properties .data .log .backup .lobs",
    ),
    stem("a SQL Server database", ".mdf _log.ldf"),
    stem("a MapInfo table", ".tab .map .dat .id .ind"),
    stem(DBASE, ".dbf .fpt .cdx"),
    stem(DBASE, ".dbf .cdx"),
    stem(DBASE, ".dbf .dbt .mdx"),
    stem(DBASE, ".DBF .FPT .CDX"),
    stem(DBASE, ".DBF .CDX"),
    stem(DBASE, ".DBF .DBT .MDX"),
    stem("a FoxPro database", ".dbc .dct .dcx"),
    stem("a FoxPro class library", ".vcx .vct"),
    stem("a FoxPro form", ".scx .sct"),
    stem("a FAISS index", ".faiss .pkl"),
    stem("a TensorFlow checkpoint", ".index .data-00000-of-00001"),
];

const DBASE: &str = "a dBase or FoxPro table";

const fn stem(name: &'static str, endings: &'static str) -> StemKind {
    StemKind { name, endings }
}

impl StemKind {
    /// Returns the database that a name in a folder with these names belongs to, and how long the stem is.
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

    /// Returns the kind of a folder with these paths in it.
    fn kind_of(paths: &[&str]) -> Option<&'static FolderKind> {
        let below = |folder: &str| {
            let start = format!("{folder}/");
            let below = paths.iter().filter_map(|path| path.strip_prefix(&start));
            names(&below.collect::<Vec<_>>())
        };
        let mut here = BTreeSet::new();
        for path in paths {
            here.extend(path.split('/').next().map(|name| name.as_bytes().to_vec()));
        }
        FolderKind::of(&here, below)
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
            (&[&[0; 32][..], LITEDB].concat(), Some(FileKind::LiteDb)),
            (&[&[0; 25][..], LITEDB].concat(), Some(FileKind::LiteDb)),
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
        let known = |of: &[&str]| kind_of(of).map(|kind| kind.name);
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
                &["metadata/v1.metadata.json", "metadata/snap-1.avro"],
                "Iceberg",
            ),
            (&["service.properties", "seg0", "log"], "Derby"),
            (&["databases/store_lock", "transactions"], "Neo4j"),
            (&["_state", "index", "translog"], "Elasticsearch"),
            (&["x.indexeddb.leveldb", "x.indexeddb.blob"], "IndexedDB"),
            (
                &["meta.properties", "recovery-point-offset-checkpoint"],
                "Kafka",
            ),
            (&["version-2/snapshot.0"], "ZooKeeper"),
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
            &["metadata/v1.metadata.json", "data/x", "snap-1.avro"],
            &["metadata", "data", "databases/x", "transactions"],
            &["VERSION", "auth", "tasks", "indexes"],
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
        let levels = kind_of(&["CURRENT", "MANIFEST-1"]).expect("known");
        assert!(levels.holds(b"000003.log") && levels.holds(b"MANIFEST-1"));
        assert!(!levels.holds(b"main.rs") && !levels.holds(b"below/000003.log"));
        let cluster = kind_of(&["PG_VERSION", "base", "global"]).expect("known");
        assert!(cluster.holds(b"base/1/1234"));
        let member = kind_of(&["snap", "wal"]).expect("known");
        assert!(member.holds(b"wal/0-0.wal") && !member.holds(b"wal/encoder.go"));
        let chroma = kind_of(&["chroma.sqlite3", "src"]).expect("known");
        assert!(chroma.holds(b"4f7c/header.bin") && !chroma.holds(b"src/main.rs"));
    }
}
