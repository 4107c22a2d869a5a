# Every job script reads this file first. It sets
#
#   JOB, NAME                the job's number and name
#   NODES, RANKS             how many nodes and ranks there are; RANKS_PER_NODE of them on each node
#   THREADS                  computing threads of each rank
#   HEAD                     the first node, where this script runs and the ranks meet
#   ATTEMPT                  1; 2 or more after the job has gone back into the queue
#   LOG                      a run log's name without its ending: run_4, and run_4_attempt2 for the second attempt
#   RUN                      the job's folder, jobs/NAME-JOB in the folder you submitted from: output.txt, run logs, results, checkpoints
#
# all taken from the allocation, and sends all output from here on to RUN/output.txt. Five functions follow.

source "$COURSE/job_scripts/site.sh"

if [ -n "${SLURM_JOB_ID:-}" ]; then
    JOB=$SLURM_JOB_ID
    NAME=$SLURM_JOB_NAME
    NODES=$SLURM_JOB_NUM_NODES
    RANKS=${SLURM_NTASKS:-$NODES}
    CORES_PER_RANK=${SLURM_CPUS_PER_TASK:-1}
    ATTEMPT=$((${SLURM_RESTART_COUNT:-0} + 1))
    cd "$SLURM_SUBMIT_DIR"
    export SRUN_CPUS_PER_TASK=$CORES_PER_RANK  # since version 22.05 srun no longer takes --cpus-per-task from sbatch by itself
    export SLURM_KILL_BAD_EXIT=1               # one rank ends with an error: srun ends all of them
elif [ -n "${PBS_JOBID:-}" ]; then
    JOB=${PBS_JOBID%%.*}
    NAME=$PBS_JOBNAME
    NODES=$(sort -u "$PBS_NODEFILE" | wc -l)
    RANKS=$(wc -l < "$PBS_NODEFILE")           # with mpiprocs=N in the request, each node has N lines
    CORES_PER_RANK=${OMP_NUM_THREADS:-1}       # ompthreads=N in the request
    cd "$PBS_O_WORKDIR"                        # a PBS job starts in the home folder
    ATTEMPT=$(($(cat "jobs/$NAME-$JOB/attempt" 2> /dev/null || echo 0) + 1))  # PBS does not tell: we count
else
    echo "This script belongs into a job: submit it with sbatch or qsub, or let \`labkit submit\` do it." >&2
    exit 2
fi
RANKS_PER_NODE=$((RANKS / NODES))
THREADS=${THREADS:-$CORES_PER_RANK}
HEAD=$(hostname)
LOG=run_$RANKS$([ "$ATTEMPT" = 1 ] || echo "_attempt$ATTEMPT")
export ATTEMPT OMP_NUM_THREADS=$THREADS TF_CPP_MIN_LOG_LEVEL=2 PYTHONUNBUFFERED=1
PROGRAMS=$COURSE/job_scripts/programs

RUN=$PWD/jobs/$NAME-$JOB
mkdir -p "$RUN"
rm -f "$RUN/stop" "$RUN/exit_status"
export COURSE_RUN=$RUN
echo "$ATTEMPT" > "$RUN/attempt"
echo "output folder: $RUN"
exec >> "$RUN/output.txt" 2>&1
trap 'echo $? > "$RUN/exit_status"' EXIT

# USR1: the job's time is nearly up. TERM: the scheduler ends the job. Leave a note; ranks that can stop early look for it.
trap 'touch "$RUN/stop"; HEARD=yes' USR1 TERM

# report COMMAND...: run report.py on all ranks by COMMAND, and make a table of their answers: nodes, ranks, cores, GPUs, binding.
report() {
    "$@" | python "$PROGRAMS/report.py" --write "$RUN/report.json"
}

# free_port: a TCP port that nobody uses on this node, searched from one that depends on the job's number.
free_port() {
    python "$PROGRAMS/free_port.py" "$JOB"
}

