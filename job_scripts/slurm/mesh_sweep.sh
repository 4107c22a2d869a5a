#!/bin/bash
# The same training on several meshes, data x tensor x pipeline, one after the other, in one job: run logs.
#
#   sbatch [--nodes=4 --ntasks-per-node=2] job_scripts/slurm/mesh_sweep.sh mesh_training.py [--steps 30]
#
#SBATCH --job-name=mesh_sweep
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=2        # ranks per node: one for each GPU (then add --gpus-per-node=2 to sbatch), or for each NUMA domain
#SBATCH --cpus-per-task=2          # cores per rank: its NUMA domain's, or the node's divided by the number of its GPUs
#SBATCH --time=00:30:00            # hours:minutes:seconds; then the job is ended
#SBATCH --output=%x-%j.out         # Slurm's own messages (%x: the job's name, %j: its number); all else goes to jobs/mesh_sweep-NUMBER/

set -euo pipefail                  # the first command that fails ends the job, with its status
COURSE=${COURSE:-$SLURM_SUBMIT_DIR}  # the folder of the course: submit from there, or set COURSE
source "$COURSE/job_scripts/job.sh"  # sets RUN, RANKS, NODES ...; from here on everything is printed to $RUN/output.txt

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
