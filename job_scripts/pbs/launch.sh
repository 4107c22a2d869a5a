# Starts processes on all nodes of a PBS job. Slurm has srun for that; PBS leaves it to the MPI library and to pbs_tmrsh. Every script
# in this folder reads this file after job.sh, whose `ranks` starts MPI programs with the settings below:
#
#   every_node COMMAND...          one process on each node of the job; when one fails, the others are ended, too
#   warn_before_end SECONDS        sends this script USR1 so long before its time is up (Slurm: --signal=B:USR1@SECONDS)

HERE=$COURSE/job_scripts/pbs

# The settings of Open MPI. A library that was built with PBS's task manager (`ompi_info | grep tm`) knows the nodes by itself and ignores
# them; the course's own, which comes from PyPI, reads the node file and starts its daemon on the other nodes through on_host.sh.
export OMPI_MCA_orte_default_hostfile=$PBS_NODEFILE  # a line for each rank: mpiexec counts its slots correctly, in a notebook, too
export OMPI_MCA_plm_rsh_agent=$HERE/on_host.sh
export OMPI_MCA_plm_rsh_no_tree_spawn=1              # all daemons from the first node, where this script runs
export OMPI_MCA_orte_leave_session_attached=1        # its daemons stay where PBS counts them and ends them with the job

# What qsub -v would garble (quotes, $, backslashes) comes from `labkit submit` in base64.
[ -z "${ARGS64:-}" ] || ARGS=$(base64 -d <<< "$ARGS64")

every_node() {
    local host status=0 started=() number=0
    while read -r host; do
        RANK=$number WORLD_SIZE=$NODES LOCAL_RANK=0 "$HERE/on_host.sh" "$host" "${@@Q}" < /dev/null &  # RANK: the node's number
        started+=($!)
        number=$((number + 1))
    done < <(uniq "$PBS_NODEFILE")  # a node's lines are adjacent
    for _ in "${started[@]}"; do
        wait -n || [ $? = 127 ] || kill "${started[@]}" 2> /dev/null || true  # 127: none is left
    done
    for host in "${started[@]}"; do
        wait "$host" || status=1
    done
    return "$status"
}

warn_before_end() {
    local limit hours minutes seconds
    limit=$(qstat -f "$PBS_JOBID" | awk '$1 == "Resource_List.walltime" {print $3}') || true
    LIMIT=$limit  # for requeue_if_stopped (job.sh)
    if [ -z "$limit" ]; then
        echo "PBS does not say how long this job may run: what it has at its end is the checkpoint of the last full epoch"
        return 0
    fi
    IFS=: read -r hours minutes seconds <<< "$limit"
    seconds=$((10#$hours * 3600 + 10#$minutes * 60 + 10#$seconds - $1))  # 10#: 08 is eight
    (sleep "$((seconds > 0 ? seconds : 0))" && kill -USR1 "$$") &        # a timer; PBS ends it with the job
}
