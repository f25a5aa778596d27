//! Deaths, damage and missing links: the number stays right.

mod damage;
mod deaths;
mod network;
