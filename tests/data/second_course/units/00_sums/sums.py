# %% [markdown]
# # 00 · Sums
#
# **At the end of this page** you can find the largest value of all ranks, and deal out shares that
# leave nobody out.

# %%
import torch
import torch.distributed as dist

from autograder import check

# %% [markdown]
# ## Build

# %% [markdown]
# ### The largest value anywhere (2 points)
#
# Every rank has a tensor of the same shape, and every rank wants the largest value at each place.
# **Think first:** how often must the ranks communicate?

# %% nbgrader={"grade": false, "grade_id": "largest_anywhere", "locked": false, "schema_version": 3, "solution": true, "task": false}
def largest_anywhere(x: torch.Tensor) -> torch.Tensor:
    """Find the largest value over the ranks, element by element.

    x: tensor, of the same shape and dtype on every rank
    Returns: tensor, shape and dtype of x, the same on every rank

    - floating point: use a single collective.
    - integers: keep their dtype.
    - unchanged: x.

    Example: two ranks with x = [1, 5] and [4, 2] both get [4, 5].
    """
    ### BEGIN SOLUTION
    largest = x.clone()
    dist.all_reduce(largest, op=dist.ReduceOp.MAX)
    return largest
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "check_largest_anywhere", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
check(largest_anywhere)

# %% [markdown]
# ### A fair share (2 points)
#
# n samples for world_size ranks. **Think first:** who gets the rest?

# %% nbgrader={"grade": false, "grade_id": "my_share", "locked": false, "schema_version": 3, "solution": true, "task": false}
def my_share(n: int, rank: int, world_size: int) -> int:
    """Return the number of samples that this rank gets.

    n: int, number of samples
    rank: int, this rank
    world_size: int, number of ranks
    Returns: int

    - equal shares: all ranks get the same number.
    - unequal shares: the first n % world_size ranks get one sample more.

    Example: my_share(10, 0, 4) == 3
    """
    ### BEGIN SOLUTION
    return n // world_size + (rank < n % world_size)
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "check_my_share", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
check(my_share)
