//! Large arrays of rows in anonymous memory, in pages of 2 MiB where the system has them.
//!
//! The exchange between windows reads rows from all over a vector: with 4 KiB pages half of its time goes to the
//! address translation. Memory is zero at first and is only taken when it is touched.

use std::ops::{Deref, DerefMut};

use memmap2::MmapMut;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

use crate::block::rows::lanes::Row;

/// `len` rows.
#[derive(Debug)]
pub struct Rows<const K: usize> {
    map: MmapMut,
    len: usize,
}

/// Memory to make rows of, of any number of lanes: what was touched once does not have to be cleared again.
#[derive(Debug, Default)]
pub(crate) struct Pool {
    maps: Vec<MmapMut>,
}

impl Pool {
    /// `len` rows with anything in them. Takes the smallest piece that is large enough, else new memory of
    /// `most_bytes`, so that it will serve more lanes later.
    pub(crate) fn take<const K: usize>(&mut self, len: usize, most_bytes: usize) -> std::io::Result<Rows<K>> {
        let bytes = len * size_of::<Row<K>>();
        let fits = (0..self.maps.len()).filter(|&i| self.maps[i].len() >= bytes).min_by_key(|&i| self.maps[i].len());
        match fits {
            Some(i) => Ok(Rows { map: self.maps.swap_remove(i), len }),
            None => Ok(Rows { map: Rows::<1>::zeroed(most_bytes.max(bytes).div_ceil(8))?.map, len }),
        }
    }

    /// Keeps the memory of rows that are done with.
    pub(crate) fn put_back<const K: usize>(&mut self, rows: Rows<K>) {
        self.maps.push(rows.map);
    }
}

impl<const K: usize> Rows<K> {
    /// Rows of zeros.
    pub fn zeroed(len: usize) -> std::io::Result<Self> {
        let bytes = len.max(1).checked_mul(size_of::<Row<K>>()).ok_or(std::io::ErrorKind::OutOfMemory)?;
        let map = MmapMut::map_anon(bytes)?;
        #[cfg(target_os = "linux")]
        // Advice: where it is refused, pages are small and all is slower.
        let _ = map.advise(memmap2::Advice::HugePage);
        Ok(Self { map, len })
    }
}

impl From<Rows<2>> for Rows<1> {
    fn from(rows: Rows<2>) -> Self {
        Self { len: 2 * rows.len, map: rows.map }
    }
}

/// For each of some states a number of ways, two to a word of such memory.
#[derive(Debug)]
pub struct Ways {
    words: Rows<1>,
    len: usize,
}

impl Ways {
    /// No ways to `len` states.
    pub(crate) fn zeroed(len: usize) -> std::io::Result<Self> {
        Ok(Self { words: Rows::zeroed(len.div_ceil(2))?, len })
    }
}

impl Deref for Ways {
    type Target = [u32];
    fn deref(&self) -> &[u32] {
        &cast(self.words.as_bytes())[..self.len]
    }
}

impl DerefMut for Ways {
    fn deref_mut(&mut self) -> &mut [u32] {
        &mut cast_mut(self.words.as_mut_bytes())[..self.len]
    }
}

impl<const K: usize> Deref for Rows<K> {
    type Target = [Row<K>];
    fn deref(&self) -> &[Row<K>] {
        cast(&self.map[..self.len * size_of::<Row<K>>()])
    }
}

impl<const K: usize> DerefMut for Rows<K> {
    fn deref_mut(&mut self) -> &mut [Row<K>] {
        cast_mut(&mut self.map[..self.len * size_of::<Row<K>>()])
    }
}

/// The same memory as numbers. A mapping begins with a page, so any number's alignment fits.
fn cast<T: FromBytes + Immutable + KnownLayout>(bytes: &[u8]) -> &[T] {
    match <[T]>::ref_from_bytes(bytes) {
        Ok(numbers) => numbers,
        Err(_) => unreachable!("a mapping is aligned and holds whole rows"),
    }
}

fn cast_mut<T: FromBytes + IntoBytes + KnownLayout>(bytes: &mut [u8]) -> &mut [T] {
    match <[T]>::mut_from_bytes(bytes) {
        Ok(numbers) => numbers,
        Err(_) => unreachable!("a mapping is aligned and holds whole rows"),
    }
}
