//! A worker's lists and reports in messages of moderate length.
//!
//! A hello, a heartbeat or a report is a stream of messages. The first one has all fields, the others go on with the list of
//! runs, or the manifest, and nothing else. So neither side ever decodes a long message: decoded, one takes many times its bytes.

use keima_runs::RunId;
use keima_wire::v1;
use keima_wire::v1::report_task_request::Report::Done;

use super::{ConvertError, run_ids};

/// Bytes of names in one message.
const PAGE_BYTES: usize = 128 << 10;
/// Most runs of one worker. A scratch folder of that many would take seconds to list.
pub(crate) const MOST_RUNS: usize = 1 << 19;

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

/// Puts a report together again. The transport bounds what comes.
pub(crate) fn join_report(report: &mut v1::ReportTaskRequest, rest: &[v1::ReportTaskRequest]) {
    let Some(Done(manifest)) = &mut report.report else { return };
    let parts = rest.iter().filter_map(|page| match &page.report {
        Some(Done(part)) => Some(part),
        _ => None,
    });
    let whole: Vec<u8> = std::iter::once(&*manifest).chain(parts).flatten().copied().collect();
    *manifest = whole.into();
}

/// Adds the runs of one more message.
pub(crate) fn add_runs(field: &'static str, runs: &mut Vec<RunId>, names: Vec<String>) -> Result<(), ConvertError> {
    if runs.len() + names.len() > MOST_RUNS {
        let got = format!("{} and {} more", runs.len(), names.len());
        return Err(ConvertError::new(field, format_args!("at most {MOST_RUNS} runs"), got));
    }
    runs.append(&mut run_ids(field, names)?);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_is_cut_and_comes_together_again() {
        for count in [0, 1, 3, 50_000] {
            let held: Vec<String> = (0..count).map(|run| format!("j1/s0/g1/t{run}/a0/r0")).collect();
            let hello = v1::SayHelloRequest { slots: 3, held: held.clone(), ..Default::default() };
            let pages = hello_pages(hello);
            assert_eq!(pages[0].slots, 3);
            assert!(pages[1..].iter().all(|page| page.slots == 0 && !page.held.is_empty()));
            assert_eq!(pages.len() > 1, count > 10_000);
            let mut runs = Vec::new();
            for page in pages {
                assert!(prost::Message::encoded_len(&page) < 2 * PAGE_BYTES);
                add_runs("test", &mut runs, page.held).unwrap();
            }
            assert_eq!(runs.into_iter().map(|run| run.0).collect::<Vec<_>>(), held);
        }
    }

    #[test]
    fn a_report_is_cut_and_comes_together_again() {
        for bytes in [0, 1, PAGE_BYTES, PAGE_BYTES + 1, 5 * PAGE_BYTES] {
            let manifest: Vec<u8> = (0..bytes).map(|at| at as u8).collect();
            let report = v1::ReportTaskRequest { nonce: 5, report: Some(Done(manifest.into())), ..Default::default() };
            let mut pages = report_pages(report.clone());
            assert_eq!(pages.len(), bytes.div_ceil(PAGE_BYTES).max(1));
            let mut first = pages.remove(0);
            join_report(&mut first, &pages);
            assert_eq!(first, report);
        }
    }

    #[test]
    fn too_many_runs_are_refused() {
        let mut runs = vec![RunId("j1".to_owned()); MOST_RUNS - 1];
        add_runs("test", &mut runs, vec!["j1".to_owned()]).unwrap();
        let error = add_runs("test", &mut runs, vec!["j1".to_owned()]).unwrap_err().to_string();
        assert!(error.contains("at most 524288 runs"), "{error}");
    }
}
