//! The verbs and their texts.

mod count;
mod estimate;
mod help;
mod inspect;
mod steer;
mod usage;
