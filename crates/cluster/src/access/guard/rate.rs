//! How many calls a second a caller may make.
//!
//! A caller is an address with a role. It has a bucket of [`BURST`] calls that fills up again by [`PER_SECOND`]: for each caller
//! the time is kept at which its bucket will be full (the generic cell rate algorithm).
//!
//! ```text
//!   full_at <- max(full_at, now) + 1/rate        wait = full_at - now - burst/rate:  none | short: wait | long: refused
//! ```
//!
//! A call beyond the rate waits, and one that would wait for longer than [`MOST_WAIT`] is refused. So a worker that is too fast
//! for a moment is slowed down and loses nothing, and at most `MOST_WAIT x PER_SECOND` calls of a caller wait. A worker of 64
//! slots makes two calls for each task, so it meets the rate with tasks of 32 ms.
//!
//! The limits of `tower` are one for all callers, or one for each connection, of which a caller has as many as it likes.
//!
//! Cost: a lock and a look-up for each call; 64 bytes for each of at most [`MOST_CALLERS`] callers that called within some
//! seconds.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::access::calls::Role;

/// Calls a second of one caller.
pub(crate) const PER_SECOND: u32 = 4000;
/// Calls that it may make at once after a rest.
const BURST: u32 = 4 * PER_SECOND;
/// Longest wait of a call.
const MOST_WAIT: Duration = Duration::from_secs(1);
/// Callers that are told apart. Those beyond it share one bucket, until others have rested.
const MOST_CALLERS: usize = 1 << 14;

/// Who calls: the role that was proved, and from where.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Who {
    role: Option<Role>,
    /// Of a version 6 address the network: one host has all addresses of its own.
    address: Option<IpAddr>,
}

impl Who {
    pub(super) fn new(role: Option<Role>, address: Option<IpAddr>) -> Self {
        let network = |address: IpAddr| match address.to_canonical() {
            IpAddr::V4(address) => IpAddr::V4(address),
            IpAddr::V6(address) => IpAddr::V6(Ipv6Addr::from_bits(address.to_bits() >> 64 << 64)),
        };
        Self { role, address: address.map(network) }
    }

    /// All those that are not told apart.
    const OTHERS: Self = Self { role: None, address: None };
}

/// The buckets of all callers.
pub(super) struct Rates {
    each: Duration,
    burst: Duration,
    most_callers: usize,
    full_at: Mutex<HashMap<Who, Instant>>,
}

impl Rates {
    pub(super) fn usual() -> Self {
        Self::of(Duration::from_secs(1) / PER_SECOND, BURST, MOST_CALLERS)
    }

    /// A call in each such time, and so many at once.
    pub(super) fn of(each: Duration, burst: u32, most_callers: usize) -> Self {
        Self { each, burst: each * burst, most_callers, full_at: Mutex::new(HashMap::new()) }
    }

    /// How long a call must wait; `None` where that is too long, and the call must not be made.
    pub(super) fn take(&self, who: Who, now: Instant) -> Option<Duration> {
        let mut full_at = self.full_at.lock().unwrap_or_else(PoisonError::into_inner);
        if full_at.len() >= self.most_callers && !full_at.contains_key(&who) {
            // A full bucket is as good as a new one.
            full_at.retain(|_, at| *at > now);
        }
        let is_told_apart = full_at.len() < self.most_callers || full_at.contains_key(&who);
        let full_at = full_at.entry(if is_told_apart { who } else { Who::OTHERS }).or_insert(now);
        let next = (*full_at).max(now) + self.each;
        let wait = next.duration_since(now).saturating_sub(self.burst);
        (wait <= MOST_WAIT).then(|| {
            *full_at = next;
            wait
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn who(text: &str) -> Who {
        Who::new(Some(Role::Worker), Some(text.parse().unwrap()))
    }

    /// Calls at some milliseconds, and how many of them go at once, wait, and are refused. Ten calls a second, twenty at once.
    #[test]
    fn a_caller_that_is_too_fast_waits_and_is_then_refused() {
        type Calls = &'static [(u64, u32)];
        let table: [(&str, Calls, [u32; 3]); 6] = [
            ("a burst", &[(0, 20)], [20, 0, 0]),
            ("a long burst", &[(0, 50)], [20, 10, 20]),
            ("as fast as allowed", &[(0, 20), (1000, 10), (2000, 10), (2500, 5)], [45, 0, 0]),
            ("a little too fast", &[(0, 20), (1000, 12)], [30, 2, 0]),
            ("after a rest", &[(0, 50), (60_000, 50)], [40, 20, 40]),
            ("refused calls cost nothing", &[(0, 5000), (1000, 10)], [20, 20, 4970]),
        ];
        for (what, calls, expected) in table {
            let rates = Rates::of(Duration::from_millis(100), 20, 10);
            let (start, mut got) = (Instant::now(), [0; 3]);
            for &(millis, count) in calls {
                for _ in 0..count {
                    match rates.take(who("10.0.0.1"), start + Duration::from_millis(millis)) {
                        Some(Duration::ZERO) => got[0] += 1,
                        Some(wait) => {
                            assert!(wait <= MOST_WAIT, "{what}: {wait:?}");
                            got[1] += 1;
                        }
                        None => got[2] += 1,
                    }
                }
            }
            assert_eq!(got, expected, "{what}");
        }
    }

    /// Who floods is alone with it, from however many addresses of its network.
    #[test]
    fn callers_do_not_share_a_bucket() {
        let rates = Rates::of(Duration::from_hours(1), 5, 100);
        let now = Instant::now();
        let calls = |who: Who| (0..1000).filter(|_| rates.take(who, now).is_some()).count();
        for (caller, expected) in [
            (who("10.0.0.1"), 5),
            (who("10.0.0.2"), 5),
            (who("10.0.0.1"), 0),
            (who("::ffff:10.0.0.2"), 0),
            (Who::new(Some(Role::Client), Some("10.0.0.1".parse().unwrap())), 5),
            (Who::new(None, Some("10.0.0.1".parse().unwrap())), 5),
            (who("2001:db8::1"), 5),
            (who("2001:db8::2"), 0),
            (who("2001:db8:0:1::1"), 5),
            (Who::new(None, None), 5),
        ] {
            assert_eq!(calls(caller), expected, "{caller:?}");
        }
    }

    /// However many call, the memory is bounded, and those that rest give their places to others.
    #[test]
    fn many_callers_take_bounded_memory() {
        let rates = Rates::of(Duration::from_secs(1), 5, 100);
        let start = Instant::now();
        let of = |number: u32| Who::new(None, Some(IpAddr::V4(number.into())));
        let taken = (0..10_000).filter(|&number| rates.take(of(number), start).is_some()).count();
        // The hundred that came first; and five at once of all others together, and one that waits.
        assert_eq!((taken, rates.full_at.lock().unwrap().len()), (106, 101));
        let later = start + Duration::from_mins(1);
        let taken = (20_000..20_100).filter(|&number| rates.take(of(number), later) == Some(Duration::ZERO)).count();
        assert_eq!((taken, rates.full_at.lock().unwrap().len()), (100, 100));
    }
}
