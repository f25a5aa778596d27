//! Chromium without a window, by its `WebDriver`.

use std::net::{TcpListener, TcpStream};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use fantoccini::actions::{InputSource as _, KeyAction, KeyActions};
use fantoccini::error::{CmdError, ErrorStatus};
use fantoccini::{Client, ClientBuilder, Locator};
use hyper_util::client::legacy::connect::HttpConnector;
use serde_json::{Value, json};

use crate::harness::process;

/// Longest wait for something on a page.
const LIMIT: Duration = Duration::from_mins(1);
/// Limit of all that one browser looks at.
const LOOK_LIMIT: Duration = Duration::from_mins(3);

/// How a browser looks at pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Eyes {
    Light,
    Dark,
    WithoutScript,
}

impl Eyes {
    fn capabilities(self) -> Value {
        // Root may not use the sandbox; the page is ours.
        let mut args = vec![
            "--headless=new",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-dev-shm-usage",
            "--window-size=1280,1000",
        ];
        args.push(if self == Self::Dark {
            "--blink-settings=preferredColorScheme=0"
        } else {
            "--blink-settings=preferredColorScheme=1"
        });
        // 2 forbids; 0 is the default.
        let script = if self == Self::WithoutScript { 2 } else { 0 };
        let prefs = json!({ "profile.managed_default_content_settings.javascript": script });
        json!({ "args": args, "prefs": prefs })
    }
}

/// Chromium's `WebDriver`, which is killed in the end with all browsers that it started.
pub(crate) struct Driver {
    child: Child,
    address: String,
}

impl Drop for Driver {
    fn drop(&mut self) {
        // It leads a process group of its own.
        let _ = Command::new("sh").args(["-c", &format!("kill -9 -{}", self.child.id())]).status();
        let _ = self.child.wait();
    }
}

impl Driver {
    /// `None` where this machine has none; it says so.
    pub(crate) fn start() -> Option<Self> {
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
        let child = command.process_group(0).spawn().unwrap();
        let driver = Self { child, address: format!("http://127.0.0.1:{port}") };
        process::until("the browser's driver", || TcpStream::connect(("127.0.0.1", port)).ok());
        Some(driver)
    }

    /// Opens a browser, looks, and closes it.
    pub(crate) fn look(&self, eyes: Eyes, look: impl AsyncFnOnce(&Browser)) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let looked = async {
            let Value::Object(wanted) = json!({ "goog:chromeOptions": eyes.capabilities() }) else {
                unreachable!("an object")
            };
            let mut builder = ClientBuilder::new(HttpConnector::new());
            let browser = Browser(builder.capabilities(wanted).connect(&self.address).await.unwrap());
            look(&browser).await;
            browser.0.close().await.unwrap();
        };
        let in_time = runtime.block_on(async { tokio::time::timeout(LOOK_LIMIT, looked).await });
        assert!(in_time.is_ok(), "the browser did not answer within {LOOK_LIMIT:?}");
    }
}

/// A browser with one page.
pub(crate) struct Browser(Client);

impl Browser {
    pub(crate) async fn goto(&self, url: &str) {
        self.0.goto(url).await.unwrap();
    }

    pub(crate) async fn title(&self) -> String {
        self.0.title().await.unwrap()
    }

    /// Runs statements on the page. What they return is the answer.
    pub(crate) async fn run(&self, script: &str) -> Value {
        self.0.execute(script, Vec::new()).await.unwrap()
    }

    /// Looks at an expression until it is `true`.
    pub(crate) async fn until(&self, what: &str, expression: &str) {
        let begun = Instant::now();
        while self.run(&format!("return {expression}")).await != Value::Bool(true) {
            assert!(begun.elapsed() < LIMIT, "waited in vain until {what}: {}", self.0.source().await.unwrap());
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }

    /// Presses a key where the focus is.
    pub(crate) async fn press(&self, key: char) {
        let down_and_up = [KeyAction::Down { value: key }, KeyAction::Up { value: key }];
        let keys = down_and_up.into_iter().fold(KeyActions::new("keyboard".to_owned()), KeyActions::then);
        self.0.perform_actions(keys).await.unwrap();
    }

    pub(crate) async fn click(&self, selector: &str) {
        self.fresh(async || self.0.find(Locator::Css(selector)).await?.click().await).await;
    }

    /// The text that a reader sees.
    pub(crate) async fn text(&self, selector: &str) -> String {
        self.fresh(async || self.0.find(Locator::Css(selector)).await?.text().await).await
    }

    /// Looks an element up again if the page has replaced it in the meantime, as it does with each piece of news.
    async fn fresh<T>(&self, act: impl AsyncFn() -> Result<T, CmdError>) -> T {
        let begun = Instant::now();
        loop {
            match act().await {
                Ok(done) => return done,
                Err(CmdError::Standard(error)) if error.error == ErrorStatus::StaleElementReference => {}
                Err(error) => panic!("{error}"),
            }
            assert!(begun.elapsed() < LIMIT, "the element was replaced again and again");
        }
    }

    pub(crate) async fn resize(&self, width: u32, height: u32) {
        self.0.set_window_size(width, height).await.unwrap();
    }
}
