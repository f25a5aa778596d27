//! Dense blocks: the second trait, for problems whose families fall into blocks that share their transitions.
//!
//! Over a window a state is a pair (outside, inside): the codes of the border cells outside and inside the window. The
//! inside codes that are valid must depend on a small *signature* of the outside only. Then all outsides of one signature
//! share one list of inside codes per pass boundary, and a vector is an array of counts without keys:
//!
//! ```text
//!   vector  = family 0 | family 1 | ...           states that agree in what no pass of the window changes
//!   family  = block 0 | block 1 | ...             one block per outside
//!   block   = count of list[0] | list[1] | ...    the inside codes of the block's signature at this boundary
//! ```
//!
//! A pass is then, per signature, one sparse matrix inside the block (*local*), and a few *far* operations that change
//! the outside. Each far operation leads from a block to one other block of the same family, and its pairs of entries are
//! the same for all blocks of a signature. No state is decoded on the way.
//!
//! Boundaries of a window of w passes are numbered 0 to w ("steps"); pass number `t` leads from step `t` to step `t+1`.
//!
//! A problem of this kind gives:
//!
//! - [`tables`]: for each window its blocks, families, lists and passes, forward or in both [`direction`]s;
//! - [`column`]: how the states at the end of one window are numbered in the next. Both numberings may be of any kind: the
//!   engine moves values by the positions that the problem tells, and compares vectors by canonical keys;
//! - [`parts`]: the same for some families at a time, where the tables of all are too large;
//! - [`problem`]: which of this it can make for a board, and estimates of time and memory.
//!
//! The states of a symmetry class may share one entry. The problem says how. A *weight* tells how many states an entry
//! stands for; *twins* are several entries of one class; *folding* lets one of two images enter a column.

pub(crate) mod column;
pub(crate) mod direction;
pub(crate) mod families;
pub(crate) mod parts;
pub(crate) mod problem;
pub(crate) mod tables;
