//! Texts: kept numbers, results, credentials, the configuration file, command lines, requests of browsers, and short ones.

use keima_games::cycle;

use crate::Seed;

pub(super) fn all() -> Vec<Seed> {
    [kept(), results(), credentials(), WORDS.iter().flat_map(|(probe, texts)| of(probe, texts)).collect()].concat()
}

fn of(probe: &'static str, texts: &[&str]) -> Vec<Seed> {
    texts.iter().map(|text| (probe, text.as_bytes().to_vec())).collect()
}

/// Probes with their texts.
const WORDS: [(&str, &[&str]); 5] = [
    (
        "requests",
        &[
            "go 3x4",
            "go 19x19",
            "knight 6x6 closed",
            "knight 5x5 from=a1 to=e5",
            "grid-paths 7x7",
            "grid-cycles 6x6 hamiltonian",
            "quoridor 3 all",
            "quoridor-fences 4x4 max-fences=3",
            "square-free 5",
            "hard-squares 8x8",
        ],
    ),
    (
        "typed",
        &[
            "2GiB",
            "1.5 MB",
            "512",
            "1..8x1..8",
            "1..9",
            "j17",
            "https://head:7700",
            "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
            "go-13x13-9f86d081884c7d65-j1/runs/0a1b.run",
            "j3/s0/g12/t5/a0/r1",
            "00000000000000aa",
            "worker.before_report=abort@3;coordinator.after_commit=sleep:200",
            "MemAvailable:  23968704 kB\n",
            "Max address space  1073741824  unlimited  bytes\nMax open files  1024  4096  files\n",
            "0::/a/b\n31 27 0:38 /a /sys/fs\\040x rw,relatime shared:1 - cgroup2 cgroup2 rw\n",
            "3:memory:/a\n35 31 0:32 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n",
        ],
    ),
    (
        "config",
        &[
            "coordinator = \"https://head:7700\"\n[worker]\nscratch = \"/nvme/keima\"\nmemory = \"48GiB\"\n",
            "threads = 3\n[count]\nseries = true\nwindow = 4\n",
        ],
    ),
    (
        "command_line",
        &[
            "count go 3x3 --series --json",
            "count knight 6x6 -o closed --memory 2GiB --threads 2",
            "submit go 13x13 --name long --max-workers 3 --priority -5",
            "worker --scratch /nvme --coordinator http://head:7700 --disk 1TiB",
            "jobs --state running --since 7d",
        ],
    ),
    (
        "web",
        &[
            "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
            "GET /jobs/j1 HTTP/1.1\r\nHost: 127.0.0.1:7780\r\nAuthorization: Basic bWU6YQ==\r\n\r\n",
            "GET /api/v1/events HTTP/1.1\r\nHost: [::1]\r\nAccept: text/event-stream\r\nLast-Event-ID: 1\r\n\r\n",
            "GET /jobs?state=done&archived=true&limit=3 HTTP/1.1\r\nHost: localhost\r\n\r\n",
            "GET /api/v1/jobs/j1/values?from=3 HTTP/1.1\r\nHost: localhost\r\n\r\n",
            "GET /metrics HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer abc\r\n\r\nGET /healthz HTTP/1.1\r\n\r\n",
        ],
    ),
];

fn kept() -> Vec<Seed> {
    let line = "101 5 100";
    let sweeps = format!("keima sweeps 1 probe\n{line} {}\n", crc32c::crc32c(line.as_bytes()));
    let kept = [
        sweeps.into_bytes(),
        keima_cli::probe::example_of_kept_result("2x2"),
        keima_cli::probe::example_of_kept_terms().into_bytes(),
    ];
    kept.map(|bytes| ("kept_numbers", bytes)).into()
}

fn results() -> Vec<Seed> {
    let cycle = cycle::find(3, 1, 100).and_then(|cycle| cycle::to_text(&cycle)).expect("a cycle of 1x3");
    let older = "{\"problem\":\"go\",\"size\":\"2x2\",\"count\":\"57\",\"residues\":[{\"modulus\":\"101\",\"residue\":\"57\"},\
                 {\"modulus\":\"103\",\"residue\":\"57\"}],\"checks\":[{\"name\":\"bound\",\"ok\":true,\"detail\":\"x\"}]}";
    let bfile = "# A094777\n1 1\n2 57\n3 12675\n4 24318165 # more\n";
    vec![
        ("certificates", cycle.into_bytes()),
        ("certificates", older.as_bytes().to_vec()),
        ("series", bfile.as_bytes().to_vec()),
    ]
}

fn credentials() -> Vec<Seed> {
    let folder = tempfile::tempdir().expect("a folder");
    keima_cluster::make_tls_folder(folder.path(), &["localhost".to_owned()]).expect("certificates");
    let tls = keima_cluster::tls_folder(folder.path());
    let read = |names: &[&str]| -> Vec<u8> {
        names.iter().flat_map(|name| std::fs::read(tls.join(name)).expect("a file")).collect()
    };
    let files: [&[&str]; 3] = [&["client.token"], &["ca.pem"], &["coordinator.pem", "coordinator.key"]];
    files.into_iter().map(|names| ("credentials", read(names))).collect()
}
