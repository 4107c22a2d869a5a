#!/bin/bash
# Grade a class on all nodes of the job: an engine of ipyparallel for each rank judges one submission at a time.
#
#   sbatch job_scripts/slurm/grade.sh 03_collectives --course /srv/courses/dl2027
#
#SBATCH --job-name=grade
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=2        # engines per node: about one for two cores
#SBATCH --cpus-per-task=2          # cores per rank: its NUMA domain's, or the node's divided by the number of its GPUs
#SBATCH --time=01:00:00            # hours:minutes:seconds; then the job is ended
#SBATCH --output=%x-%j.out         # Slurm's own messages (%x: the job's name, %j: its number); all else goes to jobs/grade-NUMBER/

set -euo pipefail                  # the first command that fails ends the job, with its status
COURSE=${COURSE:-$SLURM_SUBMIT_DIR}  # the folder of the course: submit from there, or set COURSE
source "$COURSE/job_scripts/job.sh"  # sets RUN, RANKS, NODES ...; from here on everything is printed to $RUN/output.txt

report srun python "$PROGRAMS/report.py"

# The engines and the grader find the controller by a file in the job's folder, which all nodes see. It begins listening on this node.
export IPYTHONDIR=$RUN/ipython
mkdir -p "$IPYTHONDIR/profile_grading"  # else an engine that is quicker than the controller gives up
ipcontroller --profile=grading --ip='*' --log-level=CRITICAL &
CONTROLLER=$!
srun ipengine --profile=grading --IPEngine.wait_for_url_file=120 --IPEngine.timeout=120 --log-level=ERROR &
ENGINES=$!
python "$PROGRAMS/wait_for_engines.py" grading "$RANKS"

# The grader runs here. When it ends, so do the engines, whatever came of it.
STATUS=0
start autograder grade --engines grading "$@" || STATUS=$?
kill "$ENGINES" "$CONTROLLER" || true
wait || true
exit "$STATUS"
