# %% [markdown]
# # 04 · DistributedSampler
#
# Four ranks train one model. Each holds a copy of it, and in every step each works on
# its own part of the minibatch. So somebody must decide who gets which samples, in
# which step, and in which epoch. It sounds like simple division. Done carelessly, it
# gives some samples twice and others never, shows the same minibatches for 90 epochs,
# or makes the accuracy of your model depend on how many GPUs you measured it with. None
# of this raises an error.
#
# **At the end of this page** you can say who gets what for any number of samples, ranks
# and minibatches. You have rebuilt PyTorch's `DistributedSampler`, you know when its
# steps are *not* the minibatches that one process would take, and you have a sampler
# whose steps always are. Your accuracy counts every sample exactly once.
#
# **You need** [unit 03](../03_collectives/collectives.ipynb) for `all_reduce`.
# **It takes** about 100 minutes, in two sittings. The cells themselves run for less
# than half a minute on two cores. They take about 1 GB of memory.

# %%
import math

import numpy as np
import torch
import torch.distributed as dist
from torch.utils.data import BatchSampler, DataLoader, DistributedSampler, RandomSampler

from autograder import check
from labkit import data, ranks
from labkit.lessons import distributed_sampler as given
from labkit.plots import sampled, tiles

RANKS = 4

# %%
ranks.start(RANKS, torch=True)

# %% [markdown]
# ## Guess first
#
# 1. 10 samples on 4 ranks, with PyTorch's sampler and its default settings. How many
#    samples do the ranks process in one epoch, altogether?
# 2. A training script shuffles, but never tells its sampler which epoch it is. It runs
#    for 90 epochs. How many different orders of the data does the model see?
# 3. A validation set of 50 images, on 4 ranks. The script reports 65.4 %, and on one
#    rank 66 %. Which part of the script is wrong?
#
# (You need not read the functions of `given` on this page: one compares your function
# with PyTorch's, one is a simple model. They are in
# `labkit/lessons/distributed_sampler.py`, and `help(given)` shows them.)

# %%
guess_1, guess_2, guess_3 = "?", "?", "?"

# %% [markdown]
# ## A data set you can see through
#
# A sample's number, from 0 to $n - 1$, is its **id** (PyTorch says *index*). For an id
# the data set returns an **item**. In this data set item $i$ is the number $10 i$, so
# wherever a sample ends up, you can read off where it came from.

# %%
class SimpleDataSet(torch.utils.data.Dataset):
    """`length` items; item i is 10 i."""

    def __init__(self, length):
        self.length = length

    def __len__(self):
        return self.length

    def __getitem__(self, i):
        return 10 * i

# %% [markdown]
# Three things stand between a data set and a training loop. A **sampler** yields ids in
# some order. A **batch sampler** cuts them into batches. The **loader** fetches the
# items and puts each batch into a tensor. With PyTorch's `DistributedSampler`, here
# called the *stock* sampler, every rank gets different ids:

# %%
# %%ranks
dataset = SimpleDataSet(24)
sampler = DistributedSampler(dataset, shuffle=False)
loader = DataLoader(dataset, batch_size=2, sampler=sampler)
print([batch.tolist() for batch in loader])

# %% [markdown]
# Look at the first batches of the four ranks: together they are items 0 to 70, the
# first eight. That is no accident, as you will see.
#
# The sampler asked `torch.distributed` how many ranks there are and which one it runs
# on. You can also tell it, with `num_replicas` and `rank`. Then it also works in the
# notebook, and you can look at every rank's *share*, that is, its ids:

# %%
def stock(n, num_replicas, **options):
    """The ids that DistributedSampler gives each rank: one list per rank."""
    return [
        list(DistributedSampler(range(n), num_replicas, rank, **options))
        for rank in range(num_replicas)
    ]


stock(24, 4, shuffle=False)

# %% [markdown]
# Now draw them. One row per rank, in the rank's colour; time runs to the right. A
# sample that has been dealt before gets a thick dashed frame and the word *again*; a
# dotted box is a step without samples. Samples that nobody got are listed below.

# %% alt="Four rows of boxes, one for each rank: rank 0 holds the samples 0, 4, 8 and so on, rank 1 holds 1, 5, 9, and so on; 24 dealt."
tiles.shares(24, {"24 samples, 4 ranks": stock(24, 4, shuffle=False)})

# %% [markdown]
# ## Two ways to deal
#
# Read the picture column by column: 0, 1, 2, 3, then 4, 5, 6, 7. The sampler deals like
# a card dealer. With $p$ ranks, rank $r$ gets ids $r$, $r + p$, $r + 2p$ and so on.
# These are **strides**. In unit 01 you cut n darts into **blocks** instead, as
# `np.array_split` does:

