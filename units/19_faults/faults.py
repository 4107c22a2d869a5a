# %% [markdown]
# # 19 · Faults
#
# A program on one machine either runs or it does not. A program on a thousand machines
# is always a little broken: one of them dies, one is slow, one computes wrong numbers,
# and somebody's file is half-written. On this page you kill ranks and cut off writes on
# purpose, and training still ends with the same weights, bit for bit; in the stretch
# you flip bits and detect the errors.
#
# **At the end of this page** you have written a checkpoint that no kill can corrupt,
# resumed training on a different number of ranks without using any sample twice,
# continued with the survivors after a rank died, and can say how often to save. In the
# stretch you will also have found the rank that holds up the others, and a sum with a
# wrong number in it.
#
# **You need** units 03 to 06 and 15. **It takes** about 125 minutes, the *stretch* 80
# more, in two sittings with a break at *Half-time*. The cells themselves run for less
# than a minute on two cores; one of them starts `torchrun` and kills a worker. They
# take about 1.1 GB of memory.

# %%
import copy
import os
import tempfile
import threading
import time
from collections.abc import Callable

import numpy as np
import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
from torch.distributed.checkpoint.state_dict import get_state_dict, set_state_dict

from autograder import check
from labkit import checkpoint, simulation, timeline
from labkit.environment import without_frameworks
from labkit.lessons import faults
from labkit.plots import charts
from train_elastic import SIZE, one_step

# %% [markdown]
# ## Guess first
#
# Write down your guesses before you read on; the page answers all three.
#
# 1. Counting all causes, there is one failure per GPU in about six years. How long do
#    16,384 of them run until the first one fails?
# 2. One of four ranks dies just before an all-reduce. What happens to the other three?
# 3. A bit flips in one rank's gradient before the all-reduce. Afterwards all ranks
#    compare hashes of their results. Which rank do the hashes identify?

# %%
guess_1, guess_2, guess_3 = "?", "?", "?"

# %% [markdown]
# ## Atomic checkpoints: one file, old or new
#
# A checkpoint is repeatedly written to the same file name, and a job may be killed at
# any moment, even in the middle of a write. The next cells really kill a job in the
# middle of a write. A separate process writes a file, and the operating system kills it
# when the file has `k` bytes (using `RLIMIT_FSIZE`, a limit on the size of files). That
# is repeated for every `k`. After each kill, `faults.killed_at_every_byte` looks at the
# file of that name and counts what it finds: the `old` file, the `new` one, only a part
# of the new one (`half`), or no file at all (`gone`).
#
# (Everything on this page whose name starts with `faults.` is provided; you need not
# read it. It is in `labkit/lessons/faults.py`, and `help(faults)` shows it.)

# %%
def in_place(path, data):
    with open(path, "wb") as file:
        file.write(data)


def saves_in_place():
    return faults.killed_at_every_byte(in_place)


print("killed at every byte:", simulation.run(saves_in_place, 1).ranks[0].value)

# %% [markdown]
# Opening the file for writing has already discarded the old content. At every moment
# you want either the old file or the new one under this name: the write must be
# **atomic**. In unit 06 you did that in one line, without proof; here the process is
# killed at every byte, and the file must be whole each time.
#
# A power cut is worse than a kill. Bytes that a program has written may still be in
# memory, and the file system may put the new *name* on the disk before the new *bytes*.
# So write a second file beside the first, and make sure that its bytes are on the disk
# before you rename it: `file.flush()` passes them to the operating system, and
# `os.fsync(file.fileno())` waits until they are on the disk. Only then replace the old
# file with the new one.
#
# The file object that `open` returns by default writes all bytes or raises an
# exception. `os.write`, in contrast, may write fewer bytes than it was given, for
# example when the disk fills up; then you have to call it again for the rest, and on a
# full disk this second call raises. Let the exception propagate, so that an incomplete
# file is never renamed.
#
# Rename only within one file system: across two, `os.replace` raises an exception, and
# `shutil.move` copies, which is not atomic. `/tmp`, the system's directory for
# temporary files, is often on a different file system than your checkpoints.
#
# ![What a kill leaves at each moment of a save. In place: after open the checkpoint is empty, in the middle of write it is half-written; in both cases the old and the new file are lost. Into another file, then rename: the checkpoint stays old while checkpoint.new is opened, written, flushed and synced to the disk; after replace it is new. It is whole at every moment. Until fsync the new bytes may be only in memory.](../../images/checkpoint_crash.svg)
#
# Each column is the state that the job finds when it starts again. After a kill,
# everything drawn is still there; a power cut may destroy the dashed parts.
#
# ### Atomic write: a file that is never half-written (4 points)

