# %% [markdown]
# # 14 · Search in parallel
#
# A network has **hyperparameters**, which no gradient sets: the learning rate, the
# momentum, the number of layers. Somebody has to try values for them, and each trial is
# a whole training run. The runs do not depend on each other, so nothing is easier to do
# on many ranks, and few things waste more of them when done carelessly.
#
# **At the end of this page** your search tries the same configurations on any number of
# ranks, none of its workers is idle while there is work, most epochs go to promising
# configurations, and the error that you report at the end is not too good to be true.
#
# **You need** units 02 and 03. **It takes** about 120 minutes, the *stretch* 70
# more: two sittings. The cells themselves run for about half a minute on two cores. They
# take about 1 GB of memory.

# %%
import shutil
import tempfile
from collections import Counter
from itertools import combinations

import numpy as np
import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import Tensor, nn

from autograder import check
from labkit import ranks, simulation
from labkit.lessons import search
from labkit.plots import charts

# %% [markdown]
# ## Guess first
#
# Write down what you think before you read on; the page answers all three.
#
# 1. Eight ranks draw four configurations each. All of them call `default_rng(0)`. How
#    many different configurations are tried?
# 2. 81 configurations may have up to 81 epochs each. If bad ones are stopped early,
#    what share of these 6,561 epochs does it take to find a good one?
# 3. You try forty networks, and report the smallest error of any of them on a test set
#    of 200 points. By how much is it too small?

# %%
guess_1, guess_2, guess_3 = "?", "?", "?"

# %% [markdown]
# ## A small network to tune
#
# The training set has 300 points. In every set about one label in ten is wrong, so no
# network gets below an error of 10 % on new points, except by luck.
# `search.trained(points, epochs, ...)` trains a network, always with the same seed,
# with the learning rate, momentum, number of layers and activation that you choose.
#
# (You need not read the functions of `search.`. They are in `labkit/lessons/search.py`,
# and `help(search)` describes them.)

# %% tags=["parameters"]
TRIALS, EPOCHS = 40, 12

# %%
torch.set_num_threads(1)
TRAINING, VALIDATION = search.points(300, seed=1), search.points(200, seed=2)

# %% [markdown]
# ## Grid and random search: which values?
#
# ### A grid for a learning rate (3 points)
#
# For a learning rate the order of magnitude matters: from 0.001 to 0.002 is a large
# step, from 0.901 to 0.902 a tiny one. So a grid for it has equal *ratios*, not equal
# differences:
#
# ![Two grids of six learning rates from 0.00001 to 1 on a logarithmic axis. With equal differences one point is at the left end, the other five are crowded between 0.2 and 1, and there is none in the four orders of magnitude between. With equal ratios each point is 10 times the one before, and they are evenly spaced.](../../images/linear_and_log_grid.svg)

# %% nbgrader={"grade": false, "grade_id": "log_grid", "locked": false, "schema_version": 3, "solution": true, "task": false}
def log_grid(low: float, high: float, n: int) -> list[float]:
    """Return n points between low and high with equal ratios.

    low, high: floats, the first and the last point, not nan; high / low is finite
    n: int, number of points
    Returns: list of n floats, ascending

    - a learning rate: both ends are included; each point is the one before times the
      same factor (both up to rounding).
    - any bounds: low and high need not be powers of ten.
    - illegal arguments: raise ValueError unless 0 < low < high and n is at least 2.

    Example: log_grid(0.01, 1.0, 3) == [0.01, 0.1, 1.0]
    """
    ### BEGIN SOLUTION
    if not 0 < low < high or n < 2:
        raise ValueError(f"no grid of {n} points from {low} to {high}")
    return [low * (high / low) ** (k / (n - 1)) for k in range(n)]
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "check_log_grid", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
check(log_grid)

# %% tags=["raises-exception"] alt="Validation loss over the learning rate, logarithmic. The points of the logarithmic grid are spread evenly over five orders of magnitude and find a lower loss; those of the linear grid are crowded at the right, but for one at the left edge."
grids = {"linear": np.linspace(1e-5, 1, 8).tolist(), "log": log_grid(1e-5, 1, 8)}
tried = {}
for name, grid in grids.items():
    nets = [search.trained(TRAINING, EPOCHS, lr, 0.9, 2, "relu") for lr in grid]
    losses = [search.loss_and_error(net, VALIDATION)[0] for net in nets]
    k = int(np.nanargmin(losses))
    print(f"{name:<7} best of 8: loss {losses[k]:.3f} at a rate of {grid[k]:.2g}")
    tried[f"{name} grid"] = grid, losses, {"linear": "blue s", "log": "orange o"}[name]
words = {"xlabel": "learning rate", "ylabel": "validation loss", "ylim": (0.4, 1)}
charts.lines(tried, log="x", size=(7, 3), **words);

# %% [markdown]
# Seven of the eight points of the linear grid are within one order of magnitude.
#
# ### The same configurations on any number of ranks (4 points)
#
# With several hyperparameters a grid is too large, and it tries the same few values of
# each again and again:
#
# ![Nine trials of two hyperparameters, of which one matters; a curve above shows how good each of its values is, with a narrow hill. A grid of three by three tries three values of it and misses the hill. Nine random trials try nine values of it, and one lies on the hill.](../../images/grid_and_random.svg)
#
# Bergstra and Bengio ("Random Search for Hyper-Parameter Optimization", JMLR 13, 2012;
# abstract) found that "randomly chosen trials are more efficient for hyper-parameter
# optimization than trials on a grid": for most data sets only a few hyperparameters
# matter.
#
# A search space says which values each hyperparameter may have. The check and the cells
# below use this space:

