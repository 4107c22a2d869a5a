#!/bin/bash
# Training with Horovod: the digits, or the port that you wrote for the homework.
#
#   sbatch job_scripts/slurm/horovod_mnist.sh                                       [--epochs 20]
#   sbatch job_scripts/slurm/horovod_mnist.sh tensorflow2_mnist_hvd.py --epochs 8   a port of your own, with its options
#
#SBATCH --job-name=horovod_mnist
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=2        # ranks per node: one for each GPU (then add --gpus-per-node=2 to sbatch), or for each NUMA domain
#SBATCH --cpus-per-task=2          # cores per rank: its NUMA domain's, or the node's divided by the number of its GPUs
#SBATCH --time=00:10:00            # hours:minutes:seconds; then the job is ended
#SBATCH --output=%x-%j.out         # Slurm's own messages (%x: the job's name, %j: its number); all else goes to jobs/horovod_mnist-NUMBER/
#SBATCH --signal=B:USR1@120        # 120 s before the time is up this script gets the signal USR1 (job.sh says what it does then)
#SBATCH --requeue                  # the job may go back into the queue: when its time is up, or when its node fails
#SBATCH --open-mode=append         # the second attempt appends to the first one's output

set -euo pipefail                  # the first command that fails ends the job, with its status
COURSE=${COURSE:-$SLURM_SUBMIT_DIR}  # the folder of the course: submit from there, or set COURSE
source "$COURSE/job_scripts/job.sh"  # sets RUN, RANKS, NODES ...; from here on everything is printed to $RUN/output.txt

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

report ranks "$RANKS" "$RANKS_PER_NODE" python "$PROGRAMS/report.py"

start ranks "$RANKS" "$RANKS_PER_NODE" python "$PROGRAM" --device "$DEVICE" --log "$RUN/$LOG.jsonl" "${OWN[@]}" "$@"

[ ${#OWN[@]} = 0 ] || requeue_if_stopped "$@"  # a port of your own knows nothing of stopping early