# %% nbgrader={"grade": false, "grade_id": "write_whole", "locked": false, "schema_version": 3, "solution": true, "task": false}
def write_whole(path: str, data: bytes) -> None:
    """Write a file so that it is whole, old or new, at every moment.

    path: str, path of the file; an older file may already be there
    data: bytes, the new content
    Changes: the file at `path`

    - contents of the file: after the call it holds data, and no temporary file of this
      save is left in the folder.
    - killed at any moment: if the process is killed after any byte or between any two
      system calls, `path` is either as it was before or the whole new file, and the
      next save still works. On a full disk, `path` stays as it was and the caller gets
      the exception. A process that has the old file open continues to read the old
      bytes.
    - a power cut: the new bytes are on the disk before the file gets the name `path`.

    Example: `path` holds b"old" and data is b"NEW!". If the process is killed after two
    bytes, `path` still holds b"old".
    """
    ### BEGIN SOLUTION
    part = path + ".new"
    with open(part, "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    os.replace(part, path)
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "check_write_whole", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
check(write_whole)

# %% tags=["raises-exception"]
def saves_whole():
    write_whole(f"{tempfile.mkdtemp()}/first", b"to see that it works")
    return faults.killed_at_every_byte(write_whole)


print("killed at every byte:", simulation.run(saves_whole, 1).ranks[0].value)

# %% [markdown]
# (`labkit.checkpoint.write`, which the job scripts use, does the same with
# `torch.save`.)
#
# ## Asynchronous checkpoints · stretch
#
# Writing a large state to the disk takes time, and the ranks wait. They do not have to:
# copy the state, which is quick, and let a thread write the copy while the next steps
# run. Two things can go wrong. Without a copy, the thread writes numbers from several
# steps. And an error in a thread goes unnoticed: if the disk is full, you mistake the
# old checkpoint for the new one, and find out weeks later.
#
# ### Saving in the background (4 points)

# %% nbgrader={"grade": false, "grade_id": "save_in_background", "locked": false, "schema_version": 3, "solution": true, "task": false}
def save_in_background(state: dict, write: Callable) -> Callable:
    """Write a copy of the state in the background.

    state: dict, nested dicts and lists of tensors and numbers
    write: function, write(copy) writes the copy to the disk
    Returns: function without arguments that waits until everything has been written; it
        is called once for each save

    - a copy of the state: call `write` once, with a copy of the state as it is now.
      Training changes the state in place as soon as this function has returned, and may
      begin another save while this one is being written.
    - training does not wait: `write` runs in a thread that starts immediately; return
      without waiting for it.
    - errors are reported: the returned function re-raises the `Exception` that `write`
      raised, if any.

    Example: state["w"] is [1, 2] at the call and soon afterwards [5, 6]. The copy that
    is written holds [1, 2].
    """
    ### BEGIN SOLUTION
    snapshot, errors = copy.deepcopy(state), []

    def run():
        try:
            write(snapshot)
        except Exception as error:
            errors.append(error)

    thread = threading.Thread(target=run)
    thread.start()

    def wait():
        thread.join()
        if errors:
            raise errors[0]

    return wait
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "check_save_in_background", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
check(save_in_background)

# %% [markdown]
# How much sooner does training finish? Six steps of 30 ms, with a checkpoint after
# every other step; it takes 100 ms on a slow disk:

# %% tags=["raises-exception"]
def save_at_once(state, write):
    write(state)
    return lambda: None


print(f"waiting for the disk {faults.train_and_save(save_at_once):.2f} s")
print(f"in the background    {faults.train_and_save(save_in_background):.2f} s")

# %% [markdown]
# ## Elastic restart: a different number of ranks
#
# Four ranks wrote the checkpoint; now there are three, or sixteen. Training that can
# resume on either is *elastic*. Two things depend on the number of ranks: which rank
# takes which sample, and which rank holds which shard of a sharded state.
#
# **Samples.** The order of an epoch is a permutation, the same on all ranks. A step
# takes the next `per_rank * world_size` samples of it, the global minibatch. When you
# resume with fewer or more ranks, keep the size of the global minibatch: the learning
# rate was chosen for it.
#
# ![The 24 samples of an epoch in their order, in three steps of eight. In step 0 four ranks take two samples each, in turn. Then one rank is gone. In steps 1 and 2 the three ranks share the eight samples of each step: two ranks take three, one takes two.](../../images/samples_on_fewer_ranks.svg)
#
# Only the assignment of a step's samples to the ranks has changed.
#
# ### The rest of the epoch on a different number of ranks (3 points)

# %% nbgrader={"grade": false, "grade_id": "resume_order", "locked": false, "schema_version": 3, "solution": true, "task": false}
def resume_order(
    order: list[int], step: int, per_rank: int, old: int, rank: int, world_size: int
) -> list[list[int]]:
    """Return this rank's samples in each remaining step of the epoch.

    order: list of ints, the samples of the epoch, of all ranks
    step: int, number of steps done
    per_rank: int, number of samples that a rank took in each of these steps
    old: int, number of ranks that took these steps
    rank: int, this rank, from 0 to world_size - 1
    world_size: int, number of ranks now
    Returns: list of lists of ints, one for each step

    - the same number of ranks: in each step, the ranks together take the samples that
      this step would have taken without the stop. The last step of an epoch takes the
      samples that are left. The numbers of samples per rank differ by at most one.
    - another number of ranks: the same holds; a rank that gets no sample has the list
      [] in that step.

    Example: resume_order([7, 4, 9, 8, 5, 6], 1, 2, 2, 0, 1) == [[5, 6]]
    """
    ### BEGIN SOLUTION
    batch = per_rank * old
    begins = range(step * batch, len(order), batch)
    return [order[k : k + batch][rank::world_size] for k in begins]
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "check_resume_order", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
check(resume_order)

# %% [markdown]
# **Shards.** In unit 15 each rank held one shard of the optimizer state. Four ranks
# divide the state differently from three. Gathering the state on one rank and
# scattering it again is easy, but the state does not fit there: that is why it was
# sharded. Nor is gathering necessary: when the number of ranks changes by one, every
# number stays or moves to a neighbouring rank.
#
# ![Twelve numbers, first divided over four ranks, three each, then over three ranks, four each. Thick arrows mark the six numbers that are sent to another rank: number 3 from rank 1 to 0, 6 and 7 from rank 2 to 1, and 9, 10 and 11 from rank 3 to 2. The other six stay on their rank.](../../images/shards_on_fewer_ranks.svg)
#
# Rank 1 keeps 4 and 5, sends number 3 and receives 6 and 7. It never sees the rest.
# (Here all old ranks are still alive: one is about to leave, or new ones have joined. A
# dead rank's shard has to be read from the checkpoint.)
#
# ### Resharding for a different number of ranks (4 points)

# %% nbgrader={"grade": false, "grade_id": "reshard", "locked": false, "schema_version": 3, "solution": true, "task": false}
def reshard(shard: torch.Tensor, n: int, old: int, new: int) -> torch.Tensor:
    """Return this rank's shard among `new` ranks, given its shard among `old` ranks.

    shard: tensor, this rank's shard of the n numbers
    n: int, length of the whole vector, over all ranks
    old, new: ints; the first `old` ranks hold the numbers before the call, the first
        `new` ranks after it; there are max(old, new) ranks
    Returns: tensor, this rank's new shard, dtype of shard

    - everything arrives: the shards are those of `torch.tensor_split`, in order. Before
      the call, the first n % old of the `old` ranks hold one number more than the
      others. After it, the first n % new of the `new` ranks do. All other ranks hold
      an empty tensor.
    - minimal traffic: only the numbers that change rank are sent, each of them once. Do
      not gather all numbers on all ranks.
    - messages: point to point or by `all_to_all`, as you like.

    Example: n = 7, old = 2, new = 3. The shards [0, 1, 2, 3] and [4, 5, 6] become the
    shards [0, 1, 2], [3, 4] and [5, 6].
    """
    ### BEGIN SOLUTION
    rank, p = dist.get_rank(), dist.get_world_size()

    def edges(ranks, r):
        r = min(r, ranks)
        return r * (n // ranks) + min(r, n % ranks)

    def both(a, b):  # how much of old shard a is in new shard b
        low = max(edges(old, a), edges(new, b))
        return max(0, min(edges(old, a + 1), edges(new, b + 1)) - low)

    gives, gets = zip(*((both(rank, q), both(q, rank)) for q in range(p)))
    mine = shard.new_empty(sum(gets))
    dist.all_to_all_single(mine, shard, list(gets), list(gives))
    return mine
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "check_reshard", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
check(reshard)

# %% [markdown]
# ### Distributed checkpoints in PyTorch · stretch
#
# `torch.distributed.checkpoint` (DCP) writes a folder: a file for each rank, and an
# index that says which shard of which tensor is where. When loading, each rank requests
# what *it* needs and reads only that. Below, four ranks train a sharded model
# (`fully_shard` of unit 15, with Adam) for three steps, save, and train for two more.
# Then two ranks start from other random weights, load this checkpoint and take the same
# two steps; three ranks do the same. The printed digits are hashes of the weights.

# %%
def saved_or_loaded(folder, how):
    model, adam, steps = faults.sharded_training(0 if how == "save" else 1)
    if how == "save":
        steps(0, 3)
    weights, moments = get_state_dict(model, adam)
    state, path = {"model": weights, "adam": moments}, f"{folder}/checkpoint"
    if how == "save":
        dcp.save(state, checkpoint_id=path)
    else:
        dcp.load(state, checkpoint_id=path)
        states = {"model_state_dict": state["model"], "optim_state_dict": state["adam"]}
        set_state_dict(model, adam, **states)
    saved = faults.digest_of(model)
    steps(3, 5)
    return f"{saved}, two steps later {faults.digest_of(model)}"


with tempfile.TemporaryDirectory() as folder:
    for how, p in (("save", 4), ("load", 2), ("load", 3)):
        outcome = simulation.run(saved_or_loaded, p, (folder, how))
        print(f"{how} on {p} ranks: {outcome.ranks[0].value}")
    print(sorted(os.listdir(f"{folder}/checkpoint")))

# %% [markdown]
# The loaded bits are the same on any number of ranks. Two steps later, two ranks still
# have the same weights as four, but three do not: FSDP averages over the ranks. (All
# ranks see the same samples here, but adding three equal numbers and dividing by 3 does
# not always give the same number back; with two or four it does.) There are four files
# and an index, which is written last: without it the folder is not a checkpoint.

# %% [markdown]
# ## Half-time
#
# Training can now survive an interruption: a kill leaves the old checkpoint or the new
# one, and training resumes on a different number of ranks, with the same samples in
# each step and new shards of the state. Next, ranks die in the middle of a step and the
# others continue without stopping. This is a good place for a break.

# %% [markdown]
# ## Rank failure: continuing without the dead rank
#
# Guess 2 was about this. On the simulated network a rank can be killed at any
# operation: with `kills={2: 1}`, rank 2 dies just before its second communication
# (communications are counted from 0). Its process ends, as with `kill -9`. The others
# learn of it when they need the dead rank: their collective raises
# `dist.DistBackendError`, and the exception's `.ranks` lists the dead members of the
# group, as global ranks. (Only the simulated network sets this attribute; PyTorch's own
# exception does not have it.)

# %% alt="A space-time diagram of four ranks that compute and then sum, again and again. Rank 2 ends in a cross before its second sum; the other three end at the moment when they are told, without the sum."
def three_sums():
    for _ in range(3):
        simulation.compute(2e-5, "F")
        try:
            dist.all_reduce(torch.ones(1000))
        except dist.DistBackendError as gone:
            return f"rank {dist.get_rank()}: {gone}"
    return "all three"


outcome = simulation.run(three_sums, 4, kills={2: 1})
print([rank.value for rank in outcome.ranks])
times = [f"{rank.clock * 1e6:.0f} us" for rank in outcome.ranks]
print(f"rank 2 died at {times[2]}; the others were told at {times[:2] + times[3:]}")
timeline.draw(outcome.events, 4, title="rank 2 dies instead of joining its second sum")

# %% [markdown]
# So on the simulated network the other three get an exception in their second sum, in
# the middle of a step. What now? There are two answers: all ranks stop and restart from
# a checkpoint (that is `torchrun`, below); or the survivors continue without the dead
# rank. To continue, each survivor keeps a list of the living ranks, removes those that
# have died, makes a new group of the rest (PyTorch normally wants all ranks to call
# `new_group`; here the survivors are enough), and takes the *same* step again: the
# contents of the tensor after the failed sum are useless.
#
# And the work of the dead rank? Divide the minibatch into more **shards** (of samples,
# this time) than there are ranks, and deal them out to the ranks that are alive. If the
# gradients of the shards are always added in the same order, then the weights do not
# depend on which rank computed which shard. So they depend neither on the number of
# ranks nor on deaths. To combine the gradients exactly, make a table with one row for
# each shard, zeros in the rows of other ranks, and all-reduce it. Each entry of the sum
# has only one nonzero summand, so nothing is rounded.
#
# ![Tables of twelve rows, a to l, one row for each shard of the minibatch. Left, four ranks have computed three shards each; a rank's table has zeros in the rows of the others, and the sum of the four tables is a to l. Right, rank 2 is dead and the other three have computed four shards each; the sum of their tables is the same, a to l.](../../images/survivors_shards.svg)
#
# Compare the two sums: the rows are in the same order, whichever rank computed them.
#
# ### The survivors continue (6 points)

# %% nbgrader={"grade": false, "grade_id": "train_through", "locked": false, "schema_version": 3, "solution": true, "task": false}
def train_through(
    w: torch.Tensor, gradient: Callable, update: Callable, shards: int, steps: int
) -> torch.Tensor:
    """Train even if ranks die, and return the weights after all steps.

    w: tensor, a vector, the initial weights
    gradient: function, gradient(w, step, shard) is the gradient of one shard, a vector
        like w; the call is slow
    update: function, update(w, gradients) returns the new weights, from the gradients
        of all shards in their order (a list or a table)
    shards: int, number of shards of a minibatch
    steps: int, number of steps
    Returns: tensor, the weights after all steps, on every rank that is still alive

    - no rank dies: the result is bit-identical to that of a single rank. Compute each
      shard once in a step; no rank computes more than its share: shards divided by the
      number of ranks alive, rounded up.
    - one rank dies: the result is the same. Repeat only the failed step: compute all
      shards of its minibatch again, or only those that no survivor has computed.
    - several ranks die: several ranks may die, each when it is about to call a
      collective (never when about to call `new_group`); at least one survives.
    - unchanged: w.

    Example: 4 ranks, shards = 12. Each rank computes 3 shards in a step; after a death
    each of the other 3 ranks computes 4.
    """
    ### BEGIN SOLUTION
    alive, group, step = list(range(dist.get_world_size())), None, 0
    while step < steps:
        table = torch.zeros(shards, len(w), dtype=w.dtype)
        for shard in range(alive.index(dist.get_rank()), shards, len(alive)):
            table[shard] = gradient(w, step, shard)
        try:
            dist.all_reduce(table, group=group)
        except dist.DistBackendError as gone:
            alive = [rank for rank in alive if rank not in gone.ranks]
            group = dist.new_group(alive)
            continue
        w, step = update(w, table), step + 1
    return w
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "check_train_through", "locked": true, "points": 6, "schema_version": 3, "solution": false, "task": false}
check(train_through)

# %% tags=["raises-exception"]
def survived(steps):
    """A hash of the final weights of training on 12 shards."""
    w = torch.zeros(6, dtype=torch.float64)
    w = train_through(w, faults.slope, faults.descend, 12, steps)
    return checkpoint.digest([w])

# %% tags=["raises-exception"] alt="A space-time diagram of four ranks. In the first steps each computes three shards, then a sum joins all four. Rank 2 ends in a cross in the third step; from there on each of the other three computes four shards."
alone = simulation.run(survived, 1, (8,)).ranks[0].value
for kills in ({}, {2: 3}, {2: 3, 0: 5}, {1: 0, 3: 2, 0: 6}):
    outcome = simulation.run(survived, 4, (8,), kills=kills)
    values = [rank.value for r, rank in enumerate(outcome.ranks) if r not in kills]
    same = all(value == alone for value in values)
    busy = max(rank.busy for rank in outcome.ranks)
    print(
        f"killed {str(kills):<20} survivors agree with one rank alone, bit for bit: "
        f"{same}; {busy * 1e6:.0f} us of computing"
    )
outcome = simulation.run(survived, 4, (5,), kills={2: 2})
timeline.draw(outcome.events, 4, title="rank 2 dies in the third step")

# %% [markdown]
# Each letter is a shard. After the death each of the three ranks computes four of them
# in a step instead of three, and the failed step (or the shards of it that are missing)
# is computed again.
#
# **Real networks are harder.** On the simulated network all members of a collective
# learn of a death in the same collective. On real ones some may have got the sum while
# others got an error; before they continue, the survivors have to agree on which step
# they are in. MPI's extension for failures (*user level failure mitigation*) has a call
# for this agreement, `MPIX_Comm_agree`, and one that creates the smaller group,
# `MPIX_Comm_shrink`.
#
# With NCCL, the backend for GPUs, the survivors may not hear of a death at all: they
# wait. In each process a thread of PyTorch, the *watchdog*, ends the process if a
# collective takes longer than the group's timeout; it does not say which rank died. The
# timeout is 10 minutes (30 minutes with gloo, the backend for CPUs) unless you set
# `init_process_group(timeout=...)`. If the program learns of the death in another way,
# one call ends the wait and continues with fewer ranks:
# `torch.distributed.shrink_group(ranks_to_exclude, shrink_flags=SHRINK_ABORT)`
# (`ncclCommShrink`; `SHRINK_ABORT` is in `torch.distributed.distributed_c10d`). Of
# PyTorch 2.13's backends only NCCL has this call. If all ranks have called PyTorch's
# experimental `torch.distributed.debug.start_debug_server` at the start, a web page
# shows the stack traces of all of them while they hang.
#
# `torchft` handles deaths for you: before every step the groups of ranks (each group
# holds one replica of the model) agree on a *quorum*, the groups that are present. On
# Python 3.11 it cannot be installed alongside this course's packages (it needs a newer
# version of the package protobuf than TensorFlow allows), so it is not shown.
#
# ## Preemption: all stop, or none
#
# A job reaches its time limit, or a more urgent job gets its nodes (*preemption*), and
# a signal arrives, either at one rank only or at all of them at different moments. The
# rank's signal handler sets a flag, and then the rank should stop cleanly. **Predict:**
# what happens if it checks its flag before a step, finds it set, and leaves?

# %%
def leaves_when_told(told_at):
    for step in range(6):
        if told_at == step:
            return f"left before step {step}"
        dist.all_reduce(torch.ones(10))
    return "took all steps"


outcome = simulation.run(leaves_when_told, 4, [(-1,), (3,), (-1,), (-1,)])
print(outcome.hang)

# %% [markdown]
# The others hang. Nobody is dead, so nobody gets an exception: one rank just never
# arrives. With NCCL they hang in the same way, with no checkpoint written, until a
# timeout or the scheduler ends the job. Leaving on one's own is the classic mistake,
# whether the reason is a signal, a stop file or a loss that is NaN. The rule: **a
# decision to leave a collective loop is itself a collective.**
#
# ![Two timelines of four ranks; in step 2 a signal tells rank 2 to stop. Above, rank 2 leaves, and the other three begin step 3 and wait for it in the all-reduce. Below, before every step each rank contributes 1 if it was told to stop and 0 if not, and an all-reduce takes the maximum: 0 before steps 0, 1 and 2, then 1, and all four leave after three steps.](../../images/stop_together.svg)
#
# In the lower part, all ranks learn of the signal before the next step begins.
#
# ### All stop, or none (4 points)

# %% nbgrader={"grade": false, "grade_id": "train_until_told", "locked": false, "schema_version": 3, "solution": true, "task": false}
def train_until_told(step: Callable, told: Callable, steps: int) -> int:
    """Run training steps until any rank is told to stop.

    step: function, step() is one training step, which all ranks have to take together
    told: function, told() is True once this rank has been told to stop, and stays True;
        a signal may come between any two calls
    steps: int, the largest number of steps
    Returns: int, the number of steps taken, the same on every rank

    - the same step on all ranks: ask `told` before each step. If it is True on any
      rank, no rank takes that step.
    - told before the first step, or never: if a rank has been told before training
      begins, take no step and return 0. If no rank is told, take all steps.
    - few bytes: in addition to what step() sends, each rank passes at most 8 bytes to
      collectives before each step.

    Example: steps = 7. If rank 1 is told just before the fifth step begins, every rank
    returns 4.
    """
    ### BEGIN SOLUTION
    for done in range(steps):
        flag = torch.tensor(int(told()))
        dist.all_reduce(flag, op=dist.ReduceOp.MAX)
        if flag:
            return done
        step()
    return steps
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "check_train_until_told", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
check(train_until_told)

# %% [markdown]
# ## Restarting with torchrun: killed for real
#
# [`train_elastic.py`](train_elastic.py) next to this page trains for 40 steps on shards
# of the minibatch, as above, with a checkpoint after every fifth step.
# `torchrun --max-restarts 1` watches its workers, one process for each rank: when one
# dies, it terminates the others and restarts all of them. They find the checkpoint and
# resume from it. `faults.with_a_killed_worker` reads their output, and after step 12 it
# kills rank 1 with signal 9.
#
# One setting is needed, `TORCH_DISABLE_SHARE_RDZV_TCP_STORE=1`. Workers find each other
# (*rendezvous*) through a *store*, a small server that holds their addresses. By
# default (PyTorch 2.13, gloo), the restarted workers use the store of the first launch,
# find the addresses of the dead workers in it, and either fail to connect or wait: in
# our trial without the setting, nothing had happened 50 s after the kill. With it, each
# launch has its own store.

# %% tags=["parameters"]
KILL_AFTER = 12  # the step after which rank 1 is killed
FOR_REAL = True  # False: skip the two parts below that start processes

# %%
said, took = [], 0.0
if FOR_REAL:
    said, took = faults.with_a_killed_worker(KILL_AFTER)
for line in said:
    if not line.startswith("step"):
        print(line)
steps = [int(line.split()[1]) for line in said if line.startswith("step")]
print(f"steps taken twice: {sorted({s for s in steps if steps.count(s) > 1})}")
print(f"{took:.1f} s from the kill to the new start")

# %%
w = torch.zeros(SIZE, dtype=torch.float64)
for step in range(40):
    w = one_step(w, step, 0, 1)
print("one process, never interrupted:", checkpoint.digest([w]))

# %% [markdown]
# The same hash of the weights, so the same weights, bit for bit. Only the steps since
# the last checkpoint were lost, and a few seconds, most of them for importing torch
# again. (`make test-cluster` does this twice, or as many times as the variable
# `COURSE_KILLS` says, and each time kills a worker at a random moment. In our trial 20
# of 20 runs ended like this.)
#
# **Horovod** implements the same idea under other names: a *state* object that is
# committed every few steps, in memory, and restored when other ranks fail. Horovod's
# launcher for this, `horovodrun --min-np`, did not start on the machine where this page
# was written (in two attempts it kept waiting for *slots*, places for ranks), so you
# will not see a death under Horovod. The next cells show the state object alone, in one
# process; instead of dying, the program raises the exception that Horovod raises after
# a death.

# %%
ELASTIC = """
import torch, horovod.torch as hvd
from horovod.common.exceptions import HorovodInternalError

@hvd.elastic.run
def train(state, failures):
    print("begins at step", state.step)
    while state.step < 10:
        if state.step in failures:
            failures.remove(state.step)
            raise HorovodInternalError("as if a rank had died")
        state.optimizer.zero_grad()
        state.model(torch.ones(4, 3)).square().mean().backward()
        state.optimizer.step()
        state.step += 1
        if state.step % 3 == 0:
            state.commit()
    return float(sum(p.sum() for p in state.model.parameters()))
"""

# %% [markdown]
# Run it twice, once with a failure at step 7 and once without:

# %%
TWICE = """
hvd.init()
for failures in ([7], []):
    torch.manual_seed(0)
    model = torch.nn.Linear(3, 1)
    sgd = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    print("end", train(hvd.elastic.TorchState(model, sgd, step=0), failures))
"""
if missing := without_frameworks():
    print(missing)
elif FOR_REAL:
    print(faults.printed_by(ELASTIC + TWICE), end="")

# %% [markdown]
# It committed at step 6, failed at step 7, began again at step 6, and ended with the
# same result. But commits in memory are lost when all ranks stop, so a checkpoint on a
# disk is still needed.
#
# ## Stragglers · stretch
#
# A slow rank is worse than a dead one: no error and no timeout ever reports it. All
# ranks wait for it in every all-reduce. A fan is broken, a GPU runs at half its clock
# rate, somebody else's job is on the machine.
#
# You know how long each rank computed in each step. Which ranks are slow? The mean and
# the standard deviation over the ranks mislead: a straggler raises both and hides
# behind them. (Of six numbers, none can be further than $\sqrt 5$ standard deviations
# from the mean, however large it is!) The median hardly moves, and neither does the
# **MAD** (median absolute deviation), the median of the distances to the median. For
# normally distributed numbers the standard deviation is 1.4826 MAD; this page calls
# 1.4826 MAD the *spread*.
#
# ![The step times of six ranks on a line, five near 40 ms and one at 60 ms, twice. With the mean (43.5 ms) plus three standard deviations, the limit is 65.7 ms, and the slow rank is not found. With the median (40.4 ms) plus three spreads of 1.4826 MAD, the limit is 42.6 ms, and it is found.](../../images/median_and_mad.svg)
#
# The same six numbers, twice. In the upper line, the slow rank has pushed the limit
# beyond its own time.
#
# ### Finding stragglers (4 points)

# %% nbgrader={"grade": false, "grade_id": "stragglers", "locked": false, "schema_version": 3, "solution": true, "task": false}
def stragglers(times: np.ndarray, k: float) -> list[int]:
    """Return the stragglers, the ranks that are slower than the others.

    times: array (ranks, steps), seconds
    k: float, how many spreads above the centre a rank's time may be
    Returns: list of ints, the slow ranks, in order

    - one slow rank: a rank's time is the median over its steps. The centre is the
      median of all ranks' times; the spread is 1.4826 times the median distance of
      these times to the centre. A rank is slow if its time exceeds the centre by
      more than k * spread and by more than 0.02 * centre (equality is not enough).
    - outliers: the same rule holds if a checkpoint was written during one of the steps,
      or if several ranks are slow.
    - no slow rank: if no rank is slow, return [].

    Example: stragglers(np.array([[1.0], [1.0], [1.0], [2.0]]), 3.0) == [3]
    """
    ### BEGIN SOLUTION
    own = np.median(times, axis=1)
    centre = np.median(own)
    spread = 1.4826 * np.median(np.abs(own - centre))
    slow = (own - centre > k * spread) & (own - centre > 0.02 * centre)
    return np.flatnonzero(slow).tolist()
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "check_stragglers", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
check(stragglers)

# %% [markdown]
# Often you have no compute times, only a profile with the collectives in it. Two runs:
# in the first, rank 2 computes more slowly; in the second, the network is slow (`beta`,
# the seconds per byte of unit 02, is larger). **Look at the first picture before you
# read on:** the longest all-reduces are those of ranks 0, 1 and 3. Whose fault is that?

# %% alt="Two space-time diagrams of four ranks. With a slow rank 2 the other three wait before each all-reduce; with a slow network all four come together and the all-reduce itself is long."
def steps_of(seconds, steps):
    for _ in range(steps):
        simulation.compute(seconds, "F")
        dist.all_reduce(torch.ones(20_000, dtype=torch.float64))


SECONDS = [(4e-5, 3), (4e-5, 3), (7e-5, 3), (4e-5, 3)]
slow_rank = simulation.run(steps_of, 4, SECONDS, alpha=1e-6, beta=1e-10)
slow_link = simulation.run(steps_of, 4, (4e-5, 3), alpha=1e-6, beta=2.5e-10)
both = {"rank 2 is slow": slow_rank, "the network is slow": slow_link}
charts.diagrams(both, 4)

# %% [markdown]
# **The rank that waits least is the one that the others wait for.** In the first run
# rank 2 arrives last at every all-reduce; in the second all arrive at the same time,
# and the collective itself takes long. The bonus exercise at the end turns this into
# seconds.
#
# ## Silent data corruption · stretch
#
# The worst case is a rank that is neither dead nor slow, but wrong. A bit flips, in
# memory, in a core, on a network card. No exception, no difference in time. Guess 3 was
# about this:

# %%
def hashes_agree(bit):
    torch.manual_seed(dist.get_rank())
    x = torch.randn(1000, dtype=torch.float64)
    if dist.get_rank() == 2 and bit is not None:
        x.view(torch.int64)[123] ^= 1 << bit
    dist.all_reduce(x)
    return checkpoint.digest([x])[:10]


for bit in (None, 55):
    values = [rank.value for rank in simulation.run(hashes_agree, 4, (bit,)).ranks]
    print(f"flipped bit {bit}: {values}")

# %% [markdown]
# No rank is identified: the wrong number is in every rank's sum, and all are wrong in
# the same way. A hash after the all-reduce detects only a rank whose *result* differs.
# To detect an error made before the sum, you need a value that was computed before the
# error and can be compared with the result. The sum is linear, so a linear checksum
# will do: adding up all entries of the summed vector gives the same as adding up each
# rank's own entries first and then adding these totals over the ranks.
#
# $$\sum_i \Big(\sum_r x_{r,i}\Big) = \sum_r \Big(\sum_i x_{r,i}\Big)$$
#
# (*Algorithm-based fault tolerance*: Huang and Abraham, 1984, for matrices.) There are
# two traps. Floating-point sums in two orders may differ, and if positive and negative
# numbers cancel, the difference may exceed the checksum itself: judge the difference
# against the sum of the *magnitudes*. And a flipped exponent bit can make a NaN, for
# which `<=` and `>` are both false.
#
# ### An all-reduce with a checksum (5 points)

# %% nbgrader={"grade": false, "grade_id": "checked_all_reduce", "locked": false, "schema_version": 3, "solution": true, "task": false}
def checked_all_reduce(
    x: torch.Tensor, all_reduce: Callable
) -> tuple[torch.Tensor, bool]:
    """Return the sum of all ranks' x, and whether it can be trusted.

    x: float64 tensor, one dimension
    all_reduce: function, all_reduce(vector) sums in place, as `dist.all_reduce` does,
        but if the vector is as long as x, one bit of it may flip on one rank, before or
        after the sum
    Returns: (tensor, bool), the sum and the verdict, which is the same on every rank

    - rounding is not a fault: the two checksums may differ by up to 1e-10 times the sum
      of the magnitudes of all entries of x on all ranks.
    - a flip before the sum: if it changes a number by more than this limit, the verdict
      is False.
    - a flip after the sum: the same; the verdict is False on every rank.
    - few bytes: in addition to x, each rank passes at most 64 bytes to collectives.
      Whatever you send with `torch.distributed` arrives intact.
    - unchanged: x.

    Example: two ranks with x = [1, 2] and [3, 4], whose numbers add up to 3 and 7. If
    the sum comes back as [4, 6], the verdict is True (4 + 6 = 3 + 7); as [4, 7], False.
    """
    ### BEGIN SOLUTION
    total = x.clone()
    all_reduce(total)
    sums = torch.stack([x.sum(), x.abs().sum()])
    dist.all_reduce(sums)
    ok = (total.sum() - sums[0]).abs() <= 1e-10 * sums[1]  # false for NaN
    verdict = ok.long()
    dist.all_reduce(verdict, op=dist.ReduceOp.MIN)
    return total, bool(verdict)
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "check_checked_all_reduce", "locked": true, "points": 5, "schema_version": 3, "solution": false, "task": false}
check(checked_all_reduce)

