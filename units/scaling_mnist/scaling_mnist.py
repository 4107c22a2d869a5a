# %% [markdown]
# # Homework: scaling MNIST
#
# `README.md` beside this notebook says what the task is, what to hand in and how it is graded. **Read it first.** In short: you port
# a script to Horovod or to torch.distributed, run it on 1, 2, 4 and 8 ranks, and find out what the additional ranks gain.
#
# This notebook runs your port, reads the run logs, and turns them into `scaling.csv`, `scaling.pdf` and `accuracy_1.pdf` to
# `accuracy_8.pdf`. Beside the port, you write three functions and a discussion.
#
# **You need** units 07 (Horovod) or 06 (DistributedDataParallel), and 08 (scaling). **It runs** for about three and a half
# minutes on two cores.

# %%
import csv
import os
import subprocess
import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from autograder.check import check_homework
from labkit import palette, plots, runlog, scaling
from labkit.environment import cores, mpi_environment, mpiexec

SIZES = (1, 2, 4, 8)  # numbers of ranks; add 16 where you have the cores for it
PORT = "tensorflow2_mnist_hvd.py"  # or "torch_mnist_ddp.py": your port to torch.distributed
OPTIONS = "--images 6000 --epochs 8 --batch-size 64 --lr 0.005 --seed 0".split()  # the same for all sizes

# %% [markdown]
# ## 1. The port
#
# Copy `tensorflow2_mnist.py` to `tensorflow2_mnist_hvd.py` (or `torch_mnist.py` to `torch_mnist_ddp.py`, and say so in `PORT` above) and
# change the copy, with an editor or here in Lab. The eight steps, not numbered as in unit 07, are in `README.md` with their points. The next
# cell starts your script on two ranks, with little data. It should print half the steps of one rank (5, not 10), and each line once.


# %%
def train(ranks, *options):
    """Start the port on `ranks` ranks of this machine and print their output. Stopping the cell stops the ranks."""
    if not Path(PORT).exists():
        raise FileNotFoundError(f"there is no {PORT} yet: it begins as a copy of the sequential script")
    if "ddp" in PORT:  # torchrun starts the ranks of a program that uses torch.distributed
        torchrun = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(ranks)]
        options = ["--run-log" if word == "--log" else word for word in options]  # torchrun takes --log for an option of its own
        command = [*torchrun, PORT, *options]
    else:
        command = [*mpiexec(), "-n", str(ranks), sys.executable, PORT, *options]
    environment = {**os.environ, **mpi_environment(ranks)}
    pipe = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "stdin": subprocess.DEVNULL}
    with subprocess.Popen(command, env=environment, text=True, **pipe) as process:
        try:
            for line in process.stdout:
                print(line, end="")
        finally:
            process.terminate()
    if process.returncode:
        raise RuntimeError(f"{PORT} on {ranks} ranks did not end well: see above")


# %% tags=["raises-exception"]
train(2, "--images", "640", "--epochs", "2")

# %% [markdown]
# The check runs your script on 1, 2 and 3 ranks, on other data, and looks at what happens: which images each rank trains on, its weights
# after each step, which ranks write. It takes about a minute.

# %% nbgrader={"grade": true, "grade_id": "check_port", "locked": true, "points": 50, "schema_version": 3, "solution": false, "task": false}
check_homework("port")

# %% [markdown]
# ## 2. The runs
#
# **Predict** before you run: how many times faster will 2, 4 and 8 ranks be on this machine, with these cores?

# %%
print(cores(), "cores")

# %%
guess_2, guess_4, guess_8 = "?", "?", "?"

# %% [markdown]
# A size that has a log already is not run again: delete `run_4.jsonl` to repeat it. If you have a cluster, run there instead, as
# `README.md` shows, and put the logs here. Do nothing else on the machine meanwhile: it would disturb the measurement.

# %% tags=["raises-exception"]
for p in SIZES:
    if not Path(f"run_{p}.jsonl").exists():
        print(f"{p} ranks")
        train(p, *OPTIONS, "--log", f"run_{p}.jsonl")

# %% [markdown]
# What do the logs say? A log records more than you need here: the time and learning rate of every step, the number of images of each
# rank, the machine. `Epoch` and `RunLog` in `labkit/runlog_reading.py` list it all.

# %%
runs = {p: runlog.read(f"run_{p}.jsonl") for p in SIZES if Path(f"run_{p}.jsonl").exists()}
print("logs of", *runs, "ranks")
for p, run in runs.items():
    last = run.epochs[-1]
    steps = len(last.step_seconds)
    print(f"{p} ranks: {len(run.epochs)} epochs, {steps} steps of {run.global_batch_size} images,", end=" ")
    print(f"{last.seconds:.2f} s, validation accuracy {last.val_accuracy:.3f}", *run.problems)

