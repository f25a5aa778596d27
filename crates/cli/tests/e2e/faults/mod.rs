//! Deaths, damage and missing links: the number stays right.

mod archive;
mod damage;
mod deaths;
mod fire;
mod fleet;
mod full_disk;
mod network;
mod signals;
