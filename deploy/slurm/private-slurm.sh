# shellcheck shell=bash
# A Slurm of its own for `try`: munged, slurmctld and the nodes n1, n2, n3 on this machine, with keys, ports and folders below
# $work. Needs root. Times are short: a silent node is down after five seconds, and a requeued job need not wait two minutes for
# its old credentials to end.
export SLURM_CONF=${work:?}/slurm.conf
daemons=()
declare -A slurmd=()

# Waits until a command succeeds.
until_true() { # seconds what command...
  local end=$((SECONDS + $1)) what=$2; shift 2
  until "$@" > /dev/null 2>&1; do
    if [ "$SECONDS" -ge "$end" ]; then echo "this did not happen in time: $what" >&2; return 1; fi
    sleep 0.3
  done
}

# Processes of our jobs, of one node or of all: they have our slurm.conf in their environment. With their slurmstepd.
processes_of() { # node or nothing
  local environment pid parent
  for environment in /proc/[0-9]*/environ; do
    pid=${environment#/proc/}; pid=${pid%/environ}
    { tr '\0' '\n' < "$environment" | grep -qx "SLURMD_NODENAME=${1:-n[1-3]}"; } 2>/dev/null || continue
    { tr '\0' '\n' < "$environment" | grep -qxF "SLURM_CONF=$SLURM_CONF"; } 2>/dev/null || continue
    parent=$(awk '/^PPid/ {print $2}' "/proc/$pid/status" 2>/dev/null) || continue
    if [ "$(cat "/proc/$parent/comm" 2>/dev/null)" = slurmstepd ]; then echo "$parent"; fi
    echo "$pid"
  done | sort -u
}

free_ports() { # number
  python3 -c 'import socket, sys
held = [socket.socket() for _ in range(int(sys.argv[1]))]
for one in held: one.bind(("127.0.0.1", 0)); print(one.getsockname()[1])' "$1"
}

write_configuration() {
  local host ports n
  host=$(hostname -s)
  mapfile -t ports < <(free_ports 4)
  cat <<CONF
ClusterName=keima-try
SlurmctldHost=$host(127.0.0.1)
SlurmctldPort=${ports[0]}
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket=$work/munge/socket,cred_expire=5
CredType=cred/munge
StateSaveLocation=$work/state
SlurmdSpoolDir=$work/spool/%n
SlurmctldPidFile=$work/slurmctld.pid
SlurmdPidFile=$work/slurmd-%n.pid
SlurmctldLogFile=$work/slurmctld.log
SlurmdLogFile=$work/slurmd-%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
MpiDefault=none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SelectType=select/cons_tres
# Least loaded node first: each job gets a node of its own while there is one.
SelectTypeParameters=CR_Core,CR_LLN
SchedulerParameters=sched_interval=2,bf_interval=2
SlurmdParameters=config_overrides
SlurmdTimeout=5
ReturnToService=2
KillWait=5
InactiveLimit=0
CONF
  for n in 1 2 3; do
    echo "NodeName=n$n NodeHostname=$host NodeAddr=127.0.0.1 Port=${ports[$n]} CPUs=2 RealMemory=2000 State=UNKNOWN"
  done
  echo "PartitionName=try Nodes=n[1-3] Default=YES MaxTime=INFINITE State=UP"
}

node_is() { # name pattern
  sinfo -h -N -n "$1" -o %T | grep -q "$2"
}

start_node() { # name
  slurmd -D -N "$1" 2> "$work/slurmd-$1.err" &
  slurmd[$1]=$!
  daemons+=($!)
  # The shell need not tell that it was killed.
  disown
}

# Ends a node as a power cut does. Sets lost to the processes of jobs that ended with it.
lose_node() { # name
  kill -9 "${slurmd[$1]}"
  mapfile -t lost < <(processes_of "$1")
  kill -9 "${lost[@]}" 2>/dev/null || true
}

start_slurm() {
  local n
  mkdir -p "$work"/{munge,state,spool}
  chmod 755 "$work"
  head -c 1024 /dev/urandom > "$work/munge/key"
  chmod 400 "$work/munge/key"
  chmod 711 "$work/munge"
  write_configuration > "$SLURM_CONF"
  munged --foreground --force --key-file "$work/munge/key" --socket "$work/munge/socket" --pid-file "$work/munge/pid" \
    --log-file "$work/munge/log" --seed-file "$work/munge/seed" 2> "$work/munge/err" &
  daemons+=($!)
  until_true 10 "munged starts" test -S "$work/munge/socket"
  slurmctld -D 2> "$work/slurmctld.err" &
  daemons+=($!)
  for n in n1 n2 n3; do start_node "$n"; done
  for n in n1 n2 n3; do until_true 20 "node $n is idle" node_is "$n" '^idle$'; done
}

stop_slurm() {
  local pid
  scancel --user root 2>/dev/null
  for pid in "${daemons[@]}"; do kill "$pid" 2>/dev/null; done
  sleep 0.5
  processes_of | xargs -r kill -9 2>/dev/null
  for pid in "${daemons[@]}"; do kill -9 "$pid" 2>/dev/null; done
  wait 2>/dev/null
}
