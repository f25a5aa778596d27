//! A worker's lists and reports in messages of moderate length.
//!
//! A hello, a heartbeat or a report is a stream of messages. The first one has all fields, the others go on with the list of
//! runs, or the manifest, and nothing else. So neither side ever decodes a long message: decoded, one takes many times its bytes.
//!
//! They are put together as they come. Cost: the whole, and one message; never the structs of all messages, of which an empty one
//! takes five bytes on the way and 150 decoded.

use bytes::BytesMut;
use keima_wire::v1;
use keima_wire::v1::report_task_request::Report::Done;

use super::ConvertError;
use crate::access::calls::{LIST_BYTES, REPORT_BYTES};

/// Bytes of names in one message.
const PAGE_BYTES: usize = 128 << 10;
/// Most runs of one worker. A scratch folder of that many would take seconds to list.
const MOST_RUNS: usize = 1 << 19;
/// Most messages of one call: twice as many as the longest list has.
pub(crate) const MOST_PAGES: usize = 2 * LIST_BYTES / PAGE_BYTES;

/// Cuts a list of names.
fn cut(names: Vec<String>) -> Vec<Vec<String>> {
    let mut pages = vec![Vec::new()];
    let mut bytes = 0;
    for name in names {
        if bytes + name.len() > PAGE_BYTES {
            pages.push(Vec::new());
            bytes = 0;
        }
        bytes += name.len() + 2;
        if let Some(page) = pages.last_mut() {
            page.push(name);
        }
    }
    pages
}

/// The messages of a hello.
pub(crate) fn hello_pages(mut hello: v1::SayHelloRequest) -> Vec<v1::SayHelloRequest> {
    let mut pages = cut(std::mem::take(&mut hello.held)).into_iter();
    hello.held = pages.next().unwrap_or_default();
    let rest = pages.map(|held| v1::SayHelloRequest { held, ..Default::default() });
    std::iter::once(hello).chain(rest).collect()
}

/// The messages of a heartbeat.
pub(crate) fn heartbeat_pages(mut heartbeat: v1::HeartbeatRequest) -> Vec<v1::HeartbeatRequest> {
    let mut pages = cut(std::mem::take(&mut heartbeat.held)).into_iter();
    heartbeat.held = pages.next().unwrap_or_default();
    let rest = pages.map(|held| v1::HeartbeatRequest { held, ..Default::default() });
    std::iter::once(heartbeat).chain(rest).collect()
}

/// The messages of a report.
pub(crate) fn report_pages(mut report: v1::ReportTaskRequest) -> Vec<v1::ReportTaskRequest> {
    let Some(Done(manifest)) = &mut report.report else { return vec![report] };
    let mut rest = manifest.split_off(manifest.len().min(PAGE_BYTES));
    let mut pages = vec![report];
    while !rest.is_empty() {
        let page = rest.split_to(rest.len().min(PAGE_BYTES));
        pages.push(v1::ReportTaskRequest { report: Some(Done(page)), ..Default::default() });
    }
    pages
}

/// A message with which a call begins, and others go on.
pub(crate) trait Paged: Sized {
    /// Its name, for errors.
    const NAME: &'static str;
    /// Takes what a later message brings.
    fn go_on(&mut self, page: Self) -> Result<(), ConvertError>;
}

/// The messages of a call, put together as they come.
pub(crate) struct Joining<P> {
    whole: P,
    pages: usize,
}

impl<P: Paged> Joining<P> {
    /// After the first message.
    pub(crate) const fn new(first: P) -> Self {
        Self { whole: first, pages: 1 }
    }

    /// Adds a message.
    pub(crate) fn add(&mut self, page: P) -> Result<(), ConvertError> {
        if self.pages == MOST_PAGES {
            let expected = format!("a call of at most {MOST_PAGES} messages");
            return Err(ConvertError::new(P::NAME, expected, "more"));
        }
        self.pages += 1;
        self.whole.go_on(page)
    }

    /// All of them as one.
    pub(crate) fn whole(self) -> P {
        self.whole
    }
}

impl Paged for v1::SayHelloRequest {
    const NAME: &'static str = "SayHelloRequest";
    fn go_on(&mut self, page: Self) -> Result<(), ConvertError> {
        more_runs("SayHelloRequest.held", &mut self.held, page.held)
    }
}

impl Paged for v1::HeartbeatRequest {
    const NAME: &'static str = "HeartbeatRequest";
    fn go_on(&mut self, page: Self) -> Result<(), ConvertError> {
        more_runs("HeartbeatRequest.held", &mut self.held, page.held)
    }
}

impl Paged for v1::ReportTaskRequest {
    const NAME: &'static str = "ReportTaskRequest";
    fn go_on(&mut self, page: Self) -> Result<(), ConvertError> {
        const FIELD: &str = "ReportTaskRequest.done";
        let (Some(Done(manifest)), Some(Done(part))) = (&mut self.report, page.report) else {
            return Err(ConvertError::new(FIELD, "parts of one manifest in all messages", "another message"));
        };
        if manifest.len() + part.len() > REPORT_BYTES {
            let got = format!("{} and {} more", manifest.len(), part.len());
            return Err(ConvertError::new(FIELD, format_args!("at most {REPORT_BYTES} bytes"), got));
        }
        // Nobody else has it, so after the first copy it grows in its place.
        let mut whole = BytesMut::from(std::mem::take(manifest));
        whole.extend_from_slice(&part);
        *manifest = whole.freeze();
        Ok(())
    }
}