# start COMMAND...: run it in the background and wait, so that this shell can hear a signal meanwhile. Returns the command's status.
start() {
    local ranks status=0
    "$@" &
    ranks=$!
    HEARD=
    wait "$ranks" || status=$?
    while [ -n "$HEARD" ]; do  # the signal ended the waiting, not the command
        HEARD=
        status=0
        wait "$ranks" || status=$?
    done
    return "$status"
}

# ranks P PER_NODE COMMAND...: P processes of an MPI program, PER_NODE on each node, node after node; when one fails, all are ended. For another
# MPI library, its last line is the one to change. Cray's on Polaris: mpiexec -n "$p" --ppn "$each" --hostfile "$PBS_NODEFILE" --depth
# "$CORES_PER_RANK" --cpu-bind depth "$@"; Intel's and MPICH's: mpiexec -n "$p" -ppn "$each" -f "$PBS_NODEFILE" "$@".
ranks() {
    local p=$1 each=$2 hosts=() place=(--bind-to none)
    shift 2
    if [ -n "${SLURM_JOB_ID:-}" ] && [ "$LAUNCHER" = srun ]; then
        srun --nodes="$(((p + each - 1) / each))" --ntasks="$p" --ntasks-per-node="$each" "$@"
        return
    fi
    if [ "$BINDING" = cores ]; then
        place=(--bind-to core)
        each=$each:node:PE=$CORES_PER_RANK  # CORES_PER_RANK cores for each rank
    else
        each=$each:node
    fi
    [ -z "${PBS_NODEFILE:-}" ] || hosts=(--hostfile "$PBS_NODEFILE")  # Open MPI asks Slurm itself
    # On Slurm mpiexec starts one process of its own on each node, by srun: it needs all cores of the node, not those of one rank.
    env -u SRUN_CPUS_PER_TASK -u SLURM_CPU_BIND mpiexec -n "$p" "${hosts[@]}" --map-by "ppr:$each" "${place[@]}" "$@"
}

# requeue_if_stopped [ARGUMENTS]: a run that was stopped before its end, and has left a checkpoint, goes back into the queue and resumes from there.
# With REQUEUE=no in the environment it does not: the job ends with status 75 ("try again", sysexits.h).
requeue_if_stopped() {
    if [ ! -e "$RUN/stop" ] || [ -e "$RUN/result.json" ]; then
        return 0
    fi
    if [ "${REQUEUE:-yes}" = yes ] && [ -n "${SLURM_JOB_ID:-}" ]; then
        echo "attempt $ATTEMPT stopped before its end: the job goes back into the queue"  # printed first: Slurm may end this script at once
        if scontrol requeue "$JOB"; then
            exit 75
        fi
    fi
    local arguments=("$@") again
    [[ " $* " == *" --checkpoint"* ]] || arguments+=(--checkpoint "$RUN/checkpoint.pt")
    again=$(printf '%q ' "${arguments[@]}")
    again=${again% }
    if [ -n "${PBS_JOBID:-}" ]; then  # before the script's name: qsub takes no arguments after it
        if [[ $again =~ ^[A-Za-z0-9_@%+=:./\ -]*$ && $again != *\\* ]]; then
            again="-v ARGS=\"$again\""
        else
            again="-v ARGS64=$(base64 -w 0 <<< "$again")"  # qsub -v garbles quotes, commas, $ and backslashes
        fi
        again+=" -l select=$NODES:ncpus=$((RANKS_PER_NODE * CORES_PER_RANK)):mpiprocs=$RANKS_PER_NODE:ompthreads=$CORES_PER_RANK -l place=scatter${LIMIT:+ -l walltime=$LIMIT}"
    else
        LIMIT=$(squeue --noheader --jobs="$JOB" --format=%l 2> /dev/null) || true
        again+=" (and, before the script's name, --nodes=$NODES --ntasks-per-node=$RANKS_PER_NODE${LIMIT:+ --time=$LIMIT})"
    fi
    echo "attempt $ATTEMPT stopped before its end: submit it again with: $again"
    exit 75
}

# On every node a process samples processor time, memory and GPUs until the job ends; `labkit submit` reports from that.
labkit job-monitor start "$RUN" || true
