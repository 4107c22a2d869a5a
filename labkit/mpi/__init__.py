"""init_process_group("mpi"): torch.distributed over the MPI library, and mpi4py with a record of what it did."""
