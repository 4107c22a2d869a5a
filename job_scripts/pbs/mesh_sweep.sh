#!/bin/bash
# The same training on several meshes, data x tensor x pipeline, one after the other, in one job: run logs.
#
#   qsub [-l select=4:ncpus=4:mpiprocs=2:ompthreads=2] -v ARGS="mesh_training.py --steps 30" job_scripts/pbs/mesh_sweep.sh
#
#PBS -N mesh_sweep
#
# Two chunks, each with ncpus cores and mpiprocs ranks (one for each GPU, or for each NUMA domain). ompthreads: cores per rank;
# ncpus = mpiprocs x ompthreads. With GPUs: qsub -l select=2:ncpus=8:mpiprocs=4:ompthreads=2:ngpus=4
#PBS -l select=2:ncpus=4:mpiprocs=2:ompthreads=2
#
# Each chunk on a node of its own; without this line PBS may put both on one.
#PBS -l place=scatter
#
# Hours:minutes:seconds; then the job is ended.
#PBS -l walltime=00:30:00
#
# PBS's own messages: both streams in one file, in the folder you submitted from. All else goes to jobs/mesh_sweep-NUMBER/
#PBS -j oe
#PBS -k doe

set -euo pipefail                  # the first command that fails ends the job, with its status
cd "$PBS_O_WORKDIR"                # a PBS job starts in the home folder
COURSE=${COURSE:-$PBS_O_WORKDIR}   # the folder of the course: submit from there, or set COURSE
source "$COURSE/job_scripts/job.sh"  # sets RUN, RANKS, NODES ...; from here on everything is printed to $RUN/output.txt
source "$COURSE/job_scripts/pbs/launch.sh"  # every_node, and what mpiexec needs to know
eval "set -- ${ARGS:-}"            # qsub gives a script no arguments: qsub -v ARGS="--epochs 3" ...

PROGRAM=${1:-}
if [[ "$PROGRAM" != *.py ]]; then
    echo "Say which script: your mesh_training.py, then its options."
    exit 2
fi
shift

report ranks "$RANKS" "$RANKS_PER_NODE" python "$PROGRAMS/report.py"

# Each run fills node after node, so that neighbours in a tensor group share one. A mesh of more ranks than the job has is left out.
for MESH in "1 1 1" "2 1 1" "1 2 1" "1 1 2" "1 1 4" "2 2 1" "2 2 2" "4 2 2"; do
    read -r D T P <<< "$MESH"
    N=$((D * T * P))
    if [ "$N" -gt "$RANKS" ]; then
        continue
    fi
    echo "--- data $D, tensor $T, pipeline $P"
    start ranks "$N" "$((N < RANKS_PER_NODE ? N : RANKS_PER_NODE))" \
        python "$PROGRAM" --data "$D" --tensor "$T" --pipeline "$P" --run-log "$RUN/run_d${D}_t${T}_p${P}.jsonl" "$@"
done