# %% [markdown]
# Which flips does it detect? Take one of 1000 numbers on one of four ranks, and flip
# each of its 64 bits once:

# %% tags=["parameters"]
BITS = range(64)

# %% tags=["raises-exception"]
def trusted(bit):
    torch.manual_seed(dist.get_rank())
    x = torch.randn(1000, dtype=torch.float64)

    def faulty(vector):
        if dist.get_rank() == 2 and len(vector) == len(x):
            sign = -(1 << 63)
            vector.view(torch.int64)[123] ^= sign if bit == 63 else 1 << bit
        dist.all_reduce(vector)

    return checked_all_reduce(x, faulty)[1]


unseen = [bit for bit in BITS if simulation.run(trusted, 4, (bit,)).ranks[0].value]
print(f"not detected: {len(unseen)} of {len(BITS)}, bits {unseen[0]} to {unseen[-1]}")

# %% [markdown]
# It does not detect flips of the low bits: they change the sum by less than the limit,
# 3e-7 here, about as small as the rounding errors of float32. (Two errors that cancel,
# and two numbers that swap places, are not detected either. And errors made before the
# checksum is computed, in the backward pass, need other methods: compute a part of the
# batch twice, on two ranks, and compare.)
#
# ## Checkpoint interval: how often to save
#
# Frequent saves cost time, infrequent saves cost work. With `save` seconds for a
# checkpoint and `mtbf` seconds between failures (*mean time between failures*), an
# interval of $\tau$ seconds wastes about
# $\mathrm{save} / \tau + \tau / (2\,\mathrm{mtbf})$ for each second of work: the saves,
# and half an interval for each failure. This is smallest at
# $\tau = \sqrt{2 \cdot \mathrm{save} \cdot \mathrm{mtbf}}$: the formula of Young
# (1974), also called the Young/Daly formula.
#
# ![Above, a timeline: intervals of work, each followed by a save; a failure in the middle of an interval loses the work since the last save; then come a restart and the same work again. Below, the waste against the interval: saves fall, lost work rises, and their sum is a flat valley. For a save of 60 s and a failure every 3 hours the lowest point is Young's interval, 1138 s, at 10.5 %; at half or twice that 13.2 % is wasted.](../../images/young_daly.svg)
#
# The hatched part has to be computed again; on average it is half an interval. The sum
# is lowest where the two curves cross: there saves cost as much as lost work.
#
# ### Young's interval (2 points)

