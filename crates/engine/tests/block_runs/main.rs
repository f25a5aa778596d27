//! The block executor out of core: vectors through runs, forward and transposed.

mod beside;
#[path = "../common/column.rs"]
mod blocks;
mod columns;
#[path = "../common/mod.rs"]
mod common;
mod meeting;
mod run;
#[path = "../common/states.rs"]
mod states;
