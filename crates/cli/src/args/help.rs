//! What `--help` prints below the options: examples, remarks and the exit codes. Lines have at most 100 characters.

pub(super) const EXIT_CODES: &str = "\
Exit codes:
  0  success; also a coordinator or worker that was asked to stop
  1  another error; the message says what to do
  2  invalid request: an unknown option, size or job, too little memory or disk for any plan, or
     (keima verify) a file without a result
  3  a check failed: the number is withheld and the evidence is on stderr; or a run file is damaged;
     or a result does not verify
  4  not finished: interrupted, paused, out of disk, or (keima result) still running. Run the same
     command again to continue, or keima watch after submit --wait. A count in memory continues
     after its last finished sweep.
  5  the job was cancelled
  6  the coordinator refuses this worker, for a reason that stays: another version, no valid token,
     another coordinator's runs, or a living worker of the same name";

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
  keima count go 1..8x1..8 --format csv          one line a size; the same command continues
  keima count go 1..9 --format bfile             square boards
  keima count go 9x9 --double-check              counted again, in another way
  keima count go 1..8x1..8 --format latex        a tabular; --format gp is for PARI/GP
  keima count go 13x13 --progress json           one JSON object a line on stderr

A count runs in memory if its problem has a block form and the memory suffices. These options ask
for runs on disk instead: --data, --scratch, --disk, --window, --residues-per-sweep and
--executor stream.

A number that cannot be printed, since standard output is full, closed or without a reader, is
kept: the same command prints it.",
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

pub(super) fn sample() -> String {
    with_exit_codes(
        "\
Examples:
  keima sample go 19x19
  keima sample go 99x99 --runs 40 --per-stratum 32 --seed 7
  keima sample knight 5x5 --open --runs 100000
  keima sample go 30x30 --json | jq -r .mean

Each run is an unbiased estimate; printed are their mean and its standard error. The error is itself
an estimate: with few runs, or an error above a few percent, do not trust it. Go takes boards up to
1000x10000 here. Other problems take the sizes that they can count.",
    )
}

pub(super) fn games() -> String {
    with_exit_codes(
        "\
Examples:
  keima games 1x4                               2098407841 games, by number of moves
  keima games 2x2                               386356909593 games; one to two minutes of a core
  keima games 2x3 --runs 100                    an estimate
  keima games 2x2 --graph go.dot                the game graph, for Graphviz
  keima games 1x7 --hamiltonian --out seven.json; keima verify seven.json

A game begins with the empty board and visits no position twice. Colours need not alternate, since
players may pass. Games are counted on boards of at most 64 positions: 1x1 to 1x4 and 2x2.",
    )
}

pub(super) fn coordinator() -> String {
    with_exit_codes(
        "\
Example:
  keima coordinator --listen 0.0.0.0:7700 --data /var/lib/keima --tls-init

Beyond this machine a coordinator speaks TLS and asks for tokens, which --tls-init makes; or it is
started with --insecure. With --http 127.0.0.1:7780 a browser shows the jobs. A coordinator prints the commands that start a worker and submit a job. It may be killed at any
time. Started again with the same data folder, it continues the same jobs.",
    )
}

pub(super) fn worker() -> String {
    with_exit_codes(
        "\
Example:
  keima worker --coordinator https://head:7700 --fingerprint sha256:5f0c... \\
               --token-file worker.token --listen 0.0.0.0:7702 --scratch /nvme/keima \\
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
  keima submit go 12x12 --wait  waits and prints the number
  keima submit go 15x15 --name table --priority 5 --max-workers 4 --max-disk 200GiB",
    )
}

pub(super) fn problems() -> String {
    with_exit_codes("Examples:\n  keima problems\n  keima problems go\n  keima problems --json")
}

pub(super) fn config() -> String {
    with_exit_codes(
        "\
The file is $KEIMA_CONFIG, or keima/config.toml below $XDG_CONFIG_HOME or ~/.config. A key is an option
without its hyphens; a table [VERB] is for one verb. The environment stands above the file, and what is
typed above both.

Examples:
  keima config show
  keima config show worker --json",
    )
}

