#!/bin/bash
# An interactive session with the course's environment. Not for sbatch: it gives you a shell.
#
#   bash job_scripts/slurm/interactive.sh                       2 nodes with 2 ranks each, for an hour
#   bash job_scripts/slurm/interactive.sh --nodes=1 --gpus-per-node=2 --time=00:30:00       all options of salloc
#
# Your site decides where the shell runs, on the job's first node or still on the login host: `hostname` shows which. A command that begins with
# srun or mpiexec runs on the job's nodes, one process for each rank:
#
#   srun python job_scripts/programs/pi.py
#   mpiexec -n 4 python job_scripts/programs/pi.py
#
# `exit` ends the session and gives the nodes back. If you forget it, you pay for an hour.

set -euo pipefail                   # the first command that fails ends the script, with its status
export COURSE=${COURSE:-$PWD}       # the folder of the course: begin there, or set COURSE
SLURM_CLUSTER_NAME=$(scontrol show config | awk '$1 == "ClusterName" {print $3}')  # in a job it is set; site.sh may depend on it
source "$COURSE/job_scripts/site.sh"  # the course's Python first in PATH, and all else that the shell inherits

SESSION=(
    --job-name=interactive
    --nodes=2
    --ntasks-per-node=2             # ranks per node: one for each GPU, or for each NUMA domain
    --cpus-per-task=2               # cores per rank
    --time=01:00:00
)
exec salloc "${SESSION[@]}" "$@"
