//! The kept forward vector that a transposed vector is multiplied with.

use keima_model::{Direction, End};
use keima_runs::RunHeader;

use crate::TaskError;
use crate::block::out_of_core::task::header::header;
use crate::block::rows::widen::RowWidener;
use crate::tally::EndTally;
use keima_orders::{KeptOrder, TaskOrder};

/// The kept vector's lanes, and the tally of its rows.
pub(crate) struct KeptVector {
    pub(crate) moduli: Vec<u64>,
    pub(crate) widen: RowWidener,
    pub(crate) header: RunHeader,
    pub(crate) tally: EndTally,
}

impl KeptVector {
    pub(crate) fn new(order: &TaskOrder, kept: &KeptOrder) -> Result<Self, TaskError> {
        let Some(widen) = RowWidener::new(&kept.moduli, &order.moduli) else {
            let text = format!("rows modulo {:?} cannot be widened to rows modulo {:?}", kept.moduli, order.moduli);
            return Err(TaskError::Refused(text));
        };
        Ok(Self {
            widen,
            header: header(order, &kept.moduli, Direction::Forward, End::First, order.window),
            moduli: kept.moduli.clone(),
            tally: EndTally::new(order.salt, order.moduli.len()),
        })
    }
}
