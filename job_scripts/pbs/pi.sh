#!/bin/bash
# Pi on all ranks of the job: mpi4py, started by mpiexec.
#
#   qsub [-v ARGS="--strips 1000000000"] job_scripts/pbs/pi.sh
#
#PBS -N pi
#
# Two chunks, each with ncpus cores and mpiprocs ranks (one for each GPU, or for each NUMA domain). ompthreads: cores per rank;
# ncpus = mpiprocs x ompthreads. With GPUs: qsub -l select=2:ncpus=8:mpiprocs=4:ompthreads=2:ngpus=4
#PBS -l select=2:ncpus=4:mpiprocs=2:ompthreads=2
#
# Each chunk on a node of its own; without this line PBS may put both on one.
#PBS -l place=scatter
#
# Hours:minutes:seconds; then the job is ended.
#PBS -l walltime=00:05:00
#
# PBS's own messages: both streams in one file, in the folder you submitted from. All else goes to jobs/pi-NUMBER/
#PBS -j oe
#PBS -k doe

set -euo pipefail                  # the first command that fails ends the job, with its status
cd "$PBS_O_WORKDIR"                # a PBS job starts in the home folder
COURSE=${COURSE:-$PBS_O_WORKDIR}   # the folder of the course: submit from there, or set COURSE
source "$COURSE/job_scripts/job.sh"  # sets RUN, RANKS, NODES ...; from here on everything is printed to $RUN/output.txt
source "$COURSE/job_scripts/pbs/launch.sh"  # every_node, and what mpiexec needs to know
eval "set -- ${ARGS:-}"            # qsub gives a script no arguments: qsub -v ARGS="--epochs 3" ...

report ranks "$RANKS" "$RANKS_PER_NODE" python "$PROGRAMS/report.py"  # a line for each rank: node, cores, threads, GPU

# mpiexec starts RANKS processes. When one fails, all are ended, and so is this script.
start ranks "$RANKS" "$RANKS_PER_NODE" python "$PROGRAMS/pi.py" --json "$RUN/result.json" "$@"
