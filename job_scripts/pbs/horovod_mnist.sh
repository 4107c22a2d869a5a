#!/bin/bash
# Training with Horovod: the digits, or the port that you wrote for the homework.
#
#   qsub [-v ARGS="--epochs 20"] job_scripts/pbs/horovod_mnist.sh
#   qsub -v ARGS="tensorflow2_mnist_hvd.py --epochs 8" job_scripts/pbs/horovod_mnist.sh      a port of your own, with its options
#
#PBS -N horovod_mnist
#
# Two chunks, each with ncpus cores and mpiprocs ranks (one for each GPU, or for each NUMA domain). ompthreads: cores per rank;
# ncpus = mpiprocs x ompthreads. With GPUs: qsub -l select=2:ncpus=8:mpiprocs=4:ompthreads=2:ngpus=4
#PBS -l select=2:ncpus=4:mpiprocs=2:ompthreads=2
#
# Each chunk on a node of its own; without this line PBS may put both on one.
#PBS -l place=scatter
#
# Hours:minutes:seconds; then the job is ended.
#PBS -l walltime=00:10:00
#
# PBS's own messages: both streams in one file, in the folder you submitted from. All else goes to jobs/horovod_mnist-NUMBER/
#PBS -j oe
#PBS -k doe
#
# The job may go back into the queue when a node fails, and then resumes from its checkpoint.
#PBS -r y

set -euo pipefail                  # the first command that fails ends the job, with its status
cd "$PBS_O_WORKDIR"                # a PBS job starts in the home folder
COURSE=${COURSE:-$PBS_O_WORKDIR}   # the folder of the course: submit from there, or set COURSE
source "$COURSE/job_scripts/job.sh"  # sets RUN, RANKS, NODES ...; from here on everything is printed to $RUN/output.txt
source "$COURSE/job_scripts/pbs/launch.sh"  # every_node, and what mpiexec needs to know
eval "set -- ${ARGS:-}"            # qsub gives a script no arguments: qsub -v ARGS="--epochs 3" ...

PROGRAM=$PROGRAMS/horovod_mnist.py
OWN=(--checkpoint "$RUN/checkpoint.pt" --json "$RUN/result.json")  # options that only the course's program has
if [[ "${1:-}" == *.py ]]; then
    PROGRAM=$1
    OWN=()
    shift
    if ! grep -q horovod "$PROGRAM"; then
        echo "$PROGRAM does not import Horovod: each of the $RANKS ranks would do the whole work. Submit your port of it."
        exit 2
    fi
fi
DEVICE=$([ -n "${CUDA_VISIBLE_DEVICES:-}" ] && echo gpu || echo cpu)

# A rank that waits longer than this for another rank's tensor ends, and with it the job: Horovod alone would wait for ever.
export HOROVOD_STALL_CHECK_TIME_SECONDS=30 HOROVOD_STALL_SHUTDOWN_TIME_SECONDS=50

warn_before_end 120                # then the ranks write a checkpoint and end (Slurm: --signal)

report ranks "$RANKS" "$RANKS_PER_NODE" python "$PROGRAMS/report.py"

start ranks "$RANKS" "$RANKS_PER_NODE" python "$PROGRAM" --device "$DEVICE" --log "$RUN/$LOG.jsonl" "${OWN[@]}" "$@"

requeue_if_stopped "$@"