# %% alt="Two panels of four rows. Strides: rank 0 holds 0, 4, 8 up to 20. Blocks: rank 0 holds 0 to 5, rank 1 holds 6 to 11 and so on."
tiles.shares(
    24,
    {
        "strides": [list(range(24))[rank::4] for rank in range(4)],
        "blocks": [block.tolist() for block in np.array_split(np.arange(24), 4)],
    },
)

# %% [markdown]
# Both deal every sample once, and the lengths of the shares differ by at most one. So
# what is the difference? Cut each row into steps of two. With strides, the ranks
# together hold samples 0 to 7 in the first step: *the minibatch that one process would
# take*. With blocks they hold 0, 1, 6, 7, 12, 13, 18, 19.
#
# Blocks have an advantage, too: a rank reads its share of a file in one piece. But if
# the samples are sorted by class, as they are with one folder per class, a rank with a
# block sees only a few classes, and most of its batches hold a single one.
#
# ### Like a card dealer (2 points)
#
# This function repeats and drops nothing: with 10 samples, two of four ranks get three
# and the others two. You will need it again to evaluate a model. **Think first:** with
# 3 samples and 5 ranks, what does rank 4 get?

# %% nbgrader={"grade": false, "grade_id": "strided_share", "locked": false, "schema_version": 3, "solution": true, "task": false}
def strided_share(n: int, rank: int, world_size: int) -> list[int]:
    """Return the samples that this rank gets when n samples are dealt out one by one.

    n: int, number of samples, from 0 to 10 million
    rank: int, this rank
    world_size: int, number of ranks
    Returns: list, array or tensor of ids, ints from 0 to n - 1, in the order in which
        they are dealt

    - equal shares: rank 0 gets the first sample, rank 1 the second, and so on; after
      the last rank comes rank 0 again. Every id belongs to exactly one rank.
    - unequal shares: no sample is repeated or dropped; a share may be empty.

    Example: strided_share(10, 1, 4) == [1, 5, 9]
    """
    ### BEGIN SOLUTION
    return list(range(rank, n, world_size))
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "check_strided_share", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
check(strided_share)

# %% [markdown]
# ## The four parameters
#
# **`num_replicas`** is the number of ranks that share the data. More ranks, shorter
# shares:

# %% alt="Three panels: 12 samples dealt out to 2, 3 and 4 ranks in strides; the rows get shorter."
tiles.shares(
    12,
    {f"num_replicas = {p}": stock(12, p, shuffle=False) for p in (2, 3, 4)},
    columns=3,
)

# %% [markdown]
# **`rank`** says which share this process takes. Each rank must name its own. If a
# launcher does not tell the ranks who they are, and all believe they are rank 0, you
# pay for four ranks and get the work of one:

# %% alt="Four rows that all hold the samples 0, 4 and 8, framed as dealt again on ranks 1 to 3; nobody has the other nine."
everybody_is_rank_0 = [
    list(DistributedSampler(range(12), num_replicas=4, rank=0, shuffle=False))
    for rank in range(4)
]
tiles.shares(12, {"rank = 0 on every rank": everybody_is_rank_0})

# %% [markdown]
# **`shuffle`** (True by default) shuffles the *whole* order first and then deals it
# out. The order depends on $n$ and `seed + epoch` alone:
#
# ![Twelve samples on four ranks in two epochs. In epoch 0 all four ranks hold the same order 8, 0, 5, 9, 7, 4, 2, 10, 3, 1, 11, 6. Rank 0 takes the first position and every fourth one after it: 8, 7, 3; rank 1 takes 0, 4, 1; rank 2 takes 5, 2, 11; rank 3 takes 9, 10, 6. In epoch 1 all ranks hold a different order, again the same one on each, and take the same positions of it.](../../images/shuffle_by_epoch.svg)
#
# Every rank computes the whole permutation for itself; no message is needed. All get
# the same one, and each takes its own positions, so the shares still fit together.
# A different epoch gives a different permutation. Here is the sampler without and with
# shuffling:

# %% alt="Two panels of four rows with 12 samples: in order, and shuffled; in both every sample is dealt once."
tiles.shares(
    12,
    {
        "shuffle=False": stock(12, 4, shuffle=False),
        "shuffle=True": stock(12, 4, shuffle=True),
    },
    columns=2,
)

