//! Which worker gets which of the tasks that share a family's lanes.

use std::sync::Arc;

use keima_coordinator::{Executor, Grant, Work};
use keima_model::Registry;
use keima_orders::TaskOrder;

use crate::cell::{Cell, Way};
use crate::plain::Plain;
use crate::strikes::Strike;

fn order(grant: &Grant) -> &TaskOrder {
    let Work::Stage(order) = &grant.work else { panic!("no copies here") };
    order
}

/// A worker at some lanes of a family gets no others of it, though it asks; another worker does.
#[test]
fn a_worker_is_at_one_part_of_a_family_at_a_time() {
    let plain = || Arc::new(Plain::default()) as Arc<dyn Registry>;
    let (way, strike) = (Way::new(Executor::Block, 0), Strike::none());
    let mut cell = Cell::new(&[plain(), plain()], &way, &strike);
    cell.begin(&Plain::default());
    for _ in 0..40 {
        let Some(grant) = cell.pull(0) else { panic!("no work") };
        if !shares(&grant) {
            cell.work(0, grant);
            continue;
        }
        let first = order(&grant).lanes().start;
        let family = |grant: &Grant| (order(grant).low, order(grant).high);
        let again = cell.pull(0);
        assert!(again.as_ref().is_none_or(|again| family(again) != family(&grant)), "{again:?}");
        let other = cell.pull(1).expect("the other lanes");
        assert_eq!(family(&other), family(&grant));
        assert_ne!(order(&other).lanes().start, first);
        return;
    }
    panic!("nobody shares the lanes of a family");
}

fn shares(grant: &Grant) -> bool {
    order(grant).block.as_ref().is_some_and(|block| block.lanes.is_some())
}