# %% [markdown]
# The times are those of the last epoch. Why not of the first one?

# %% tags=["raises-exception"]
milliseconds = 1e3 * runs[2].epochs[0].step_seconds
figure, ax = plt.subplots(figsize=(6, 3), layout="constrained")
ax.semilogy(1 + np.arange(len(milliseconds)), milliseconds, "o", markersize=3, color=palette.BLUE)
ax.set(xlabel="step of the first epoch, 2 ranks", ylabel="time, ms")
ax.grid(color=palette.FAINT)

# %% [markdown]
# TensorFlow compiles in the first step, and PyTorch is slower in it, too. `run.throughput()` therefore leaves the first epoch out.
# It returns images per second of all ranks together, as a `labkit.scaling.Estimate`: a value with its standard error. Validation is not
# counted.
#
# ## 3. The table
#
# The global batch grows with the ranks: an epoch has the same images, but fewer steps. So compare **images per second**, as in unit 08:
# the speedup of p ranks is their rate divided by the rate of one, the efficiency is the speedup per rank.

# %% nbgrader={"grade": false, "grade_id": "scaling_table", "locked": false, "schema_version": 3, "solution": true, "task": false}
def scaling_table(runs: dict) -> list[tuple]:
    """The rows of scaling.csv: (ranks, images per second, speedup, efficiency) for each run, as an int and three floats.

    runs: number of ranks -> RunLog, with an entry for 1. The efficiency is a fraction: 1.0 is perfect.
    """
    ### BEGIN SOLUTION
    rates = {p: run.throughput() for p, run in runs.items()}
    rows = []
    for p in sorted(runs):
        speedup = scaling.scaled_speedup(rates[1], rates[p])
        rows.append((p, rates[p].value, speedup.value, scaling.efficiency(speedup, p).value))
    return rows
    ### END SOLUTION

# %% tags=["raises-exception"]
rows = scaling_table(runs)
with open("scaling.csv", "w", newline="") as file:
    writer = csv.writer(file)
    writer.writerow(["ranks", "images_per_second", "speedup", "efficiency"])
    writer.writerows((p, f"{rate:.1f}", f"{speedup:.3f}", f"{efficiency:.3f}") for p, rate, speedup, efficiency in rows)
print(Path("scaling.csv").read_text())

# %% [markdown]
# ## 4. The figures
#
# `scaling.pdf`: your measurement against the number of ranks, and perfect scaling for comparison. Draw at least the speedup or the images per
# second; a second panel with the efficiency helps. It must be clear without you: axes with a quantity and a unit, curves with
# names, a title. Draw it with matplotlib as you like; `labkit.plots` has the figures of the course.

# %% nbgrader={"grade": false, "grade_id": "draw_scaling", "locked": false, "schema_version": 3, "solution": true, "task": false}
def draw_scaling(runs: dict):
    """The figure for scaling.pdf. runs: number of ranks -> RunLog. Returns a matplotlib figure."""
    ### BEGIN SOLUTION
    sizes = sorted(runs)
    rates = {p: runs[p].throughput() for p in sizes}
    # Efficiency and speedup are computed from the rates, so they carry their errors; on one rank they are 1, without an error.
    speedups = [scaling.scaled_speedup(rates[1], rates[p]) if p > 1 else scaling.Estimate(1.0) for p in sizes]
    efficiencies = [scaling.efficiency(speedup, p) for p, speedup in zip(sizes, speedups)]
    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
    plots.speedup({"measured": (sizes, speedups)}, left)
    left.set(title="Speedup", xlabel="number of ranks", ylabel="speedup in images per second")
    plots.efficiency({"measured": (sizes, efficiencies)}, right)
    right.set(title="Efficiency", xlabel="number of ranks", ylabel="efficiency (speedup per rank)")
    figure.suptitle(f"tensorflow2_mnist_hvd.py, {runs[1].batch_size} images per step and rank, {runs[1].hardware['cores']} cores")
    return figure
    ### END SOLUTION

# %% tags=["raises-exception"]
draw_scaling(runs).savefig("scaling.pdf")

# %% [markdown]
# `accuracy_1.pdf` to `accuracy_8.pdf`: training and validation accuracy over the epochs, one file for each number of ranks. x axis: epoch;
# y axis: accuracy. The figure itself, not only its file name, must say how many ranks it shows.