# %% [markdown]
# **`drop_last`** decides what happens when the samples cannot be shared evenly among
# the ranks. A rank with one sample fewer may have one batch fewer: with batches of 2,
# four samples are two steps and five are three. Then the ranks with three steps wait
# for ever in their third all-reduce. Shares of equal length mean equal numbers of
# steps, whatever the batch size.
#
# ![Ten samples dealt out one by one to four ranks. The order 0 to 9 is extended by samples 0 and 1 as padding, to a multiple of four. Rank 0 gets 0, 4, 8; rank 1 gets 1, 5, 9; rank 2 gets 2, 6 and again 0; rank 3 gets 3, 7 and again 1. A dashed line after sample 7 shows where drop_last=True cuts the order instead: then every rank has two samples.](../../images/padded_shares.svg)
#
# Without `drop_last` the sampler **pads** the order: it appends samples from the
# beginning of the order (the dashed cells). With it, the sampler cuts off the rest at
# the dashed line:

# %% alt="Two panels with 10 samples on 4 ranks. Without drop_last the samples 0 and 1 are dealt again; with it nobody has 8 and 9."
tiles.shares(
    10,
    {
        "10 samples, drop_last=False": stock(10, 4, shuffle=False),
        "10 samples, drop_last=True": stock(10, 4, shuffle=False, drop_last=True),
    },
    columns=2,
)

# %% [markdown]
# Your first guess: the answer is twelve. Samples 0 and 1 came twice in this epoch. With
# `drop_last` it is eight, and nobody saw 8 and 9. When every epoch is shuffled
# differently, other samples are affected each time, and in training neither padding
# nor dropping does harm. In an evaluation both do.
#
# ### What the stock sampler does (4 points)
#
# Write the stock sampler without using `DistributedSampler`. The order is `range(n)`,
# or with `shuffle` the result of `torch.randperm(n, generator=g)`, where `g` is a
# `torch.Generator` seeded with `seed + epoch`. Then pad or cut. Then deal.
# **Think first:** with 2 samples and 5 ranks, what is the padded order?

# %% nbgrader={"grade": false, "grade_id": "stock_indices", "locked": false, "schema_version": 3, "solution": true, "task": false}
def stock_indices(
    n: int,
    rank: int,
    world_size: int,
    shuffle: bool = False,
    seed: int = 0,
    epoch: int = 0,
    drop_last: bool = False,
) -> list[int]:
    """Return the samples that a DistributedSampler gives this rank, without using one.

    n: int, number of samples, at least 1
    rank: int, this rank
    world_size: int, number of ranks
    shuffle: bool, True for the order of torch.randperm as described above
    seed, epoch: ints, 0 or more, their sum below 2**32
    drop_last: bool, True to cut instead of padding
    Returns: list, array or tensor of ids in the order of the sampler

    - padding: if n is not a multiple of world_size, the order is repeated from its
      beginning until its length is the next multiple.
    - drop_last: the order is cut to the largest multiple of world_size that is at most
      n, which may be 0.
    - shuffle: the order is that of seed + epoch.
    - fewer samples than ranks: padding may repeat the order several times.

    Example: n = 10 on 4 ranks: rank 2 gets [2, 6, 0], with drop_last [2, 6].
    """
    ### BEGIN SOLUTION
    if shuffle:
        g = torch.Generator()
        g.manual_seed(seed + epoch)
        order = torch.randperm(n, generator=g).tolist()
    else:
        order = list(range(n))
    if drop_last:
        order = order[: n - n % world_size]
    else:
        total = n + -n % world_size
        order = (order * world_size)[:total]
    return order[rank::world_size]
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "check_stock_indices", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
check(stock_indices)

# %% [markdown]
# Compare it with the original, on a thousand settings drawn at random:

# %% tags=["raises-exception"]
equal = given.equal_settings(stock_indices, 1000)
print(f"equal in {equal} of 1000 settings")

# %% [markdown]
# ## Batches
#
# `BatchSampler` cuts what a sampler yields into batches of ids; a loader with
# `batch_size=` makes one by itself. `BatchSampler` has its own `drop_last`: it drops
# *this rank's last batch if it is short*. The sampler's `drop_last` drops *the samples
# that are left over when the ranks share them evenly*.

# %% alt="Three panels of four rows with gaps between the batches: 22 samples in batches of three; in batches of four, where the last ones have two; and with the batch sampler's drop_last, where the short batches and their samples are missing."
def batched(n, p, batch_size, drop_last):
    """Batches of each rank: the stock sampler, wrapped in a BatchSampler."""
    return [
        list(BatchSampler(share, batch_size, drop_last))
        for share in stock(n, p, shuffle=False)
    ]


