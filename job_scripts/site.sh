# The one file that your site changes. Every job script reads it, through job.sh, on the first node of the job; what is exported here
# reaches all ranks. Six settings; those that stand here suit the course's own environment.

# 1. Modules, where your site has them: what your Horovod and MPI were built with.
# module load gcc cuda nccl openmpi

# 2. The Python environment with the course in it. It must lie on a file system that all nodes see.
export PATH="${COURSE_ENVIRONMENT:-$COURSE/.venv}/bin:$PATH"

# 3. Who starts the ranks of an MPI program in a Slurm job. mpiexec comes with the MPI library and so fits it. srun where the library was made
#    for your Slurm: `srun --mpi=list` shows what that can do (Open MPI: pmix. MPICH, Intel MPI: pmi2). The course's own library was not: it
#    brings PMIx 3, and with the PMIx 4 of Slurm one start in a hundred, on busy nodes, dies of a segmentation fault in MPI_Init.
LAUNCHER=${COURSE_LAUNCHER:-mpiexec}
export SLURM_MPI_TYPE=pmix

# 4. The network interface between the nodes (`ip -brief address` on a compute node; often ib0). Empty: each library looks for itself,
#    which is right where a node has only one.
INTERFACE=

# 5. Binding: "cores" ties each rank to its own cores, so that it stays near its memory. "none" where nodes are shared or virtual.
BINDING=cores

# 6. Computing threads of each rank. Empty: one for each core that the rank has been given.
THREADS=

# Settings for another cluster go into a branch of their own. COURSE_SITE chooses it; without it, the name that Slurm gives its cluster.
case ${COURSE_SITE:-${SLURM_CLUSTER_NAME:-}} in
    course)  # `make cluster-up`: all nodes are namespaces of one machine and share its cores. These are a laptop's settings.
        BINDING=none
        THREADS=1
        export OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_hwloc_base_binding_policy=none
        export OMPI_MCA_mpi_yield_when_idle=1  # a rank that waits gives its core to one that computes
        export TORCH_CPP_LOG_LEVEL=ERROR       # there is no name server, as PyTorch would mention for each connection
        if [ "$(id -u)" = 0 ]; then
            export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
        fi
        ;;
esac

# From here on there is nothing to change: the libraries' own names for settings 4 and 5.
if [ -n "$INTERFACE" ]; then
    export GLOO_SOCKET_IFNAME=$INTERFACE NCCL_SOCKET_IFNAME=$INTERFACE HOROVOD_GLOO_IFACE=$INTERFACE
    export OMPI_MCA_btl_tcp_if_include=$INTERFACE OMPI_MCA_oob_tcp_if_include=$INTERFACE
fi
if [ "$BINDING" != none ]; then
    export SLURM_CPU_BIND=$BINDING  # what srun --cpu-bind=cores says
fi
export COURSE_BINDING=$BINDING  # for ranks that torchrun starts: they bind themselves
