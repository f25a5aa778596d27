//! The passes of each signature: lists in their final order, and the transitions between them.

pub(crate) mod builder;
#[cfg(test)]
mod drawing_tests;
mod ordered_lists;
mod pass_builder;
