#!/bin/bash
# Pi on all ranks of the job: mpi4py, started by mpiexec.
#
#   sbatch job_scripts/slurm/pi.sh            [--strips 1000000000]
#
#SBATCH --job-name=pi
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=2        # ranks per node: one for each GPU (then add --gpus-per-node=2 to sbatch), or for each NUMA domain
#SBATCH --cpus-per-task=2          # cores per rank: its NUMA domain's, or the node's divided by the number of its GPUs
#SBATCH --time=00:05:00            # hours:minutes:seconds; then the job is ended
#SBATCH --output=%x-%j.out         # Slurm's own messages (%x: the job's name, %j: its number); all else goes to jobs/pi-NUMBER/

set -euo pipefail                  # the first command that fails ends the job, with its status
COURSE=${COURSE:-$SLURM_SUBMIT_DIR}  # the folder of the course: submit from there, or set COURSE
source "$COURSE/job_scripts/job.sh"  # sets RUN, RANKS, NODES ...; from here on everything is printed to $RUN/output.txt

report ranks "$RANKS" "$RANKS_PER_NODE" python "$PROGRAMS/report.py"  # a line for each rank: node, cores, threads, GPU

# mpiexec (or srun, as site.sh says) starts RANKS processes. When one fails, all are ended, and so is this script.
start ranks "$RANKS" "$RANKS_PER_NODE" python "$PROGRAMS/pi.py" --json "$RUN/result.json" "$@"
