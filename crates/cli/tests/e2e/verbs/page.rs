//! The status page in a real browser, and `keima top` beside it.
//!
//! The browser is Chromium without a window. Where there is no `chromedriver` a test says so, and looks at what needs none.

use crate::harness::browser::{Browser, Driver, Eyes};
use crate::harness::process::{Process, keima, until};

/// Least contrast of text with its ground, by WCAG 2, level AA.
const CONTRAST: f64 = 4.5;

/// Whether every table is seen without scrolling.
const TABLES_FIT: &str = "[...document.querySelectorAll('.scroll')].every((box) => box.scrollWidth <= box.clientWidth)";
const PAGE_FITS: &str = "document.documentElement.scrollWidth <= document.documentElement.clientWidth";
const IS_LIVE: &str = "document.getElementById('live')?.textContent === 'live'";
const HAS_STYLE: &str = "getComputedStyle(document.querySelector('main')).display === 'grid'";

const TAB: char = '\u{e004}';
const ENTER: char = '\u{e007}';

/// A coordinator with a page, and a worker.
struct Watched {
    _coordinator: Process,
    _worker: Process,
    url: String,
    page: String,
    _dir: tempfile::TempDir,
}

impl Watched {
    fn start() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let folder = |name: &str| dir.path().join(name).to_str().unwrap().to_owned();
        let (data, scratch) = (folder("data"), folder("scratch"));
        let args = ["coordinator", "--listen", "127.0.0.1:0", "--http", "127.0.0.1:0", "--data", &data];
        let mut coordinator = Process::start("coordinator", &[&args[..], &["--checkpoint-seconds", "0"]].concat(), "");
        let url = coordinator.ready("coordinator ready at ");
        let page = coordinator.ready("watch it at          ");
        let args = ["worker", "--coordinator", &url, "--threads", "1", "--memory", "128MiB", "--scratch", &scratch];
        // Slow tasks: there is something to see under way.
        let slow = "worker.after_pull=sleep:100";
        let mut worker = Process::start("worker", &[&args[..], &["--disk", "1GiB"]].concat(), slow);
        worker.ready("worker ready at ");
        Self { _coordinator: coordinator, _worker: worker, url, page, _dir: dir }
    }

    fn client(&self, args: &[&str]) -> String {
        keima(&[args, &["--coordinator", &self.url]].concat()).ok().to_owned()
    }

    fn submit(&self, size: &str) -> String {
        self.client(&["submit", "go", size, "--executor", "stream", "--task-memory", "64MiB", "--series"])
    }
}

#[test]
fn top_shows_jobs_board_and_workers() {
    let watched = Watched::start();
    watched.submit("8x8");
    // The memory of a worker comes with its heartbeat.
    let top = until("the worker's memory", || {
        let top = watched.client(&["top", "--once"]);
        let row = top.lines().find(|line| line.contains(" here "))?;
        let cells: Vec<&str> = row.split("  ").map(str::trim).filter(|cell| !cell.is_empty()).collect();
        cells.get(4).is_some_and(|memory| memory.ends_with(" MiB")).then_some(top)
    });
    for word in ["Jobs", "> j1", "go 8x8", "Board", "Workers", "here"] {
        assert!(top.contains(word), "no {word:?} in {top}");
    }
}

#[test]
fn the_page_is_live_in_a_browser() {
    let watched = Watched::start();
    watched.submit("8x8");
    let Some(driver) = Driver::start() else { return };
    driver.look(Eyes::Light, async |browser: &Browser| {
        browser.goto(&watched.page).await;
        // The content security policy lets the page's own script and style work.
        browser.until("the page is live", IS_LIVE).await;
        browser.until("it has its style", HAS_STYLE).await;
        assert!(browser.title().await.starts_with("j1 go 8x8"));
        browser.until("the tables fit", TABLES_FIT).await;
        // What happens comes to the page by itself; nothing is loaded again.
        browser.run("window.mark = 1").await;
        let other = watched.submit("4x4");
        browser.until("the second job is there", &format!("!!document.getElementById('to-{other}')")).await;
        browser.until("the second job is done", "document.getElementById('jobs').innerText.includes('done')").await;
        browser.until("nothing was loaded again", "window.mark === 1").await;
        browser.until("cells are done", "document.querySelectorAll('.board .d').length > 0").await;
        // Narrow: nothing stands out.
        for width in [390, 360] {
            browser.resize(width, 844).await;
            browser.until(&format!("all fits in {width}"), &format!("innerWidth === {width} && {PAGE_FITS}")).await;
            browser.until(&format!("the tables fit in {width}"), TABLES_FIT).await;
        }
    });
}

