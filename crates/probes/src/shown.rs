//! What is told of jobs, up to the places that show it: files of jobs that have left the store, and a coordinator's answers.

use keima_cluster::probe::answered;
use keima_coordinator::EndedJob;

/// A file in the folder `ended`: whole, and its first line alone. Its job is shown on a page, and written and read once more.
pub(crate) fn ended(bytes: &[u8]) -> bool {
    let text = String::from_utf8_lossy(bytes);
    let listed = text.lines().next().and_then(|line| EndedJob::decode_first_line(line).ok());
    if let Some(status) = &listed {
        assert!(!keima_http::json::listed(status).is_null());
    }
    let Ok(job) = EndedJob::decode(bytes) else { return listed.is_some() };
    assert!(keima_http::probe::page(&job.view).contains("</html>"));
    let written = job.encode().expect("a job that was read can be written");
    let again = EndedJob::decode(&written).expect("a job that was written can be read");
    assert_eq!((again.id(), again.view.status.values()), (job.id(), job.view.status.values()));
    assert_eq!(EndedJob::job_of(&job.file_name()), Some(job.id()), "{}", job.file_name());
    true
}

/// A coordinator's answers to one call of a user. The first byte chooses the call.
pub(crate) fn answers(bytes: &[u8]) -> bool {
    let Some((&kind, answers)) = bytes.split_first() else { return false };
    let Some(jobs) = answered(kind, answers) else { return false };
    for job in &jobs {
        assert!(keima_http::json::status(job).is_object());
        let part = keima_http::share::part(job);
        assert!((0.0..=1.0).contains(&part), "a part of {part}");
    }
    assert!(!keima_cli::probe::shown(&jobs).is_empty());
    true
}
