#!/bin/bash
# The same training on 1, 2, 4, 8 (and 16) ranks, one after the other, in one job: run logs and a table.
#
#   sbatch --nodes=4 --ntasks-per-node=2 job_scripts/slurm/scaling_sweep.sh         [--epochs 8]
#   sbatch ... job_scripts/slurm/scaling_sweep.sh tensorflow2_mnist_hvd.py          a port of your own, with its options
#
#SBATCH --job-name=scaling_sweep
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=2        # ranks per node: one for each GPU (then add --gpus-per-node=2 to sbatch), or for each NUMA domain
#SBATCH --cpus-per-task=2          # cores per rank: its NUMA domain's, or the node's divided by the number of its GPUs
#SBATCH --time=00:30:00            # hours:minutes:seconds; then the job is ended
#SBATCH --output=%x-%j.out         # Slurm's own messages (%x: the job's name, %j: its number); all else goes to jobs/scaling_sweep-NUMBER/

set -euo pipefail                  # the first command that fails ends the job, with its status
COURSE=${COURSE:-$SLURM_SUBMIT_DIR}  # the folder of the course: submit from there, or set COURSE
source "$COURSE/job_scripts/job.sh"  # sets RUN, RANKS, NODES ...; from here on everything is printed to $RUN/output.txt

PROGRAM=$PROGRAMS/horovod_mnist.py
TORCHRUN=                          # whether the ranks of this program are started by torchrun
if [[ "${1:-}" == *.py ]]; then
    PROGRAM=$1
    shift
    if ! grep -q horovod "$PROGRAM"; then
        TORCHRUN=yes
        if ! grep -q -e 'torch.*distributed' -e DistributedDataParallel "$PROGRAM"; then
            echo "$PROGRAM uses neither Horovod nor torch.distributed: each of the $RANKS ranks would do the whole work. Submit your port of it."
            exit 2
        fi
    fi
fi
DEVICE=$([ -n "${CUDA_VISIBLE_DEVICES:-}" ] && echo gpu || echo cpu)

# A rank that waits longer than this for another rank's tensor ends, and with it the job: Horovod alone would wait for ever.
export HOROVOD_STALL_CHECK_TIME_SECONDS=30 HOROVOD_STALL_SHUTDOWN_TIME_SECONDS=50

report ranks "$RANKS" "$RANKS_PER_NODE" python "$PROGRAMS/report.py"

# Each run fills node after node: 2 ranks are on one node, if it has two. The rest of the allocation is idle meanwhile.
for P in 1 2 4 8 16; do
    if [ "$P" -gt "$RANKS" ]; then
        break
    fi
    N=$(((P + RANKS_PER_NODE - 1) / RANKS_PER_NODE))
    if [ "$TORCHRUN" ]; then           # one on each node; all start the same number of ranks
        while ((P % N)); do N=$((N + 1)); done
        if [ "$N" -gt "$NODES" ]; then
            echo "--- $P ranks: not as many on each of $NODES nodes, left out"
            continue
        fi
        echo "--- $P ranks on $N nodes"
        BINDING=none start ranks "$N" 1 torchrun --nnodes="$N" --nproc-per-node="$((P / N))" \
            --rdzv-backend=c10d --rdzv-endpoint="$HEAD:$(free_port)" --rdzv-id="$JOB-$P" \
            "$PROGRAM" --device "$DEVICE" --run-log "$RUN/run_$P.jsonl" "$@"
        continue
    fi
    echo "--- $P ranks on $N nodes"
    start ranks "$P" "$((P < RANKS_PER_NODE ? P : RANKS_PER_NODE))" \
        python "$PROGRAM" --device "$DEVICE" --log "$RUN/run_$P.jsonl" "$@"
done

python "$PROGRAMS/scaling_table.py" "$RUN"/run_*.jsonl
