//! The verbs and their texts.

mod access;
mod analyse;
mod command_line;
mod constants;
mod count;
mod estimate;
mod explore;
mod inspect;
mod limits;
mod page;
mod steer;