# %% nbgrader={"grade": false, "grade_id": "young_interval", "locked": false, "schema_version": 3, "solution": true, "task": false}
def young_interval(save: float, mtbf: float, machines: int) -> float:
    """Return the interval between checkpoints by Young's formula.

    save: float, seconds for a checkpoint
    mtbf: float, mean time between failures of one machine, in seconds
    machines: int, number of machines
    Returns: float, seconds

    - one machine: the formula above.
    - many machines: a failure of any of them stops the job.

    Example: young_interval(8.0, 100.0, 1) == 40.0
    """
    ### BEGIN SOLUTION
    return (2 * save * mtbf / machines) ** 0.5
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "check_young_interval", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
check(young_interval)

# %% [markdown]
# Formulas like this assume a lot: that failures are rare, and that none occurs during a
# save or a restart. So simulate a run with failures, second by second, and test the
# formula against it.
#
# ### Total time with failures (4 points) · stretch

# %% nbgrader={"grade": false, "grade_id": "wall_time", "locked": false, "schema_version": 3, "solution": true, "task": false}
def wall_time(
    work: int, interval: int, save: int, restart: int, failures: list[int]
) -> int:
    """Return the seconds until `work` seconds of computing are done.

    work: int, seconds of computing
    interval: int, seconds of computing between two saves
    save, restart: ints, seconds for a save and for a restart
    failures: list of ints, times of the failures in increasing order, in seconds from
        the start
    Returns: int, seconds

    - no failure: a save follows every `interval` seconds of computing, but not at the
      very end.
    - failures: a failure destroys all work that is not in a complete save, and
      `restart` seconds later the work resumes from the last complete save.
    - a failure during a save or restart: an incomplete save does not count; an
      incomplete restart begins again. A save, a restart or a job that ends at second t
      is complete before a failure at t; unless the job is done, that failure costs a
      restart.

    Example: wall_time(10, 5, 1, 2, [7]) == 14
    """
    ### BEGIN SOLUTION
    now, kept, ahead = 0, 0, list(failures)
    while kept < work:
        piece = min(interval, work - kept)
        end = now + piece + (save if kept + piece < work else 0)
        if not ahead or ahead[0] >= end:
            now, kept = end, kept + piece
            continue
        now = ahead.pop(0) + restart
        while ahead and ahead[0] < now:
            now = ahead.pop(0) + restart
    return now
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "check_wall_time", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
check(wall_time)