tiles.shares(
    22,
    {
        "batch_size = 3": batched(22, 4, 3, drop_last=False),
        "batch_size = 4": batched(22, 4, 4, drop_last=False),
        "batch_size = 4, the batch sampler's drop_last=True": batched(
            22, 4, 4, drop_last=True
        ),
    },
)

# %% [markdown]
# `batch_size` counts the samples of *one rank*: it is the **local batch size**. In
# every step the ranks together work on $p$ times as many, the **global batch size**.
# Papers and learning-rate schedules mean the global one. A script that passes it to the
# loader trains with $p$ times the batch that it reports.
#
# ### Epochs of a training loop (4 points)
#
# Now the real thing, with PyTorch's own sampler and loader, as in a training script.
# The order must change from epoch to epoch, so you have to tell the sampler which epoch
# it is: `sampler.set_epoch(epoch)`, on every rank, before each loop over the loader.

# %% nbgrader={"grade": false, "grade_id": "training_batches", "locked": false, "schema_version": 3, "solution": true, "task": false}
def training_batches(dataset, global_batch_size: int, epochs: int, seed: int) -> list:
    """Return the batches that this rank trains on, epoch by epoch.

    dataset: a map-style data set, like SimpleDataSet
    global_batch_size: int, samples of all ranks in one step, a multiple of the world
        size
    epochs: int, number of epochs, at least 1; they count from 0
    seed: int, the sampler's seed, 0 or more
    Returns: list with an entry for each epoch: the list of this rank's batches, each a
        tensor or list of items

    - one epoch: shuffled and padded as by a DistributedSampler with this seed;
      torch.distributed is already initialised.
    - three epochs: each has the sampler's order for that epoch.
    - incomplete batches: neither sampler nor loader drops anything.

    Example: 10 samples, 2 ranks, global_batch_size = 4: batches of 2, 2 and 1 on each
    rank.
    """
    ### BEGIN SOLUTION
    sampler = DistributedSampler(dataset, seed=seed)
    loader = DataLoader(
        dataset, batch_size=global_batch_size // dist.get_world_size(), sampler=sampler
    )
    seen = []
    for epoch in range(epochs):
        sampler.set_epoch(epoch)
        seen.append([batch.tolist() for batch in loader])
    return seen
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "check_training_batches", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
check(training_batches)

# %% [markdown]
# ## Half-time
#
# You know which rank sees which sample, what the stock sampler pads, and that you must
# tell it the epoch. This is a good place for a break. Next you write a sampler that
# does what one process would do, and an accuracy that counts every sample once.

# %% [markdown]
# ## The minibatch of one process
#
# You have a model that trains well on one process, with minibatches of $m$ samples. Now
# you want $p$ ranks to compute *the same thing*, faster. Then in every step the ranks
# together must hold exactly the minibatch that one process would take.
#
# Does the stock sampler do that? Here are 24 samples in minibatches of 8. With 2 ranks
# each takes 4 per step. Look at the second batch of rank 0: samples 8, 10, 12, 14, half
# of the second minibatch. Fine. But 8 is not divisible by 3. And what if there are 23
# samples?

# %% alt=["24 samples in minibatches of 8. On 2 ranks each step holds the samples of one minibatch; on 3 ranks each takes three samples, and the first step reaches into the second minibatch.", "23 samples on 2 ranks: sample 0 is dealt again in the last step."]
def stock_steps(n, p, m):
    """Stock sampler, local batches of m / p samples, rounded up."""
    return batched(n, p, math.ceil(m / p), drop_last=False)


tiles.shares(
    24,
    {
        "24 samples, 2 ranks, minibatches of 8": stock_steps(24, 2, 8),
        "24 samples, 3 ranks, minibatches of 8": stock_steps(24, 3, 8),
    },
)
tiles.shares(23, {"23 samples, 2 ranks, minibatches of 8": stock_steps(23, 2, 8)})

