#!/bin/bash
# Unit 09's image lab on several nodes: your port of train_products.py to Horovod.
#
#   qsub job_scripts/pbs/image_lab.sh                       train_products_hvd.py in the folder you submit from
#   qsub -v ARGS="my_port.py --epochs 10" job_scripts/pbs/image_lab.sh      another file, with its options
#   qsub -v ARGS="--checkpoint jobs/image_lab-NUMBER/checkpoint.npz" job_scripts/pbs/image_lab.sh      resumes where that job ended
#
#PBS -N image_lab
#
# Two chunks, each with ncpus cores and mpiprocs ranks (one for each GPU, or for each NUMA domain). ompthreads: cores per rank;
# ncpus = mpiprocs x ompthreads. With GPUs: qsub -l select=2:ncpus=8:mpiprocs=4:ompthreads=2:ngpus=4
#PBS -l select=2:ncpus=4:mpiprocs=2:ompthreads=2
#
# Each chunk on a node of its own; without this line PBS may put both on one.
#PBS -l place=scatter
#
# Hours:minutes:seconds; then the job is ended.
#PBS -l walltime=00:10:00
#
# PBS's own messages: both streams in one file, in the folder you submitted from. All else goes to jobs/image_lab-NUMBER/
#PBS -j oe
#PBS -k doe
#
# The job may go back into the queue when a node fails, and then resumes from its checkpoint.
#PBS -r y

set -euo pipefail                  # the first command that fails ends the job, with its status
cd "$PBS_O_WORKDIR"                # a PBS job starts in the home folder
COURSE=${COURSE:-$PBS_O_WORKDIR}   # the folder of the course: submit from there, or set COURSE
source "$COURSE/job_scripts/job.sh"  # sets RUN, RANKS, NODES ...; from here on everything is printed to $RUN/output.txt
source "$COURSE/job_scripts/pbs/launch.sh"  # every_node, and what mpiexec needs to know
eval "set -- ${ARGS:-}"            # qsub gives a script no arguments: qsub -v ARGS="--epochs 3" ...

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

warn_before_end 120                # leaves a note, $RUN/stop; a port that does not look for it has its last epoch's checkpoint

report ranks "$RANKS" "$RANKS_PER_NODE" python "$PROGRAMS/report.py"

# The pictures are where all nodes see them; prepared, they go to each node's own disk (--scratch, by default in $TMPDIR).
start ranks "$RANKS" "$RANKS_PER_NODE" python "$PROGRAM" --data Stanford_Online_Products --device "$DEVICE" \
    --checkpoint "$RUN/checkpoint.npz" --log "$RUN/$LOG.jsonl" "$@"