# %% [markdown]
# Four days of work, a failure every three hours on average at random moments, 60 s for
# a save, 300 s for a restart: the mean over eight failure logs, next to the formula
# (with the restarts added).

# %% tags=["raises-exception"]
MTBF, SAVE, RESTART, WORK = 3 * 3600, 60, 300, 4 * 86400


def useful(interval, save=SAVE, restart=RESTART, mtbf=MTBF, logs=8):
    """The useful fraction of the time, averaged over some logs."""
    logs = [faults.log_of_failures(k, mtbf, 3 * WORK) for k in range(logs)]
    took = [wall_time(WORK, interval, save, restart, failures) for failures in logs]
    return WORK / np.mean(took)

# %% tags=["raises-exception"] alt="The useful fraction of the time over the interval between checkpoints, logarithmic: the formula as a curve, your wall_time as points on it. Both are highest and flat around Young's interval and fall on either side of it."
intervals = [150, 300, 600, 900, 1140, 1500, 2200, 3600, 7200]
measured = [useful(interval) for interval in intervals]
smooth = np.geomspace(150, 7200, 100)
lost = SAVE / smooth + smooth / (2 * MTBF) + RESTART / MTBF  # per second of work
best = young_interval(SAVE, MTBF, 1)
curves = {"formula": (smooth, 1 / (1 + lost), "sky -")}
curves["your wall_time"] = intervals, measured, "blue o"
ax = charts.lines(
    curves,
    log="x",
    size=(6.4, 3.5),
    xlabel="interval τ between checkpoints, s",
    ylabel="useful fraction of the time",
    xticks=[150, 300, 600, 1200, 2400, 4800],
)
charts.guide(ax, f"Young: {best:.0f} s", x=best)
top = int(np.argmax(measured))
print(f"best of these: {intervals[top]} s, useful {measured[top]:.1%}")
print(f"at {int(best)} s: {useful(int(best)):.1%}")

