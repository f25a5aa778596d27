# shellcheck shell=bash disable=SC2034
# What the jobs of coordinator and workers share: settings, the published address, signals. Each sbatch script sources it.
# Change the settings here, or set them in the environment of `sbatch`, which hands it to the job.

# The program; the same file on all nodes.
: "${KEIMA_SLURM_PROGRAM:=keima}"
# A folder that all nodes see. It keeps the jobs, certificate and tokens, the address, and the result. Only you may read it.
: "${KEIMA_SLURM_STATE:=$HOME/keima-slurm}"
# Where workers keep their runs: fast and large. On a disk of the node what a lost node had is computed again, or read from its
# second copy. In a shared folder the worker finds it again on another node.
: "${KEIMA_SLURM_SCRATCH:=${TMPDIR:-/tmp}}"
# Size limit of one worker's runs.
: "${KEIMA_SLURM_DISK:=50GiB}"
# Where coordinator and workers listen; port 0 takes any free one. On a network of IPv6: [::]:0
: "${KEIMA_SLURM_LISTEN:=0.0.0.0:0}"
# The name under which other nodes reach the coordinator's node, if it is not the host's name: for example "$(hostname)-ib0".
: "${KEIMA_SLURM_HOST:=}"
# Seconds between two looks at shared files, and the most that a process may take to leave before it is killed.
: "${KEIMA_SLURM_POLL_SECONDS:=5}"
: "${KEIMA_SLURM_LEAVE_SECONDS:=60}"
# More options of the coordinator, divided by spaces.
: "${KEIMA_SLURM_COORDINATOR_OPTIONS:=}"

# Options of keima that the user's shell has set are meant for other clusters.
unset KEIMA_COORDINATOR KEIMA_FINGERPRINT KEIMA_TLS_CA KEIMA_TOKEN_FILE KEIMA_INSECURE KEIMA_LISTEN KEIMA_WORKER_LISTEN \
  KEIMA_ADVERTISE KEIMA_SCRATCH KEIMA_DATA KEIMA_TOKENS KEIMA_TLS_INIT KEIMA_TLS_CERT KEIMA_TLS_KEY

address_file=$KEIMA_SLURM_STATE/address
job_file=$KEIMA_SLURM_STATE/job
result_file=$KEIMA_SLURM_STATE/result.json
tls_folder=$KEIMA_SLURM_STATE/coordinator/tls

say() { echo "$(date '+%F %T') ${SLURMD_NODENAME:-$(hostname)}: $*" >&2; }

# Writes standard input to a file. Others see the old content or all of the new.
publish() { # file
  local aside="$1.${SLURM_JOB_ID:-0}.$$"
  cat > "$aside"
  sync "$aside"
  mv -f "$aside" "$1"
}

# Sets url and fingerprint from the published address; fails while there is none.
read_address() {
  { read -r url && read -r fingerprint; } 2>/dev/null < "$address_file"
}

# Signals. Slurm sends USR1 before the time limit (--signal=B:USR1@120): leave, then go back into the queue. TERM comes from
# scancel or preemption: leave. One TERM to keima is enough: at a second one it would leave without flushing.
child=""
leaving=""
leave() { # why
  if [ -n "$leaving" ]; then return; fi
  leaving=$1
  say "leaving: $1"
  if [ -n "$child" ]; then ask_to_leave; fi
}
ask_to_leave() {
  kill -TERM "$child" 2>/dev/null || return 0
  local pid=$child
  (
    for _ in $(seq "$KEIMA_SLURM_LEAVE_SECONDS"); do
      sleep 1
      kill -0 "$pid" 2>/dev/null || exit 0
    done
    kill -KILL "$pid" 2>/dev/null
  ) &
}
trap 'leave "the time limit is near"' USR1
trap 'leave "asked to end"' TERM INT

is_alive() { kill -0 "$1" 2>/dev/null; }

# Waits until the child ends or the time is over. A signal ends the wait, too.
wait_a_moment() { # seconds
  sleep "$1" &
  local tick=$!
  if [ -n "$child" ]; then wait -n "$child" "$tick" || true; else wait "$tick" || true; fi
  kill "$tick" 2>/dev/null || true
}

# Waits for the end of the child, whatever signals come. Sets code.
reap() {
  code=0
  while is_alive "$child"; do wait "$child" 2>/dev/null || true; done
  wait "$child" 2>/dev/null || code=$?
  child=""
}

# The end of a job that was asked to leave. Before the time limit it goes back into the queue, and goes on when it starts again.
end_of_job() {
  if [ "$leaving" = "the time limit is near" ]; then
    say "back into the queue"
    # The last element of an array bears the array's own number, and by that all elements would be requeued.
    local job=$SLURM_JOB_ID
    if [ -n "${SLURM_ARRAY_JOB_ID:-}" ]; then job=${SLURM_ARRAY_JOB_ID}_$SLURM_ARRAY_TASK_ID; fi
    scontrol requeue "$job" ||
      say "this job cannot be requeued here: submit it again, or chain jobs (see README.md); it goes on where it is now"
  fi
  exit 0
}
