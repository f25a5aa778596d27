//! Go in the engine's terms against the lower rungs, published values and its own symmetries.

mod keys;
mod ladder;
mod memory;
mod plan;
mod speed;