# %% [markdown]
# With 3 ranks the first step takes samples 0 to 8: nine, not eight, and sample 8
# belongs to the next minibatch. The steps after it are off as well. With 23 samples the
# last minibatch should have seven, but sample 0 was added to it. A different minibatch,
# a different gradient, a different model: your parallel run and your sequential run can
# no longer be compared number by number.
#
# The cure is to swap two operations. The stock sampler first deals and then cuts.
# **First cut, then deal**: cut the order into minibatches, and deal out each of them.
# Rank $r$ takes positions $r$, $r + p$, $r + 2p$, ... *of the minibatch*. Each
# deal begins with rank 0.
#
# ![The order 0 to 23 in three minibatches of 8, shared by three ranks in two ways. Left, deal, then cut: step 0 holds samples 0 to 8, of which 8 belongs to minibatch 1; step 1 holds 9 to 17, of which 16 and 17 belong to minibatch 2; step 2 holds 18 to 23. Right, cut, then deal: every step holds exactly one minibatch; ranks 0 and 1 have three samples of it and rank 2 has two.](../../images/two_ways_to_share.svg)
#
# Read a step from top to bottom. On the left the steps drift away from the minibatches;
# on the right they never do.
#
# - If a minibatch does not divide evenly, the first ranks get one more sample. That is
#   all right: unit 05 weights the ranks by their counts.
# - A minibatch with fewer samples than ranks leaves some ranks with nothing. Their
#   share is an **empty list**. It must be there, because every rank has to take part in
#   every step, even with nothing to add.
#
# ### Split the sequential minibatch (4 points)
#
# The function gets the order, the same on all ranks: shuffling is not its business.

# %% nbgrader={"grade": false, "grade_id": "minibatch_shares", "locked": false, "schema_version": 3, "solution": true, "task": false}
def minibatch_shares(
    order: list[int], batch_size: int, rank: int, world_size: int
) -> list[list[int]]:
    """Return this rank's share of every minibatch of the sequential order.

    order: list of different ids, any ints from 0 on, in the order of this epoch; at
        least one
    batch_size: int, samples of a minibatch, at least 1
    rank: int, this rank
    world_size: int, number of ranks
    Returns: list with a list, array or tensor of ids for each minibatch

    - unequal shares: a minibatch is batch_size consecutive entries of the order. Rank r
      takes positions r, r + world_size, r + 2 world_size, ... of each.
    - a short last minibatch: it holds the rest; nothing is padded or dropped.
    - fewer samples than ranks: a share without samples is an empty list.
    - equal shares: all shares have batch_size / world_size ids.
    - unchanged: order.

    Example: minibatch_shares([7, 8, 9, 5], 3, 1, 2) == [[8], []]
    """
    ### BEGIN SOLUTION
    minibatches = [
        order[start : start + batch_size] for start in range(0, len(order), batch_size)
    ]
    return [minibatch[rank::world_size] for minibatch in minibatches]
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "check_minibatch_shares", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
check(minibatch_shares)

# %% tags=["raises-exception"] alt=["24 samples on 3 ranks: each step holds exactly one minibatch of 8, so that one rank has two samples and the others three.", "23 samples on 2 ranks: the last minibatch of 7 is shared as four and three, nothing is dealt again.", "10 samples on 5 ranks in minibatches of 4: in every step a rank has an empty box, and in the last step three have."]
def my_steps(n, p, m):
    return [
        [[int(i) for i in ids] for ids in minibatch_shares(list(range(n)), m, rank, p)]
        for rank in range(p)
    ]


tiles.shares(24, {"24 samples, 3 ranks, minibatches of 8": my_steps(24, 3, 8)})
tiles.shares(23, {"23 samples, 2 ranks, minibatches of 8": my_steps(23, 2, 8)})
tiles.shares(10, {"10 samples, 5 ranks, minibatches of 4": my_steps(10, 5, 4)})

# %% [markdown]
# A few lines around your function make it a batch sampler that any loader takes. It has
# a `set_epoch` like the stock sampler:

# %%
class MinibatchSampler(torch.utils.data.Sampler):
    """For a loader's `batch_sampler`: this rank's share of every minibatch of a
    shuffled data set of n samples.
    """

    def __init__(self, n, batch_size, rank, world_size, seed=0):
        self.n, self.batch_size, self.seed = n, batch_size, seed
        self.rank, self.world_size = rank, world_size
        self.epoch = 0

    def set_epoch(self, epoch):
        self.epoch = epoch

    def __len__(self):
        return math.ceil(self.n / self.batch_size)

    def __iter__(self):
        generator = torch.Generator().manual_seed(self.seed + self.epoch)
        order = torch.randperm(self.n, generator=generator).tolist()
        return iter(
            minibatch_shares(order, self.batch_size, self.rank, self.world_size)
        )

# %% [markdown]
# One problem is left. Some ranks will get an empty batch, and a loader cannot handle
# that: it looks at the first item of a batch to see how to put the batch together.

# %%
empty_in_the_middle = [[0, 1], [], [2]]
try:
    print(list(DataLoader(SimpleDataSet(3), batch_sampler=empty_in_the_middle)))
except IndexError as error:
    print("IndexError:", error)

