#!/bin/sh
# when_workers_answer.sh COMMAND ...    wait until every worker of this MPIJob lets us in, then exec COMMAND.
#
# A worker is ready some seconds before the cluster's DNS knows its name, and mpiexec gives up at the first unknown name.
set -eu
hostfile=${OMPI_MCA_orte_default_hostfile:-/etc/mpi/hostfile}
patience=${WORKERS_ANSWER_WITHIN:-120}  # seconds

deadline=$(($(date +%s) + patience))
for host in $(cut -d ' ' -f 1 "$hostfile"); do
    until problem=$(ssh -n -o ConnectTimeout=5 "$host" true 2>&1); do
        if [ "$(date +%s)" -ge "$deadline" ]; then
            echo "$host does not let us in after $patience s: $problem" >&2
            echo "What to look at: job_scripts/kubernetes/README.md, \"When pods hang\"." >&2
            exit 1
        fi
        sleep 1
    done
done
exec "$@"
