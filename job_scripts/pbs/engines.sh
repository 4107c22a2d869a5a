#!/bin/bash
# A notebook, executed in the job: its %%ranks are spread over the job's nodes.
#
#   qsub -v ARGS="notebooks/03_collectives/collectives.ipynb" job_scripts/pbs/engines.sh
#
#PBS -N engines
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
# PBS's own messages: both streams in one file, in the folder you submitted from. All else goes to jobs/engines-NUMBER/
#PBS -j oe
#PBS -k doe

set -euo pipefail                  # the first command that fails ends the job, with its status
cd "$PBS_O_WORKDIR"                # a PBS job starts in the home folder
COURSE=${COURSE:-$PBS_O_WORKDIR}   # the folder of the course: submit from there, or set COURSE
source "$COURSE/job_scripts/job.sh"  # sets RUN, RANKS, NODES ...; from here on everything is printed to $RUN/output.txt
source "$COURSE/job_scripts/pbs/launch.sh"  # every_node, and what mpiexec needs to know
eval "set -- ${ARGS:-}"            # qsub gives a script no arguments: qsub -v ARGS="--epochs 3" ...

NOTEBOOK=$(realpath "${1:?which notebook? qsub -v ARGS=notebooks/03_collectives/collectives.ipynb job_scripts/pbs/engines.sh}")

report ranks "$RANKS" "$RANKS_PER_NODE" python "$PROGRAMS/report.py"

# The notebook's kernel runs here, on the first node. It sees the allocation, and starts its ranks with mpiexec on all of it.
start jupyter nbconvert --to notebook --execute "$NOTEBOOK" --output-dir "$RUN" --ExecutePreprocessor.timeout=600
echo "executed: $RUN/$(basename "$NOTEBOOK")"
