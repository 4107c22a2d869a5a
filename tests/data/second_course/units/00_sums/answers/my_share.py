# Right and wrong answers to `my_share`. In files of their own: autograder bank --write DIR

# %% right_formula: passed
def my_share(n, rank, world_size):
    return n // world_size + (rank < n % world_size)

# %% right_range: passed
def my_share(n, rank, world_size):
    return len(range(rank, n, world_size))

# %% wrong_divides_by_rank: raised, ZeroDivisionError, levels 0 0
def my_share(n, rank, world_size):
    return n // rank

# %% wrong_drops_the_rest: wrong, drops_the_rest, levels 1 0
def my_share(n, rank, world_size):
    return n // world_size

# %% wrong_forgets_the_rank: wrong, unrecognised, levels 0 0
def my_share(n, rank, world_size):
    return n

# %% wrong_returns_nothing: wrong, returns_nothing, levels 0 0
def my_share(n, rank, world_size):
    share = n // world_size + (rank < n % world_size)

# %% wrong_rounds_up: wrong, unrecognised, levels 1 0
def my_share(n, rank, world_size):
    return -(-n // world_size)
