//! What the sites of a coordinator and a worker say, against real services.

mod common;

use common::{Host, L55, ask, get, stream_until};
use keima_blocks::sizes::show_bytes;
use keima_cluster::Door;
use keima_http::OPENAPI;
use serde_json::Value;

/// Holds a value against a schema of the description. Knows the words that the description uses, and no others.
fn check(api: &Value, schema: &Value, value: &Value, at: &str) {
    let schema = match schema.get("$ref").and_then(Value::as_str) {
        Some(name) => api.pointer(name.trim_start_matches('#')).unwrap_or_else(|| panic!("{at}: no {name}")),
        None => schema,
    };
    for word in schema.as_object().unwrap().keys() {
        let known =
            ["type", "enum", "required", "properties", "additionalProperties", "items"].contains(&word.as_str());
        assert!(known, "{at}: this test does not know {word:?}");
    }
    if let Some(kinds) = schema.get("type") {
        let kinds: Vec<&str> = match kinds {
            Value::Array(kinds) => kinds.iter().filter_map(Value::as_str).collect(),
            kind => vec![kind.as_str().unwrap()],
        };
        let is = |kind: &&str| match *kind {
            "null" => value.is_null(),
            "string" => value.is_string(),
            "boolean" => value.is_boolean(),
            "integer" => value.is_u64() || value.is_i64(),
            "number" => value.is_number(),
            "array" => value.is_array(),
            "object" => value.is_object(),
            other => panic!("{at}: no kind {other:?}"),
        };
        assert!(kinds.iter().any(is), "{at}: {value} is none of {kinds:?}");
    }
    if let Some(values) = schema.get("enum").and_then(Value::as_array) {
        assert!(values.contains(value), "{at}: {value} is none of {values:?}");
    }
    if let Value::Object(object) = value {
        let empty = serde_json::Map::new();
        let fields = schema.get("properties").and_then(Value::as_object).unwrap_or(&empty);
        for name in schema.get("required").and_then(Value::as_array).into_iter().flatten() {
            assert!(object.contains_key(name.as_str().unwrap()), "{at}: {name} is missing in {value}");
        }
        for (name, value) in object {
            let at = format!("{at}.{name}");
            match (fields.get(name), schema.get("additionalProperties")) {
                (Some(schema), _) | (None, Some(schema @ Value::Object(_))) => check(api, schema, value, &at),
                (None, Some(Value::Bool(false))) => panic!("{at} is not described"),
                (None, _) => {}
            }
        }
    }
    if let (Value::Array(items), Some(schema)) = (value, schema.get("items")) {
        items.iter().enumerate().for_each(|(i, item)| check(api, schema, item, &format!("{at}[{i}]")));
    }
}

/// Asks a path as it stands in the description, and holds the answer against it.
async fn described(host: &Host, path: &str, asked: &str) -> Value {
    let api: Value = serde_json::from_str(OPENAPI).unwrap();
    let answer = get(host.at, asked).await;
    let escaped = path.replace('/', "~1");
    let content = format!("/paths/{escaped}/get/responses/{}/content/application~1json/schema", answer.code);
    let schema = api.pointer(&content).unwrap_or_else(|| panic!("{asked}: {} is not described", answer.code));
    assert_eq!(answer.header("content-type"), Some("application/json"), "{answer:?}");
    let value: Value = serde_json::from_str(&answer.body).unwrap();
    check(&api, schema, &value, asked);
    value
}

