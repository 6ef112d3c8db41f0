//! Questions and answers as bytes. Anything invalid is neither.

use std::collections::BTreeSet;

/// The beginning of both: the name, and the version of the format.
const MAGIC: &[u8] = b"ckpt-hook 1";

/// The number of digits in a watch's name.
const DIGITS: usize = 32;

/// A moment of one watch of one directory: all events until then are in the answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct WatchToken {
    /// The name of the watch. A watch ends with its process, or when it is in doubt.
    pub watch: String,
    /// Grows with every event.
    pub sequence: u64,
}

impl WatchToken {
    /// Returns the token as text: the name, a space and the number.
    pub fn encode(&self) -> String {
        format!("{} {}", self.watch, self.sequence)
    }

    /// Reads what [`WatchToken::encode`] wrote.
    pub fn decode(text: &str) -> Option<Self> {
        let (watch, sequence) = text.split_once(' ')?;
        let is_name = watch.len() == DIGITS && watch.bytes().all(|digit| digit.is_ascii_hexdigit());
        Some(Self {
            watch: is_name.then(|| watch.to_owned())?,
            sequence: sequence.parse().ok()?,
        })
    }
}

/// Where something may have changed, as paths relative to the workspace's root.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ChangedPlaces {
    /// Directories whose names, permissions or files may have changed.
    pub directories: BTreeSet<Vec<u8>>,
    /// Directories that may have changed with everything below them.
    pub trees: BTreeSet<Vec<u8>>,
    /// Directories that are not watched, because no snapshot held any of them.
    pub left_out: BTreeSet<Vec<u8>>,
}

/// A question: what may have changed in a directory since a token?
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Question<'a> {
    /// The device and the inode of the directory: another one may be at its path by now.
    pub identity: (u64, u64),
    /// `None` if there was no answer before.
    pub token: Option<WatchToken>,
    /// The directory's path.
    pub root: &'a [u8],
    /// The folder with what is known of its snapshots.
    pub folder: &'a [u8],
}

impl<'a> Question<'a> {
    /// Returns the question as fields that each end with a NUL byte: the version, device, inode, token and paths.
    pub fn encode(&self) -> Vec<u8> {
        let token = self
            .token
            .as_ref()
            .map(WatchToken::encode)
            .unwrap_or_default();
        let (device, inode) = self.identity;
        let numbers = format!("{device}\0{inode}\0{token}\0");
        let paths = [self.root, b"\0", self.folder, b"\0"].concat();
        [MAGIC, b"\0", numbers.as_bytes(), &paths].concat()
    }

    /// Reads what [`Question::encode`] wrote.
    pub fn decode(bytes: &'a [u8]) -> Option<Self> {
        let mut fields = fields(bytes)?;
        let mut number = || text(fields.next()?)?.parse().ok();
        let identity = (number()?, number()?);
        let token = token(fields.next()?)?;
        let (root, folder) = (fields.next()?, fields.next()?);
        let are_paths = root.starts_with(b"/") && folder.starts_with(b"/");
        (are_paths && fields.next().is_none()).then_some(Self {
            identity,
            token,
            root,
            folder,
        })
    }
}

/// An answer: what may have changed, and the token for the next question.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Answer {
    /// `None` if the directory is not watched yet, or cannot be.
    pub token: Option<WatchToken>,
    /// `None` if anything may have changed.
    pub places: Option<ChangedPlaces>,
}

impl Answer {
    /// Returns the answer as fields that each end with a NUL byte: the version, the token, `all` or `some`, a field for
    /// each place that begins with `d`, `t` or `l`, and `end`, without which it was cut off.
    pub fn encode(&self) -> Vec<u8> {
        let token = self
            .token
            .as_ref()
            .map(WatchToken::encode)
            .unwrap_or_default();
        let mut bytes = [MAGIC, b"\0", token.as_bytes(), b"\0"].concat();
        let Some(places) = &self.places else {
            bytes.extend_from_slice(b"all\0end\0");
            return bytes;
        };
        bytes.extend_from_slice(b"some\0");
        let directories = places.directories.iter().map(|path| (b'd', path));
        let trees = places.trees.iter().map(|path| (b't', path));
        let left_out = places.left_out.iter().map(|path| (b'l', path));
        for (kind, path) in directories.chain(trees).chain(left_out) {
            bytes.push(kind);
            bytes.extend_from_slice(path);
            bytes.push(0);
        }
        // An answer that broke off would otherwise look like one that names fewer places.
        bytes.extend_from_slice(b"end\0");
        bytes
    }

