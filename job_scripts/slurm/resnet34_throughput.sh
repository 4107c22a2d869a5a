#!/bin/bash
# Images per second of a ResNet-34's training on all ranks. Unit 07's program: Horovod, started by mpiexec.
#
#   sbatch job_scripts/slurm/resnet34_throughput.sh                                [--num-steps 10 --batch-size 32]
#   sbatch job_scripts/slurm/resnet34_throughput.sh --image-size 32 --width 8 --batch-size 8        small enough for a CPU
#
#SBATCH --job-name=resnet34_throughput
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=2        # ranks per node: one for each GPU (then add --gpus-per-node=2 to sbatch), or for each NUMA domain
#SBATCH --cpus-per-task=2          # cores per rank: its NUMA domain's, or the node's divided by the number of its GPUs
#SBATCH --time=00:20:00            # hours:minutes:seconds; then the job is ended
#SBATCH --output=%x-%j.out         # Slurm's own messages (%x: the job's name, %j: its number); all else goes to jobs/resnet34_throughput-NUMBER/

set -euo pipefail                  # the first command that fails ends the job, with its status
COURSE=${COURSE:-$SLURM_SUBMIT_DIR}  # the folder of the course: submit from there, or set COURSE
source "$COURSE/job_scripts/job.sh"  # sets RUN, RANKS, NODES ...; from here on everything is printed to $RUN/output.txt

# A rank that waits longer than this for another rank's tensor ends, and with it the job: Horovod alone would wait for ever.
export HOROVOD_STALL_CHECK_TIME_SECONDS=30 HOROVOD_STALL_SHUTDOWN_TIME_SECONDS=50

report ranks "$RANKS" "$RANKS_PER_NODE" python "$PROGRAMS/report.py"

start ranks "$RANKS" "$RANKS_PER_NODE" python "$COURSE/notebooks/07_horovod/resnet34_throughput_hvd.py" \
    --threads "$THREADS" --json "$RUN/throughput.json" "$@"
