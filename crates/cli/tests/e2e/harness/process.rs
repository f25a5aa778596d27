//! Processes of the program: started, waited for with a limit, killed, always reaped.

use std::io::{BufRead, BufReader, Read};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Limit of a single wait. Only a hang reaches it.
pub(crate) const LIMIT: Duration = Duration::from_secs(90);
const LOOK: Duration = Duration::from_millis(10);

/// The program, without the variables of the user's environment that it reads.
pub(crate) fn command(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_keima"));
    let names = ["COORDINATOR", "LISTEN", "DATA", "WORKER_LISTEN", "ADVERTISE", "SCRATCH", "MEMORY", "DISK", "THREADS"];
    let access = ["FINGERPRINT", "TLS_CA", "TOKEN_FILE", "TLS_INIT", "TLS_CERT", "TLS_KEY", "TOKENS", "INSECURE"];
    let watched = ["HTTP", "WORKER_HTTP", "HTTP_TOKEN_FILE", "LOG_FORMAT", "LOG", "FAILPOINT", "ARCHIVE", "CONFIG"];
    for name in names.into_iter().chain(access).chain(watched) {
        command.env_remove(format!("KEIMA_{name}"));
    }
    // Runs of one problem in two tests have nothing to do with each other, nor with the user's.
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let state = format!("{}/state-{}-{number}", env!("CARGO_TARGET_TMPDIR"), std::process::id());
    // Nor has the user's configuration.
    command.env("XDG_CONFIG_HOME", &state).env("XDG_STATE_HOME", state).args(args);
    command
}

/// Exit code and output of a process that has ended.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Ran {
    /// The text on stdout of a process that must have succeeded.
    pub(crate) fn ok(&self) -> &str {
        assert_eq!(self.code, Some(0), "{self:#?}");
        self.stdout.trim_end()
    }
    pub(crate) fn json(&self) -> serde_json::Value {
        serde_json::from_str(self.ok()).unwrap_or_else(|error| panic!("{error}: {self:#?}"))
    }
}

/// Runs the program to its end.
pub(crate) fn keima(args: &[&str]) -> Ran {
    run(command(args))
}

pub(crate) fn run(command: Command) -> Ran {
    let what = format!("{command:?}");
    let output = assert_cmd::Command::from_std(command).timeout(LIMIT).output().unwrap();
    assert!(output.status.signal().is_none(), "{what} did not end within {LIMIT:?}: {output:?}");
    Ran {
        code: output.status.code(),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

/// Looks until `look` finds something.
pub(crate) fn until<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let start = Instant::now();
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(start.elapsed() < LIMIT, "waited {LIMIT:?} in vain for {what}");
        std::thread::sleep(LOOK);
    }
}

/// Collects the output of a pipe.
fn collect(pipe: impl Read + Send + 'static) -> (Arc<Mutex<String>>, JoinHandle<()>) {
    let text = Arc::new(Mutex::new(String::new()));
    let into = Arc::clone(&text);
    let thread = std::thread::spawn(move || {
        let mut reader = BufReader::new(pipe);
        let mut line = Vec::new();
        while reader.read_until(b'\n', &mut line).is_ok_and(|n| n > 0) {
            into.lock().unwrap().push_str(&String::from_utf8_lossy(&line));
            line.clear();
        }
    });
    (text, thread)
}

/// A process in the background. Dropping it kills it.
pub(crate) struct Process {
    name: String,
    child: Child,
    stdout: Arc<Mutex<String>>,
    stderr: Arc<Mutex<String>>,
    readers: Vec<JoinHandle<()>>,
}

impl Process {
    /// Starts the program; `failpoint` as in `keima_cluster`'s failpoints, empty for none.
    pub(crate) fn start(name: &str, args: &[&str], failpoint: &str) -> Self {
        Self::start_with(name, args, failpoint, &[])
    }

    /// The same with more environment variables.
    pub(crate) fn start_with(name: &str, args: &[&str], failpoint: &str, environment: &[(String, String)]) -> Self {
        let mut command = command(args);
        command.envs(environment.iter().cloned());
        if !failpoint.is_empty() {
            command.env("KEIMA_FAILPOINT", failpoint);
        }
        Self::spawn(name, command)
    }

    /// The same with a command that is made already.
    pub(crate) fn spawn(name: &str, mut command: Command) -> Self {
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let (stdout, out) = collect(child.stdout.take().unwrap());
        let (stderr, err) = collect(child.stderr.take().unwrap());
        Self { name: name.to_owned(), child, stdout, stderr, readers: vec![out, err] }
    }

    pub(crate) fn stdout(&self) -> String {
        self.stdout.lock().unwrap().clone()
    }
    pub(crate) fn stderr(&self) -> String {
        self.stderr.lock().unwrap().clone()
    }

