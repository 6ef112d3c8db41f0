//! Writes objects: one synced pack per snapshot. This module does IO.
//!
//! Objects arrive compressed (worker threads do that, [`pack_object`](super::compress::pack_object)) and are appended
//! to a temporary file beside the packs. [`PackWriter::finish`] turns it into a pack: complete, synced, and only then
//! visible. No object is written loose: each would cost a sync, and libgit2 never returns from reading a torn one.

use std::collections::HashMap;
use std::fs::{self, File, OpenOptions};
use std::io::{BufWriter, Read, Write};
use std::os::unix::fs::{FileExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use flate2::Compression;
use flate2::write::ZlibEncoder;
use libdeflater::Crc;
use sha1::{Digest, Sha1};

use super::compress::{Packed, is_compressible};
use super::entry::{FileRange, encode_header, same_contents, whole};
use super::index::{self, Indexed};
use super::rebuild::QUICKLY_READ_SIZE;
use crate::error::{Context, Result};
use crate::fs::layout::sync;
use crate::fs::leftover::TEMPORARY_PACK;
use crate::fs::{names, system};
use crate::model::entry::ObjectId;
use crate::objects::hash::{Hasher, ObjectKind};
use crate::objects::reader::{ObjectReader, StoredBytes};

/// Writes one pack.
pub(crate) struct PackWriter {
    directory: PathBuf,
    stored: Option<Arc<ObjectReader>>,
    open: Option<OpenPack>,
}

/// A pack that is being written.
struct OpenPack {
    temporary: Temporary,
    out: BufWriter<File>,
    position: u64,
    objects: HashMap<ObjectId, Indexed>,
    /// What entries of other packs are copied through; empty until there is one.
    copied: Vec<u8>,
}

/// How much of an entry is copied at a time, in bytes.
const COPIED: usize = 128 << 10;

/// A temporary file. It is removed on drop, unless it was renamed.
pub(crate) struct Temporary(PathBuf);

impl Temporary {
    /// Returns its path.
    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

impl PackWriter {
    /// Begins a pack in a bare repository. It is invisible before [`PackWriter::finish`].
    pub(crate) fn begin(repository: &Path) -> Result<Self> {
        Ok(Self {
            directory: names::packs(repository),
            stored: None,
            open: None,
        })
    }

    /// Leaves out streams that are stored already. Their ids are known only after they were read.
    pub(crate) fn knowing(self, stored: Arc<ObjectReader>) -> Self {
        Self {
            stored: Some(stored),
            ..self
        }
    }

    /// Adds an object, once. Returns false if a *different* object with the same id was added before: a SHA-1
    /// collision.
    pub(crate) fn add(&mut self, object: Packed) -> Result<bool> {
        let pack = self.pack()?;
        // Two files with the same bytes, or two threads that met one file.
        if let Some(earlier) = pack.objects.get(&object.id).copied() {
            // What is compared below is read back from the file.
            pack.flush()?;
            return same_contents(pack.entry(earlier), object.entry.as_slice())
                .context(|| "cannot read the pack that is written");
        }
        let mut crc = Crc::new();
        crc.update(&object.entry);
        pack.out
            .write_all(&object.entry)
            .context(|| "cannot write to the pack")?;
        pack.note(object.id, object.entry.len() as u64, crc.sum());
        Ok(true)
    }

    /// Adds a blob in bounded memory, and returns its id. Returns `None`, with the pack unchanged, if the reader
    /// returns fewer bytes than `size`, or if other bytes with its id are stored. No more bytes than `size` are read.
    /// If the reader fails, this fails, with the pack unchanged, too.
    pub(crate) fn add_stream(
        &mut self,
        size: u64,
        reader: &mut dyn Read,
    ) -> Result<Option<ObjectId>> {
        let stored = self.stored.clone();
        let pack = self.pack()?;
        // A stream has its id only at its end. It is written first, and taken back if it is stored already.
        let begin = pack.position;
        let kept = pack
            .write_stream(size, reader)
            .and_then(|written| match written {
                Some((id, latest)) => Ok(Some((
                    id,
                    latest,
                    pack.holds(id, latest, stored.as_deref())?,
                ))),
                None => Ok(None),
            });
        match kept {
            Ok(Some((id, latest, StoredBytes::No))) => {
                pack.note(id, latest.length, latest.crc);
                Ok(Some(id))
            }
            kept => {
                pack.roll_back(begin)?;
                Ok(kept?
                    .filter(|(_, _, held)| *held == StoredBytes::Yes)
                    .map(|(id, _, _)| id))
            }
        }
    }

    /// Adds an entry of another pack: `header` replaces its first bytes, and the reader returns the rest. Returns its
    /// location, or `None`, with the pack unchanged, if the reader fails or the entry's CRC-32 (of `old_header` and
    /// what the reader returns) is wrong.
    pub(crate) fn add_entry(
        &mut self,
        id: ObjectId,
        header: &[u8],
        old_header: &[u8],
        rest: &mut dyn Read,
        crc: u32,
    ) -> Result<Option<u64>> {
        let pack = self.pack()?;
        let begin = pack.position;
        match pack.write_entry(header, old_header, rest, crc)? {
            Some((length, crc)) => {
                pack.note(id, length, crc);
                Ok(Some(begin))
            }
            None => {
                pack.roll_back(begin)?;
                Ok(None)
            }
        }
    }

    /// Returns the offset of the next entry.
    pub(crate) fn position(&mut self) -> Result<u64> {
        Ok(self.pack()?.position)
    }

    /// Syncs the pack and its index, and moves them into place. Does nothing if nothing was added.
    ///
    /// Returns the pack's file name.
    pub(crate) fn finish(mut self) -> Result<Option<PathBuf>> {
        match self.open.take() {
            Some(pack) if !pack.objects.is_empty() => pack.finish(&self.directory).map(Some),
            _ => Ok(None),
        }
    }

    fn pack(&mut self) -> Result<&mut OpenPack> {
        if self.open.is_none() {
            self.open = Some(OpenPack::create(&self.directory)?);
        }
        Ok(self.open.as_mut().expect("it was just made"))
    }
}

const HEADER: u64 = 12;

impl OpenPack {
    fn create(directory: &Path) -> Result<Self> {
        let (temporary, file) = create_temporary(directory)?;
        let mut out = BufWriter::with_capacity(256 << 10, file);
        out.write_all(&header(0))
            .context(|| "cannot write to the pack")?;
        Ok(Self {
            temporary,
            out,
            position: HEADER,
            objects: HashMap::new(),
            copied: Vec::new(),
        })
    }

    fn note(&mut self, id: ObjectId, length: u64, crc: u32) {
        self.objects.insert(
            id,
            Indexed {
                offset: self.position,
                length,
                crc,
            },
        );
        self.position += length;
    }

    fn flush(&mut self) -> Result<()> {
        self.out.flush().context(|| "cannot write to the pack")
    }

    /// Returns the bytes of a written and flushed entry.
    fn entry(&self, entry: Indexed) -> FileRange<'_> {
        FileRange::new(
            self.out.get_ref(),
            entry.offset,
            entry.offset + entry.length,
        )
    }

    /// Returns whether the latest entry is in this pack already, or stored.
    fn holds(
        &mut self,
        id: ObjectId,
        latest: Indexed,
        stored: Option<&ObjectReader>,
    ) -> Result<StoredBytes> {
        self.flush()?;
        match (self.objects.get(&id), stored) {
            (Some(earlier), _) => {
                let same = same_contents(self.entry(*earlier), self.entry(latest));
                let same = same.context(|| "cannot read the pack that is written")?;
                Ok(if same {
                    StoredBytes::Yes
                } else {
                    StoredBytes::Collision
                })
            }
            (None, Some(stored)) => stored.holds_stream(id, &mut whole(self.entry(latest))?),
            (None, None) => Ok(StoredBytes::No),
        }
    }

    /// Writes an entry of another pack. Returns its length and its new CRC-32, or `None` if it is damaged.
    fn write_entry(
        &mut self,
        header: &[u8],
        old_header: &[u8],
        rest: &mut dyn Read,
        crc: u32,
    ) -> Result<Option<(u64, u32)>> {
        let what = || "cannot write to the pack";
        let (mut old, mut new) = (Crc::new(), Crc::new());
        old.update(old_header);
        new.update(header);
        self.out.write_all(header).context(what)?;
        let mut length = header.len() as u64;
        self.copied.resize(COPIED, 0);
        loop {
            let read = match rest.read(&mut self.copied) {
                Ok(0) => break,
                Ok(read) => read,
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
                // The old pack fails, not the new one: the caller takes another copy.
                Err(_) => return Ok(None),
            };
            let piece = &self.copied[..read];
            old.update(piece);
            new.update(piece);
            self.out.write_all(piece).context(what)?;
            length += read as u64;
        }
        Ok((old.sum() == crc).then(|| (length, new.sum())))
    }

    fn roll_back(&mut self, position: u64) -> Result<()> {
        self.flush()?;
        let file = self.out.get_mut();
        file.set_len(position)
            .context(|| "cannot shorten the pack")?;
        std::io::Seek::seek(file, std::io::SeekFrom::Start(position))
            .context(|| "cannot shorten the pack")?;
        Ok(())
    }

    /// Writes the entry of a blob. Returns its id and location, or `None` if the reader ended early.
    fn write_stream(
        &mut self,
        size: u64,
        reader: &mut dyn Read,
    ) -> Result<Option<(ObjectId, Indexed)>> {
        let offset = self.position;
        let mut counted = Counted {
            out: &mut self.out,
            length: 0,
            crc: Crc::new(),
        };
        counted
            .write_all(&encode_header(ObjectKind::Blob, size))
            .context(|| "cannot write to the pack")?;
        let mut buffer = vec![0; 128 << 10];
        let mut piece = fill(reader, &mut buffer, size)?;
        let level = Compression::new(u32::from(is_compressible(&buffer[..piece])));
        let mut encoder = ZlibEncoder::new(counted, level);
        let mut hasher = Hasher::new(ObjectKind::Blob, size);
        let mut left = size;
        while piece > 0 {
            hasher.update(&buffer[..piece]);
            encoder
                .write_all(&buffer[..piece])
                .context(|| "cannot write to the pack")?;
            left -= piece as u64;
            piece = fill(reader, &mut buffer, left)?;
        }
        let counted = encoder.finish().context(|| "cannot write to the pack")?;
        let (length, crc) = (counted.length, counted.crc.sum());
        Ok((left == 0).then(|| {
            (
                hasher.finish(),
                Indexed {
                    offset,
                    length,
                    crc,
                },
            )
        }))
    }

    fn finish(mut self, directory: &Path) -> Result<PathBuf> {
        let what = || format!("cannot complete the pack in `{}`", directory.display());
        //   pack ─► index ─► sync of the pack ─► pack renamed ─► index renamed ─► sync of the names
        //
        // Killed before the first rename, only temporary files are left, which git and we remove. Killed between
        // the two, the pack has no index: readers pass over it, and `doctor` makes one.
        self.out.flush().context(what)?;
        let file = self.out.get_ref();
        let count = u32::try_from(self.objects.len()).context(what)?;
        // The number of objects is known only now; readers see the file only later, under its name.
        file.write_all_at(&header(count), 0).context(what)?;
        let checksum = checksum(file, self.position).context(what)?;
        file.write_all_at(&checksum, self.position).context(what)?;
        let index = index::encode(&self.objects, &checksum);
        let (index_temporary, mut index_file) = create_temporary(directory)?;
        index_file.write_all(&index).context(what)?;
        let not_synced = || format!("cannot sync the pack in `{}`", directory.display());
        // All changes are made before the first sync, so that a file system with a journal writes them once for both.
        // The index of a pack that is soon read gets no sync of its own: a reader that finds it torn rebuilds it from
        // the pack. Its name is on disk with the directory, so that the pack is never taken for a leftover.
        make_read_only(file).context(not_synced)?;
        make_read_only(&index_file).context(not_synced)?;
        system::begin_write_back(&index_file);
        file.sync_all().context(not_synced)?;
        if self.position > QUICKLY_READ_SIZE {
            index_file.sync_all().context(not_synced)?;
        }
        let name = ObjectId::new(checksum);
        // The pack comes first: an index without its pack would name objects that do not exist.
        fs::rename(
            &self.temporary.0,
            directory.join(format!("pack-{name}.pack")),
        )
        .context(what)?;
        fs::rename(
            &index_temporary.0,
            directory.join(format!("pack-{name}.idx")),
        )
        .context(what)?;
        sync(directory)?;
        Ok(PathBuf::from(format!("pack-{name}.pack")))
    }
}

/// Makes a file read-only, and syncs it.
pub(crate) fn seal(file: &File) -> std::io::Result<()> {
    make_read_only(file)?;
    file.sync_all()
}

/// Makes a file readable for its owner only, and not writable.
pub(crate) fn make_read_only(file: &File) -> std::io::Result<()> {
    file.set_permissions(fs::Permissions::from_mode(0o400))
}

fn header(count: u32) -> [u8; HEADER as usize] {
    let mut header = *b"PACK\0\0\0\x02\0\0\0\0";
    header[8..].copy_from_slice(&count.to_be_bytes());
    header
}

/// Returns the SHA-1 of a pack's first bytes. They are read again, because the header contains the number of objects,
/// which is known only at the end.
pub(crate) fn checksum(file: &File, length: u64) -> std::io::Result<[u8; 20]> {
    let mut range = FileRange::new(file, 0, length);
    let mut hasher = Sha1::new();
    let mut buffer = vec![0; 128 << 10];
    loop {
        match range.read(&mut buffer)? {
            0 => return Ok(hasher.finalize().into()),
            read => hasher.update(&buffer[..read]),
        }
    }
}

/// Creates a file that only the user can read, with a name that git's own clean-up knows.
pub(crate) fn create_temporary(directory: &Path) -> Result<(Temporary, File)> {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    loop {
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = directory.join(format!("{TEMPORARY_PACK}{}_{number}", std::process::id()));
        match OpenOptions::new()
            .read(true)
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&path)
        {
            Ok(file) => return Ok((Temporary(path), file)),
            // A killed process with the same number left it.
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
            Err(error) => {
                return Err(error)
                    .context(|| format!("cannot create the file `{}`", path.display()));
            }
        }
    }
}

/// Fills the buffer up to `limit` or the reader's end.
fn fill(reader: &mut dyn Read, buffer: &mut [u8], limit: u64) -> Result<usize> {
    let wanted = usize::try_from(limit)
        .unwrap_or(usize::MAX)
        .min(buffer.len());
    let mut filled = 0;
    while filled < wanted {
        match reader.read(&mut buffer[filled..wanted]) {
            Ok(0) => break,
            Ok(read) => filled += read,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error).context(|| "cannot read the bytes to store"),
        }
    }
    Ok(filled)
}

/// Counts and checks what passes through.
struct Counted<W> {
    out: W,
    length: u64,
    crc: Crc,
}

impl<W: Write> Write for Counted<W> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let written = self.out.write(bytes)?;
        self.crc.update(&bytes[..written]);
        self.length += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.out.flush()
    }
}
