#!/usr/bin/env bash
# Tool: promtool of Debian's package prometheus, tried with 2.42.0 (bookworm); taken with apt-get where promtool is missing.
# Guess:   `promtool test rules` fails if a test names an alert that no rule file has, or if no rule file is there.
# Happens: a test that expects no alert of that name passes, with exit code 0: an alert that does not exist never fires. And
#          rule_files that match no file are a warning; the tests then run without rules, and such a test passes as well.
# Matters: "this alert keeps quiet while all is well" is half of what one tests about alerts of a long count. After a rename of
#          the alert or of the file these tests are green for ever. Only a test that expects it to fire notices, so have one
#          for each name.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
if ! command -v promtool > /dev/null; then
  # Unpacked, not installed: an installed package would start a server.
  apt-get update -qq > /dev/null || echo "apt-get update failed; the package lists stay as they are" >&2
  apt-get download -qq -o APT::Sandbox::User=root prometheus > /dev/null
  dpkg-deb -x prometheus_*.deb package
  PATH=$work/package/usr/bin:$PATH
fi
promtool --version 2>&1 | sed -n 1p
cat > rules.yml <<'YAML'
groups:
  - name: workers
    rules:
      - alert: WorkerLost
        expr: workers_here < 3
YAML

# Prints what promtool says of one test, and compares its exit code.
check() { # expected-code rule-file alert workers alerts what
  local code=0
  cat > test.yml <<YAML
rule_files: [$2]
evaluation_interval: 1m
tests:
  - interval: 1m
    input_series: [{series: workers_here, values: "$4x20"}]
    alert_rule_test: [{eval_time: 10m, alertname: $3, exp_alerts: $5}]
YAML
  promtool test rules test.yml > out 2>&1 || code=$?
  echo "exit code $code: $6"
  sed -n '/WARNING\|SUCCESS\|FAILED/s/^ */    /p' out
  if [ "$code" -ne "$1" ]; then echo "changed: expected exit code $1" >&2; cat out >&2; exit 1; fi
}

check 0 rules.yml   WorkerLost  3 '[]'   "the alert keeps quiet, as expected"
check 0 rules.yml   WorkerLost  1 '[{}]' "the alert fires, as expected"
check 1 rules.yml   WorkerLost  1 '[]'   "the alert fires where it should be quiet: the test can fail"
check 0 rules.yml   WorkerGone  1 '[]'   "no alert has this name, and it is expected to be quiet"
check 1 rules.yml   WorkerGone  1 '[{}]' "no alert has this name, and it is expected to fire"
check 0 'other*.yml' WorkerLost 1 '[]'   "no rule file is there, and the alert is expected to be quiet"
