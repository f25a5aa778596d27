//! Large arrays of rows in anonymous memory, in pages of 2 MiB where the system has them.
//!
//! The exchange between windows reads rows from all over a vector. Large pages save much of the address translation.
//! Memory is zero at first, and the system provides a page when it is first touched.

use std::ops::{Deref, DerefMut};

use memmap2::MmapMut;
use zerocopy::{FromBytes as _, IntoBytes as _};

use crate::MemoryRefused;
use crate::block::rows::lanes::Row;

/// Why memory can be read as words: mappings begin at pages, and lengths are whole rows.
const ALIGNED: &str = "mappings are aligned";

/// An array of rows.
#[derive(Debug)]
pub struct Rows<const K: usize> {
    map: MmapMut,
    len: usize,
}

/// Memory for rows of any number of lanes, kept for reuse. Touched memory need not be cleared again.
#[derive(Debug, Default)]
pub(crate) struct RowStore {
    maps: Vec<MmapMut>,
}

impl RowStore {
    /// `len` rows with arbitrary contents. Takes the smallest mapping that is large enough. If there is none, maps
    /// `most_bytes`, so that the memory can serve more lanes later.
    pub(crate) fn take<const K: usize>(&mut self, len: usize, most_bytes: usize) -> Result<Rows<K>, MemoryRefused> {
        let bytes = len * size_of::<Row<K>>();
        let fits = (0..self.maps.len()).filter(|&i| self.maps[i].len() >= bytes).min_by_key(|&i| self.maps[i].len());
        match fits {
            Some(i) => Ok(Rows { map: self.maps.swap_remove(i), len }),
            None => Ok(Rows { map: Rows::<1>::zeroed(most_bytes.max(bytes).div_ceil(8))?.map, len }),
        }
    }

    /// Takes rows back for reuse.
    pub(crate) fn put_back<const K: usize>(&mut self, rows: Rows<K>) {
        self.maps.push(rows.map);
    }
}

impl<const K: usize> Rows<K> {
    /// Rows of zeros.
    pub fn zeroed(len: usize) -> Result<Self, MemoryRefused> {
        let bytes = len.max(1).saturating_mul(size_of::<Row<K>>());
        let refused = |source| MemoryRefused { bytes: bytes as u64, source };
        // The system refuses more than any address space; the call itself cannot ask for it.
        let fits = isize::try_from(bytes).map_err(|_| refused(std::io::ErrorKind::OutOfMemory.into()));
        let map = fits.and_then(|_| MmapMut::map_anon(bytes).map_err(refused))?;
        #[cfg(target_os = "linux")]
        // Only advice: without it pages are small and access is slower.
        let _ = map.advise(memmap2::Advice::HugePage);
        Ok(Self { map, len })
    }
}

impl From<Rows<2>> for Rows<1> {
    fn from(rows: Rows<2>) -> Self {
        Self { len: 2 * rows.len, map: rows.map }
    }
}

/// A number of ways for each of some states, two to a word.
#[derive(Debug)]
pub struct Ways {
    words: Rows<1>,
    len: usize,
}

impl Ways {
    /// Zero ways to each of `len` states.
    pub(crate) fn zeroed(len: usize) -> Result<Self, MemoryRefused> {
        Ok(Self { words: Rows::zeroed(len.div_ceil(2))?, len })
    }
}

impl Deref for Ways {
    type Target = [u32];
    fn deref(&self) -> &[u32] {
        &<[u32]>::ref_from_bytes(self.words.as_bytes()).expect(ALIGNED)[..self.len]
    }
}

impl DerefMut for Ways {
    fn deref_mut(&mut self) -> &mut [u32] {
        &mut <[u32]>::mut_from_bytes(self.words.as_mut_bytes()).expect(ALIGNED)[..self.len]
    }
}

impl<const K: usize> Deref for Rows<K> {
    type Target = [Row<K>];
    fn deref(&self) -> &[Row<K>] {
        <[Row<K>]>::ref_from_bytes(&self.map[..self.len * size_of::<Row<K>>()]).expect(ALIGNED)
    }
}

impl<const K: usize> DerefMut for Rows<K> {
    fn deref_mut(&mut self) -> &mut [Row<K>] {
        <[Row<K>]>::mut_from_bytes(&mut self.map[..self.len * size_of::<Row<K>>()]).expect(ALIGNED)
    }
}
