use proptest::prelude::*;

use super::*;

fn path(text: &str) -> WorkspacePath {
    WorkspacePath::new(text).expect("legal")
}

#[test]
fn usual_permissions_need_no_blob() {
    let mut census = Census::default();
    census.count(Bearer::File, 0o644, 1);
    census.count(Bearer::Directory, 0o755, 1);
    let mut attributes = census.attributes();
    attributes.note(&path("a"), Bearer::File, 0o644);
    assert_eq!(attributes.encode(), None, "a git tree says it all");
}

#[test]
fn the_most_frequent_permissions_are_the_default() {
    let mut census = Census::default();
    census.count(Bearer::File, 0o664, 100);
    census.count(Bearer::File, 0o600, 1);
    let mut attributes = census.attributes();
    attributes.note(&path("a"), Bearer::File, 0o664);
    attributes.note(&path("b"), Bearer::File, 0o600);
    let text = "ckpt-hook attributes 1\n664 755 755\nf 600 b\0";
    assert_eq!(
        attributes.encode().as_deref(),
        Some(text.as_bytes()),
        "only the exception is listed"
    );
    census.count(Bearer::File, 0o644, 100);
    assert_eq!(
        census.attributes().defaults[0],
        0o644,
        "the usual one where two are as frequent"
    );
}

/// Permissions that few files have do not become the default.
#[test]
fn rare_permissions_are_not_the_default() {
    let mut census = Census::default();
    census.count(Bearer::File, 0o644, 40_000);
    let before = census.attributes();
    census.count(Bearer::Executable, 0o750, 1);
    let after = census.attributes();
    assert!(
        before.shares_defaults(&after),
        "the first program changes no default, so that nothing else is compared"
    );
}

/// What would not have been written is not read.
#[test]
fn unlikely_attributes_are_not_read() {
    for (text, why) in [
        ("", "nothing"),
        ("ckpt-hook attributes 2\n644 755 755\n", "another version"),
        ("ckpt-hook attributes 1\n644 755\n", "a default is missing"),
        (
            "ckpt-hook attributes 1\n755 755 755\n",
            "a file's default is executable",
        ),
        (
            "ckpt-hook attributes 1\n644 755 755\nf 600 a",
            "the last line is cut off",
        ),
        (
            "ckpt-hook attributes 1\n644 755 755\nf 600 b\0f 600 a\0",
            "out of order",
        ),
        (
            "ckpt-hook attributes 1\n644 755 755\nf 600 a\0f 600 a\0",
            "twice",
        ),
        (
            "ckpt-hook attributes 1\n644 755 755\nf 644 a\0",
            "the default is listed",
        ),
        (
            "ckpt-hook attributes 1\n644 755 755\nf 4755 a\0",
            "a set-id bit",
        ),
        (
            "ckpt-hook attributes 1\n644 755 755\nd 4755 a\0",
            "a set-user-id bit of a directory",
        ),
        (
            "ckpt-hook attributes 1\n644 755 755\nf 20640 a\0",
            "withheld, but not there",
        ),
        (
            "ckpt-hook attributes 1\n644 755 755\nf 0600 a\0",
            "too many digits",
        ),
        (
            "ckpt-hook attributes 1\n644 755 755\nf 755 a\0",
            "an executable that is none",
        ),
        (
            "ckpt-hook attributes 1\n644 755 755\ne 755 ../a\0",
            "outside the workspace",
        ),
        (
            "ckpt-hook attributes 1\n644 755 755\ne 755 .git\0",
            "below `.git`",
        ),
        (
            "ckpt-hook attributes 1\n644 755 755\nq 755 a\0",
            "an unknown letter",
        ),
        ("ckpt-hook attributes 1\n644 755 755\n\0", "an empty line"),
    ] {
        assert!(Attributes::decode(text.as_bytes()).is_err(), "{why}");
    }
}

#[test]
fn siblings_with_the_same_beginning_are_not_below() {
    let mut attributes = Attributes::default();
    attributes.note(&path("a-b"), Bearer::EmptyDirectory, 0o755);
    attributes.note(&path("ab/c"), Bearer::OccupiedDirectory, 0o755);
    assert!(
        !attributes.has_bare_directory_below(&path("a")),
        "neither is in `a`"
    );
    assert!(
        attributes.has_bare_directory_below(&path("ab")),
        "`ab/c` is in `ab`"
    );
}

/// A directory that holds only what is not captured is there and no entry.
#[test]
fn directory_of_uncaptured_things_is_no_entry() {
    let mut attributes = Attributes::default();
    attributes.note(&path("logs"), Bearer::OccupiedDirectory, 0o755);
    assert!(attributes.has_bare_directory(&path("logs")), "it is there");
    assert_eq!(
        attributes.empty_directory(&path("logs")),
        None,
        "nothing of it could be put back"
    );
    assert_eq!(
        attributes.empty_directories().count(),
        0,
        "so no list has it"
    );
}

proptest! {
    #[test]
    fn attributes_are_read_as_they_were_written(
        noted in proptest::collection::vec(("[a-c]{1,2}(/[a-c]{1,2}){0,2}", 0..4_usize, 0..0o4000_u32, 0..8_u32), 0..20),
        defaults in (0..0o1000_u32, 0..0o1000_u32, 0..0o4000_u32),
    ) {
        let mut census = Census::default();
        census.count(Bearer::File, defaults.0 & !0o100, 1);
        census.count(Bearer::Executable, defaults.1 | 0o100, 1);
        census.count(Bearer::Directory, defaults.2, 1);
        let mut attributes = census.attributes();
        for (text, kind, permissions, withheld) in noted {
            let bearer = [
                Bearer::file(permissions),
                Bearer::Directory,
                Bearer::EmptyDirectory,
                Bearer::OccupiedDirectory,
            ][kind];
            let withheld = withheld & permissions >> 3;
            attributes.note(&path(&text), bearer, bearer.bits(withheld << 16 | permissions));
        }
        let read = attributes.encode().map_or_else(Attributes::default, |bytes| Attributes::decode(&bytes).expect("our own"));
        prop_assert_eq!(read, attributes);
    }

    #[test]
    fn any_bytes_are_attributes_or_an_error(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let _ = Attributes::decode(&bytes);
        let _ = Attributes::decode(&[MAGIC, b"644 755 755\n", &bytes].concat());
    }
}
