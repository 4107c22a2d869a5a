# verdict: missing, diagnosis: not_written
def fair_share(n, rank, world_size):
    """The block of samples of this rank."""
    # YOUR CODE HERE
    raise NotImplementedError()
