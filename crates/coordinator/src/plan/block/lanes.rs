//! How many lanes each stage carries, and where vectors from both ends meet. Both follow from the bounds of the numbers.

use keima_blocks::lanes::LANES;
use keima_model::{BlockProblem, Direction, ProblemInfo};
use keima_residue::Integer;

use crate::plan::{Plan, bound_product};

/// Lanes of a stage. Forward, they determine the counts at its column's end; backward, the number of ways in which its
/// states are completed. Only a single sweep grows: several sweeps have one spare between them.
pub(super) fn lanes_at_end(info: &dyn ProblemInfo, blocks: &dyn BlockProblem, plan: &Plan, stage: u32) -> u32 {
    if plan.sweeps.len() > 1 {
        // The bounds of a long board have hundreds of thousands of bits, and there are as many stages: nobody needs them.
        return plan.moduli.len() as u32;
    }
    let stage = plan.stage(stage);
    match stage.direction {
        Direction::Forward => forward_lanes(info, plan, plan.board.column(stage.first_pass) + 1),
        Direction::Transposed => backward_lanes(blocks, plan, plan.board.passes() - stage.first_pass),
    }
}

/// Lanes of a forward vector up to the end of a column.
fn forward_lanes(info: &dyn ProblemInfo, plan: &Plan, columns: u32) -> u32 {
    lanes_above(plan, &bound_product(&info.bound_after(columns * plan.board.height - 1)))
}

/// Lanes of a transposed vector that has come over `cells` cells.
fn backward_lanes(blocks: &dyn BlockProblem, plan: &Plan, cells: u32) -> u32 {
    lanes_above(plan, &Integer::from(Integer::u_pow_u(blocks.choices(), cells)))
}

/// After how many columns a forward and a transposed vector meet: where their lanes add up to least. A transposed vector
/// costs half a lane more, for the number of ways that lead to a state. `None` where a forward vector alone has fewer.
pub(super) fn middle(info: &dyn ProblemInfo, blocks: &dyn BlockProblem, plan: &Plan) -> Option<u32> {
    if plan.sweeps.len() > 1 {
        return None;
    }
    let (height, length) = (plan.board.height, plan.board.length);
    let forward: Vec<u32> = (2..=length).map(|columns| 2 * forward_lanes(info, plan, columns)).collect();
    let backward: Vec<u32> = (1..length).map(|left| 2 * backward_lanes(blocks, plan, left * height) + 1).collect();
    let cost = |middle: u32| {
        let (ahead, back) = ((middle - 1) as usize, (length - middle) as usize);
        forward[..ahead].iter().chain(&backward[..back]).sum::<u32>()
    };
    let best = (2..length).min_by_key(|&middle| (cost(middle), (2 * middle).abs_diff(length + 1)))?;
    (cost(best) < forward.iter().sum::<u32>()).then_some(best)
}

/// The fewest lanes whose primes, the spare left out, have a product above a bound.
fn lanes_above(plan: &Plan, bound: &Integer) -> u32 {
    let all = plan.moduli.len() as u32;
    let enough = |&lanes: &u32| {
        let product: Integer = plan.moduli.iter().take(lanes as usize - 1).product();
        product > *bound
    };
    LANES[1..].iter().copied().filter(|&lanes| lanes < all).find(enough).unwrap_or(all)
}
