#!/bin/bash
# Grade a class on all nodes of the job: an engine of ipyparallel for each rank judges one submission at a time.
#
#   qsub -v ARGS="03_collectives --course /srv/courses/dl2027" job_scripts/pbs/grade.sh
#
#PBS -N grade
#
# Two chunks, each with ncpus cores and mpiprocs engines (about one for two cores). ompthreads: cores per engine;
# ncpus = mpiprocs x ompthreads. With GPUs: qsub -l select=2:ncpus=8:mpiprocs=4:ompthreads=2:ngpus=4
#PBS -l select=2:ncpus=4:mpiprocs=2:ompthreads=2
#
# Each chunk on a node of its own; without this line PBS may put both on one.
#PBS -l place=scatter
#
# Hours:minutes:seconds; then the job is ended.
#PBS -l walltime=01:00:00
#
# PBS's own messages: both streams in one file, in the folder you submitted from. All else goes to jobs/grade-NUMBER/
#PBS -j oe
#PBS -k doe

set -euo pipefail                  # the first command that fails ends the job, with its status
cd "$PBS_O_WORKDIR"                # a PBS job starts in the home folder
COURSE=${COURSE:-$PBS_O_WORKDIR}   # the folder of the course: submit from there, or set COURSE
source "$COURSE/job_scripts/job.sh"  # sets RUN, RANKS, NODES ...; from here on everything is printed to $RUN/output.txt
source "$COURSE/job_scripts/pbs/launch.sh"  # every_node, and what mpiexec needs to know
eval "set -- ${ARGS:-}"            # qsub gives a script no arguments: qsub -v ARGS="--epochs 3" ...

report ranks "$RANKS" "$RANKS_PER_NODE" python "$PROGRAMS/report.py"

# The engines and the grader find the controller by a file in the job's folder, which all nodes see. It begins listening on this node.
export IPYTHONDIR=$RUN/ipython
mkdir -p "$IPYTHONDIR/profile_grading"  # else an engine that is quicker than the controller gives up
ipcontroller --profile=grading --ip='*' --log-level=CRITICAL &
CONTROLLER=$!
ranks "$RANKS" "$RANKS_PER_NODE" ipengine --profile=grading --IPEngine.wait_for_url_file=120 --IPEngine.timeout=120 --log-level=ERROR &
ENGINES=$!
python "$PROGRAMS/wait_for_engines.py" grading "$RANKS"

# The grader runs here. When it ends, so do the engines, whatever came of it.
STATUS=0
start autograder grade --engines grading "$@" || STATUS=$?
kill "$ENGINES" "$CONTROLLER" || true
wait || true
exit "$STATUS"
