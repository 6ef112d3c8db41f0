//! Memory for SQLite in a process that lives for some milliseconds.
//!
//! A connection reads the whole schema when it opens: SQLite asks for some 7,000 small pieces of memory, and gives half
//! of them back. A general allocator takes a fifth of a hook's instructions for that. Here, a piece is cut off a block,
//! and what is given back waits in a list for the next piece of its size. No block goes back to the system, so this is
//! only for a process that ends soon.
//!
//! SQLite's documentation says what it asks of an allocator (`c3ref/mem_methods.html`).

#![expect(
    unsafe_code,
    reason = "SQLite takes an allocator as functions on raw memory"
)]

use std::cell::Cell;
use std::ffi::{c_int, c_void};
use std::ptr::null_mut;

use rusqlite::ffi::{SQLITE_CONFIG_MALLOC, SQLITE_OK, sqlite3_config, sqlite3_mem_methods};

/// The bytes in front of a piece, which hold its size. What follows is aligned by eight, as SQLite asks.
const HEADER: usize = 8;

/// Sizes are multiples of it, in bytes.
const UNIT: usize = 16;

/// The largest piece that is cut off a block, in bytes with its header. Larger ones are rare, and the system's.
const LARGEST: usize = 1024;

/// The size of a block in bytes: the schema takes some ten.
const BLOCK: usize = 64 << 10;

/// What one thread has. A piece may be given back by another thread than the one that asked for it: it then waits
/// there.
struct Pool {
    /// Where the next piece is cut off, and how many bytes are left.
    next: Cell<*mut u8>,
    left: Cell<usize>,
    /// The first piece that was given back, by size in units. Each holds the address of the next.
    waiting: [Cell<*mut u8>; LARGEST / UNIT + 1],
}

thread_local! {
    static POOL: Pool = const {
        Pool {
            next: Cell::new(null_mut()),
            left: Cell::new(0),
            waiting: [const { Cell::new(null_mut()) }; LARGEST / UNIT + 1],
        }
    };
}

/// Makes SQLite take its memory from here, for as long as this process lives. Does nothing where SQLite is in use
/// already.
pub fn keep_memory() {
    let methods = sqlite3_mem_methods {
        xMalloc: Some(allocate),
        xFree: Some(give_back),
        xRealloc: Some(resize),
        xSize: Some(usable),
        xRoundup: Some(round_up),
        xInit: Some(begin),
        xShutdown: Some(end),
        pAppData: null_mut(),
    };
    // SAFETY: SQLite copies the table, whose functions do as it documents. Once it is initialized, it refuses the call.
    unsafe { sqlite3_config(SQLITE_CONFIG_MALLOC, &raw const methods) };
}

/// Returns the size of a piece with its header. SQLite never asks for more than 2 GB, so nothing overflows; the checks
/// would be a tenth of an allocation.
fn whole(bytes: c_int) -> usize {
    (bytes.unsigned_abs() as usize).wrapping_add(HEADER + UNIT - 1) & !(UNIT - 1)
}

unsafe extern "C" fn allocate(bytes: c_int) -> *mut c_void {
    let size = whole(bytes);
    let piece = if size <= LARGEST {
        POOL.with(|pool| pool.take(size))
    } else {
        // SAFETY: any size may be asked for.
        unsafe { libc::malloc(size).cast() }
    };
    if piece.is_null() {
        return null_mut();
    }
    // SAFETY: the piece begins with room for its size, and is aligned for it.
    unsafe {
        piece.cast::<usize>().write(size);
        piece.add(HEADER).cast()
    }
}

impl Pool {
    /// Returns a piece of at most the largest size, or null where there is no memory.
    fn take(&self, size: usize) -> *mut u8 {
        let waiting = &self.waiting[size / UNIT];
        let piece = waiting.get();
        if !piece.is_null() {
            // SAFETY: what waits is a piece of ours that nobody uses, and holds the address of the next.
            waiting.set(unsafe { piece.cast::<*mut u8>().read() });
            return piece;
        }
        if self.left.get() < size {
            // What is left of the block before is lost, at most a piece of the largest size.
            // SAFETY: any size may be asked for.
            let block: *mut u8 = unsafe { libc::malloc(BLOCK).cast() };
            if block.is_null() {
                return block;
            }
            self.next.set(block);
            self.left.set(BLOCK);
        }
        let piece = self.next.get();
        self.left.set(self.left.get().wrapping_sub(size));
        // SAFETY: at least `size` bytes of the block were left.
        self.next.set(unsafe { piece.add(size) });
        piece
    }
}

/// Returns where a piece begins, and its size.
///
/// # Safety
///
/// `allocate` returned the address, and it was not given back since.
unsafe fn piece_of(address: *mut c_void) -> (*mut u8, usize) {
    // SAFETY: the size stands in front of it.
    unsafe {
        let piece = address.cast::<u8>().sub(HEADER);
        (piece, piece.cast::<usize>().read())
    }
}

