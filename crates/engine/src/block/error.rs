//! What can go wrong with a count by blocks, with the evidence.

use std::ops::Range;

use keima_model::Window;

/// Why a vector could not be brought through a window.
#[derive(Debug, thiserror::Error)]
pub enum BlockError {
    /// The system has no memory left.
    #[error(
        "no memory for the vector: {0}; use fewer threads or residues, a machine with more memory, or --executor stream"
    )]
    Memory(#[from] std::io::Error),
    /// Mass balance is violated.
    #[error(
        "mass balance of blocks {blocks:?} over cells {}..{} is violated modulo {modulus}: expected {expected}, got {got}; \
         the machine or its memory may be faulty",
        window.first, window.end()
    )]
    Balance {
        /// The window.
        window: Window,
        /// Blocks of the family.
        blocks: Range<u32>,
        /// The modulus.
        modulus: u64,
        /// By what went in.
        expected: u128,
        /// What came out.
        got: u128,
    },
    /// What was read of a vector is not what stands in it.
    #[error(
        "what cells {}..{} have read of the vector before adds up to {got} modulo {modulus}, what stands in it to \
         {expected}; the machine or its memory may be faulty",
        window.first, window.end()
    )]
    Exchange {
        /// The window that has read.
        window: Window,
        /// The modulus.
        modulus: u64,
        /// What was written.
        expected: u64,
        /// What was read.
        got: u64,
    },
    /// What was read of a vector does not stand where it was written.
    #[error(
        "the fingerprint of what cells {}..{} have read of the vector before is {got} modulo {modulus}, that of what was \
         written {expected}; the machine or its memory may be faulty",
        window.first, window.end()
    )]
    Fingerprint {
        /// The window that has read.
        window: Window,
        /// The modulus.
        modulus: u64,
        /// Of what was written.
        expected: u64,
        /// Of what was read.
        got: u64,
    },
    /// An entry's spare lane is not what its other lanes predict.
    #[error(
        "the spare prime of the entry at or after position {position} of a vector is not what its other residues \
         predict; the machine or its memory may be faulty"
    )]
    Spare {
        /// Where.
        position: u64,
    },
    /// Inner products at two boundaries differ.
    #[error(
        "the inner products of both directions differ {what} modulo {modulus}: {one} and {other}; the machine or its memory \
         may be faulty"
    )]
    TwoCuts {
        /// Where they were taken.
        what: String,
        /// The modulus.
        modulus: u64,
        /// At the middle.
        one: u64,
        /// One window on.
        other: u64,
    },
    /// Moduli that the lanes cannot hold.
    #[error("the block executor needs primes between 2^59 and 2^60; this is a fault of the program, please report it")]
    Moduli,
    /// Numbers outgrow eight lanes.
    #[error("numbers of {cells} cells need more than 8 lanes; use --executor stream")]
    TooLong {
        /// Cells that an entry's number depends on.
        cells: u32,
    },
    /// A state can be reached in more ways than can be weighed.
    #[error("a window leads to a state in 2^24 ways or more; this is a fault of the program, please report it")]
    Arrivals,
    /// Far operations that lead both ways after a window's first pass, or an exchange that is not there.
    #[error("the tables of a window do not fit one another; this is a fault of the program, please report it")]
    Order,
    /// Stopped from outside.
    #[error("stopped")]
    Stopped,
    /// A thread failed.
    #[error("a thread of the block executor failed; this is a fault of the program, please report it")]
    Poisoned,
}
