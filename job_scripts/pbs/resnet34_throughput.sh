#!/bin/bash
# Images per second of a ResNet-34's training on all ranks. Unit 07's program: Horovod, started by mpiexec.
#
#   qsub [-v ARGS="--num-steps 10 --batch-size 32"] job_scripts/pbs/resnet34_throughput.sh
#   qsub -v ARGS="--image-size 32 --width 8 --batch-size 8" job_scripts/pbs/resnet34_throughput.sh      small enough for a CPU
#
#PBS -N resnet34_throughput
#
# Two chunks, each with ncpus cores and mpiprocs ranks (one for each GPU, or for each NUMA domain). ompthreads: cores per rank;
# ncpus = mpiprocs x ompthreads. With GPUs: qsub -l select=2:ncpus=8:mpiprocs=4:ompthreads=2:ngpus=4
#PBS -l select=2:ncpus=4:mpiprocs=2:ompthreads=2
#
# Each chunk on a node of its own; without this line PBS may put both on one.
#PBS -l place=scatter
#
# Hours:minutes:seconds; then the job is ended.
#PBS -l walltime=00:20:00
#
# PBS's own messages: both streams in one file, in the folder you submitted from. All else goes to jobs/resnet34_throughput-NUMBER/
#PBS -j oe
#PBS -k doe

set -euo pipefail                  # the first command that fails ends the job, with its status
cd "$PBS_O_WORKDIR"                # a PBS job starts in the home folder
COURSE=${COURSE:-$PBS_O_WORKDIR}   # the folder of the course: submit from there, or set COURSE
source "$COURSE/job_scripts/job.sh"  # sets RUN, RANKS, NODES ...; from here on everything is printed to $RUN/output.txt
source "$COURSE/job_scripts/pbs/launch.sh"  # every_node, and what mpiexec needs to know
eval "set -- ${ARGS:-}"            # qsub gives a script no arguments: qsub -v ARGS="--epochs 3" ...

# A rank that waits longer than this for another rank's tensor ends, and with it the job: Horovod alone would wait for ever.
export HOROVOD_STALL_CHECK_TIME_SECONDS=30 HOROVOD_STALL_SHUTDOWN_TIME_SECONDS=50

report ranks "$RANKS" "$RANKS_PER_NODE" python "$PROGRAMS/report.py"

start ranks "$RANKS" "$RANKS_PER_NODE" python "$COURSE/notebooks/07_horovod/resnet34_throughput_hvd.py" \
    --threads "$THREADS" --json "$RUN/throughput.json" "$@"