unsafe extern "C" fn give_back(address: *mut c_void) {
    if address.is_null() {
        return;
    }
    // SAFETY: SQLite gives back what it was given, once.
    let (piece, size) = unsafe { piece_of(address) };
    if size > LARGEST {
        // SAFETY: a piece of this size is the system's.
        unsafe { libc::free(piece.cast()) };
        return;
    }
    POOL.with(|pool| {
        let waiting = &pool.waiting[size / UNIT];
        // SAFETY: a piece has at least one unit, which has room for an address.
        unsafe { piece.cast::<*mut u8>().write(waiting.get()) };
        waiting.set(piece);
    });
}

unsafe extern "C" fn resize(address: *mut c_void, bytes: c_int) -> *mut c_void {
    // SAFETY: SQLite asks for this with what it was given.
    let (_, size) = unsafe { piece_of(address) };
    if whole(bytes) <= size {
        return address;
    }
    // SAFETY: both are pieces of their own, and the new one is the larger.
    unsafe {
        let larger = allocate(bytes);
        if !larger.is_null() {
            larger.copy_from_nonoverlapping(address, size - HEADER);
            give_back(address);
        }
        larger
    }
}

unsafe extern "C" fn usable(address: *mut c_void) -> c_int {
    if address.is_null() {
        return 0;
    }
    // SAFETY: SQLite asks for this with what it was given.
    let (_, size) = unsafe { piece_of(address) };
    c_int::try_from(size - HEADER).unwrap_or(c_int::MAX)
}

unsafe extern "C" fn round_up(bytes: c_int) -> c_int {
    c_int::try_from(whole(bytes) - HEADER).unwrap_or(c_int::MAX)
}

unsafe extern "C" fn begin(_: *mut c_void) -> c_int {
    SQLITE_OK
}

unsafe extern "C" fn end(_: *mut c_void) {}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[derive(Clone, Copy, Debug)]
    enum Call {
        Allocate(c_int),
        GiveBack(prop::sample::Index),
        Resize(prop::sample::Index, c_int),
    }

    fn call() -> impl Strategy<Value = Call> {
        let size = prop_oneof![1..200_i32, 900..1100_i32, 4000..5000_i32];
        prop_oneof![
            3 => size.clone().prop_map(Call::Allocate),
            2 => any::<prop::sample::Index>().prop_map(Call::GiveBack),
            1 => (any::<prop::sample::Index>(), size).prop_map(|(which, size)| Call::Resize(which, size)),
        ]
    }

    /// A piece in use: where it is, and the byte that fills it.
    struct Used(*mut c_void, u8);

    impl Used {
        fn bytes(&mut self) -> &mut [u8] {
            // SAFETY: the piece is in use, and as long as it says.
            unsafe {
                let length = usize::try_from(usable(self.0)).expect("a size");
                std::slice::from_raw_parts_mut(self.0.cast(), length)
            }
        }

        fn is_intact(&mut self) -> bool {
            let byte = self.1;
            self.bytes().iter().all(|found| *found == byte)
        }

        fn fill(mut self, byte: u8) -> Self {
            self.1 = byte;
            self.bytes().fill(byte);
            self
        }
    }

    proptest! {
        #[test]
        fn no_two_pieces_overlap_and_each_keeps_its_bytes(calls in prop::collection::vec(call(), 1..300)) {
            let mut used: Vec<Used> = Vec::new();
            for (call, byte) in calls.into_iter().zip((1..=u8::MAX).cycle()) {
                match call {
                    Call::Allocate(size) => {
                        // SAFETY: any size may be asked for.
                        let piece = unsafe { allocate(size) };
                        prop_assert_eq!(piece.align_offset(8), 0);
                        // SAFETY: the piece is in use.
                        let found = unsafe { usable(piece) };
                        prop_assert!(found >= size);
                        used.push(Used(piece, 0).fill(byte));
                    }
                    Call::GiveBack(which) if !used.is_empty() => {
                        let mut piece = used.swap_remove(which.index(used.len()));
                        prop_assert!(piece.is_intact());
                        // SAFETY: it is in use, and used no further.
                        unsafe { give_back(piece.0) };
                    }
                    Call::Resize(which, size) if !used.is_empty() => {
                        let mut old = used.swap_remove(which.index(used.len()));
                        prop_assert!(old.is_intact());
                        let kept = old.bytes().len().min(usize::try_from(size).expect("a size"));
                        // SAFETY: it is in use, and only the piece returned is used further.
                        let mut new = Used(unsafe { resize(old.0, size) }, old.1);
                        prop_assert!(new.bytes()[..kept].iter().all(|kept| *kept == old.1));
                        used.push(new.fill(byte));
                    }
                    Call::GiveBack(_) | Call::Resize(..) => {}
                }
            }
            for mut piece in used {
                prop_assert!(piece.is_intact());
                // SAFETY: it is in use, and used no further.
                unsafe { give_back(piece.0) };
            }
        }
    }
}
