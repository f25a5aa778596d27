//! Trees whose size is estimated by sampling, such as the partial fillings of a board.
//!
//! Cost: the sampler keeps one node for each stratum, so a node may be large but should be cheap to copy once.

/// A tree whose nodes have values. What is wanted is the sum of the values of all nodes.
///
/// Nodes are put into *strata*. The estimate is unbiased with any strata that fall along edges. It is good where subtrees
/// of one stratum have about the same value.
pub trait Tree: Sync {
    /// A node.
    type Node;
    /// A child that is not made yet: most children are dropped before anybody looks at them.
    type Child;
    /// The roots with their stratum and the number of times that each counts.
    fn roots(&self) -> Vec<(u64, Self::Node, u64)>;
    /// Appends the children of `node` to the empty `out`, each with its stratum, which is smaller than the node's.
    fn grow(&self, node: &Self::Node, out: &mut Vec<(u64, Self::Child)>);
    /// Makes a child of `node`.
    fn make(&self, node: &Self::Node, child: Self::Child) -> Self::Node;
    /// What the node counts itself, without its subtree. Not negative.
    fn value(&self, node: &Self::Node) -> u64;
}
