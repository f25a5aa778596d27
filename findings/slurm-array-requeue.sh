#!/usr/bin/env bash
# Tool: Slurm of Debian's packages, tried with 22.05.8 (bookworm); needs root, python3, and `apt-get` where Slurm is missing.
# Guess:   `scontrol requeue "$SLURM_JOB_ID"` in an element of a job array requeues this element.
# Happens: so it is in all elements but the last to start. That one has the number of the whole array in SLURM_JOB_ID, and there
#          the same line requeues all elements, ending those that run.
# Matters: an element that requeues itself before its time limit takes down all others, at times that nobody expects, and only
#          the last one does. "${SLURM_ARRAY_JOB_ID}_${SLURM_ARRAY_TASK_ID}" names one element in each of them.
set -euo pipefail
repository=$(cd "$(dirname "$0")/.." && pwd)
work=$(mktemp -d /tmp/slurm-finding.XXXXXX)
trap 'rm -rf "$work"' EXIT
for program in slurmctld slurmd sbatch munged; do
  if command -v "$program" > /dev/null; then continue; fi
  {
    apt-get update -qq
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends -o DPkg::Lock::Timeout=60 slurm-wlm munge
  } > "$work/apt.log" 2>&1 || { cat "$work/apt.log" >&2; exit 1; }
done
slurmctld -V
# Starts and stops a Slurm with the nodes n1, n2 and n3 on this machine, below $work. No part of keima runs.
# shellcheck source=deploy/slurm/private-slurm.sh
source "$repository/deploy/slurm/private-slurm.sh"
trap 'set +e; stop_slurm; rm -rf "$work"' EXIT
start_slurm
cd "$work"

cat > job.sh <<'JOB'
#!/usr/bin/env bash
#SBATCH --requeue
# Element $1 requeues itself under the name $2, once the file "go" is there.
echo "$SLURM_JOB_ID" > "id-$SLURM_ARRAY_TASK_ID"
if [ "$SLURM_ARRAY_TASK_ID" = "$1" ]; then
  until [ -e go ]; do sleep 0.2; done
  if [ "$2" = by-job ]; then scontrol requeue "$SLURM_JOB_ID"; fi
  if [ "$2" = by-element ]; then scontrol requeue "${SLURM_ARRAY_JOB_ID}_${SLURM_ARRAY_TASK_ID}"; fi
fi
sleep 60
JOB

states() { squeue -h -r -j "$array" -o '%K %T' | sort -n; }
all_run() { [ "$(states | grep -c RUNNING)" = 3 ] && [ -e id-1 ] && [ -e id-2 ] && [ -e id-3 ]; }
none_is_left() { [ -z "$(squeue -h)" ]; }
no_longer_runs() { ! states | grep -q "^$1 RUNNING"; }

check() { # element name expected-elements
  local requeued ids
  rm -f go id-*
  array=$(sbatch --parsable --array=1-3 --mem=100 --output=/dev/null job.sh "$1" "$2")
  until_true 30 "three elements run" all_run
  ids=$(cat id-1 id-2 id-3 | paste -sd ' ')
  touch go
  until_true 15 "element $1 is requeued" no_longer_runs "$1"
  sleep 1
  requeued=$(states | awk '$2 != "RUNNING" {print $1}' | paste -sd ' ')
  scancel "$array"
  echo "array $array, SLURM_JOB_ID in elements 1, 2, 3: $ids; element $1 requeues itself $2: requeued $requeued"
  if [ "$requeued" != "$3" ]; then echo "changed: expected $3" >&2; exit 1; fi
  until_true 20 "the array is gone" none_is_left
}

check 1 by-job     "1"
check 3 by-job     "1 2 3"
check 3 by-element "3"
