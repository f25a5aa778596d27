//! The verbs and their texts.

mod access;
mod analyse;
mod count;
mod estimate;
mod explore;
mod habits;
mod help;
mod inspect;
mod limits;
mod page;
mod steer;
mod usage;