    /// Parses an answer. `None` for one that is incomplete.
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let mut fields = fields(bytes)?;
        let token = token(fields.next()?)?;
        let (is_some, mut places) = (fields.next()? == b"some", ChangedPlaces::default());
        loop {
            match (fields.next()?, is_some) {
                (b"end", _) => break,
                ([b'd', path @ ..], true) => drop(places.directories.insert(path.to_vec())),
                ([b't', path @ ..], true) => drop(places.trees.insert(path.to_vec())),
                ([b'l', path @ ..], true) => drop(places.left_out.insert(path.to_vec())),
                _ => return None,
            }
        }
        let is_all = fields.next().is_none();
        is_all.then_some(Self {
            token,
            places: is_some.then_some(places),
        })
    }
}

/// Returns the fields after the magic, which end with zero bytes.
fn fields(bytes: &[u8]) -> Option<impl Iterator<Item = &[u8]>> {
    let mut fields = bytes.strip_suffix(b"\0")?.split(|byte| *byte == 0);
    (fields.next()? == MAGIC).then_some(fields)
}

fn text(bytes: &[u8]) -> Option<&str> {
    std::str::from_utf8(bytes).ok()
}

/// Parses a token. `None` if it is not valid; `Some(None)` if it is empty.
fn token(bytes: &[u8]) -> Option<Option<WatchToken>> {
    match text(bytes)? {
        "" => Some(None),
        token => WatchToken::decode(token).map(Some),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn some_token() -> WatchToken {
        WatchToken {
            watch: "0123456789abcdef0123456789abcdef".to_owned(),
            sequence: 7,
        }
    }

    fn paths(paths: &[&[u8]]) -> BTreeSet<Vec<u8>> {
        paths.iter().map(|path| path.to_vec()).collect()
    }

    fn answers() -> [Answer; 3] {
        let places = ChangedPlaces {
            directories: paths(&[b"", b"end", b"a/\xff b\n"]),
            trees: paths(&[b"t", b"all"]),
            left_out: paths(&[b"node_modules", b"l"]),
        };
        [
            Answer::default(),
            Answer {
                token: Some(some_token()),
                places: Some(ChangedPlaces::default()),
            },
            Answer {
                token: Some(some_token()),
                places: Some(places),
            },
        ]
    }

    /// A question and an answer say what they said.
    #[test]
    fn question_and_answer_survive_the_wire() {
        for token in [None, Some(some_token())] {
            let question = Question {
                identity: (u64::MAX, 2),
                token,
                root: b"/a\n \xff",
                folder: b"/store/workspaces/1",
            };
            assert_eq!(Question::decode(&question.encode()), Some(question.clone()));
        }
        for answer in answers() {
            assert_eq!(Answer::decode(&answer.encode()), Some(answer.clone()));
        }
    }

    /// An answer that is cut off or goes on is none.
    #[test]
    fn truncated_or_overlong_answer_is_none() {
        for answer in answers() {
            let bytes = answer.encode();
            for length in 0..bytes.len() {
                assert_eq!(Answer::decode(&bytes[..length]), None, "{length} bytes");
            }
            assert_eq!(Answer::decode(&[&bytes[..], b"dmore\0"].concat()), None);
        }
        assert_eq!(
            Question::decode(b"ckpt-hook 1\x001\x002\0\0relative\0"),
            None
        );
        assert_eq!(Question::decode(b"ckpt-hook 2\x001\x002\0\0/a\0"), None);
    }
}
