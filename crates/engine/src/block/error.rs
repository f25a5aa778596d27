//! What can go wrong in a count by blocks, with the evidence.

use std::ops::Range;

use keima_model::Window;

use crate::MemoryRefused;

/// Why a vector could not be taken through a window.
#[derive(Debug, thiserror::Error)]
pub enum BlockError {
    /// The system has too little memory for a vector.
    #[error(transparent)]
    Memory(#[from] MemoryRefused),
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
        /// Expected from the rows that went in.
        expected: u128,
        /// Sum of the rows that came out.
        got: u128,
    },
    /// The rows that a window read do not add up to the vector before it.
    #[error(
        "the rows that the window of cells {}..{} read add up to {got} modulo {modulus}, but the vector to {expected}; the \
         machine or its memory may be faulty",
        window.first, window.end()
    )]
    Exchange {
        /// The window that read.
        window: Window,
        /// The modulus.
        modulus: u64,
        /// Sum of the vector.
        expected: u64,
        /// Sum of the rows that were read.
        got: u64,
    },
    /// A window read rows in other places than the window before wrote them.
    #[error(
        "the window of cells {}..{} read rows with the fingerprint {got} modulo {modulus}, but rows with {expected} were \
         written; the machine or its memory may be faulty",
        window.first, window.end()
    )]
    Fingerprint {
        /// The window that read.
        window: Window,
        /// The modulus.
        modulus: u64,
        /// Fingerprint of the rows that were written.
        expected: u64,
        /// Fingerprint of the rows that were read.
        got: u64,
    },
    /// The spare lane of an entry does not match its other lanes.
    #[error(
        "in the entry at or after position {position} of a vector the spare residue does not match the others; the machine \
         or its memory may be faulty"
    )]
    Spare {
        /// Position in the vector.
        position: u64,
    },
    /// Inner products at two boundaries differ.
    #[error(
        "the inner products of both directions differ {what} modulo {modulus}: {one} and {other}; the machine or its memory \
         may be faulty"
    )]
    TwoCuts {
        /// The two boundaries.
        what: String,
        /// The modulus.
        modulus: u64,
        /// Residue at the middle.
        one: u64,
        /// Residue one window later.
        other: u64,
    },
    /// Moduli that lanes cannot hold.
    #[error("the block executor needs primes between 2^59 and 2^60; this is a fault of the program, please report it")]
    Moduli,
    /// Values that need more than eight lanes.
    #[error("numbers of {cells} cells need more than 8 lanes; use --executor stream")]
    TooLong {
        /// Cells that an entry's value depends on.
        cells: u32,
    },
    /// A window leads to a state in more ways than sums can weight.
    #[error("a window leads to a state in 2^24 ways or more; this is a fault of the program, please report it")]
    Arrivals,
    /// Far operations in both directions after a window's first pass, or no exchange.
    #[error("the tables of a window contradict each other; this is a fault of the program, please report it")]
    Order,
    /// The caller stopped the count.
    #[error("the count was stopped")]
    Stopped,
    /// A thread failed.
    #[error("a thread of the block executor failed; this is a fault of the program, please report it")]
    Poisoned,
}