# %%
SPACE = {
    "lr": ("log", 1e-6, 1.0),
    "momentum": ("uniform", 0.0, 0.95),
    "layers": ("int", 1, 4),
    "activation": ("choice", ("relu", "tanh", "gelu")),
}

# %% [markdown]
# A configuration has one value for each hyperparameter. The configurations of a search
# must depend on its seed alone, not on how many ranks happen to be free. Otherwise
# nobody can repeat it.
#
# ![Eight configurations, c0 to c7. On two ranks, rank 0 tries c0, c2, c4, c6 and rank 1 the others. On four ranks each tries two: c0 and c4, c1 and c5, c2 and c6, c3 and c7. Together they are the same eight.](../../images/same_trials.svg)
#
# **Think first:** why is `default_rng(seed + rank)` not enough, and what is wrong with
# `default_rng(seed + i)` for configuration i?

# %% nbgrader={"grade": false, "grade_id": "random_configs", "locked": false, "schema_version": 3, "solution": true, "task": false}
def random_configs(
    space: dict, n: int, seed: int, rank: int, world_size: int
) -> list[dict]:
    """Return this rank's share of n random configurations.

    space: dict, name -> ("log", low, high), a float whose logarithm is uniform;
        ("uniform", low, high), a float; ("int", low, high), an int, both ends included,
        all equally likely; or ("choice", values), one of the values
    n: int, number of configurations of all ranks together
    seed: int, the seed of the whole search, from 0 to 2**31 - 1
    rank: int, this rank
    world_size: int, number of ranks
    Returns: list of dicts such as {"lr": 0.01, "layers": 2, "activation": "relu"}

    - the same for any number of ranks: for any world_size, all ranks together have the
      same n configurations. Each is on one rank only; a rank has at most one more than
      another. The same arguments give the same list.
    - drawn from the search space: the values of different names are independent.
    - another seed: if the space has a float, the searches of two seeds, even
      neighbouring ones, have no configuration in common.

    Example: n = 5 on 2 ranks: one rank has 3 configurations, the other 2.
    """
    ### BEGIN SOLUTION
    configs = []
    for i in range(rank, n, world_size):
        rng, config = np.random.default_rng([seed, i]), {}
        for name, (kind, *limits) in space.items():
            if kind == "choice":
                config[name] = limits[0][rng.integers(len(limits[0]))]
            elif kind == "int":
                config[name] = int(rng.integers(limits[0], limits[1] + 1))
            elif kind == "log":
                low, high = limits
                config[name] = float(low * (high / low) ** rng.uniform())
            else:
                config[name] = float(rng.uniform(*limits))
        configs.append(config)
    return configs
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "check_random_configs", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
check(random_configs)

# %% [markdown]
# ### How many random trials are enough?
#
# A rule often quoted with Bergstra and Bengio's paper (for example at
# stats.stackexchange.com/questions/160479, after A. Zheng) says that 60 random trials
# hit the best 5 % of the space with a probability of 95 %, whatever the space. Check
# it, by the formula and by experiment:

# %%
hit = {n: 1 - 0.95**n for n in (10, 58, 59, 60)}
print("formula:", {n: round(p, 4) for n, p in hit.items()})
tried = np.random.default_rng(0).uniform(size=(20_000, 60))
share = (tried.min(axis=1) < 0.05).mean()
print(f"20,000 searches of 60: {share:.3f} hit the best 5 %")

# %% [markdown]
# The rule holds (59 would do). But these are the best 5 % of *your space*, which may
# all be bad if the space is badly chosen. In the space above:

# %% tags=["raises-exception"]
configs = random_configs(SPACE, TRIALS, seed=0, rank=0, world_size=1)
nets = [search.trained(TRAINING, EPOCHS, **config) for config in configs]
losses = [search.loss_and_error(net, VALIDATION)[0] for net in nets]
best = int(np.nanargmin(losses))
values = search.in_words(configs[best])
print(f"best of {len(configs)}: loss {losses[best]:.3f} with {values}")
print(f"median of them: {np.nanmedian(losses):.3f} (guessing has {np.log(2):.3f})")

# %% [markdown]
# ## Break it: the same seed everywhere
#
# This is a classic mistake in a parallel search. Every rank seeds its generator as the
# sequential program did:

# %%
def everybody_draws(share, with_rank):
    rng = np.random.default_rng([0, dist.get_rank()] if with_rank else 0)
    mine = [10 ** rng.uniform(-5, 0) for _ in range(share)]
    everyone = [None] * dist.get_world_size()
    dist.all_gather_object(everyone, mine)
    return len({rate for share in everyone for rate in share})


for name, with_rank in (("the same seed", False), ("a seed for each", True)):
    run = simulation.run(everybody_draws, 8, (4, with_rank))
    print(f"{name:<15}: 8 ranks of 4 trials, {run.ranks[0].value} different rates")

# %% [markdown]
# That answers your first guess. Nothing fails, nothing warns, and seven of the eight
# ranks tried nothing new.

# %% [markdown]
# ## Half-time
#
# A grid tries few learning rates, again and again; random search tries a new one each
# time. Configuration i depends on the seed and i alone, whatever the number of ranks.
# This is a good place for a break. Next, one rank manages and the others train.

