//! The list of the floor program: every directory with the names in it, made to be read at once and shared between threads.
//!
//! ```text
//! count:u32  start:u32 for each directory  (path NUL  (name NUL)*) for each directory       little-endian
//! ```

use std::collections::BTreeMap;

/// Returns the list of some paths; every directory above one of them is in it, and the root as `.`.
pub fn encode(paths: &[String]) -> Vec<u8> {
    let directories = directories(paths);
    let mut starts = u32::try_from(directories.len())
        .unwrap_or(u32::MAX)
        .to_le_bytes()
        .to_vec();
    let mut bodies = Vec::new();
    for (directory, names) in &directories {
        let start = 4 + 4 * directories.len() + bodies.len();
        starts.extend_from_slice(&u32::try_from(start).unwrap_or(u32::MAX).to_le_bytes());
        let path = if directory.is_empty() { "." } else { directory };
        for text in std::iter::once(&path).chain(names) {
            bodies.extend_from_slice(text.as_bytes());
            bodies.push(0);
        }
    }
    [starts, bodies].concat()
}

/// Returns how many directories some paths are in.
pub fn directories_of(paths: &[String]) -> usize {
    directories(paths).len()
}

fn directories(paths: &[String]) -> BTreeMap<&str, Vec<&str>> {
    let mut directories: BTreeMap<&str, Vec<&str>> = BTreeMap::from([("", Vec::new())]);
    for path in paths {
        let (directory, name) = path.rsplit_once('/').unwrap_or(("", path));
        let is_new = !directories.contains_key(directory);
        directories.entry(directory).or_default().push(name);
        let mut above = directory;
        while let Some((next, _)) = above.rsplit_once('/').filter(|_| is_new) {
            directories.entry(next).or_default();
            above = next;
        }
    }
    directories
}

/// Returns how many directories a list has.
pub fn count(list: &[u8]) -> usize {
    number(list, 0)
}

/// Returns one directory of a list: its path and the names in it, each with a NUL after it.
pub fn directory(list: &[u8], which: usize) -> &[u8] {
    let end = if which + 1 < count(list) {
        number(list, 8 + 4 * which)
    } else {
        list.len()
    };
    &list[number(list, 4 + 4 * which)..end]
}

fn number(list: &[u8], at: usize) -> usize {
    list.get(at..at + 4)
        .and_then(|bytes| bytes.try_into().ok())
        .map_or(0, |bytes| u32::from_le_bytes(bytes) as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn list_has_each_directory_once_with_its_names() {
        let list = encode(&["a/b/x".to_owned(), "a/b/y".to_owned(), "z".to_owned()]);
        let all: Vec<_> = (0..count(&list))
            .map(|which| directory(&list, which))
            .collect();
        assert_eq!(
            all,
            [&b".\0z\0"[..], b"a\0", b"a/b\0x\0y\0"],
            "with those that hold directories only"
        );
    }
}
