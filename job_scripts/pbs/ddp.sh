#!/bin/bash
# Training with DistributedDataParallel on several nodes: torchrun, checkpoints, one of them before the time is up.
#
#   qsub [-v ARGS="--epochs 20"] job_scripts/pbs/ddp.sh
#   qsub -v ARGS="--checkpoint jobs/ddp-NUMBER/checkpoint.pt" job_scripts/pbs/ddp.sh      resumes where that job ended
#
#PBS -N ddp
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
# PBS's own messages: both streams in one file, in the folder you submitted from. All else goes to jobs/ddp-NUMBER/
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

warn_before_end 120                # then the ranks write a checkpoint and end (Slurm: --signal)

report every_node python "$PROGRAMS/report.py" --each "$RANKS_PER_NODE"

# The torchruns find each other on the first node, at a port that is free there, and recognise each other by the job's number.
start every_node torchrun \
    --nnodes="$NODES" --nproc-per-node="$RANKS_PER_NODE" \
    --rdzv-backend=c10d --rdzv-endpoint="$HEAD:$(free_port)" --rdzv-id="$JOB-$ATTEMPT" \
    "$PROGRAMS/ddp.py" --checkpoint "$RUN/checkpoint.pt" --run-log "$RUN/$LOG.jsonl" --json "$RUN/result.json" "$@"

requeue_if_stopped "$@"
