//! The tables of jobs, workers and events.

use std::fmt::Write as _;

use keima_blocks::sizes::show_bytes;
use keima_coordinator::{Event, JobFilter, JobId, JobPage, JobStatus, WorkerStatus};

use super::{clock, escape};
use crate::share::part;
use crate::units::show_seconds;

/// Jobs in the table; the others have pages of their own.
const MOST_JOBS: usize = 100;
/// Workers in the table.
const MOST_WORKERS: usize = 200;
/// Events in the table.
const MOST_SHOWN: usize = 40;

/// Jobs that are not over, and the newest that are. `all` are in the store.
pub(super) fn jobs(page: &mut String, jobs: &[JobStatus], all: usize, chosen: Option<JobId>) {
    *page += "<section aria-labelledby=\"h-jobs\"><h2 id=\"h-jobs\">Jobs</h2>";
    if jobs.is_empty() {
        *page += "<p>No jobs yet; <code>keima submit go 9x9</code> submits one.</p></section>";
        return;
    }
    table(page, jobs.iter().take(MOST_JOBS), chosen);
    let more = match all.saturating_sub(jobs.len().min(MOST_JOBS)) {
        0 => String::new(),
        more => format!("<a id=\"to-all\" href=\"/jobs\">and {more} more</a>, "),
    };
    let _ = writeln!(
        page,
        "<p class=\"soft\">{more}<a id=\"to-archived\" href=\"/jobs?archived=true\">archived ones</a>\
         <span class=\"keys\">; the keys <kbd>n</kbd> and <kbd>p</kbd> choose the next and the previous job</span></p></section>"
    );
}

/// A part of the list of jobs, with a link to the next one.
pub(super) fn part_of(page: &mut String, filter: &JobFilter, part: &JobPage) {
    let title = if filter.archived { "Archived jobs" } else { "All jobs" };
    let _ = write!(page, "<section aria-labelledby=\"h-jobs\"><h2 id=\"h-jobs\">{title}</h2>");
    if part.jobs.is_empty() {
        *page += "<p>No such jobs.</p></section>";
        return;
    }
    table(page, part.jobs.iter(), None);
    if let Some(next) = part.next {
        let query = form_urlencoded::Serializer::new(String::new())
            .extend_pairs(filter.states.iter().map(|state| ("state", state.to_string().replace(' ', "_"))))
            .extend_pairs(filter.owner.iter().map(|owner| ("owner", owner)))
            .extend_pairs(filter.name.iter().map(|name| ("name", name)))
            .extend_pairs(filter.since.iter().map(|since| ("since", (*since as f64 / 1000.0).to_string())))
            .extend_pairs([("limit", filter.limit.to_string()), ("archived", filter.archived.to_string())])
            .append_pair("after", &next.to_string())
            .finish();
        let _ =
            write!(page, "<p class=\"soft\"><a id=\"to-older\" href=\"/jobs?{}\">older ones</a></p>", escape(&query));
    }
    *page += "</section>\n";
}

fn table<'a>(page: &mut String, jobs: impl Iterator<Item = &'a JobStatus>, chosen: Option<JobId>) {
    *page += "<div class=\"scroll\" id=\"jobs\"><table><thead><tr><th>job<th>counts<th>state<th class=\"n\">done\
              <th class=\"n\">time<th class=\"n\">left</tr></thead><tbody>";
    for job in jobs {
        let current = if Some(job.id) == chosen { " aria-current=\"true\"" } else { "" };
        let left = job.usage.eta_seconds.filter(|_| !job.state.is_over()).map(show_seconds).unwrap_or_default();
        let _ = write!(
            page,
            "<tr{current}><td><a id=\"to-{id}\" href=\"/jobs/{id}\">{id}</a><td class=\"nb\">{problem} {size}{options}\
             <td class=\"nb {class}\">{state}<td class=\"n\">{done:.0} %<td class=\"n\">{time}<td class=\"n\">{left}</tr>",
            id = job.id,
            problem = escape(&job.problem.name),
            size = escape(&job.problem.size),
            options = options(job),
            class = super::job::class(job.state),
            state = job.state,
            done = (part(job) * 100.0).floor(),
            time = show_seconds(job.usage.seconds),
        );
    }
    *page += "</tbody></table></div>";
}