print(
    list(
        DataLoader(
            SimpleDataSet(3), batch_sampler=empty_in_the_middle, collate_fn=torch.tensor
        )
    )
)

# %% [markdown]
# The cure is a `collate_fn` (the function that puts a batch together) that needs no
# first item. A rank with an empty batch computes a gradient of zeros, from zero
# samples, and takes part in the all-reduce like everybody else.
#
# Now on real ranks, with 23 samples in minibatches of 10: the last one has three, and
# rank 3 gets nothing. Each rank also goes through the epoch as one process would, for
# comparison: do the ranks together hold the minibatch of one process in every step?
# (`all_gather_object` is an `all_gather` of any Python objects.)

# %% tags=["raises-exception"]
# %%ranks
dataset = SimpleDataSet(23)
loader = DataLoader(
    dataset,
    batch_sampler=MinibatchSampler(23, 10, rank, world_size),
    collate_fn=torch.tensor,
)
alone = DataLoader(dataset, batch_sampler=MinibatchSampler(23, 10, 0, 1))
try:
    steps = zip(loader, alone, strict=True)
    for step, (mine, minibatch) in enumerate(steps):
        everybodys = [None] * world_size
        dist.all_gather_object(everybodys, mine.tolist())
        together = sorted(item for items in everybodys for item in items)
        if rank == 0:
            print(
                f"step {step}: {everybodys} the same minibatch: "
                f"{together == sorted(minibatch.tolist())}"
            )
except NotImplementedError:
    print("minibatch_shares is not written yet: come back to this cell when it is.")

# %% [markdown]
# Everything that follows, from the gradients of unit 05 to the scaling of unit 08, can
# now be compared with one process, number by number.

# %% [markdown]
# ## A number that is wrong
#
# Now evaluate a model. It is the simplest there is: the mean image of each of the ten
# digits. It classifies an image as the digit with the nearest mean. You have 50 images
# for validation. `correct` holds, for each of them, whether the model was right.

# %%
train_images, train_labels = data.load("digits", train=True, n=3000)
images, labels = data.load("digits", train=False, n=50)
predicted = given.nearest_mean(train_images, train_labels, images)
correct = torch.from_numpy(predicted == labels)
print(
    f"{int(correct.sum())} of {len(correct)} images are right: "
    f"{correct.float().mean():.1%}"
)

# %% [markdown]
# Now on four ranks, as in many scripts: the stock sampler deals out the images, each
# rank counts its own and the right ones among them, an `all_reduce` adds up the counts.
# Look for the mistake. The arithmetic is right.

# %%
# %%ranks
loader = DataLoader(
    correct, batch_size=5, sampler=DistributedSampler(correct, shuffle=False)
)
counts = torch.zeros(2)
for batch in loader:
    counts += torch.tensor([batch.sum(), len(batch)])
dist.all_reduce(counts)
right, seen = counts.tolist()
print(f"{right:.0f} of {seen:.0f} images are right: {right / seen:.1%}")

# %% [markdown]
# 52 images. There are only 50. Your third guess: the wrong part is the sampler. It
# padded the shares with images 0 and 1, and these count twice. How wrong is that? It
# depends on the number of ranks, which is the worst of it. You need no cluster to see
# it: the stock sampler tells you who would get what.

# %% alt="Reported accuracy over 1 to 64 ranks: with the images as they come most points lie below the true accuracy, by up to 3 percentage points; with images sorted by class most lie above it, by up to 4."
def reported(correct, p):
    """The accuracy, in percent, that p ranks with the stock sampler report."""
    dealt = np.concatenate(stock(len(correct), p, shuffle=False))
    return 100 * correct[dealt].float().mean().item()


worlds = range(1, 65)
by_class = correct[np.argsort(labels, kind="stable")]
shown = {
    "images as they come": [reported(correct, p) for p in worlds],
    "images sorted by class": [reported(by_class, p) for p in worlds],
}
sampled.accuracy(worlds, shown, truth=100 * correct.float().mean().item());

# %% [markdown]
# One model, 50 images, and an accuracy that moves by several points with the number of
# ranks. Where the number of ranks divides 50, it is right. Elsewhere the first images
# of the data set count twice. When images are sorted by class, as they are in folders,
# these belong to the first classes: if those are easy, your model seems to get better
# with more GPUs.
#
# `drop_last=True` is no way out: then images are missing. Nor is the mean of the ranks'
# own accuracies. The way out is to remember *why* the shares had to have equal length:
# the ranks meet in every step. In an evaluation they meet only once, at the end.
#
# ### An accuracy that counts everybody once (3 points)
#
# You are given `is_correct(i)`: it runs the model on sample i, which is the expensive
# part, and says whether the model was right. Use your `strided_share` or deal in
# another way, but exactly one rank must look at each sample, and the shares may differ
# by at most one sample. **Think first:** what does a rank without samples do?