# %% [markdown]
# ## Manager and workers: who trains what?
#
# Trials take different times: four layers take longer than one. If each rank gets its
# share beforehand, all wait for the slowest rank. So one rank, the **manager**, hands
# out the trials as jobs, one after another:
#
# ![A manager, rank 0, and three workers over time. Each worker gets a job, and when it has sent its result, the next one: while rank 1 is busy with the long job 0, rank 2 does job 1, then 3, then 5, and rank 3 does 2 and 4. When the last result has arrived, the manager sends stop to all workers.](../../images/manager_and_workers.svg)
#
# ### Manager and workers (6 points)
#
# `dist.recv(x)` without a source receives the next message from any rank, and returns
# the sender. **Think first:** `next_job()` returns None. Is the search over?

# %% nbgrader={"grade": false, "grade_id": "farm", "locked": false, "schema_version": 3, "solution": true, "task": false}
def farm(next_job, report, work) -> None:
    """Hand out jobs from rank 0 until all are done; all ranks call this function.

    next_job: function, next_job() returns a job (config, epochs), two ints from 0 to
        2**53, or None if there is none now
    report: function, report(job, loss) records a result; job equals the pair that
        next_job returned
    work: function, work(config, epochs) does a job, which takes a long time, and
        returns the loss, a float, perhaps nan or inf
    Changes: nothing

    - every job once: only rank 0 calls next_job, as often as you like, and report, once
      for each job. For each job one other rank calls work once, with two ints. Losses
      keep all their digits. Rank 0 calls work only if it is the only rank.
    - no worker idle: no worker waits while there is a job for it; no rank waits for a
      particular worker.
    - jobs that arrive later: after None, a reported result may bring more jobs. If
      next_job() returns None and no worker has a job, the search is over.

    Example: 3 ranks, jobs of 4 s, 1 s, 1 s and 1 s: one worker does the first, the
    other the three short ones.
    """
    ### BEGIN SOLUTION
    rank, p = dist.get_rank(), dist.get_world_size()
    message = torch.zeros(3, dtype=torch.float64)
    if rank > 0:
        while True:
            dist.recv(message, 0)
            config, epochs = int(message[0]), int(message[1])
            if config < 0:
                return
            message[2] = work(config, epochs)
            dist.send(message, 0)
    if p == 1:
        while (job := next_job()) is not None:
            report(job, work(*job))
        return
    idle, running = list(range(1, p)), {}
    while True:
        while idle and (job := next_job()) is not None:
            worker = idle.pop(0)
            running[worker] = job
            dist.send(torch.tensor([*job, 0], dtype=torch.float64), worker)
        if not running:
            break
        worker = dist.recv(message)
        report(running.pop(worker), message[2].item())
        idle.append(worker)
    for worker in idle:
        dist.send(torch.tensor([-1, 0, 0], dtype=torch.float64), worker)
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "check_farm", "locked": true, "points": 6, "schema_version": 3, "solution": false, "task": false}
check(farm)

# %% [markdown]
# The next cells run sixteen trials twice: dealt out beforehand, and handed out one by
# one. Time is virtual here: an epoch takes half a second for each layer, and a trial
# has twelve epochs. (The labels are the trials, F0 to F15.)

# %% tags=["raises-exception"]
def seconds_of(config, epochs):
    return 0.5 * config["layers"] * epochs


def dealt_out(configs, epochs):
    rank, workers = dist.get_rank(), dist.get_world_size() - 1
    for i, config in enumerate(configs):
        if rank == 1 + i % workers:
            simulation.compute(seconds_of(config, epochs), f"F{i}")


def handed_out(configs, epochs):
    jobs = [(i, epochs) for i in range(len(configs))]

    def work(i, epochs):
        simulation.compute(seconds_of(configs[i], epochs), f"F{i}")
        return 0.0

    farm(lambda: jobs.pop(0) if jobs else None, lambda job, loss: None, work)

# %% tags=["raises-exception"] alt="Two space-time diagrams of a manager and four workers. Dealt out, some workers are done long before the last one; handed out, all four work nearly to the end."
sixteen, runs = random_configs(SPACE, 16, seed=3, rank=0, world_size=1), {}
for title, how in (("dealt out", dealt_out), ("handed out", handed_out)):
    run = runs[title] = simulation.run(how, 5, (sixteen, 12))
    idle = 1 - sum(rank.busy for rank in run.ranks) / (4 * run.elapsed)
    print(f"{title:<11} {run.elapsed:5.1f} s, workers idle {idle:4.0%}")
charts.diagrams(runs, 5)

# %% [markdown]
# ## Successive halving: who goes on?
#
# Most configurations are bad, and a few epochs are enough to see it. **Successive
# halving** trains all n of them for r epochs, keeps the best $1/\eta$, trains these to
# $\eta r$ epochs, keeps the best $1/\eta$ of them, and so on, up to R epochs. With n =
# 9, r = 1, $\eta = 3$ and R = 9:
#
# ![Nine configurations as bars; a bar's length is the number of epochs. All nine have 1 epoch, and six are dropped; three are trained further, to 3 epochs, and two are dropped; one is trained to 9. Together these are 21 epochs; all nine to the end would be 81.](../../images/successive_halving.svg)
#
# Each shade is a **rung**. No rung has more than R epochs: with n = 81 and R = 30 there
# are rungs of 1, 3, 9 and 27 epochs, and no other.
#
# ### Successive halving (4 points)

