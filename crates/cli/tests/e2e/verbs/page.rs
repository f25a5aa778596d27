//! The status page in a real browser, and `keima top` beside it.
//!
//! The browser is Chromium without a window, by its `WebDriver`. Where there is no `chromedriver` the test says so and looks at the
//! page without one.

use std::net::{TcpListener, TcpStream};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use fantoccini::{Client, ClientBuilder, Locator};
use hyper_util::client::legacy::connect::HttpConnector;
use serde_json::{Value, json};

use crate::harness::process::{self, Process, keima};

/// Longest wait for something on the page.
const LIMIT: Duration = Duration::from_mins(1);
/// Limit of all looks together.
const LOOK_LIMIT: Duration = Duration::from_mins(2);

/// Whether disk and memory of the workers are seen without scrolling.
const WORKERS_FIT: &str =
    "(({ scrollWidth, clientWidth }) => scrollWidth <= clientWidth)(document.getElementById('workers'))";

/// A coordinator with a page, and a worker.
struct Watched {
    coordinator: Process,
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
        let more = ["--log-format", "json", "--checkpoint-seconds", "0"];
        let mut coordinator = Process::start("coordinator", &[&args[..], &more].concat(), "");
        let url = coordinator.ready("coordinator ready at ");
        let page = coordinator.ready("watch it at          ");
        let args = ["worker", "--coordinator", &url, "--threads", "1", "--memory", "128MiB", "--scratch", &scratch];
        let more = ["--disk", "1GiB", "--log-format", "json"];
        // Slow tasks: there is something to see under way.
        let mut worker = Process::start("worker", &[&args[..], &more].concat(), "worker.after_pull=sleep:100");
        worker.ready("worker ready at ");
        Self { coordinator, _worker: worker, url, page, _dir: dir }
    }

    fn submit(&self, size: &str) -> String {
        let words = ["submit", "go", size, "--executor", "stream", "--task-memory", "64MiB", "--series"];
        keima(&[&words[..], &["--coordinator", &self.url]].concat()).ok().to_owned()
    }
}

/// Chromium's `WebDriver`, which is killed in the end with all browsers that it started.
struct Driver(Child);

impl Drop for Driver {
    fn drop(&mut self) {
        // It leads a process group of its own.
        let _ = Command::new("sh").args(["-c", &format!("kill -9 -{}", self.0.id())]).status();
        let _ = self.0.wait();
    }
}

/// A driver and its address; `None` where this machine has none.
fn driver() -> Option<(Driver, String)> {
    let there = Command::new("chromedriver").arg("--version").output().is_ok_and(|ran| ran.status.success());
    if !there {
        eprintln!(
            "no chromedriver here: the page is not looked at in a browser (Debian: apt-get install chromium-driver)"
        );
        return None;
    }
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let mut command = Command::new("chromedriver");
    // Browsers would keep a pipe open.
    command.arg(format!("--port={port}")).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let driver = Driver(command.process_group(0).spawn().unwrap());
    process::until("the browser's driver", || TcpStream::connect(("127.0.0.1", port)).ok());
    Some((driver, format!("http://127.0.0.1:{port}")))
}

async fn browser(driver: &str) -> Client {
    // Root may not use the sandbox; the page is ours.
    let args =
        ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--window-size=1280,1000"];
    let Value::Object(wanted) = json!({ "goog:chromeOptions": { "args": args } }) else { unreachable!("an object") };
    ClientBuilder::new(HttpConnector::new()).capabilities(wanted).connect(driver).await.unwrap()
}

/// Runs a script on the page until it returns `true`.
async fn until(browser: &Client, what: &str, script: &str) {
    let begun = Instant::now();
    while browser.execute(&format!("return {script}"), Vec::new()).await.unwrap() != Value::Bool(true) {
        assert!(begun.elapsed() < LIMIT, "waited in vain until {what}: {}", browser.source().await.unwrap());
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

#[test]
fn the_page_is_live_in_a_browser() {
    let watched = Watched::start();
    let job = watched.submit("8x8");
    let top = keima(&["top", "--once", "--coordinator", &watched.url]);
    for word in ["Jobs", "> j1", "go 8x8", "Board", "Workers", "here"] {
        assert!(top.ok().contains(word), "no {word:?} in {top:#?}");
    }
    // Every line of the log is an object; those about the job say so.
    process::until("a line about the job", || {
        let text = watched.coordinator.stderr();
        // The last line may be half written.
        let whole = text.rsplit_once('\n').map_or("", |(whole, _)| whole);
        let lines: Vec<Value> = whole.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        lines.iter().any(|line| line["job"] == job.as_str()).then_some(())
    });
    let Some((_driver, address)) = driver() else { return };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let looked = async {
        let browser = browser(&address).await;
        browser.goto(&watched.page).await.unwrap();
        // The content security policy lets the page's own script and style work.
        until(&browser, "the page is live", "document.getElementById('live')?.textContent === 'live'").await;
        until(&browser, "it has its style", "getComputedStyle(document.querySelector('main')).display === 'grid'")
            .await;
        assert!(browser.title().await.unwrap().starts_with("j1 go 8x8"));
        until(&browser, "the table of workers fits", WORKERS_FIT).await;
        // What happens comes to the page by itself; nothing is loaded again.
        browser.execute("window.mark = 1; return true", Vec::new()).await.unwrap();
        let other = watched.submit("4x4");
        until(&browser, "the second job is there", &format!("!!document.getElementById('to-{other}')")).await;
        until(&browser, "the second job is done", "document.getElementById('jobs').innerText.includes('done')").await;
        until(&browser, "nothing was loaded again", "window.mark === 1").await;
        until(&browser, "cells are done", "document.querySelectorAll('.board .d').length > 0").await;
        // By keys: the next job in the list is the older one.
        browser.goto(&format!("{}jobs/{other}", watched.page)).await.unwrap();
        until(&browser, "its count is there", "document.getElementById('count')?.textContent === '24318165'").await;
        browser.find(Locator::Css("body")).await.unwrap().send_keys("n").await.unwrap();
        until(&browser, "the other job is shown", "location.pathname === '/jobs/j1'").await;
        // Narrow: nothing stands out.
        browser.set_window_size(390, 844).await.unwrap();
        until(&browser, "it fits", "document.documentElement.scrollWidth <= document.documentElement.clientWidth")
            .await;
        until(&browser, "the table of workers fits", WORKERS_FIT).await;
        browser.close().await.unwrap();
    };
    let in_time = runtime.block_on(async { tokio::time::timeout(LOOK_LIMIT, looked).await });
    assert!(in_time.is_ok(), "the browser did not answer within {LOOK_LIMIT:?}");
}