# %% nbgrader={"grade": false, "grade_id": "exact_accuracy", "locked": false, "schema_version": 3, "solution": true, "task": false}
def exact_accuracy(n: int, is_correct) -> float:
    """Return the accuracy over n samples that all ranks evaluate together.

    n: int, number of samples, at least 1
    is_correct: function, is_correct(i) returns a bool
    Returns: float from 0 to 1, or a tensor with one element, the same on every rank

    - equal shares: over all ranks is_correct is called exactly once for every i from 0
      to n - 1.
    - unequal shares: the numbers of calls on any two ranks differ by at most one.
    - fewer samples than ranks: n may be smaller than the world size.

    Example: n = 5 on 2 ranks, 4 of them right: both return 0.8.
    """
    ### BEGIN SOLUTION
    share = strided_share(n, dist.get_rank(), dist.get_world_size())
    count = torch.tensor(sum(is_correct(i) for i in share))
    dist.all_reduce(count)
    return count.item() / n
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "check_exact_accuracy", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
check(exact_accuracy)

# %% tags=["raises-exception"]
# %%ranks
def is_correct(i):
    return bool(correct[i])


try:
    print(
        f"{exact_accuracy(len(correct), is_correct):.1%} of {len(correct)} images are "
        "right"
    )
except NotImplementedError:
    print("exact_accuracy is not written yet: come back to this cell when it is.")

# %% [markdown]
# ## Who must agree, and who must not
#
# The order of the samples has to be the same on all ranks, or they deal from different
# packs. See what `seed=rank` does:

# %% alt="Four rows of three samples, each rank dealing from a pack shuffled in its own way: several samples are dealt again, and others are missing."
different_packs = [
    list(DistributedSampler(range(12), num_replicas=4, rank=rank, seed=rank))
    for rank in range(4)
]
tiles.shares(12, {"seed = rank": different_packs})

# %% [markdown]
# So "same seed everywhere" is good advice for the order, and for the initial weights.
# For the **noise**, that is, augmentation, dropout and the like, it is bad advice.
# Images are shifted, rotated and cropped at random, so that the network hardly ever
# sees the same one twice. If all ranks start from the same seed, they draw the same
# numbers: all four shift their images alike, and see no more variety than one.

# %%
# %%ranks
torch.manual_seed(0)  # as in line 1 of most scripts
shift_same = torch.randint(-4, 5, (2,)).tolist()
torch.manual_seed(1000 + rank)
shift_own = torch.randint(-4, 5, (2,)).tolist()

# %% alt="Two rows of four handwritten digits, one of each rank. With the same seed all four are shifted in the same way, with a seed per rank each in a different way."
shifts = {
    "the same seed": ranks.pull("shift_same"),
    "a seed per rank": ranks.pull("shift_own"),
}
sampled.shifted(images, shifts)

# %% [markdown]
# It is worse where the samples themselves are drawn at random: with replacement, or by
# weight. `DistributedSampler` cannot do that, so each rank draws for itself, and from
# the same seed they all draw the same samples:

# %%
# %%ranks
for what, seed in (("the same seed", 0), ("a seed per rank", 1000 + rank)):
    generator = torch.Generator().manual_seed(seed)
    drawn = list(
        RandomSampler(range(1000), replacement=True, num_samples=8, generator=generator)
    )
    everybodys = [None] * world_size
    dist.all_gather_object(everybodys, drawn)
    if rank == 0:
        print(
            f"{what}: {8 * world_size} samples drawn, "
            f"{len({i for ids in everybodys for i in ids})} different ones"
        )

# %% [markdown]
# ### One order, many noises (2 points)
#
# So you need two generators, different in every epoch: one for the order, the same on
# all ranks, and one for the noise, different on each rank. Both must depend on the
# arguments alone, so that a run can be repeated. **Think first:** seed the noise with
# `seed + epoch + rank`. What does rank 0 draw in the next epoch?