#[tokio::test(flavor = "multi_thread")]
async fn every_answer_is_as_described_and_says_what_is() {
    let host = Host::start(Door::open()).await;
    let none = described(&host, "/api/v1/jobs", "/api/v1/jobs").await;
    assert_eq!(none["jobs"].as_array().unwrap().len(), 0);
    assert!(get(host.at, "/").await.body.contains("No jobs yet"));
    let (_, _) = host.worker("a").await;
    let queued = host.handle.submit(common::go("7x7")).await.unwrap();
    host.handle.pause(queued).await.unwrap();
    described(&host, "/api/v1/jobs/{job}", "/api/v1/jobs/j1").await;
    host.handle.resume(queued).await.unwrap();
    host.until(queued, |status| status.progress.tasks_running > 0 || status.state.is_over()).await;
    described(&host, "/api/v1/jobs/{job}", "/api/v1/jobs/j1").await;
    let job = host.counted("5x5").await;
    // What was looked at half a second ago may be told once more.
    tokio::time::sleep(std::time::Duration::from_millis(600)).await;
    let full = described(&host, "/api/v1/jobs/{job}", &format!("/api/v1/jobs/{job}")).await;
    assert_eq!((&full["count"], &full["state"], &full["size"]), (&L55.into(), &"done".into(), &"5x5".into()));
    assert!(full["pass_states"].as_array().unwrap().iter().any(Value::is_u64), "{full}");
    assert!(full["checks"].as_array().unwrap().iter().any(|check| check["name"] == "spare_prime"), "{full}");
    let jobs = described(&host, "/api/v1/jobs", "/api/v1/jobs").await;
    let names = |jobs: &Value| -> Vec<String> {
        jobs["jobs"].as_array().unwrap().iter().map(|job| job["job"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!((names(&jobs), &jobs["next"]), (vec!["j2".to_owned(), "j1".to_owned()], &Value::Null));
    let (one, next) = ("/api/v1/jobs?limit=1", "/api/v1/jobs?limit=1&after=j2");
    let (one, next) = (described(&host, "/api/v1/jobs", one).await, described(&host, "/api/v1/jobs", next).await);
    assert_eq!((names(&one), &one["next"]), (vec!["j2".to_owned()], &"j2".into()));
    assert_eq!((names(&next), &next["next"]), (vec!["j1".to_owned()], &Value::Null));
    let done = described(&host, "/api/v1/jobs", "/api/v1/jobs?state=done&limit=7").await;
    assert!(names(&done).contains(&job.to_string()), "{done}");
    assert!(names(&described(&host, "/api/v1/jobs", "/api/v1/jobs?archived=true").await).is_empty());
    for wrong in ["limit=0", "state=gone", "stat=done", "after=x"] {
        let told = described(&host, "/api/v1/jobs", &format!("/api/v1/jobs?{wrong}")).await;
        assert!(told["error"].as_str().unwrap().contains("expected"), "{told}");
    }
    let path = "/api/v1/jobs/{job}/values";
    let values = described(&host, path, &format!("/api/v1/jobs/{job}/values")).await;
    assert_eq!((&values["series"], &values["next"]), (&full["series"], &Value::Null));
    let last = described(&host, path, &format!("/api/v1/jobs/{job}/values?from=4")).await;
    assert_eq!((last["series"].as_array().unwrap().len(), &last["series"][0]["count"]), (1, &L55.into()));
    described(&host, path, &format!("/api/v1/jobs/{job}/values?from=x")).await;
    described(&host, path, "/api/v1/jobs/j77/values").await;
    let workers = described(&host, "/api/v1/workers", "/api/v1/workers").await;
    assert_eq!(workers["workers"][0]["state"], "here");
    let events = described(&host, "/api/v1/events", "/api/v1/events").await;
    let texts: Vec<&str> = events["events"].as_array().unwrap().iter().filter_map(|e| e["text"].as_str()).collect();
    assert!(texts.contains(&"queued: go 5x5") && texts.contains(&"done"), "{texts:?}");
    described(&host, "/api/v1/openapi.json", "/api/v1/openapi.json").await;
    for nothing in ["/api/v1/jobs/j77", "/api/v1/jobs/x", "/api/v1/jobs/j99999999999999999999"] {
        assert!(described(&host, "/api/v1/jobs/{job}", nothing).await["error"].is_string());
    }
    host.handle.close();
}

/// Reads no JavaScript: what the job is and has must stand in the text itself.
#[tokio::test(flavor = "multi_thread")]
async fn the_page_has_the_jobs_data_in_its_text() {
    let host = Host::start(Door::open()).await;
    host.worker("a").await;
    let job = host.counted("5x5").await;
    tokio::time::sleep(std::time::Duration::from_millis(600)).await;
    let page = get(host.at, &format!("/jobs/{job}")).await;
    assert_eq!((page.code, page.header("content-type")), (200, Some("text/html; charset=utf-8")));
    let text = page.body.split("<script>").next().unwrap();
    let words =
        ["j1 go 5x5", "<p class=\"big\" id=\"count\">414295148741</p>", "spare_prime", "25 of 25 cells are done"];
    // Values of shorter boards, the worker, and what happened.
    let more =
        ["L(5,4)", "worker-came", "<meter", "queued: go 5x5", "0.0.1 &lt;test&gt;", "As a table", "aria-current"];
    for word in words.into_iter().chain(more.into_iter().filter(|word| *word != "worker-came")) {
        assert!(text.contains(word), "no {word:?} in {text}");
    }
    // Nothing comes from elsewhere, and a browser is told so.
    let policy = page.header("content-security-policy").unwrap();
    assert!(policy.starts_with("default-src 'none'; script-src 'sha256-") && !policy.contains("unsafe"), "{policy}");
    for outside in ["src=\"", "http://", "https://", "@import", "style=\""] {
        assert!(!page.body.contains(outside), "{outside:?} in the page");
    }
    assert_eq!(get(host.at, "/").await.code, 200);
    assert_eq!(get(host.at, "/jobs/j9").await.code, 404);
    host.handle.close();
}

/// What a look costs does not grow with the jobs that are over: the page has the newest of them, and links to the others.
#[tokio::test(flavor = "multi_thread")]
async fn older_jobs_have_pages_of_their_own() {
    let host = Host::start(Door::open()).await;
    let waiting = host.handle.submit(common::go("9x9")).await.unwrap();
    for _ in 0..120 {
        let job = host.handle.submit(common::go("3x3")).await.unwrap();
        host.handle.cancel(job).await.unwrap();
    }
    let page = get(host.at, "/").await.body;
    let links = |page: &str| page.matches("<a id=\"to-j").count();
    assert_eq!((links(&page), page.contains(&format!("id=\"to-{waiting}\""))), (51, true));
    assert!(page.contains("href=\"/jobs\">and 70 more</a>") && page.contains("href=\"/jobs?archived=true\""), "{page}");
    let metrics = get(host.at, "/metrics").await.body;
    assert!(metrics.contains("keima_coordinator_jobs{state=\"cancelled\"} 120"), "{metrics}");
    assert!(metrics.contains("keima_coordinator_jobs{state=\"queued\"} 1"), "{metrics}");
    let all = get(host.at, "/jobs").await;
    assert_eq!((all.code, links(&all.body)), (200, 100));
    let next = "/jobs?limit=100&amp;archived=false&amp;after=j22";
    assert!(all.body.contains(&format!("href=\"{next}\"")), "{}", all.body);
    let rest = get(host.at, &next.replace("&amp;", "&")).await.body;
    assert_eq!((links(&rest), rest.contains("older ones")), (21, false));
    let none = get(host.at, "/jobs?archived=true").await;
    assert!(none.body.contains("No such jobs") && none.header("content-security-policy").is_some());
    let named = get(host.at, "/jobs?name=%3Cscript%3E&limit=1").await;
    assert!(named.code == 200 && !named.body.contains("<script>"));
    assert_eq!(get(host.at, "/jobs?limit=x").await.code, 400);
    host.handle.close();
}

#[tokio::test(flavor = "multi_thread")]
async fn events_come_as_they_happen() {
    let host = Host::start(Door::open()).await;
    let (at, handle) = (host.at, host.handle.clone());
    let later = tokio::spawn(async move { stream_until(at, "", "queued: go 4x4").await });
    tokio::time::sleep(std::time::Duration::from_millis(300)).await;
    handle.submit(common::go("4x4")).await.unwrap();
    let came = later.await.unwrap();
    assert!(came.contains("text/event-stream") && came.contains("event: changed\ndata: {}"), "{came}");
    assert!(came.contains("id: 1\nevent: happened\ndata: {"), "{came}");
    // A browser that was away gets what it missed; one that knows a former life's numbers gets all.
    handle.submit(common::go("3x3")).await.unwrap();
    assert!(!stream_until(at, "Last-Event-ID: 1\r\n", "queued: go 3x3").await.contains("go 4x4"));
    assert!(stream_until(at, "Last-Event-ID: 99\r\n", "queued: go 3x3").await.contains("go 4x4"));
    host.handle.close();
}

/// Holds a text of metrics against the rules: one HELP and one TYPE for each name, before its samples; names and units.
fn check_metrics(text: &str, prefix: &str) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    let mut kind = "";
    assert!(text.ends_with("# EOF\n"), "{text}");
    for line in text.lines() {
        if let Some(rest) = line.strip_prefix("# HELP ") {
            let name = rest.split(' ').next().unwrap().to_owned();
            assert!(!names.contains(&name), "{name} twice");
            assert!(name.starts_with(prefix) && name.chars().all(|c| c.is_ascii_lowercase() || c == '_'), "{name}");
            names.push(name);
        } else if let Some(rest) = line.strip_prefix("# TYPE ") {
            let (name, of) = rest.split_once(' ').unwrap();
            assert_eq!(Some(name), names.last().map(String::as_str), "TYPE follows HELP");
            kind = of;
        } else if let Some(rest) = line.strip_prefix("# UNIT ") {
            let (name, unit) = rest.split_once(' ').unwrap();
            assert!(name.ends_with(unit) && ["bytes", "seconds", "ratio"].contains(&unit), "{line}");
        } else if line != "# EOF" {
            let (series, value) = line.rsplit_once(' ').unwrap();
            assert!(value.parse::<f64>().is_ok(), "{line}");
            let name = series.split('{').next().unwrap();
            let base = names.last().unwrap();
            let ending = name.strip_prefix(base.as_str()).unwrap_or_else(|| panic!("{line} stands below {base}"));
            let right = match kind {
                "counter" => ending == "_total",
                "histogram" => ["_bucket", "_sum", "_count"].contains(&ending),
                "info" => ending == "_info",
                _ => ending.is_empty(),
            };
            assert!(right, "{line} is a {kind}");
        }
    }
    names
}

#[tokio::test(flavor = "multi_thread")]
async fn metrics_keep_the_rules_and_count() {
    let host = Host::start(Door::open()).await;
    let (watch, worker_at) = host.worker("a").await;
    host.counted("5x5").await;
    let waiting = host.handle.submit(common::go("6x6")).await.unwrap();
    host.handle.pause(waiting).await.unwrap();
    tokio::time::sleep(std::time::Duration::from_millis(600)).await;
    let answer = get(host.at, "/metrics").await;
    assert!(answer.header("content-type").unwrap().starts_with("application/openmetrics-text; version=1.0.0"));
    let names = check_metrics(&answer.body, "keima_coordinator_");
    for name in
        ["states", "run_read_bytes", "check_failures", "lease_expiries", "task_thread_seconds", "data_free_bytes"]
    {
        assert!(names.contains(&format!("keima_coordinator_{name}")), "no {name} in {names:?}");
    }
    let value = |text: &str, series: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(series)?.strip_prefix(' ').map(str::to_owned));
        line.and_then(|value| value.parse::<f64>().ok()).unwrap_or_else(|| panic!("no {series} in {text}"))
    };
    let at = |series: &str| value(&answer.body, &format!("keima_coordinator_{series}"));
    assert!(at("states_total") > 0.0 && at("tasks_total") > 0.0 && same(at("ready"), 1.0));
    assert!(same(at("task_duration_seconds_count"), at("tasks_total")));
    assert!(same(at("task_duration_seconds_bucket{le=\"+Inf\"}"), at("tasks_total")));
    assert_eq!((at("jobs{state=\"done\"}"), at("workers{state=\"here\"}")), (1.0, 1.0));
    assert!(at(&format!("worker_disk_free_bytes{{worker=\"{}\"}}", watch.id())) > 0.0);
    let resident = at(&format!("worker_memory_used_bytes{{worker=\"{}\"}}", watch.id()));
    let told: serde_json::Value = serde_json::from_str(&get(host.at, "/api/v1/workers").await.body).unwrap();
    let told = told["workers"][0]["memory_used_bytes"].as_f64();
    let page = get(host.at, "/").await.body;
    let cell = format!("<td class=\"n\">{}<td class=\"n\">1 x ", show_bytes(told.unwrap_or(0.0) as u64));
    assert!(resident > 1e6 && told.is_some_and(|told| told > 1e6) && page.contains(&cell), "{told:?} {cell} {page}");
    let own = get(worker_at, "/metrics").await;
    let names = check_metrics(&own.body, "keima_worker_");
    assert!(names.contains(&"keima_worker_disk_free_bytes".to_owned()), "{names:?}");
    assert!(same(value(&own.body, "keima_worker_tasks_total"), at("tasks_total")));
    assert!(same(value(&own.body, "keima_worker_states_total"), at("states_total")));
    host.handle.close();
}

