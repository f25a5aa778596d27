//! The page: one answer with everything in it, made here, readable without JavaScript.
//!
//! ```text
//!   jobs, the chosen one first    facts, board, states, tasks, checks, values
//!   workers                       disk and memory
//!   events                        the newest first
//! ```
//!
//! The script in it listens to events and reads the page again; it makes no content of its own. The content security policy
//! names the hashes of this script and this style, so a browser runs and shows nothing else.

mod job;
mod lists;
mod pictures;

use std::fmt::Write as _;
use std::sync::LazyLock;

use axum::response::{IntoResponse as _, Response};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::header;
use keima_cluster::Overview;
use keima_coordinator::{JobFilter, JobPage, JobView};
use ring::digest::{SHA256, digest};

use crate::share::part;

const STYLE: &str = include_str!("style.css");
const SCRIPT: &str = include_str!("live.js");

/// What the page may do: run this script, show this style, ask this coordinator. Nothing else.
static POLICY: LazyLock<String> = LazyLock::new(|| {
    let hash = |text: &str| STANDARD.encode(digest(&SHA256, text.as_bytes()));
    format!(
        "default-src 'none'; script-src 'sha256-{}'; style-src 'sha256-{}'; connect-src 'self'; base-uri 'none'; \
         form-action 'none'; frame-ancestors 'none'",
        hash(SCRIPT),
        hash(STYLE)
    )
});

/// The page at one moment, with a job in full.
pub(crate) fn answer(now: &Overview, view: Option<&JobView>, version: &str) -> Response {
    let headers = [(header::CONTENT_TYPE, "text/html; charset=utf-8"), (header::CONTENT_SECURITY_POLICY, &POLICY)];
    (headers, html(now, view, version)).into_response()
}

/// A part of the list of jobs. It stays as it is until it is loaded again.
pub(crate) fn list(filter: &JobFilter, part: &JobPage, version: &str) -> Response {
    let headers = [(header::CONTENT_TYPE, "text/html; charset=utf-8"), (header::CONTENT_SECURITY_POLICY, &POLICY)];
    let mut page = head("jobs", version, "", "");
    lists::part_of(&mut page, filter, part);
    page += "</main></body></html>\n";
    (headers, page).into_response()
}

/// A page up to its main part.
fn head(title: &str, version: &str, more: &str, status: &str) -> String {
    format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\
         <title>{title} - keima</title><link rel=\"icon\" href=\"data:,\"><style>{STYLE}</style>{more}</head>\
         <body><a class=\"skip\" href=\"#main\">Skip to the jobs</a>\
         <header><a href=\"/\" id=\"home\">keima</a><span>coordinator, version {}</span>{status}</header>\n<main id=\"main\">",
        escape(version)
    )
}

/// The text of [`answer`].
pub(crate) fn html(now: &Overview, view: Option<&JobView>, version: &str) -> String {
    let title = view.map_or_else(
        || "keima".to_owned(),
        |view| {
            let job = &view.status;
            let done = (part(job) * 100.0).floor();
            format!("{} {} {}, {done:.0} %", job.id, escape(&job.problem.name), escape(&job.problem.size))
        },
    );
    let status = format!("<span id=\"live\" role=\"status\">as of {}</span>", clock(now.now));
    let again = "<noscript><meta http-equiv=\"refresh\" content=\"15\"></noscript>";
    let mut page = head(&title, version, again, &status);
    let all = now.states.iter().map(|(_, number)| number).sum();
    lists::jobs(&mut page, &now.jobs, all, view.map(|view| view.status.id));
    if let Some(view) = view {
        job::section(&mut page, view, now.now);
    }
    lists::workers(&mut page, &now.workers);
    lists::events(&mut page, &now.events);
    let _ = write!(page, "</main>\n<script>{SCRIPT}</script></body></html>\n");
    page
}

/// Text as it stands in a page, also between quotes.
pub(crate) fn escape(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            // A text that turns its neighbours round, or hides, is shown as what it is.
            c if c.is_control()
                || matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}') =>
            {
                safe.extend(c.escape_default());
            }
            c => safe.push(c),
        }
    }
    safe
}

/// The time of day of a moment, `"16:30:05 UTC"`.
pub(crate) fn clock(millis: u64) -> String {
    let seconds = millis / 1000 % 86_400;
    format!("{:02}:{:02}:{:02} UTC", seconds / 3600, seconds / 60 % 60, seconds % 60)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_cannot_become_markup() {
        let check = |text: &str, expected: &str| assert_eq!(escape(text), expected);
        check("go 9x9", "go 9x9");
        check("<script>alert('1')&\"", "&lt;script&gt;alert(&#39;1&#39;)&amp;&quot;");
        check("a\u{202e}b\nc", "a\\u{202e}b\\nc");
    }

    #[test]
    fn times_of_day() {
        assert_eq!(clock(0), "00:00:00 UTC");
        assert_eq!(clock(86_399_999 + 86_400_000 * 20_000), "23:59:59 UTC");
    }

    /// The style and the script would end early at their own end tags.
    #[test]
    fn style_and_script_stay_inside() {
        assert!(!STYLE.contains("</") && !SCRIPT.contains("</") && !SCRIPT.contains("<!--"));
        assert!(!STYLE.contains("url(") && !SCRIPT.contains("http"), "nothing comes from elsewhere");
    }
}