# %% nbgrader={"grade": false, "grade_id": "draw_accuracy", "locked": false, "schema_version": 3, "solution": true, "task": false}
def draw_accuracy(run):
    """The figure for accuracy_P.pdf, P = run.world_size. run: a RunLog. Returns a matplotlib figure."""
    ### BEGIN SOLUTION
    figure, ax = plt.subplots(figsize=(6, 4), layout="constrained")
    plots.training({"training": run.curve("accuracy"), "validation": run.curve("val_accuracy")}, ax, ylabel="accuracy")
    ax.set(title=f"Accuracy, {run.world_size} rank{'s' if run.world_size > 1 else ''}", xticks=run.curve("accuracy")[0])
    return figure
    ### END SOLUTION

# %% tags=["raises-exception"]
for p, run in runs.items():
    draw_accuracy(run).savefig(f"accuracy_{p}.pdf")

# %% [markdown]
# The checks compare your table, and the curves in your PDFs, with the logs, point by point.

# %% nbgrader={"grade": true, "grade_id": "check_scaling", "locked": true, "points": 25, "schema_version": 3, "solution": false, "task": false}
check_homework("scaling")

# %% nbgrader={"grade": true, "grade_id": "check_plots", "locked": true, "points": 25, "schema_version": 3, "solution": false, "task": false}
check_homework("plots")

# %% [markdown]
# ## 5. Bonus: warm-up (5 points)
#
# With 8 ranks the learning rate is 8 times as large from the very first step, when the weights are still random. Goyal et al. (2017)
# let it climb: it begins at the rate of one rank and reaches the scaled rate after a few epochs. Give your port an option
# `--warmup-epochs N` (default 0) that does this. The check looks at the learning rates that your script actually used.

# %% tags=["raises-exception"]
train(8, *OPTIONS, "--log", "warmup_8.jsonl", "--warmup-epochs", "3")

# %% tags=["raises-exception"]
warmed = runlog.read("warmup_8.jsonl")
shown = {"8 ranks": runs[8], "8 ranks, warm-up": warmed, "1 rank": runs[1]}
ax = plots.training({name: run.curve("val_accuracy") for name, run in shown.items()}, ylabel="validation accuracy")
ax.set(title="Does it help?");

# %% [markdown]
# An epoch of 8 ranks has 11 steps here, and a learning rate 8 times as large is close to the limit for this network. So the curves jump,
# and another seed gives other jumps. One run with and one without a warm-up are two samples, not a proof.

# %% nbgrader={"grade": true, "grade_id": "check_warmup", "locked": true, "points": 0, "schema_version": 3, "solution": false, "task": false}
check_homework("bonus")

# %% [markdown]
# ## 6. Discussion (5 points)
#
# About 200 words, with numbers from your own table and figures:
#
# 1. What limited the speedup on your machine? Say how you know.
# 2. How sure are your numbers? What would you do to be surer?
# 3. The same epochs, more ranks: what happened to the accuracy, and why?
# 4. If you had to train this model every day on this machine: how many ranks would you use?
# 5. What would change if the model had a hundred times as many parameters, and each rank a GPU?

# %% [markdown] nbgrader={"grade": true, "grade_id": "discussion", "locked": false, "points": 5, "schema_version": 3, "solution": true, "task": false}
# ### BEGIN SOLUTION
# **For graders**
#
# What counts is that a claim rests on the student's own numbers. Other machines have other answers; those below are for two cores.
#
# - 1 point: names the limit and how it is known. On two cores: the cores. From 2 to 8 ranks the images per second hardly change, or fall: the
#   ranks take turns, and lose time to switching and waiting. On a machine with enough cores: the all-reduce, or a
#   small local computation against a fixed cost per step. "Communication overhead" alone, without a number, earns half a point.
# - 1 point: quotes a scatter or an interval (of epochs or steps, or of repeated runs), and a remedy: repeat whole runs, leave the first epoch
#   out, an idle machine, longer runs. Half a point for only one of the two.
# - 1 point: sees that with more ranks the accuracy after the same epochs is lower at first, and says why: fewer steps per epoch (6000 / (64 p)),
#   each with a larger batch and learning rate. Half a point for "the batch is larger".
# - 1 point: a number of ranks that follows from the table (on two cores: 2, or 1 where two gained little), and not only from the
#   speedup: time to an accuracy counts, too.
# - 1 point: both effects: a hundred times as many bytes to average in each step, and much less time to compute it on a GPU; so the share of
#   communication grows unless the local batch or the network does. Half a point for one of them.
# ### END SOLUTION
