# %% [markdown]
# # 00 · Sums
#
# **At the end of this page** you have the largest value of all ranks on each of them, and shares
# that leave nobody out.

# %%
import torch
import torch.distributed as dist

from autograder import check

# %% [markdown]
# ## Build

# %% [markdown]
# ### The largest value anywhere (2 points)
#
# Every rank has a tensor of the same shape; each shall know the largest value at each place.
# **Think first:** how often must the ranks meet?

# %% nbgrader={"grade": false, "grade_id": "largest_anywhere", "locked": false, "schema_version": 3, "solution": true, "task": false}
def largest_anywhere(x: torch.Tensor) -> torch.Tensor:
    """The largest value over the ranks, element by element: a tensor of the shape and type of x, on every rank.

    x stays as it is.
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
    """How many of n samples this rank gets. The first ranks get one more where n does not divide."""
    ### BEGIN SOLUTION
    return n // world_size + (rank < n % world_size)
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "check_my_share", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
check(my_share)