# %% [markdown]
# The optimum is flat: being wrong by a factor of two costs little. And the formula is
# robust: here failures also hit saves and restarts, and the best interval is still
# where the formula puts it. A paper finds that the formula also holds if a program can
# save only between iterations, whose lengths are random: "we establish that the
# relevance of the formula goes well beyond its original framework" (*Robustness of the
# Young/Daly formula for stochastic iterative applications*, hal-02514107). The points
# of the chart lie a little below the line, especially at long intervals: the formula
# counts failures only during new work, not during saves, restarts and work that is
# being redone.
#
# ## Explain: checking a published table
#
# *The Llama 3 Herd of Models* (Meta, arXiv 2407.21783) reports 466 interruptions, 47 of
# them planned, in 54 days of pre-training the 405 B model on up to 16,384 GPUs. Table 5
# lists the other 419 by cause, with a column of percentages, and the text says that
# 58.7 % of the unplanned interruptions are GPU issues. Does the column add up?

# %%
TABLE_5 = {  # cause: (GPU issue?, count, percentage)
    "faulty GPU": (True, 148, 30.1), "GPU memory (HBM3)": (True, 72, 17.2),
    "software bug": (False, 54, 12.9), "network switch, cable": (False, 35, 8.4),
    "host maintenance": (False, 32, 7.6), "GPU memory (SRAM)": (True, 19, 4.5),
    "GPU system processor": (True, 17, 4.1), "network card": (False, 7, 1.7),
    "NCCL watchdog": (False, 7, 1.7), "silent data corruption": (True, 6, 1.4),
    "GPU thermal interface": (True, 6, 1.4), "SSD": (False, 3, 0.7),
    "power supply": (False, 3, 0.7), "server chassis": (False, 2, 0.5),
    "IO board": (False, 2, 0.5), "dependency": (False, 2, 0.5),
    "CPU": (False, 2, 0.5), "system memory": (False, 2, 0.5),
}  # fmt: skip