# %% nbgrader={"grade": false, "grade_id": "successive_halving", "locked": false, "schema_version": 3, "solution": true, "task": false}
def successive_halving(train, n: int, r: int, R: int, eta: int) -> list[list[int]]:
    """Run successive halving and return the configurations of each rung.

    train: function, train(i, epochs) goes on training configuration i until it has had
        `epochs` epochs in all, and returns its loss
    n: int, number of configurations, 0 to n - 1
    r: int, epochs of the first rung
    R: int, largest number of epochs of a configuration
    eta: int, at least 2
    Returns: list of rungs, each a list of configurations, the best first

    - the rungs: rung k trains n // eta**k configurations, those with the smallest
      losses of rung k - 1, to r * eta**k epochs in all.
    - uneven rungs; diverged trials: no rung is empty, and none has more than R epochs.
      Of equal losses the smaller number comes first; nan is worse than any other loss,
      even inf; several nan may be in any order.
    - no wasted epochs: no configuration is trained further than its last rung.

    Example: n = 9, r = 1, R = 9, eta = 3: rungs of 9, 3 and 1 configurations.
    """
    ### BEGIN SOLUTION
    alive, rungs = list(range(n)), []
    while alive and r <= R:
        losses = {i: train(i, r) for i in alive}
        alive.sort(key=lambda i: (losses[i] != losses[i], losses[i], i))
        rungs.append(alive)
        alive, r = sorted(alive[: len(alive) // eta]), eta * r
    return rungs
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "check_successive_halving", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
check(successive_halving)

# %% [markdown]
# Now run halving on 81 configurations. Their learning curves come from a formula,
# `search.curve`, so that we can look at all of them. Each loss falls from 2.3 to its
# own final value, the more slowly the more layers there are.

# %% tags=["raises-exception"]
def searched(curves, n, r, R, eta):
    """Run successive halving and return (the winner, its loss, epochs trained)."""
    had = {}

    def train(i, epochs):
        had[i] = epochs
        return float(curves(i, epochs))

    rungs = successive_halving(train, n, r, R, eta)
    winner = rungs[-1][0]
    return winner, float(curves(winner, had[winner])), sum(had.values())

# %% tags=["raises-exception"]
many = random_configs(SPACE, 81, seed=5, rank=0, world_size=1)
ends = [float(search.curve(config, 81)) for config in many]
winner, loss, epochs = searched(lambda i, e: search.curve(many[i], e), 81, 1, 81, 3)
print(f"all 81 to the end: {81 * 81:,} epochs, best loss {min(ends):.4f}")
print(f"halving: {epochs} epochs ({epochs / 81**2:.0%}), loss {loss:.4f}")

# %% [markdown]
# Your second guess: a twentieth of the epochs finds the seventh best of 81. The best
# one was dropped at the first rung, where 31 were ahead. The rest of this section shows
# when that goes badly wrong.
#
# ### Learning curves that cross
#
# What if good configurations begin slowly? A small learning rate with a long schedule
# looks bad for a long time. Here, the lower a curve ends, the more slowly it falls:

# %% tags=["raises-exception"] alt="Loss over 81 epochs for five of the 81 curves. Curve 0 falls slowest and is lowest in the end; curve 60 is lower at first and ends higher; they cross. Dotted lines mark the rungs at 1, 3, 9 and 27 epochs."
k, loss, epochs = searched(search.crossing, 81, 1, 81, 3)
print(f"halving keeps curve {k}: loss {loss:.3f} after {epochs} epochs")
better = sum(search.crossing(i, 81) < loss for i in range(81))
print(f"{better} of 81 would have ended lower, curve 0 at {search.crossing(0, 81):.3f}")
at = np.arange(82)
looks = {0: "red -", 20: "grey -", 40: "grey -", 60: "blue --", 80: "grey -"}
curves = {f"curve {k}": (at, search.crossing(k, at), look) for k, look in looks.items()}
size, xlim = (7, 3.4), (0, 81)
ax = charts.lines(
    curves, legend="ends", size=size, xlabel="epochs", ylabel="loss", xlim=xlim
)
for rung in (1, 3, 9, 27):
    charts.guide(ax, "rungs" if rung == 27 else "", x=rung, at="top")

# %% [markdown]
# Halving keeps curves that *begin* well. More epochs before the first cut would prevent
# this, but then there is time for fewer configurations. Nobody knows beforehand which
# of the two matters more.
#
# ### Hyperband's table (4 points) · stretch
#
# **Hyperband** (Li et al., JMLR 18, 2018; arXiv 1603.06560) does not decide. It runs
# successive halving several times, from "many configurations, first cut after one
# epoch" to "a few, all trained to the end". Each run is a **bracket**; for $R = 9$ and
# $\eta = 3$ there are three:
#
# ![The three brackets of Hyperband for R = 9 and eta = 3, a bar for each configuration. s = 2: nine begin, three go on after 1 epoch, one after 3 up to 9; 21 epochs. s = 1: three begin with 3 epochs, one goes on to 9; 15 epochs. s = 0: three are trained for 9 epochs without a cut; 27 epochs.](../../images/hyperband.svg)
#
# All brackets should take about the same number of epochs. The paper's Table 1 (page
# 9), for $R = 81$ and $\eta = 3$, begins each bracket with:
#
# | | s = 4 | s = 3 | s = 2 | s = 1 | s = 0 |
# |---|---|---|---|---|---|
# | configurations | 81 | 27 | 9 | 6 | 5 |
# | epochs of the first rung | 1 | 3 | 9 | 27 | 81 |
#
# Let $s_\text{max}$ be the largest s with $\eta^s \le R$. Bracket s begins with
# $n = \lfloor (s_\text{max} + 1) / (s + 1) \rfloor \cdot \eta^s$ configurations, and
# its rung i, from 0 to s, trains $n / \eta^i$ of them to
# $\lfloor R / \eta^{s - i} \rfloor$ epochs.

# %% nbgrader={"grade": false, "grade_id": "hyperband_brackets", "locked": false, "schema_version": 3, "solution": true, "task": false}
def hyperband_brackets(R: int, eta: int) -> list[list[tuple[int, int]]]:
    """Return the brackets of Hyperband with their rungs.

    R: int, largest number of epochs of a configuration, at most 10**17
    eta: int, the factor between two rungs
    Returns: list of brackets, from s_max down to 0, each a list of rungs
        (configurations, epochs), ints

    - R = 81, eta = 3: by the two formulas above.
    - other powers: the same for any eta if R is one of its powers.
    - R is not a power of eta: the same for any other R; epochs are rounded down in each
      rung.
    - illegal arguments: raise ValueError if R < 1 or eta < 2.

    Example: hyperband_brackets(3, 3) == [[(3, 1), (1, 3)], [(2, 3)]]
    """
    ### BEGIN SOLUTION
    if R < 1 or eta < 2:
        raise ValueError(f"no brackets for R = {R}, eta = {eta}")
    s_max = 0
    while eta ** (s_max + 1) <= R:
        s_max += 1
    brackets = []
    for s in range(s_max, -1, -1):
        n = (s_max + 1) // (s + 1) * eta**s
        brackets.append([(n // eta**i, R // eta ** (s - i)) for i in range(s + 1)])
    return brackets
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "check_hyperband_brackets", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
check(hyperband_brackets)

# %% [markdown]
# The same paper says on page 8, in line 2 of its Algorithm 1, how many configurations
# bracket s begins with: $n = \lceil \frac{B}{R} \cdot \frac{\eta^s}{s + 1} \rceil$ with
# $B = (s_\text{max} + 1) R$. Does that give its Table 1? And does a bracket "use
# approximately B total resources" (page 7)?

# %% tags=["raises-exception"]
print("s   n of line 2   n of Table 1   epochs of the bracket, of B = 405")
for s, bracket in zip(range(4, -1, -1), hyperband_brackets(81, 3)):
    line_2 = -(-5 * 3**s // (s + 1))
    epochs = [n * r for n, r in bracket]
    print(f"{s} {line_2:>8} {bracket[0][0]:>14} {sum(epochs):>14}")

# %% [markdown]
# It does not: 34, 15 and 8 are not 27, 9 and 6. Both are in use; programs on the web
# have one or the other. And the brackets of the table take between 60 % and all of B.
# (Here each rung is trained from the start. If you continue from the rung before, as
# your code does, you need fewer epochs.) So check a formula before you use it, even if
# everybody cites the paper.
#
# Now run all of Hyperband on the curves that cross, two hundred times:

# %% tags=["raises-exception"]
draws = np.random.default_rng(2)
found = []  # 200 times Hyperband: the winner of each bracket
for _ in range(200):
    one = []
    for bracket in hyperband_brackets(81, 3):
        (n, r), some = bracket[0], draws.permutation(81)
        one.append(searched(lambda i, e, s=some: search.crossing(s[i], e), n, r, 81, 3))
    found.append(one)
losses = np.array([[loss for _, loss, _ in one] for one in found])
for k, bracket in enumerate(hyperband_brackets(81, 3)):
    (n, r), epochs = bracket[0], found[0][k][2]
    print(
        f"{n:>2} from {r:>2} epochs on: loss {losses[:, k].mean():.3f}, {epochs} epochs"
    )
print(f"the best of all five: {losses.min(axis=1).mean():.3f}")

# %% [markdown]
# The paper measures its "over an order-of-magnitude speedup" (abstract) against other
# methods, on its own problems. Here curves cross: the earlier a bracket makes its first
# cut, the worse it does. The last one, 5 trained to the end, is plain random search and
# the best; the other four are nearly wasted. This is the price of not having to know:
# a factor of $s_\text{max} + 1$ in epochs if every bracket takes B.
#
# ## ASHA: halving without waiting · stretch
#
# Successive halving has a barrier at each rung: the last configuration of a rung keeps
# all workers waiting. **ASHA**, asynchronous successive halving (Li et al., arXiv
# 1810.05934), promotes a configuration to the next rung as soon as it is among the best
# $1/\eta$ of those that have finished its rung *so far*. If none can be promoted, a
# worker begins a new one. With $\eta = 3$:
#
# ![ASHA with eta = 3. Six configurations have finished rung 0, with losses c0 0.9, c1 0.4, c2 0.7, c3 0.2, c4 0.8 and c5 0.6; c6 still runs there. The best 6 // 3 = 2, c3 and c1, may go up. c3 runs on rung 1 already, so an idle worker gets c1 on rung 1: (1, 1).](../../images/asha.svg)
#
# ### The next job of an idle worker (4 points)

# %% nbgrader={"grade": false, "grade_id": "asha_next", "locked": false, "schema_version": 3, "solution": true, "task": false}
def asha_next(
    finished: list[dict], started: list[list], n: int, eta: int
) -> tuple[int, int] | None:
    """Return the next job of an idle worker of ASHA.

    finished: list of dicts, finished[k] is {configuration: loss} of those that have
        finished rung k
    started: list of lists, started[k] are all that were ever started on rung k,
        including those still running
    n: int, number of configurations, 0 to n - 1
    eta: int, the factor between two rungs
    Returns: (configuration, rung), ints, or None if there is nothing to do now

    - promotion or a new trial: look at rung len(finished) - 2 first, then at the next
      lower one, down to rung 0. Of the m that have finished rung k the best m // eta
      may go up. The best of these that is not yet started on rung k + 1 is next. If
      none can go up, configuration number len(started[0]) starts on rung 0.
    - while others run: a configuration still running on rung k is not one of the m.
    - diverged trials, ties, nothing left: a configuration with loss nan is one of the
      m, but never goes up; of equal losses the smaller number is better. If all n have
      started and none can go up, return None.
    - unchanged: finished and started.

    Example: finished = [{0: 0.5, 1: 0.4, 2: 0.9}, {}], eta = 3 and none started on rung
    1 give (1, 1).
    """
    ### BEGIN SOLUTION
    for k in range(len(finished) - 2, -1, -1):
        known = sorted((loss, i) for i, loss in finished[k].items() if loss == loss)
        for _, i in known[: len(finished[k]) // eta]:
            if i not in started[k + 1]:
                return i, k + 1
    new = len(started[0])
    return (new, 0) if new < n else None
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "check_asha_next", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
check(asha_next)

# %% [markdown]
# Now `farm` hands out the jobs that `asha_next` chooses, and those of two other rules
# for comparison. `search.Table` records which configuration has started and finished
# which rung. Every worker can read every checkpoint and continue from it, so a job
# costs only its new epochs.

# %% tags=["raises-exception"]
RULES = {
    "random": search.all_to_the_end,
    "halving": search.halving_next,
    "ASHA": asha_next,
}


def parallel_search(rule, configs, R, eta):
    """Return (smallest loss, epochs trained) of a search, on rank 0."""
    table = search.Table(RULES[rule], len(configs), R, eta)

    def work(i, epochs):
        more = table.new_epochs(epochs)
        simulation.compute(seconds_of(configs[i], more), f"F{i}")
        return float(search.curve(configs[i], epochs))

    farm(table.next_job, table.report, work)
    return table.best(), table.spent()

# %% tags=["raises-exception"]
twice = random_configs(SPACE, 162, seed=5, rank=0, world_size=1)
print("workers  rule     of   virtual s  idle   epochs  best loss")
for p in (2, 5, 9):
    for rule, some in (*((rule, many) for rule in RULES), ("ASHA", twice)):
        run = simulation.run(parallel_search, p, (rule, some, 81, 3))
        loss, epochs = run.ranks[0].value
        idle = 1 - sum(rank.busy for rank in run.ranks) / ((p - 1) * run.elapsed)
        print(
            f"{p - 1:>7}  {rule:<7} {len(some):>3} {run.elapsed:>11.0f} {idle:>5.0%} "
            f"{epochs:>8,} {loss:>10.4f}"
        )

# %% tags=["raises-exception"] alt="Two space-time diagrams of a manager and four workers. Under halving workers wait before each rung; under ASHA they go on at once. In both, one worker is left alone at the end."
runs = {}
for rule in ("halving", "ASHA"):
    run = simulation.run(parallel_search, 5, (rule, many[:9], 9, 3))
    runs[f"{rule}, 9 configurations: {run.elapsed:.1f} s"] = run
charts.diagrams(runs, 5)

# %% [markdown]
# Look for the gaps: under halving the workers are idle before each rung. ASHA fills
# these gaps with promotions that may be too early, so in the table it trains more
# epochs. At the end both leave one worker alone with the last configuration. In the
# table its 81 epochs are half of all the time with 4 workers, two thirds with 8. (Only
# data parallel training, as in the other units, would shorten that.) So for a given
# number of configurations ASHA gains little. It is made for a search that goes on and
# on: there is always a new configuration to begin, and no worker is ever idle.
#
# ## Selection bias: the error of a winner · stretch
#
# Choose the configuration with the smallest error. It is not as good as this error
# says: you chose it *because* the error is small, and it is small partly by luck. This
# is **selection bias**. That is why there is a third set, which nobody looks at before
# the choice.
#
# ![Three sets of data and what each is for. From the training set 40 networks learn; with the validation set one of them is chosen; on the test set its error is reported. An arrow from the test set to the choice is crossed out: never.](../../images/three_sets.svg)
#
# ### The winner, and its test error (5 points)
#
# Each rank has some of the trials, and all ranks need the winner.

# %% nbgrader={"grade": false, "grade_id": "best_trial", "locked": false, "schema_version": 3, "solution": true, "task": false}
def best_trial(numbers: Tensor, validation: Tensor, test: Tensor) -> tuple[int, float]:
    """Return the number and the test error of the best trial of all ranks.

    numbers: int64 tensor (n,), from 0 to 2**53, unique over all ranks
    validation: float64 tensor (n,), validation losses, finite or nan
    test: float64 tensor (n,), test errors, finite
    Returns: (number, test error) of that trial, (int, float), the same on every rank

    - chosen by validation: the trial with the smallest validation loss.
    - ranks without trials, ties: n may be 0 on some ranks; of equal losses the smallest
      number wins.
    - diverged trials: a trial whose loss is nan never wins.
    - no trial to choose: raise ValueError on every rank if every loss is nan.
    - bytes: a rank passes at most 64 bytes to collectives, however many trials it has.

    Example: losses [0.3] of trial 7 on rank 0 and [nan, 0.2] of trials 4 and 5 on rank
    1: trial 5 wins.
    """
    ### BEGIN SOLUTION
    rows = zip(validation.tolist(), numbers.tolist(), test.tolist())
    mine = min((row for row in rows if row[0] == row[0]), default=(np.inf, 0, 0))
    mine = torch.tensor(mine, dtype=torch.float64)
    everyone = [torch.empty_like(mine) for _ in range(dist.get_world_size())]
    dist.all_gather(everyone, mine)
    loss, number, error = min(one.tolist() for one in everyone)
    if loss == np.inf:
        raise ValueError("no trial has a loss")
    return int(number), error
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "check_best_trial", "locked": true, "points": 5, "schema_version": 3, "solution": false, "task": false}
check(best_trial)

# %% [markdown]
# How large is the bias? The true errors of the networks that you trained above are
# known from 20,000 new points. From these points draw a validation set and a test set
# of 200 each, choose a winner, and note the error that you would report.
# `search.reported_minus_true` does so a thousand times:

# %% tags=["raises-exception"] alt="Two histograms of the reported minus the true error, in percentage points. Where the test set chose and was reported, the bars are left of zero; where validation chose, they are around zero."
x, y = search.points(20_000, seed=3)
with torch.no_grad():
    wrong = np.stack([(net(x).argmax(dim=1) != y).numpy() for net in nets])
true, too_good = wrong.mean(axis=1), search.reported_minus_true(wrong)
for name, kept in too_good.items():
    print(f"{name}: off by {np.mean(kept):+.2f} percentage points on average")
xlabel = "reported minus true error, percentage points"
bins = np.arange(-10.25, 10.5, 0.5)
ax = charts.histogram(too_good, bins, size=(7, 3), xlabel=xlabel, ylabel="searches")
charts.guide(ax, "", x=0)
print(f"true errors: best {true.min():.1%}, median {np.median(true):.1%}")

# %% [markdown]
# Your third guess: about one and a half percentage points. If validation chooses, only
# the noise of a thousand repetitions is left. A program that chooses by the test set
# does not look wrong: its error was measured on a test set. And the more networks you
# try, the better the result looks, although no network is better. Here every network
# has a true error of 20 %, and is tested on 200 points:

# %%
draws = np.random.default_rng(1)
for tried in (1, 5, 20, 40, 200):
    errors = draws.binomial(200, 0.2, (2000, tried)) / 200
    print(f"best of {tried:>3} equally good networks: {errors.min(axis=1).mean():.1%}")

# %% [markdown]
# (These networks err independently of each other. Real networks err partly on the same
# points, so luck helps less.)
#
# ## Optuna: a library for search
#
# Libraries do most of this. **Optuna** keeps the trials of a *study*, its name for a
# search, in a storage that several processes share: a database, or a **journal**, a
# file to which each process appends its actions. There is no manager; an idle process
# takes the next trial number. Here are four ranks and one journal. After ten random
# trials TPE (tree-structured Parzen estimator) draws new configurations near good ones,
# and trials are stopped by Hyperband's rule:

# %%
folder = tempfile.mkdtemp()  # on a cluster: one that all nodes see
ranks.start(4, torch=True)

# %%
# %%ranks
try:
    import optuna
except ModuleNotFoundError:
    optuna = None
    if rank == 0:
        print("Optuna is not installed here: pip install optuna==5.0.0")


def objective(trial):
    config = {
        "lr": trial.suggest_float("lr", 1e-6, 1.0, log=True),
        "momentum": trial.suggest_float("momentum", 0.0, 0.95),
        "layers": trial.suggest_int("layers", 1, 4),
        "activation": trial.suggest_categorical("activation", ["relu", "tanh", "gelu"]),
    }
    for epochs in (1, 3, 9, 27):
        loss = float(search.curve(config, epochs))
        trial.report(loss, epochs)
        if trial.should_prune():
            raise optuna.TrialPruned
    return loss

# %%
# %%ranks
mine, states, best = [], [], None
if optuna:
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    backend = optuna.storages.journal.JournalFileBackend(f"{folder}/journal.log")
    storage = optuna.storages.JournalStorage(backend)
    if rank == 0:
        optuna.create_study(study_name="u14", storage=storage)
    dist.barrier()
    study = optuna.load_study(
        study_name="u14",
        storage=storage,
        sampler=optuna.samplers.TPESampler(seed=rank),
        pruner=optuna.pruners.HyperbandPruner(1, 27, 3),
    )
    keep = [lambda study, trial: mine.append(trial.number)]
    study.optimize(objective, n_trials=10, callbacks=keep)
    dist.barrier()
    states = [trial.state.name for trial in study.trials]
    best = study.best_value, study.best_params

# %%
ran, states, best = (ranks.pull(name) for name in ("mine", "states", "best"))
ranks.stop()
shutil.rmtree(folder)
for rank, numbers in enumerate(ran):
    print(f"rank {rank} ran {numbers}")
numbers = sorted(number for mine in ran for number in mine)
print("every trial once:", numbers == list(range(len(states[0]))))
print(dict(Counter(states[0])))
if best[0]:
    print(f"the best: loss {best[0][0]:.4f} with")
    print(best[0][1])

# %% [markdown]
# No trial was run twice, though nobody handed them out: a process that needs a number
# writes a line into the journal, under a lock, and reads the lines before it. Which
# rank gets which number differs from run to run, and so does the result of TPE. Your
# `random_configs` is stricter: it repeats a search exactly.
#
# Optuna's grid sampler takes your grid. It should try the same points and find the same
# losses as a loop over the grid:

# %% tags=["raises-exception"]
def loss_at(lr):
    return float(search.curve({"lr": lr, "momentum": 0.9, "layers": 2}, 27))


def on_the_grid(trial):
    return loss_at(trial.suggest_float("lr", 1e-6, 1.0))


try:
    import optuna
except ModuleNotFoundError:
    optuna = None
if optuna:
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    grid = log_grid(1e-6, 1, 13)
    ours = [loss_at(rate) for rate in grid]
    sampler = optuna.samplers.GridSampler({"lr": grid}, seed=0)
    study = optuna.create_study(sampler=sampler)
    study.optimize(on_the_grid, n_trials=len(grid))
    theirs = {trial.params["lr"]: trial.value for trial in study.trials}
    print("the same points:", sorted(theirs) == grid)
    print("the same losses:", [theirs[rate] for rate in grid] == ours)
    print(f"best: {study.best_value:.4f} and {min(ours):.4f}")

# %% [markdown]
# ## What to remember
#
# - Search learning rates on a **logarithmic** scale; random configurations beat a grid
#   as soon as there are several hyperparameters.
# - Draw configuration i from **(seed, i)**: then the search is the same on any number
#   of ranks. If all ranks seed their generators alike, they all try the same.
# - A **manager** that receives from any source keeps all workers busy. None from
#   `next_job` means "not yet" as long as a worker has a job.
# - **Halving** saves most of the epochs, as long as good configurations begin well;
#   Hyperband hedges against curves that cross; ASHA does not wait for a rung.
# - **Choose by validation, report by test**, and look at the test set once.
#
# **To think about.** Your cluster ends a job after an hour, without warning. What must
# the manager and the workers save, and when, so that the next job goes on where this
# one stopped? (Optuna's journal is one answer. Which trials does it lose?)

# %% [markdown]
# ## Deeper: the spectral method
#
# Some hyperparameters are switches: skip connections on (+1) or off (-1). With 20
# switches there are a million configurations. The **spectral method** (Hazan, Klivans,
# Yuan, arXiv 1706.00764) writes the loss as a sum over sets S of switches,
# $\sum_S c_S \prod_{i \in S} x_i$, and assumes that only a few $c_S$ are large, all of
# them for small sets. Then a few trials are enough to find them.
#
# ### The switches that matter (3 points)
#
# The paper finds the large coefficients by the Lasso, a sparse regression. With enough
# trials a simpler way will do: for every small set compute the mean over the trials of
# $y \prod_{i \in S} x_i$, with the loss y; keep the s sets where it is largest in
# magnitude, and fit their coefficients by least squares.

# %% nbgrader={"grade": false, "grade_id": "spectral", "locked": false, "schema_version": 3, "solution": true, "task": false}
def spectral(
    x: np.ndarray, y: np.ndarray, degree: int, s: int
) -> list[tuple[tuple[int, ...], float]]:
    """Find the s sets of switches that matter most, with their coefficients.

    x: array (trials, switches) of +1 and -1
    y: array (trials,), a loss for each trial
    degree: int, largest number of columns in a set
    s: int, number of sets
    Returns: list of s pairs (set, coefficient), the largest coefficient in magnitude
        first; a set is a tuple of columns

    - without noise: a set has 0 to `degree` columns; the empty one, (), stands for the
      constant 1. The coefficients are those of the least-squares fit with these s sets
      alone.
    - with noise: y also has noise, and perhaps terms of larger sets, which you ignore.

    Example: y = 3 + 2 x0 x2 with s = 2 gives [((), 3.0), ((0, 2), 2.0)].
    """
    ### BEGIN SOLUTION
    columns = range(x.shape[1])
    sets = [S for d in range(degree + 1) for S in combinations(columns, d)]
    table = np.stack([x[:, list(S)].prod(axis=1) for S in sets], axis=1)
    chosen = np.argsort(-np.abs(table.T @ y))[:s]
    found = np.linalg.lstsq(table[:, chosen], y, rcond=None)[0]
    pairs = [(sets[k], float(c)) for k, c in zip(chosen, found)]
    return sorted(pairs, key=lambda pair: -abs(pair[1]))
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "check_spectral", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
check(spectral)

# %% tags=["raises-exception"]
draws = np.random.default_rng(0)
x = draws.choice([-1.0, 1.0], (500, 20))
y = 2 + 0.8 * x[:, 3] - 0.6 * x[:, 3] * x[:, 11] + 0.5 * x[:, 0] * x[:, 7]
y += 0.2 * draws.normal(size=500)
for S, c in spectral(x, y, degree=2, s=4):
    print(f"{c:+.3f} x the product of switches {S}")
print(f"500 trials of {2**20:,} configurations")

# %% [markdown]
# ### To read
#
# - J. Bergstra, Y. Bengio, *Random Search for Hyper-Parameter Optimization*, JMLR 13
#   (2012), 281-305.
# - L. Li et al., *Hyperband: A Novel Bandit-Based Approach to Hyperparameter
#   Optimization*, JMLR 18 (2018), arXiv 1603.06560.
# - L. Li et al., *A System for Massively Parallel Hyperparameter Tuning*, MLSys 2020,
#   arXiv 1810.05934.
# - E. Hazan, A. Klivans, Y. Yuan, *Hyperparameter Optimization: A Spectral Approach*,
#   ICLR 2018, arXiv 1706.00764.
