#!/bin/bash
# An interactive session with the course's environment. Not for qsub: it gives you a shell.
#
#   bash job_scripts/pbs/interactive.sh                         2 nodes with 2 ranks each, for an hour
#   bash job_scripts/pbs/interactive.sh -l select=1:ncpus=4:mpiprocs=2:ompthreads=2:ngpus=2 -l walltime=00:30:00       options of qsub
#
# The shell runs on the job's first node, in your home folder and without the course's environment. Set it there:
#
#   cd "$COURSE" && source job_scripts/site.sh && source job_scripts/pbs/launch.sh
#   mpiexec -n 4 python job_scripts/programs/pi.py
#
# `exit` ends the session and gives the nodes back. If you forget it, you pay for an hour.

set -euo pipefail                   # the first command that fails ends the script, with its status
COURSE=${COURSE:-$PWD}              # the folder of the course: begin there, or set COURSE

SESSION=(
    -l select=2:ncpus=4:mpiprocs=2:ompthreads=2  # mpiprocs: ranks per node; ompthreads: cores per rank
    -l place=scatter                # each chunk on a node of its own
    -l walltime=01:00:00
)
if [ $# -gt 0 ]; then
    SESSION=("$@")
fi
exec qsub -I -N interactive -v "COURSE=$COURSE" "${SESSION[@]}"