# %%
total = sum(count for _, count, _ in TABLE_5.values())
print(f"{total} interruptions; the percentages add up to", end=" ")
print(f"{sum(percent for *_, percent in TABLE_5.values()):.1f}")
for cause, (_, count, percent) in TABLE_5.items():
    if abs(100 * count / total - percent) > 0.06:
        print(f"{cause}: {count} of {total} are {count / total:.1%}, not {percent} %")
gpu = [row for row in TABLE_5.values() if row[0]]
print(
    f"GPU: printed percentages {sum(row[2] for row in gpu):.1f}, "
    f"counts {sum(row[1] for row in gpu) / total:.1%}"
)
hours = 54 * 24 / total
print(f"a failure every {hours:.2f} h; per GPU, one every", end=" ")
print(f"{hours * 16384 / 24 / 365:.1f} years")
print(f"a tenth of {hours:.2f} h: {6 * hours:.1f} minutes")

# %% [markdown]
# One entry of the table is wrong, the largest: 148 of 419 are 35.3 %. The 58.7 % in the
# text was computed from the same column, so it is wrong, too: by the table's own counts
# 64.0 % of the interruptions are due to GPUs. The table has often been quoted as it
# stands. (And this answers guess 1. Counting all causes, there is one interruption per
# GPU in six years; with 16,384 GPUs there is one every three hours.)
#
# The same paper claims **"higher than 90% effective training time"** (section 3.3.4),
# the useful fraction of the time. Is that possible? One tenth of the 3.1 hours between
# failures is 18.6 minutes; for each failure, this time must cover the restart, the work
# since the last checkpoint (half an interval on average), and all the saves in between.
# Subtract the restart and the lost work from the time between two failures; the rest is
# divided between work and saves, with save / interval seconds of saving for each second
# of work.

