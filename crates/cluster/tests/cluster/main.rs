//! Whole clusters over loopback, in one process. One program, since linking is what such tests cost.

mod common;
mod counting;
mod hostile;
mod leaving;
mod many;
mod trust;
mod versions;