# %% nbgrader={"grade": false, "grade_id": "epoch_generators", "locked": false, "schema_version": 3, "solution": true, "task": false}
def epoch_generators(
    seed: int, epoch: int, rank: int, world_size: int
) -> tuple[torch.Generator, torch.Generator]:
    """Return two new generators for this rank and epoch: (order, noise).

    seed: int, from 0 to 9,999
    epoch: int, from 0 to 99
    rank: int, this rank
    world_size: int, number of ranks, at most 1001
    Returns: (torch.Generator, torch.Generator)

    - the order: the same numbers on every rank, different ones in every epoch.
    - the noise: different numbers for every pair (rank, epoch); none begins where
      another continues.
    - both: a different seed, with the same rank and epoch, gives different numbers; the
      same arguments give the same numbers in every process. PyTorch's global generator
      stays as it is.
    - seeding: a generator on the CPU uses only the lowest 32 bits of its seed.

    Example: ranks 0 and 1 in epoch 3: equal order, different noise.
    """
    ### BEGIN SOLUTION
    order = torch.Generator().manual_seed(seed + epoch)
    noise = torch.Generator().manual_seed(
        1_000_000 * (seed + 1) + epoch * world_size + rank
    )
    return order, noise
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "check_epoch_generators", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
check(epoch_generators)

# %% [markdown]
# ## Break it
#
# The most common mistake with this sampler is one missing line. This loop shuffles:
# `shuffle=True` is the sampler's default. It runs on real ranks, for three epochs.
# **Before you run it:** what will differ between the epochs?

# %%
# %%ranks
dataset = SimpleDataSet(16)
sampler = DistributedSampler(dataset)
loader = DataLoader(dataset, batch_size=2, sampler=sampler)
forgotten = []
for epoch in range(3):
    forgotten.append([(batch // 10).tolist() for batch in loader])

told = []
for epoch in range(3):
    sampler.set_epoch(epoch)
    told.append([(batch // 10).tolist() for batch in loader])

# %% alt="Six panels of 16 samples in batches of two. Where set_epoch was forgotten the three epochs are the same; where it was called each has a different order."
forgotten, told = ranks.pull("forgotten"), ranks.pull("told")
panels = {
    f"set_epoch forgotten, epoch {epoch}": [mine[epoch] for mine in forgotten]
    for epoch in range(3)
}
panels |= {
    f"set_epoch called, epoch {epoch}": [mine[epoch] for mine in told]
    for epoch in range(3)
}
tiles.shares(16, panels, columns=3)

# %% [markdown]
# In the upper row the order is the same three times, and it would be the same 90 times.
# Each rank sees its own four samples, in the same two batches, for as long as you
# train. Nothing fails. The loss falls. The model is only a little worse than it could
# be, and you will look for the reason everywhere else. Your second guess: **one**
# order.
#
# A loader with `shuffle=True` on one process needs no such call, because its generator
# moves on from epoch to epoch. The distributed sampler makes a new generator in every
# epoch, so that all ranks agree without talking to each other. It has to be told the
# epoch.

# %% [markdown]
# ## What to remember
#
# - `DistributedSampler`: shuffle the same way on all ranks (`seed + epoch`), pad or
#   drop, deal with a stride of `num_replicas`, start at `rank`.
# - `batch_size` of a loader is the **local** one. The global batch is $p$ times as
#   large.
# - `set_epoch(epoch)` before every epoch, on every rank. Nobody reminds you.
# - Where sizes do not divide evenly, the stock sampler's steps are **not** the
#   minibatches of one process. Cut first, then deal.
# - Padding counts samples twice: harmless in training, wrong in an evaluation. **Add
#   up counts, divide once.**
# - The order: the same seed on all ranks. The noise: a different seed on each.
#
# **To think about.** Your minibatch has 10 samples, on 4 ranks: three, three, two, two.
# Each rank computes the mean gradient over its own samples, and you average the four
# means. Is that the gradient of the minibatch? Unit 05 begins there.

# %% [markdown]
# ## Deeper: the loader's own workers
#
# With `num_workers=2` a loader starts two processes that fetch items. Their seeds are a
# base seed plus the worker's number, and the base seed is drawn from torch's global
# generator (PyTorch documentation, *Randomness in multi-process data loading*). So if
# `torch.manual_seed(0)` runs on every rank, worker 0 of every rank has the same seed,
# too. Give each loader the noise generator of its rank,
# `DataLoader(..., generator=noise)`, and it draws the base seed from there.

# %%
ranks.stop()

# %% [markdown]
# ### To read
#
# - PyTorch,
#   [`torch/utils/data/distributed.py`](https://github.com/pytorch/pytorch/blob/main/torch/utils/data/distributed.py):
#   you can now read every line of it.
# - S. Li et al., *PyTorch Distributed: Experiences on Accelerating Data Parallel
#   Training*, VLDB 2020: what happens to the batches next, and the subject of unit 06.
