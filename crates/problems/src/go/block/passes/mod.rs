//! The passes of each signature.

pub(crate) mod builder;
#[cfg(test)]
mod drawing_tests;
mod pass_builder;
