#!/bin/bash
# Messages between nodes with torch.distributed: torchrun on every node.
#
#   sbatch job_scripts/slurm/c10d.sh          [--megabytes 64]
#
#SBATCH --job-name=c10d
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=2        # ranks per node: one for each GPU (then add --gpus-per-node=2 to sbatch), or for each NUMA domain
#SBATCH --cpus-per-task=2          # cores per rank: its NUMA domain's, or the node's divided by the number of its GPUs
#SBATCH --time=00:05:00            # hours:minutes:seconds; then the job is ended
#SBATCH --output=%x-%j.out         # Slurm's own messages (%x: the job's name, %j: its number); all else goes to jobs/c10d-NUMBER/

set -euo pipefail                  # the first command that fails ends the job, with its status
COURSE=${COURSE:-$SLURM_SUBMIT_DIR}  # the folder of the course: submit from there, or set COURSE
source "$COURSE/job_scripts/job.sh"  # sets RUN, RANKS, NODES ...; from here on everything is printed to $RUN/output.txt

# One task on each node, with the cores of all its ranks: torchrun, which starts the ranks there. They bind themselves to their cores.
export SRUN_CPUS_PER_TASK=$((RANKS_PER_NODE * CORES_PER_RANK))
EVERY_NODE=(srun --ntasks="$NODES" --ntasks-per-node=1)

report "${EVERY_NODE[@]}" python "$PROGRAMS/report.py" --each "$RANKS_PER_NODE"

# The torchruns find each other on the first node, at a port that is free there, and recognise each other by the job's number.
start "${EVERY_NODE[@]}" torchrun \
    --nnodes="$NODES" --nproc-per-node="$RANKS_PER_NODE" \
    --rdzv-backend=c10d --rdzv-endpoint="$HEAD:$(free_port)" --rdzv-id="$JOB" \
    "$PROGRAMS/c10d.py" --json "$RUN/result.json" "$@"
