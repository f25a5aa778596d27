//! The headers of the runs at both ends of a task's window, and the number of the boundary.

use keima_model::{Direction, End, Window};
use keima_runs::{BlockCut, KeyOrder, RunHeader};

use keima_orders::TaskOrder;

/// Header of the runs at one end of an order's window. The window `reader` reads them.
pub(crate) fn header(order: &TaskOrder, moduli: &[u64], direction: Direction, end: End, reader: Window) -> RunHeader {
    let cut = order.block.as_ref().map(|block| BlockCut {
        // A column with more cells than a header can hold has no tables.
        windows: block.windows.iter().map(|window| u8::try_from(window.len).unwrap_or(u8::MAX)).collect(),
        group_records: block.group_records,
    });
    RunHeader {
        job_tag: order.job_tag,
        definition: order.definition(),
        build: order.begun_by(),
        subject: order.subject(),
        boundary: boundary(order, end),
        key_order: match direction {
            Direction::Forward => KeyOrder::Blocks { first: reader.first, len: reader.len },
            Direction::Transposed => KeyOrder::Transposed { first: reader.first, len: reader.len },
        },
        cut,
        key_bytes: 8,
        moduli: moduli.to_vec(),
        coefficients: 1,
    }
}

/// Number of the boundary at one end of an order's window.
pub(crate) fn boundary(order: &TaskOrder, end: End) -> u32 {
    order.first_pass.saturating_add(if end == End::First { 0 } else { order.window.len })
}
