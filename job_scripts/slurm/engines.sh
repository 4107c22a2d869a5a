#!/bin/bash
# A notebook, executed in the job: its %%ranks are spread over the job's nodes.
#
#   sbatch job_scripts/slurm/engines.sh notebooks/03_collectives/collectives.ipynb
#
#SBATCH --job-name=engines
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=2        # ranks per node: one for each GPU (then add --gpus-per-node=2 to sbatch), or for each NUMA domain
#SBATCH --cpus-per-task=2          # cores per rank: its NUMA domain's, or the node's divided by the number of its GPUs
#SBATCH --time=00:20:00            # hours:minutes:seconds; then the job is ended
#SBATCH --output=%x-%j.out         # Slurm's own messages (%x: the job's name, %j: its number); all else goes to jobs/engines-NUMBER/

set -euo pipefail                  # the first command that fails ends the job, with its status
COURSE=${COURSE:-$SLURM_SUBMIT_DIR}  # the folder of the course: submit from there, or set COURSE
source "$COURSE/job_scripts/job.sh"  # sets RUN, RANKS, NODES ...; from here on everything is printed to $RUN/output.txt

NOTEBOOK=$(realpath "${1:?which notebook? sbatch job_scripts/slurm/engines.sh notebooks/03_collectives/collectives.ipynb}")

report srun python "$PROGRAMS/report.py"

# The notebook's kernel runs here, on the first node. It sees the allocation, and starts its ranks with mpiexec on all of it.
start jupyter nbconvert --to notebook --execute "$NOTEBOOK" --output-dir "$RUN" --ExecutePreprocessor.timeout=600
echo "executed: $RUN/$(basename "$NOTEBOOK")"