/// Adds the names of one more message. They are checked when all are there.
fn more_runs(field: &'static str, names: &mut Vec<String>, more: Vec<String>) -> Result<(), ConvertError> {
    if names.len() + more.len() > MOST_RUNS {
        let got = format!("{} and {} more", names.len(), more.len());
        return Err(ConvertError::new(field, format_args!("at most {MOST_RUNS} runs"), got));
    }
    names.extend(more);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn together<P: Paged>(pages: impl IntoIterator<Item = P>) -> Result<P, ConvertError> {
        let mut pages = pages.into_iter();
        let mut joining = Joining::new(pages.next().expect("a first message"));
        pages.try_for_each(|page| joining.add(page))?;
        Ok(joining.whole())
    }

    #[test]
    fn a_list_is_cut_and_comes_together_again() {
        for count in [0, 1, 3, 50_000] {
            let held: Vec<String> = (0..count).map(|run| format!("j1/s0/g1/t{run}/a0/r0")).collect();
            let hello = v1::SayHelloRequest { slots: 3, held: held.clone(), ..Default::default() };
            let pages = hello_pages(hello);
            assert_eq!(pages[0].slots, 3);
            assert!(pages[1..].iter().all(|page| page.slots == 0 && !page.held.is_empty()));
            assert_eq!(pages.len() > 1, count > 10_000);
            for page in &pages {
                assert!(prost::Message::encoded_len(page) < 2 * PAGE_BYTES);
            }
            assert_eq!(together(pages).unwrap(), v1::SayHelloRequest { slots: 3, held, ..Default::default() });
        }
    }

    #[test]
    fn a_report_is_cut_and_comes_together_again() {
        for bytes in [0, 1, PAGE_BYTES, PAGE_BYTES + 1, 5 * PAGE_BYTES] {
            let manifest: Vec<u8> = (0..bytes).map(|at| at as u8).collect();
            let report = v1::ReportTaskRequest { nonce: 5, report: Some(Done(manifest.into())), ..Default::default() };
            let pages = report_pages(report.clone());
            assert_eq!(pages.len(), bytes.div_ceil(PAGE_BYTES).max(1));
            assert_eq!(together(pages).unwrap(), report);
        }
    }

    /// What an honest worker never sends.
    #[test]
    fn what_adds_up_to_too_much_is_refused() {
        fn check<P: Paged>(what: &str, pages: impl IntoIterator<Item = P>, expected: Result<(), &str>) {
            match (together(pages), expected) {
                (Ok(_), Ok(())) => {}
                (Err(error), Err(words)) => assert!(error.to_string().contains(words), "{what}: {error}"),
                (got, _) => panic!("{what}: {:?}, expected {expected:?}", got.map(|_| ())),
            }
        }
        let hello = |runs| v1::SayHelloRequest { held: vec!["j1".to_owned(); runs], ..Default::default() };
        let beat = |runs| v1::HeartbeatRequest { held: vec!["j1".to_owned(); runs], ..Default::default() };
        let report = |bytes| v1::ReportTaskRequest { report: Some(Done(vec![0; bytes].into())), ..Default::default() };
        let failed = || v1::ReportTaskRequest {
            report: Some(v1::report_task_request::Report::Failed(v1::Failure::default())),
            ..Default::default()
        };
        check("a full list", [hello(MOST_RUNS - 1), hello(1)], Ok(()));
        check("a run more", [hello(MOST_RUNS - 1), hello(1), hello(1)], Err("at most 524288 runs"));
        check("the same of a heartbeat", [beat(MOST_RUNS), beat(1)], Err("at most 524288 runs"));
        check("many messages", vec![beat(0); MOST_PAGES], Ok(()));
        check("a message more", vec![beat(0); MOST_PAGES + 1], Err("HeartbeatRequest: expected a call of at most 512"));
        check(
            "the same of a hello",
            vec![hello(0); MOST_PAGES + 1],
            Err("SayHelloRequest: expected a call of at most"),
        );
        check("the same of a report", vec![report(0); MOST_PAGES + 1], Err("ReportTaskRequest: expected a call"));
        check("a full report", [report(REPORT_BYTES - 1), report(1)], Ok(()));
        check("a byte more", [report(REPORT_BYTES - 1), report(1), report(1)], Err("at most 8388608 bytes"));
        check("a part of nothing", [v1::ReportTaskRequest::default(), report(1)], Err("parts of one manifest"));
        check("a failure goes on", [failed(), report(1)], Err("parts of one manifest"));
        check("a manifest fails", [report(1), failed()], Err("parts of one manifest"));
    }
}
