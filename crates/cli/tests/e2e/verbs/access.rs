//! The whole way with TLS and tokens, and what is refused: by whom, and with which words.

use std::path::{Path, PathBuf};

use crate::harness::process::{Process, Ran, keima, until};
use crate::numbers::golden::legal;
use crate::verbs::command_line::usage::check;

/// A coordinator that made its certificates, beyond loopback.
struct Guarded {
    coordinator: Process,
    url: String,
    fingerprint: String,
    dir: tempfile::TempDir,
}

fn text(path: &Path) -> String {
    path.to_str().unwrap().to_owned()
}

impl Guarded {
    fn start() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let (coordinator, url, fingerprint) = coordinator(dir.path(), "0.0.0.0:0", &["--tls-init"]);
        Self { coordinator, url, fingerprint, dir }
    }

    fn tls(&self, name: &str) -> PathBuf {
        self.dir.path().join("data/tls").join(name)
    }

    /// The options of a caller with a token file.
    fn options(&self, token: &str) -> Vec<String> {
        let token = text(&self.tls(token));
        let words = ["--coordinator", &self.url, "--fingerprint", &self.fingerprint, "--token-file", &token];
        words.map(str::to_owned).to_vec()
    }

    fn as_role(&self, role: &str, words: &[&str]) -> Ran {
        let options = self.options(&format!("{role}.token"));
        keima(&words.iter().copied().chain(options.iter().map(String::as_str)).collect::<Vec<_>>())
    }

    fn worker(&self, name: &str, token: &str) -> Process {
        let scratch = text(&self.dir.path().join(name));
        let options = self.options(token);
        // Runs are held up for no time; each chunk that is sent is told on stderr.
        let failpoint = "run_server.mid_stream=sleep:0;worker.after_pull=sleep:20";
        let own = ["worker", "--threads", "1", "--memory", "128MiB", "--disk", "1GiB", "--scratch", &scratch];
        let args: Vec<&str> = own.into_iter().chain(options.iter().map(String::as_str)).collect();
        Process::start(&format!("worker {name}"), &args, failpoint)
    }
}

/// Starts a coordinator; the URL by which this machine reaches it, and its fingerprint.
fn coordinator(dir: &Path, listen: &str, more: &[&str]) -> (Process, String, String) {
    let data = text(&dir.join("data"));
    let args = [&["coordinator", "--listen", listen, "--data", &data, "--no-second-copies"], more].concat();
    let mut process = Process::start("coordinator", &args, "");
    let url = process.ready("coordinator ready at https://");
    let port = url.rsplit(':').next().unwrap().to_owned();
    let line = process.ready("start workers with   keima worker ");
    assert!(line.contains("--token-file") && line.contains("worker.token"), "{line}");
    let fingerprint = line.split(' ').skip_while(|word| *word != "--fingerprint").nth(1).unwrap().to_owned();
    (process, format!("https://127.0.0.1:{port}"), fingerprint)
}

