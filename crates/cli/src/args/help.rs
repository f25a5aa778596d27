//! What `--help` prints below the options: examples, remarks and the exit codes. Lines have at most 100 characters.

pub(super) const EXIT_CODES: &str = "\
Exit codes:
  0  success; also a coordinator or worker that was asked to stop
  1  another error; the message says what to do
  2  invalid request: an unknown option or size, a job that does not exist, or too little memory or
     disk for any plan
  3  a check failed: the number is withheld and the evidence is on stderr; or a run file is damaged
  4  not finished: interrupted, paused, out of disk, or (keima result) still running. Run the same
     command again to continue, or keima watch after submit --wait. A count in memory continues
     after its last finished sweep.
  5  the job was cancelled";

/// A verb's help text, followed by the exit codes.
fn with_exit_codes(text: &str) -> String {
    format!("{text}\n\n{EXIT_CODES}")
}

pub(super) fn count() -> String {
    with_exit_codes(
        "\
Examples:
  keima count go 9x9                             prints 103919148791293834318983090438798793469
  keima count go 11x11 --series                  L(11,1) to L(11,11)
  keima count go 12x12 --memory 192MiB           out of core; after a kill the same command resumes
  keima count go 7x7 --json | jq -r .count
  keima count go 5x9 --series --format bfile     lines `n L(5,n)`
  keima count quoridor-fences 8x8 --format csv   a header line, then one row per number
  keima count quoridor 4 --all --table variants  one of several tables
  keima count square-free 3 --list               the boards themselves

A count runs in memory if its problem has a block form and the memory suffices. These options ask
for runs on disk instead: --data, --scratch, --disk, --window, --residues-per-sweep and
--executor stream.",
    )
}

pub(super) fn estimate() -> String {
    with_exit_codes(
        "\
Examples:
  keima estimate go 13x13                             on this machine, as `keima count` would run it
  keima estimate go 13x13 --memory 2GiB --disk 50GiB  with runs on disk
  keima estimate go 16x16 --workers 40 --threads 16 --memory 64GiB --disk-bandwidth 2GiB
  keima estimate go 12x12 --json | jq .wall_seconds

State counts come from the problem. They are exact, upper bounds, or unknown.
Speeds are measured on smaller boards of the same problem, which takes 5 to 20 seconds.
Other programs that run meanwhile make the forecast slower.",
    )
}

pub(super) fn coordinator() -> String {
    with_exit_codes(
        "\
Example:
  keima coordinator --listen 0.0.0.0:7700 --data /var/lib/keima

A coordinator prints the commands that start a worker and submit a job. It may be killed at any
time. Started again with the same data folder, it continues the same jobs.",
    )
}

pub(super) fn worker() -> String {
    with_exit_codes(
        "\
Example:
  keima worker --coordinator http://head:7700 --listen 0.0.0.0:7702 --scratch /nvme/keima \\
               --memory 48GiB --disk 800GiB

Workers may come and go at any time. A worker that returns with its scratch folder brings its runs
back.",
    )
}

pub(super) fn submit() -> String {
    with_exit_codes(
        "\
Examples:
  keima submit go 13x13         prints the job's name, such as j1
  keima submit go 12x12 --wait  waits and prints the number",
    )
}

pub(super) fn problems() -> String {
    with_exit_codes("Examples:\n  keima problems\n  keima problems go\n  keima problems --json")
}

pub(super) fn jobs() -> String {
    with_exit_codes(
        "\
Examples:
  keima jobs
  keima jobs --json | jq -r '.jobs[] | [.job, .size, .state] | @tsv'",
    )
}

pub(super) fn status() -> String {
    with_exit_codes("Examples:\n  keima status j1\n  keima status j1 --json")
}

pub(super) fn watch() -> String {
    with_exit_codes(
        "\
Examples:
  keima watch j1
  keima watch j1 --format json

An interrupt stops the watch. The job keeps running.",
    )
}

pub(super) fn pause() -> String {
    with_exit_codes("Example:\n  keima pause j1")
}

pub(super) fn resume() -> String {
    with_exit_codes("Example:\n  keima resume j1")
}

pub(super) fn cancel() -> String {
    with_exit_codes("Example:\n  keima cancel j1")
}

pub(super) fn result() -> String {
    with_exit_codes(
        "\
Examples:
  keima result j1
  keima result j1 --series
  keima result j1 --json
  keima result j1 --format csv",
    )
}

pub(super) fn inspect() -> String {
    with_exit_codes(
        "\
Examples:
  keima inspect /nvme/keima/j1/s0/g12/t5/a0/r0.run
  keima inspect r0.run --json | jq -r .records
  keima inspect r0.run --records | head  the header line, then one line per state

A run file describes itself. This command needs no coordinator and no job.",
    )
}
