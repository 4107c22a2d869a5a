#!/bin/bash
# Training with DistributedDataParallel on several nodes: torchrun, checkpoints, back into the queue when the time is up.
#
#   sbatch job_scripts/slurm/ddp.sh                                                 [--epochs 20]
#   sbatch job_scripts/slurm/ddp.sh --checkpoint jobs/ddp-NUMBER/checkpoint.pt      resumes where that job ended
#
#SBATCH --job-name=ddp
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=2        # ranks per node: one for each GPU (then add --gpus-per-node=2 to sbatch), or for each NUMA domain
#SBATCH --cpus-per-task=2          # cores per rank: its NUMA domain's, or the node's divided by the number of its GPUs
#SBATCH --time=00:10:00            # hours:minutes:seconds; then the job is ended
#SBATCH --output=%x-%j.out         # Slurm's own messages (%x: the job's name, %j: its number); all else goes to jobs/ddp-NUMBER/
#SBATCH --signal=B:USR1@120        # 120 s before the time is up this script gets the signal USR1 (job.sh says what it does then)
#SBATCH --requeue                  # the job may go back into the queue: when its time is up, or when its node fails
#SBATCH --open-mode=append         # the second attempt appends to the first one's output

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
    --rdzv-backend=c10d --rdzv-endpoint="$HEAD:$(free_port)" --rdzv-id="$JOB-$ATTEMPT" \
    "$PROGRAMS/ddp.py" --checkpoint "$RUN/checkpoint.pt" --run-log "$RUN/$LOG.jsonl" --json "$RUN/result.json" "$@"

requeue_if_stopped "$@"
