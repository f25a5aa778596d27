//! Lookups in a window's tables.

use keima_model::{BlockColumn, BlockTables, Direction, End, Family, Far};

use crate::block::error::BlockError;

/// The step at one end of a window.
pub(crate) fn step_at(tables: &BlockTables, end: End) -> usize {
    match end {
        End::First => 0,
        End::Last => tables.states.len() - 1,
    }
}

/// Number of states of the largest vector, and of the largest family.
pub fn largest(column: &dyn BlockColumn) -> (u64, u64) {
    let tables = || (0..column.windows().len()).map(|window| column.tables(window));
    let ends = |window: &BlockTables| {
        window.states.first().copied().unwrap_or(0).max(window.states.last().copied().unwrap_or(0))
    };
    let family = tables().flat_map(|t| &t.families).flat_map(|f| f.size.iter().copied()).max().unwrap_or(0);
    (tables().map(ends).max().unwrap_or(0), family)
}

/// Number of states of the vector that a window leaves.
pub(crate) fn states_after(column: &dyn BlockColumn, direction: Direction, window: usize) -> u64 {
    let tables = column.tables(window);
    tables.states[step_at(tables, direction.leaves())]
}

/// Number of entries of a family at the window's first and last step.
pub(crate) fn family_ends(tables: &BlockTables, family: &Family) -> (u64, u64) {
    (family.size[0], family.size[tables.states.len() - 1])
}

/// Number of entries of a block at a step.
pub(crate) fn entry_count(tables: &BlockTables, block: u32, step: usize) -> usize {
    tables.signatures[tables.signature_of[block as usize] as usize].entries[step] as usize
}

/// A block's far operations in a pass, with their target blocks.
#[inline(always)]
pub(crate) fn far_operations(tables: &BlockTables, block: u32, pass: usize) -> impl Iterator<Item = (&Far, u32)> {
    let table = &tables.signatures[tables.signature_of[block as usize] as usize].passes[pass];
    let targets = &tables.far[pass];
    let first = targets.first[block as usize] as usize;
    table.far.iter().zip(targets.targets[first..].iter().copied())
}

/// The far operations whose targets have larger numbers than the block.
#[inline(always)]
pub(crate) fn far_operations_up(tables: &BlockTables, block: u32, pass: usize) -> impl Iterator<Item = (&Far, u32)> {
    far_operations(tables, block, pass).filter(move |&(_, target)| target > block)
}

/// Visits all blocks, each with its start in the vector at the window's last step.
pub(crate) fn each_block(
    tables: &BlockTables,
    mut visit: impl FnMut(u32, usize) -> Result<(), BlockError>,
) -> Result<(), BlockError> {
    let step = step_at(tables, End::Last);
    for family in &tables.families {
        for block in family.blocks.clone() {
            visit(block, (family.start[step] + u64::from(tables.base[step][block as usize])) as usize)?;
        }
    }
    Ok(())
}
