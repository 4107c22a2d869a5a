#!/bin/bash
# on_host.sh HOST COMMAND...: runs a command line on a node of this PBS job, in this folder and with the variables that are set here.
# It is called like ssh, so mpiexec can use it, too.
#
# pbs_tmrsh makes the command a task of the job: PBS counts it and ends it with the job. But pbs_tmrsh passes on neither the folder nor
# exported variables (only those of qsub -v), and the output goes to a file of PBS's own. So the command travels as a small script in the
# job's folder, and its output comes back in a file beside it. Where there is no pbs_tmrsh, ssh is used; it needs keys between the nodes, and
# PBS does not count what it starts as part of the job.

HOST=$1
shift
TASKS=${COURSE_RUN:-$PWD}/.tasks  # COURSE_RUN: the job's folder (job.sh)
mkdir -p "$TASKS"
TASK=$(umask 077 && mktemp "$TASKS/$HOST.XXXXXX") || exit
trap 'rm -f "$TASK" "$TASK.out"' EXIT
trap 'exit 143' TERM

{
    printf 'rm %q\n' "$TASK"  # it has been read by then, and its exports may be secret
    for name in $(compgen -e); do
        case $name in
            PBS_NODENUM | PBS_TASKNUM | PBS_JOBCOOKIE | PBS_MOMPORT | CUDA_VISIBLE_DEVICES | TMPDIR | HOSTNAME) ;;  # each node has its own
            *) printf 'export %s=%q\n' "$name" "${!name}" ;;
        esac
    done
    printf 'cd %q || exit\n' "$PWD"
    echo "$*"
} > "$TASK"

if ! type -P pbs_tmrsh > /dev/null; then
    ssh -o BatchMode=yes "$HOST" /bin/bash "$TASK"
    exit
fi

# show: print what has been added to the output since the last time. The file is opened again each time, so that a network file
# system reads its new size.
SHOWN=0
show() {
    local size
    if [ -e "$TASK.out" ]; then
        size=$(wc -c < "$TASK.out")
        tail -c "+$((SHOWN + 1))" "$TASK.out" | head -c "$((size - SHOWN))"
        SHOWN=$size
    fi
}

pbs_tmrsh "$HOST" /bin/bash -c "exec /bin/bash ${TASK@Q} > ${TASK@Q}.out 2>&1" &
STARTED=$!
while kill -0 "$STARTED" 2> /dev/null; do
    sleep 0.3
    show
done
wait "$STARTED"
STATUS=$?
show
exit "$STATUS"