#[tokio::test(flavor = "multi_thread")]
async fn alive_is_not_ready() {
    let host = Host::start(Door::open()).await;
    let (watch, worker_at) = host.worker("a").await;
    while !watch.is_connected() {
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
    for at in [host.at, worker_at] {
        assert_eq!((get(at, "/healthz").await.code, get(at, "/readyz").await.code), (200, 200));
    }
    host.handle.close();
    let (alive, ready) = (get(host.at, "/healthz").await, get(host.at, "/readyz").await);
    assert_eq!((alive.code, ready.code), (200, 503));
    assert!(ready.body.contains("it is being stopped"), "{ready:?}");
}

/// A worker without a coordinator is alive all the same: starting it again would help nobody.
#[tokio::test(flavor = "multi_thread")]
async fn a_worker_is_ready_only_with_its_coordinator() {
    let dir = tempfile::tempdir().unwrap();
    let config = keima_cluster::WorkerConfig {
        scratch: dir.path().to_owned(),
        memory_bytes: 128 << 20,
        disk_bytes: 1 << 30,
        slots: 1,
    };
    let worker = keima_cluster::Worker::open(config, std::sync::Arc::new(keima_problems::Problems)).unwrap();
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let at = listener.local_addr().unwrap();
    let site = keima_http::Site { routes: keima_http::worker_routes(worker.watch(), "0"), door: Door::open() };
    tokio::spawn(keima_http::serve(listener, site, std::future::pending()));
    assert_eq!((get(at, "/healthz").await.code, get(at, "/readyz").await.code), (200, 503));
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_can_be_changed_and_other_names_lead_nowhere() {
    let host = Host::start(Door::open()).await;
    for method in ["POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE"] {
        let answer = ask(host.at, method, "/api/v1/jobs", "Content-Length: 0\r\n").await;
        assert_eq!((answer.code, answer.header("allow")), (405, Some("GET, HEAD")), "{method}");
    }
    let head = ask(host.at, "HEAD", "/", "").await;
    assert_eq!((head.code, head.body.as_str()), (200, ""));
    assert_eq!(ask(host.at, "GET", "/", "Host: example.org\r\n").await.code, 421);
    assert_eq!(ask(host.at, "GET", "/", "Host: localhost:1\r\n").await.code, 200);
    for path in
        ["/x", "/api", "/api/v1", "/api/v2/jobs", "/jobs/", "/api/v1/jobs/j1/x", "/jobs/%2e%2e", "/jobs/<script>"]
    {
        let answer = get(host.at, path).await;
        assert!([400, 404].contains(&answer.code) && !answer.body.contains("<script"), "{path}: {answer:?}");
        assert_eq!(answer.header("x-content-type-options"), Some("nosniff").filter(|_| answer.code == 404), "{path}");
    }
    host.handle.close();
}

/// Whether two counters that are whole numbers are one number.
fn same(a: f64, b: f64) -> bool {
    (a - b).abs() < 0.5
}