    pub(crate) fn is_alive(&mut self) -> bool {
        self.child.try_wait().unwrap().is_none()
    }

    /// Memory that its program and libraries take now; 0 once it has ended.
    pub(crate) fn code_bytes(&self) -> u64 {
        let maps = std::fs::read_to_string(format!("/proc/{}/smaps", self.child.id())).unwrap_or_default();
        let (mut is_code, mut kibibytes) = (false, 0);
        for line in maps.lines() {
            if line.starts_with(|c: char| c.is_ascii_digit() || c.is_ascii_lowercase()) {
                is_code = line.ends_with("/keima") || line.contains(".so");
            }
            let resident = line.strip_prefix("Rss:").and_then(|rest| rest.trim().strip_suffix(" kB"));
            kibibytes += resident.filter(|_| is_code).map_or(0, |number| number.parse::<u64>().unwrap());
        }
        kibibytes << 10
    }

    /// What follows `mark` on the line that the process prints when it is ready.
    pub(crate) fn ready(&mut self, mark: &str) -> String {
        until(&format!("{mark:?} of {}", self.name), || {
            let text = self.stdout();
            let line = text.split_inclusive('\n').find_map(|line| line.strip_suffix('\n')?.strip_prefix(mark));
            assert!(line.is_some() || self.is_alive(), "{} ended: {}", self.name, self.stderr());
            line.map(str::to_owned)
        })
    }

    /// Waits until stderr holds `text` that often.
    pub(crate) fn says(&mut self, text: &str, times: usize) {
        until(&format!("{text:?} {times} times from {}", self.name), || {
            let said = self.stderr().matches(text).count() >= times;
            assert!(said || self.is_alive(), "{} ended before: {}", self.name, self.stderr());
            said.then_some(())
        });
    }

    /// Waits for the end.
    pub(crate) fn ended(&mut self) -> ExitStatus {
        let name = self.name.clone();
        let status = until(&format!("the end of {name}"), || self.child.try_wait().unwrap());
        for reader in self.readers.drain(..) {
            reader.join().unwrap();
        }
        status
    }

    /// Waits for the end of a process that should die at a failpoint, and checks that it did.
    pub(crate) fn died_at(&mut self, point: &str) {
        let status = self.ended();
        assert_eq!(status.signal(), Some(6), "{} should have aborted: {status}", self.name);
        let said = self.stderr();
        assert!(said.contains(&format!("failpoint {point} hit")), "{}: {said}", self.name);
    }

    /// kill -9, and makes sure that it was this that ended the process.
    pub(crate) fn kill(&mut self) {
        assert!(self.is_alive(), "{} had ended before the kill: {}", self.name, self.stderr());
        self.child.kill().unwrap();
        let status = self.ended();
        assert_eq!(status.signal(), Some(9), "{}: {status}", self.name);
    }

    /// Sends a signal by its name.
    pub(crate) fn signal(&mut self, signal: &str) {
        self.signals(&[signal]);
    }

    /// Sends signals at one moment.
    pub(crate) fn signals(&mut self, signals: &[&str]) {
        assert!(self.is_alive(), "{} had ended before SIG{signals:?}: {}", self.name, self.stderr());
        // The shell's own kill: not every machine has one as a program.
        let kills: Vec<String> = signals.iter().map(|signal| format!("kill -{signal} {}", self.child.id())).collect();
        let script = kills.join(" && ");
        assert!(Command::new("sh").args(["-c", &script]).status().unwrap().success());
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        for reader in self.readers.drain(..) {
            let _ = reader.join();
        }
        if std::thread::panicking() {
            eprintln!("--- {} said:\n{}", self.name, self.stderr());
        }
    }
}

/// Published run files below a scratch folder, the newest last.
pub(crate) fn run_files(scratch: &Path) -> Vec<PathBuf> {
    files_named(scratch, ".run")
}

/// Run files below a scratch folder that are being written, or whose writer has died; the newest last.
pub(crate) fn unfinished_run_files(scratch: &Path) -> Vec<PathBuf> {
    files_named(scratch, ".run.tmp")
}

fn files_named(folder: &Path, ending: &str) -> Vec<PathBuf> {
    fn walk(folder: &Path, ending: &str, found: &mut Vec<(std::time::SystemTime, PathBuf)>) {
        // Files come and go while this looks.
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.is_dir() {
                walk(&path, ending, found);
            } else if path.to_str().is_some_and(|name| name.ends_with(ending))
                && let Ok(modified) = entry.metadata().and_then(|m| m.modified())
            {
                found.push((modified, path));
            }
        }
    }
    let mut found = Vec::new();
    walk(folder, ending, &mut found);
    found.sort();
    found.into_iter().map(|(_, path)| path).collect()
}