#[test]
fn a_guarded_cluster_counts_and_lets_nobody_else_in() {
    let mut cluster = Guarded::start();
    let mut workers = ["a", "b"].map(|name| {
        let mut worker = cluster.worker(name, "worker.token");
        let address = worker.ready("worker ready at ");
        assert!(address.starts_with("https://"), "{address}");
        // Each reads the other's runs through its service only.
        std::fs::remove_file(cluster.dir.path().join(name).join("worker.id")).unwrap();
        worker
    });
    let counted = cluster.as_role("client", &["submit", "go", "8x8", "--executor", "stream", "--task-memory", "64MiB"]);
    let job = counted.ok().to_owned();
    assert_eq!(cluster.as_role("client", &["watch", &job]).ok(), legal("8x8"));
    for worker in &workers {
        assert!(
            worker.stderr().contains("failpoint run_server.mid_stream hit"),
            "nothing was sent: {}",
            worker.stderr()
        );
    }
    assert_eq!(cluster.as_role("reader", &["result", &job]).ok(), legal("8x8"));
    assert!(cluster.as_role("reader", &["workers"]).ok().contains("https://127.0.0.1:"));
    // By the CA instead of the fingerprint, under a name that the certificate has.
    let (ca, token) = (text(&cluster.tls("ca.pem")), text(&cluster.tls("reader.token")));
    let by_ca = ["jobs", "--coordinator", &cluster.url, "--tls-ca", &ca, "--token-file", &token];
    assert!(keima(&by_ca).ok().contains("8x8"));

    let refused = |ran: Ran, code: i32, words: &[&str]| {
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(code), ""), "{ran:#?}");
        for word in words {
            assert!(ran.stderr.contains(word), "no {word:?} in {ran:#?}");
        }
    };
    refused(cluster.as_role("reader", &["submit", "go", "5x5"]), 1, &["SubmitJob is a call for a client"]);
    refused(cluster.as_role("reader", &["cancel", &job]), 1, &["CancelJob", "client.token"]);
    refused(cluster.as_role("worker", &["jobs"]), 1, &["ListJobs", "reader or a client"]);
    let other = tempfile::tempdir().unwrap();
    let (mut stranger, other_url, other_print) = coordinator(other.path(), "127.0.0.1:0", &["--tls-init"]);
    let other_token = text(&other.path().join("data/tls/client.token"));
    let jobs = |url: &str, fingerprint: &str, token: &str| {
        keima(&["jobs", "--coordinator", url, "--fingerprint", fingerprint, "--token-file", token])
    };
    let own_token = text(&cluster.tls("client.token"));
    refused(
        jobs(&cluster.url, &cluster.fingerprint, &other_token),
        1,
        &["token of this call is not known", "--token-file"],
    );
    refused(jobs(&cluster.url, &other_print, &own_token), 1, &["not the one that is trusted", &cluster.fingerprint]);
    refused(jobs(&other_url, &cluster.fingerprint, &own_token), 1, &["not the one that is trusted"]);
    let plain = cluster.url.replace("https://", "http://");
    refused(keima(&["jobs", "--coordinator", &plain]), 1, &["speaks TLS", "https://"]);
    let other_ca = text(&other.path().join("data/tls/ca.pem"));
    let by_other = ["jobs", "--coordinator", &cluster.url, "--tls-ca", &other_ca, "--token-file", &token];
    refused(keima(&by_other), 1, &["not the one that is trusted", "--tls-ca"]);
    // A client's token does not make a worker, and the refusal is final.
    let mut no_worker = cluster.worker("c", "client.token");
    assert_eq!(no_worker.ended().code(), Some(6), "{}", no_worker.stderr());
    assert!(no_worker.stderr().contains("SayHello is a call for a worker"), "{}", no_worker.stderr());

    // Started again, it has the same certificate and tokens without being told.
    let port = cluster.url.rsplit(':').next().unwrap().to_owned();
    cluster.coordinator.kill();
    let before = cluster.coordinator.stderr();
    let (again, _, fingerprint) = coordinator(cluster.dir.path(), &format!("0.0.0.0:{port}"), &[]);
    assert_eq!(fingerprint, cluster.fingerprint);
    assert!(again.stderr().contains("TLS with the certificate"), "{}", again.stderr());
    until("both workers are back", || {
        let workers = cluster.as_role("reader", &["workers", "--json"]).json();
        let here = workers["workers"].as_array().unwrap().iter().filter(|worker| worker["state"] == "here").count();
        (here == 2).then_some(())
    });
    // No secret is told to anybody.
    let said = [before, again.stderr(), again.stdout(), workers[0].stderr(), workers[1].stderr(), no_worker.stderr()];
    for role in ["reader", "client", "worker"] {
        let token = std::fs::read_to_string(cluster.tls(&format!("{role}.token"))).unwrap();
        assert!(said.iter().all(|text| !text.contains(token.trim())), "the {role}'s token was told");
    }
    for worker in &mut workers {
        worker.signal("TERM");
        assert_eq!(worker.ended().code(), Some(0));
    }
    stranger.signal("TERM");
}

