//! One life of the coordinator: the numbers that no other life gives out.

use keima_model::mix::split_mix;

use crate::api::StoreId;

/// From a start of the coordinator to its end.
pub(crate) struct Life {
    /// Name of the store, the same in every life.
    pub(crate) store: StoreId,
    /// Lives of this coordinator before this one.
    pub(crate) boot: u32,
    random: u64,
}

impl Life {
    /// A life that draws other nonces than all others, even from the same seed. `store` is `None` in the first one.
    pub(crate) fn new(seed: u64, boot: u32, store: Option<StoreId>) -> Self {
        let mut random = seed ^ u64::from(boot).wrapping_mul(0xd6e8_feb8_6659_fd93);
        split_mix(&mut random);
        let store = store.unwrap_or_else(|| StoreId(split_mix(&mut random)));
        Self { store, boot, random }
    }

    /// A random number.
    pub(crate) const fn random(&mut self) -> u64 {
        split_mix(&mut self.random)
    }

    /// An epoch: a number that nobody guesses, other than 0.
    pub(crate) const fn new_epoch(&mut self) -> u64 {
        let epoch = self.random();
        if epoch == 0 { 1 } else { epoch }
    }

    /// The smallest number of a generation or attempt in this life.
    ///
    /// A power failure may lose records of grants. Each life has a range of its own, so that the names of files that
    /// such grants led to never come again.
    pub(crate) fn first_number(&self) -> u32 {
        self.boot.min(0xffff) << 16
    }
}