/// A job's options, with a space before each.
fn options(job: &JobStatus) -> String {
    let one = |(name, value): &(String, String)| match value.as_str() {
        "" => format!(" {}", escape(name)),
        value => format!(" {}={}", escape(name), escape(value)),
    };
    job.problem.options.iter().map(one).collect()
}

/// All workers, with their disk and memory.
pub(super) fn workers(page: &mut String, workers: &[WorkerStatus]) {
    *page += "<section aria-labelledby=\"h-workers\"><h2 id=\"h-workers\">Workers</h2>";
    if workers.is_empty() {
        *page +=
            "<p>No workers yet; <code>keima worker --coordinator URL --scratch DIR</code> starts one.</p></section>";
        return;
    }
    *page += "<div class=\"scroll\" id=\"workers\"><table><thead><tr><th>worker<th>state<th class=\"n\">tasks\
              <th>disk<th class=\"n\">memory<th class=\"n\">memory of tasks</tr></thead><tbody>";
    for worker in workers.iter().take(MOST_WORKERS) {
        let (class, state) = if worker.here {
            ("good", "here".to_owned())
        } else {
            ("bad", format!("away for {}", show_seconds(worker.silent_millis as f64 / 1000.0)))
        };
        let _ = write!(
            page,
            "<tr><td title=\"{}\">{}<td class=\"nb {class}\">{state}",
            escape(&worker.address),
            escape(&worker.id.0)
        );
        if worker.slots == 0 {
            *page += "<td class=\"n\">-<td>-<td class=\"n\">-<td class=\"n\">-</tr>";
            continue;
        }
        let (used, cap) = (worker.disk_used_bytes, worker.disk_bytes.max(1));
        let _ = write!(
            page,
            "<td class=\"n\">{} of {}<td class=\"nb\"><meter min=\"0\" max=\"1\" high=\"0.9\" value=\"{:.4}\">{:.0} %</meter> \
             {} of {}<td class=\"n\">{}<td class=\"n\">{} x {}</tr>",
            worker.running,
            worker.slots,
            (used as f64 / cap as f64).min(1.0),
            100.0 * used as f64 / cap as f64,
            show_bytes(used),
            show_bytes(worker.disk_bytes),
            worker.memory_used_bytes.map_or("-".to_owned(), show_bytes),
            worker.slots,
            show_bytes(worker.task_memory_bytes),
        );
        for (job, reason) in &worker.set_aside {
            let _ =
                write!(page, "<tr><td><td colspan=\"5\" class=\"w bad\">no tasks of {job}: {}</tr>", escape(reason));
        }
    }
    *page += "</tbody></table></div>";
    if workers.len() > MOST_WORKERS {
        let _ = write!(page, "<p class=\"soft\">and {} more</p>", workers.len() - MOST_WORKERS);
    }
    *page += "</section>\n";
}

/// What happened, the newest first.
pub(super) fn events(page: &mut String, events: &[Event]) {
    *page += "<section aria-labelledby=\"h-events\"><h2 id=\"h-events\">Events since the coordinator started</h2>";
    if events.is_empty() {
        *page += "<p>None yet.</p></section>";
        return;
    }
    *page += "<div class=\"scroll\" id=\"events\"><table><thead><tr><th>time<th>what<th>about</tr></thead><tbody>";
    for event in events.iter().rev().take(MOST_SHOWN) {
        let class = if event.kind.is_bad() { "bad" } else { "soft" };
        let attempt = event.attempt.map(|attempt| format!("task {attempt}"));
        let job = event.job.filter(|_| event.attempt.is_none()).map(|job| job.to_string());
        let worker = event.worker.as_ref().map(|worker| format!("worker {}", worker.0));
        let about: Vec<String> = [job, attempt, worker].into_iter().flatten().collect();
        let text = if event.text.is_empty() { String::new() } else { format!(": {}", escape(&event.text)) };
        let _ = write!(
            page,
            "<tr><td class=\"nb\">{}<td class=\"nb {class}\">{}<td class=\"w\">{}{text}</tr>",
            clock(event.at),
            event.kind.name().replace('-', " "),
            escape(&about.join(", ")),
        );
    }
    *page += "</tbody></table></div></section>\n";
}