/// Without TLS and credentials nothing listens beyond loopback, unless somebody says so.
#[test]
fn beyond_loopback_only_with_credentials() {
    let dir = tempfile::tempdir().unwrap();
    let guarded = Guarded::start();
    let (readable, short) = (dir.path().join("readable"), dir.path().join("short"));
    std::fs::copy(guarded.tls("client.token"), &readable).unwrap();
    std::fs::set_permissions(&readable, std::os::unix::fs::PermissionsExt::from_mode(0o644)).unwrap();
    std::fs::write(&short, "secret").unwrap();
    std::fs::set_permissions(&short, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
    let (token, ca) = (text(&guarded.tls("client.token")), text(&guarded.tls("ca.pem")));
    let (readable, short) = (text(&readable), text(&short));
    let values = [
        ("@dir", dir.path().to_str().unwrap()),
        ("@tls", guarded.url.as_str()),
        ("@token", &token),
        ("@print", &guarded.fingerprint),
        ("@ca", &ca),
        ("@readable", &readable),
        ("@short", &short),
    ];
    for (line, texts) in [
        ("coordinator --data @dir/d --listen 0.0.0.0:0", &["--listen 0.0.0.0:0", "--tls-init", "--insecure"][..]),
        ("coordinator --data @dir/d --listen [::]:0", &["--tls-init"]),
        ("coordinator --data @dir/d --insecure --tls-init", &["--insecure", "--tls-init"]),
        ("coordinator --data @dir/d --tls-cert @ca", &["--tls-key"]),
        ("coordinator --data @dir/d --tls-cert @ca --tls-key @token", &["a private key in PEM"]),
        ("coordinator --data @dir/d --tls-cert @token --tls-key @token", &["certificates in PEM"]),
        ("worker --scratch @dir/s --listen 0.0.0.0:0", &["--listen 0.0.0.0:0", "--tls-init", "--insecure"]),
        ("worker --scratch @dir/s --coordinator http://head:7700", &["--coordinator http://head:7700", "--insecure"]),
        ("worker --scratch @dir/s --coordinator head:7700", &["--insecure", "https://"]),
        ("worker --scratch @dir/s --coordinator @tls --fingerprint @print", &["--token-file"]),
        ("worker --scratch @dir/s --coordinator @tls --token-file @token", &["--fingerprint"]),
        ("jobs --coordinator @tls", &["--fingerprint", "--tls-ca"]),
        ("jobs --coordinator @tls --fingerprint @print", &["--token-file"]),
        ("jobs --coordinator @tls --fingerprint @print --tls-ca @ca", &["exclude each other"]),
        ("jobs --coordinator @tls --fingerprint sha256:12 --token-file @token", &["64 hex digits"]),
        ("jobs --coordinator @tls --fingerprint @print --token-file @readable", &["chmod 600"]),
        ("jobs --coordinator @tls --fingerprint @print --token-file @short", &["32 to 256"]),
        ("jobs --coordinator @tls --fingerprint @print --token-file @dir/none", &["@dir/none"]),
        ("jobs --fingerprint @print", &["--fingerprint is for TLS", "https://"]),
        ("jobs --token-file @token", &["--token-file is for TLS"]),
    ] {
        check(&values, line, 2, texts);
    }
    assert!(!dir.path().join("d/tls").exists() && !dir.path().join("s").exists());
    // In so many words: it is plain, and says so.
    let data = text(&dir.path().join("d"));
    let mut open = Process::start("open", &["coordinator", "--insecure", "--listen", "0.0.0.0:0", "--data", &data], "");
    let line = open.ready("start workers with   keima worker ");
    assert!(line.contains("--insecure") && line.contains("http://"), "{line}");
    open.says("nothing is encrypted", 1);
}
