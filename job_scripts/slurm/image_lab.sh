#!/bin/bash
# Unit 09's image lab on several nodes: your port of train_products.py to Horovod.
#
#   sbatch job_scripts/slurm/image_lab.sh                             train_products_hvd.py in the folder you submit from
#   sbatch job_scripts/slurm/image_lab.sh my_port.py --epochs 10      another file, with its options
#   sbatch job_scripts/slurm/image_lab.sh --checkpoint jobs/image_lab-NUMBER/checkpoint.npz      resumes where that job ended
#
#SBATCH --job-name=image_lab
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=2        # ranks per node: one for each GPU (then add --gpus-per-node=2 to sbatch), or for each NUMA domain
#SBATCH --cpus-per-task=2          # cores per rank: its NUMA domain's, or the node's divided by the number of its GPUs
#SBATCH --time=00:10:00            # hours:minutes:seconds; then the job is ended
#SBATCH --output=%x-%j.out         # Slurm's own messages (%x: the job's name, %j: its number); all else goes to jobs/image_lab-NUMBER/
#SBATCH --requeue                  # the job may go back into the queue: when its node fails; training resumes from its checkpoint
#SBATCH --open-mode=append         # the second attempt appends to the first one's output

set -euo pipefail                  # the first command that fails ends the job, with its status
COURSE=${COURSE:-$SLURM_SUBMIT_DIR}  # the folder of the course: submit from there, or set COURSE
source "$COURSE/job_scripts/job.sh"  # sets RUN, RANKS, NODES ...; from here on everything is printed to $RUN/output.txt

PROGRAM=train_products_hvd.py
if [[ "${1:-}" == *.py ]]; then
    PROGRAM=$1
    shift
fi
if ! grep -q horovod "$PROGRAM"; then
    echo "$PROGRAM is missing or does not import Horovod. Copy unit 09's train_products.py to train_products_hvd.py and change the copy in"
    echo "the eight steps, then submit again from the folder where it lies."
    exit 2
fi
DEVICE=$([ -n "${CUDA_VISIBLE_DEVICES:-}" ] && echo gpu || echo cpu)

# A rank that waits longer than this for another rank's tensor ends, and with it the job: Horovod alone would wait for ever.
export HOROVOD_STALL_CHECK_TIME_SECONDS=30 HOROVOD_STALL_SHUTDOWN_TIME_SECONDS=50

report ranks "$RANKS" "$RANKS_PER_NODE" python "$PROGRAMS/report.py"

# The pictures are where all nodes see them; prepared, they go to each node's own disk (--scratch, by default in $TMPDIR).
start ranks "$RANKS" "$RANKS_PER_NODE" python "$PROGRAM" --data Stanford_Online_Products --device "$DEVICE" \
    --checkpoint "$RUN/checkpoint.npz" --log "$RUN/$LOG.jsonl" "$@"