#[test]
fn all_text_can_be_read_in_light_and_dark() {
    let watched = Watched::start();
    let (done, paused, _running) = (watched.submit("4x4"), watched.submit("7x7"), watched.submit("9x9"));
    watched.client(&["watch", &done]);
    watched.client(&["pause", &paused]);
    let Some(driver) = Driver::start() else { return };
    for (eyes, is_dark) in [(Eyes::Light, false), (Eyes::Dark, true)] {
        driver.look(eyes, async |browser: &Browser| {
            for path in ["", "jobs/j1", "jobs/j2", "jobs"] {
                browser.goto(&format!("{}{path}", watched.page)).await;
                let found = browser.run(include_str!("../harness/contrast.js")).await;
                let texts = found.as_array().unwrap();
                assert!(texts.len() > 10, "{found}");
                for text in texts {
                    assert!(text[0].as_f64() >= Some(CONTRAST), "{eyes:?} /{path}: {text}");
                }
                let colours =
                    "return [getComputedStyle(document.body).backgroundColor, getComputedStyle(document.body).color]";
                let colours = browser.run(colours).await;
                let expected = ["rgb(251, 250, 248)", "rgb(28, 27, 25)"];
                let dark = ["rgb(22, 22, 21)", "rgb(233, 230, 224)"];
                assert_eq!(colours, serde_json::json!(if is_dark { dark } else { expected }), "{eyes:?} /{path}");
            }
        });
    }
}

#[test]
fn the_page_needs_no_script() {
    let watched = Watched::start();
    let (_, other) = (watched.submit("9x9"), watched.submit("4x4"));
    let Some(driver) = Driver::start() else { return };
    driver.look(Eyes::WithoutScript, async |browser: &Browser| {
        browser.goto(&watched.page).await;
        browser.until("it has its style", HAS_STYLE).await;
        let text = browser.text("body").await;
        assert!(text.contains("as of ") && !text.contains("live"), "a script has run: {text}");
        let parts =
            ["Jobs", "go 9x9", "Board", "States of each pass", "Tasks at work", "Checks", "Workers", "here", "Events"];
        for word in parts {
            assert!(text.contains(word), "no {word:?} in {text}");
        }
        assert!(!text.contains("keys"), "keys that do nothing: {text}");
        // By links. The page loads again by itself: the number comes.
        browser.click(&format!("#to-{other}")).await;
        browser.until("the other job is shown", &format!("location.pathname === '/jobs/{other}'")).await;
        let time = browser.text("#live").await;
        browser.until("it loads again", &format!("document.getElementById('live').textContent !== '{time}'")).await;
        browser.until("its count is there", "document.getElementById('count')?.textContent === '24318165'").await;
    });
}

#[test]
fn keys_do_all_that_a_mouse_does() {
    let watched = Watched::start();
    for size in ["11x11", "4x4", "5x5"] {
        watched.submit(size);
    }
    let Some(driver) = Driver::start() else { return };
    driver.look(Eyes::Light, async |browser: &Browser| {
        browser.goto(&format!("{}jobs/j2", watched.page)).await;
        browser.until("the page is live", IS_LIVE).await;
        let text = browser.text("body").await;
        assert!(text.contains("the keys n and p choose the next and the previous job"), "{text}");
        // The newest job is the first. There is none before the first and after the last: a key without one does nothing, so
        // the next key starts from the same job.
        let steps =
            [('n', "j1"), ('n', "j1"), ('p', "j2"), ('p', "j3"), ('p', "j3"), ('p', "j3"), ('n', "j2"), ('x', "j2")];
        for (key, job) in steps.into_iter().chain([('n', "j1")]) {
            browser.press(key).await;
            browser.until(&format!("{job} after {key}"), &format!("location.pathname === '/jobs/{job}'")).await;
            browser.until("the page is live", IS_LIVE).await;
        }
        // From the top by Tab and Enter.
        browser.press(TAB).await;
        let skip =
            "document.activeElement.className === 'skip' && document.activeElement.getBoundingClientRect().left >= 0";
        browser.until("the link over the head is seen", skip).await;
        browser.press(ENTER).await;
        browser.until("it leads to the jobs", "location.hash === '#main'").await;
        for job in ["j3", "j2"] {
            browser.press(TAB).await;
            browser
                .until(&format!("the focus is on {job}"), &format!("document.activeElement.id === 'to-{job}'"))
                .await;
            browser
                .until("the focus is seen", "getComputedStyle(document.activeElement).outlineStyle === 'solid'")
                .await;
        }
        // It stays there while the page changes.
        browser.run("document.getElementById('main').mark = 1").await;
        browser.until("the page has changed", "document.getElementById('main').mark !== 1").await;
        browser.until("the focus is still there", "document.activeElement.id === 'to-j2'").await;
        browser.press(ENTER).await;
        browser.until("j2 is shown", "location.pathname === '/jobs/j2'").await;
    });
}
