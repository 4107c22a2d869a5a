# The one file that your site changes. Every job script reads it, through job.sh, on the first node of the job; what is exported here
# reaches all ranks. Six settings; those below suit the course's own environment.

# 1. Modules, where your site has them: those that your Horovod and MPI were built with.
# module load gcc cuda nccl openmpi

# 2. The Python environment with the course in it. It must be on a file system that all nodes see.
export PATH="${COURSE_ENVIRONMENT:-$COURSE/.venv}/bin:$PATH"

# 3. The launcher of MPI programs in a Slurm job. mpiexec comes with the MPI library and so fits it. srun where the library was built for
#    your Slurm: `srun --mpi=list` lists its interfaces (Open MPI: pmix. MPICH, Intel MPI: pmi2). The course's own library was not: it brings
#    PMIx 3, and with Slurm's PMIx 4 one start in a hundred, on busy nodes, dies of a segmentation fault in MPI_Init.
LAUNCHER=${COURSE_LAUNCHER:-mpiexec}
export SLURM_MPI_TYPE=pmix

# 4. The network interface between the nodes (`ip -brief address` on a compute node; often ib0). Empty: each library chooses,
#    which is right where a node has only one.
INTERFACE=

# 5. Binding: "cores" binds each rank to its own cores, so that it stays near its memory. "none" where nodes are shared or virtual.
BINDING=cores

# 6. Computing threads of each rank. Empty: one for each of its cores.
THREADS=

# Settings for another cluster go into a branch of their own. COURSE_SITE chooses it; by default, the name of the Slurm cluster does.
case ${COURSE_SITE:-${SLURM_CLUSTER_NAME:-}} in
    course)  # `make cluster-up`: all nodes are namespaces of one machine and share its cores. These are a laptop's settings.
        BINDING=none
        THREADS=1
        export OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_hwloc_base_binding_policy=none
        export OMPI_MCA_mpi_yield_when_idle=1  # a rank that waits gives its core to one that computes
        export TORCH_CPP_LOG_LEVEL=ERROR       # else PyTorch warns at each connection that there is no name server
        if [ "$(id -u)" = 0 ]; then
            export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
        fi
        ;;
esac

# Nothing to change from here on: the libraries' own names for settings 4 and 5.
if [ -n "$INTERFACE" ]; then
    export GLOO_SOCKET_IFNAME=$INTERFACE NCCL_SOCKET_IFNAME=$INTERFACE HOROVOD_GLOO_IFACE=$INTERFACE
    export OMPI_MCA_btl_tcp_if_include=$INTERFACE OMPI_MCA_oob_tcp_if_include=$INTERFACE
fi
if [ "$BINDING" != none ]; then
    export SLURM_CPU_BIND=$BINDING  # like srun --cpu-bind=cores
fi
export COURSE_BINDING=$BINDING  # for ranks that torchrun starts: they bind themselves