# %% tags=["raises-exception"]
mtbf = hours * 3600
print("useful fraction of the time, saving as often as Young says")
print("save   interval  restart: 0 min    5 min   10 min   15 min")
for save in (5, 30, 120):
    interval = int(young_interval(save, mtbf, 1))
    left = [1 - (interval / 2 + 300 * k) / mtbf for k in range(4)]
    parts = [part / (1 + save / interval) for part in left]
    print(f"{save:3} s {interval:7} s     " + "".join(f"{part:9.1%}" for part in parts))

# %% [markdown]
# So the claim can be true, with short saves and restarts: half a minute and 5 minutes,
# for example. With a save of two minutes no restart is fast enough. (With a save in the
# background, training waits only for the copy.)
#
# ## What to remember
#
# - A checkpoint is old or new: write to another file, flush, fsync, replace. In the
#   background: copy first, and re-raise the thread's errors.
# - After a restart on a different number of ranks the global minibatch stays the same,
#   so each step still uses the same samples. Only each rank's share of them changes.
# - If you add in an order that does not depend on the ranks, a resumed training run
#   ends with the same weights as an uninterrupted one, bit for bit, and a test can
#   check that.
# - A decision to leave is a collective.
# - The rank that waits least is the one that the others wait for. Use median and MAD,
#   not mean and standard deviation.
# - A hash after the sum detects different results, not wrong ones: after a flip before
#   the sum it identifies no rank (guess 3). A linear checksum detects wrong sums.
# - Save every $\sqrt{2 \cdot \mathrm{save} \cdot \mathrm{mtbf} / \mathrm{machines}}$
#   seconds, and make saves and restarts short.
#
# **To think about.** You keep only the last checkpoint. A bit flips in the weights, and
# you notice it an hour later. What would you have needed?

# %% [markdown]
# ## Bonus: the time that each rank costs the others
#
# If you know when each rank reached an all-reduce and when it had its result, you can
# say how much time each rank costs the others. If the last rank had arrived at the same
# time as the second-to-last, the step would have been shorter by the difference. The
# time after the last rank has arrived is due to the network.
#
# ![One step of four ranks. Ranks 0, 1 and 3 finish computing after 40, 46 and 43 microseconds and wait; rank 2 computes until 74. Then the all-reduce runs until 92. The 28 microseconds from the second-to-last call to the last are charged to rank 2, the 18 from the last call to the end to the network.](../../images/waiting_for_one.svg)
#
# Rank 0 waits longest, but this does not cost the others a microsecond.
#
# ### Who keeps the others waiting? (3 points)

# %% nbgrader={"grade": false, "grade_id": "lost_to", "locked": false, "schema_version": 3, "solution": true, "task": false}
def lost_to(posted: np.ndarray, ended: np.ndarray) -> tuple[list[float], float]:
    """Return the seconds lost to each rank and to the network, over all steps.

    posted: array (steps, ranks), when each rank called the all-reduce of a step, in
        seconds, not negative
    ended: array (steps, ranks), when it had the result; at least two ranks
    Returns: (list of floats, one for each rank; float for the network), in s

    - time lost to ranks: in each step, the rank that calls last is charged the time
      since the second-to-last call (0 if both called together).
    - time lost to the network: in each step, the network is charged the time from the
      last call until the last rank has its result.

    Example: lost_to(np.array([[1.0, 3.0, 2.0]]), np.array([[5.0, 5.0, 4.5]])) == (
        [0.0, 1.0, 0.0], 2.0)
    """
    ### BEGIN SOLUTION
    inorder, last = np.sort(posted, axis=1), posted.argmax(axis=1)
    ranks = np.zeros(posted.shape[1])
    np.add.at(ranks, last, inorder[:, -1] - inorder[:, -2])
    return ranks.tolist(), float((ended.max(axis=1) - inorder[:, -1]).sum())
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "check_lost_to", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
check(lost_to)

# %% tags=["raises-exception"]
for name, run in (("rank 2 is slow", slow_rank), ("the network is slow", slow_link)):
    calls = [e for e in run.events if e.kind == "all_reduce"]
    calls = [[e for e in calls if e.rank == r] for r in range(4)]
    posted = np.array([[e.posted for e in own] for own in calls]).T
    ended = np.array([[e.ended for e in own] for own in calls]).T
    by_rank, network = lost_to(posted, ended)
    words = ", ".join(f"{1e6 * one:.0f}" for one in by_rank)
    print(f"{name:<20} ranks {words} us; network {1e6 * network:.0f} us")