pub(super) fn selftest() -> String {
    with_exit_codes("Examples:\n  keima selftest\n  keima selftest --scratch /nvme/keima --json")
}

pub(super) fn doctor() -> String {
    with_exit_codes("Examples:\n  keima doctor /var/lib/keima\n  keima doctor /nvme/keima --json")
}

pub(super) fn completions() -> String {
    with_exit_codes(
        "\
Examples:
  keima completions bash > ~/.local/share/bash-completion/completions/keima
  keima completions zsh > ~/.zfunc/_keima
  keima completions fish > ~/.config/fish/completions/keima.fish",
    )
}

pub(super) fn man() -> String {
    with_exit_codes("Example:\n  keima man ~/.local/share/man/man1")
}

pub(super) fn workers() -> String {
    with_exit_codes(
        "\
Examples:
  keima workers
  keima workers --json | jq -r '.workers[] | [.worker, .state, .running] | @tsv'",
    )
}

pub(super) fn jobs() -> String {
    with_exit_codes(
        "\
Examples:
  keima jobs
  keima jobs --state queued,running --owner ada
  keima jobs --since 7d --limit 20
  keima jobs --json | jq -r '.jobs[] | [.job, .size, .state] | @tsv'",
    )
}

pub(super) fn status() -> String {
    with_exit_codes("Examples:\n  keima status j1\n  keima status j1 --json")
}

pub(super) fn top() -> String {
    with_exit_codes(
        "\
Examples:
  keima top
  keima top --once

The arrows choose a job, q ends.",
    )
}

pub(super) fn watch() -> String {
    with_exit_codes(
        "\
Examples:
  keima watch j1
  keima watch j1 --format json
  keima watch j1 --progress json

An interrupt stops the watch. The job keeps running.",
    )
}

pub(super) fn pause() -> String {
    with_exit_codes("Example:\n  keima pause j1")
}

pub(super) fn resume() -> String {
    with_exit_codes("Example:\n  keima resume j1")
}

pub(super) fn change() -> String {
    with_exit_codes(
        "\
Examples:
  keima change j1 --priority 5
  keima change j1 --max-disk 200GiB     a job that paused at its cap goes on
  keima change j1 --max-workers 0       no cap any more",
    )
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

pub(super) fn verify() -> String {
    with_exit_codes(
        "\
Examples:
  keima count go 9x9 --json > result.json; keima verify result.json
  keima count go 7x7 --json | keima verify -
  keima verify first.json second.json       also that results of one number agree
  keima verify result.json --json | jq .ok
  keima verify cycle.json                   of keima games --hamiltonian; plays every move

A certificate holds the evidence of every stage. This command does not count, and shares no code with
those that do. Exit code 3: a check failed. Exit code 2: a file is no result.",
    )
}

pub(super) fn analyse() -> String {
    with_exit_codes(
        "\
Examples:
  keima analyse go 3                            recurrence of order 19, a and lambda to 50 digits
  keima analyse go 3 --json | jq -r .order
  keima analyse go 7 --term 1000000 --digits    number of digits, first and last digits
  keima analyse go 9 --term 1000000 --modulo 1000000007
  keima analyse go 2 --format gp > go2.gp       a program that prints the same numbers
  keima count go 3x60 --series --format bfile | keima analyse --from -
  keima analyse go 5 --from b.txt               compares b.txt with a count of its own
  keima analyse hard-squares 8
  keima analyse go 2 --format latex             formulas for a paper
  keima analyse go --constants --svg error.svg  A, B and L of the formula, with bars, and a plot
  keima analyse go --constants --from counts.csv  the same with more counts, rows m,n,count

The order is found modulo two primes. The coefficients are lifted to integers up to order 4000, and
verified on terms that did not make them.",
    )
}

pub(super) fn plot() -> String {
    with_exit_codes(
        "\
Examples:
  keima count go 9x9 --json > result.json; keima plot result.json --out states.svg
  keima count go 7x12 --series --json | keima plot - --what formula > formula.svg
  keima count go 4..9 --json | keima plot - --what formula --out squares.svg
  keima plot fences.json --table by_fences --out fences.svg

An SVG needs nothing beside it and is readable on light and dark paper. Several results are several
lines of one picture.",
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
