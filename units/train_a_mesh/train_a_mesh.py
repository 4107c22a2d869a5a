# %% [markdown]
# # Homework: train a mesh
#
# `README.md` beside this notebook describes the task, what to hand in and how it is graded. **Read it first.** In
# short: the functions you wrote in units 15, 16, 17 and 19 become one script that trains a small GPT on a mesh of
# ranks, data x tensor x pipeline. You run it on several meshes, show what each costs, and plan three trainings for
# which nobody will give you the GPUs.
#
# **You need** units 15 (sharding), 16 (tensor parallel), 17 (pipeline) and 19 (checkpoints). **It runs** for about
# four minutes on two cores. **It takes** about a week of evenings, most of them for the script.

# %%
import csv
import os
import subprocess
import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from autograder.check import check_homework
from labkit import palette, simulation
from labkit.environment import cores, mpi_environment, mpiexec
from labkit.meshrun import TASKS, Settings, read, sequential
from labkit.scale import every_mesh, young_daly

SCRIPT = "mesh_training.py"
# data, tensor, pipeline
MESHES = (1, 1, 1), (2, 1, 1), (1, 2, 1), (1, 1, 2), (1, 1, 4), (2, 2, 1), (2, 2, 2)
STEPS = 30

# %% [markdown]
# ## 1. The script
#
# Copy `mesh_training_starter.py` to `mesh_training.py`. `README.md` goes through it in five steps; make each of them
# work before you begin the next. The cell below runs your `train` on a mesh of simulated ranks, as in the units, and
# compares it with the sequential training, step by step. It takes a few seconds: use it after every few lines.


# %%
SMALL = dict(layers=4, width=16, context=16, batch=12, micro_batches=2, clip=0.5)


def one_training(folder, data, tensor, pipeline, steps):
    """The arguments of `log.step` on this rank."""
    sys.path.insert(0, folder)
    import mesh_training
    from labkit.meshrun import Settings
    from labkit.scale import Mesh

    class Steps(list):
        def step(self, loss, norm):
            self.append([loss, norm])

    log, mesh = Steps(), Mesh(data=data, tensor=tensor, pipeline=pipeline)
    mesh_training.train(mesh, Settings(**SMALL), steps, log)
    return list(log)


def script_is_there():
    if not Path(SCRIPT).exists():
        raise FileNotFoundError(f"no {SCRIPT} yet: copy mesh_training_starter.py")


def compare(data=1, tensor=1, pipeline=1, steps=3):
    """Your training on a mesh, beside the sequential one: loss and norm of each step."""
    script_is_there()
    n, place = data * tensor * pipeline, os.getcwd()
    outcome = simulation.run(one_training, n, (place, data, tensor, pipeline, steps))
    if outcome.hang:
        print(outcome.hang)
        return
    right = sequential(Settings(**SMALL), steps).steps
    print(f"{data} x {tensor} x {pipeline}", "loss".rjust(16), "norm".rjust(16))
    for found, expected in zip(outcome.ranks[0].value, right):
        print("  this mesh", *(f"{number:16.12f}" for number in found))
        print(" sequential", *(f"{number:16.12f}" for number in expected))


# %% tags=["raises-exception"]
compare()

# %% tags=["raises-exception"]
compare(data=3)
compare(tensor=2)
compare(pipeline=2)
compare(data=2, tensor=2, pipeline=2)

# %% [markdown]
# The check runs your script on meshes of its own choice with up to eight ranks, continues from checkpoints
# and counts bytes. It takes about half a minute.

# %% nbgrader={"grade": true, "grade_id": "check_script", "locked": true, "points": 50, "schema_version": 3, "solution": false, "task": false}
check_homework("script")

# %% [markdown]
# ## 2. The runs
#
# **Predict** before you run: on this machine, which of the meshes will have the shortest step, and which the smallest
# memory per rank? It has

# %%
print(cores(), "cores")

# %%
shortest_step, smallest_memory = "?", "?"

# %% [markdown]
# A mesh that already has a log is not run again: to repeat a run, delete its log, such as `run_d2_t2_p1.jsonl`. On a
# cluster, use the job scripts of `README.md`, and put the logs here.


# %%
def train_on(data, tensor, pipeline, *options):
    """Start the script on a mesh of this machine's ranks. Stopping the cell stops them."""
    script_is_there()
    ranks = data * tensor * pipeline
    axes = ["--data", str(data), "--tensor", str(tensor), "--pipeline", str(pipeline)]
    command = [*mpiexec(), "-n", str(ranks), sys.executable, SCRIPT, *axes, *options]
    pipe = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "stdin": subprocess.DEVNULL}
    pipe |= {"env": {**os.environ, **mpi_environment(ranks)}, "text": True}
    with subprocess.Popen(command, **pipe) as process:
        try:
            for line in process.stdout:
                print(line, end="")
        finally:
            process.terminate()
    if process.returncode:
        raise RuntimeError(f"{SCRIPT} on {ranks} ranks did not end well: see above")


# %% tags=["raises-exception"]
for d, t, p in MESHES:
    if not Path(f"run_d{d}_t{t}_p{p}.jsonl").exists():
        log = f"run_d{d}_t{t}_p{p}.jsonl"
        train_on(d, t, p, "--steps", str(STEPS), "--run-log", log)

# %% [markdown]
# What do the logs say? The first two steps of each are slower: every tensor is counted in them. `run.seconds`
# is the median of the others.

# %%
runs = [read(path) for path in sorted(Path.cwd().glob("run_d*_t*_p*.jsonl"))]
runs.sort(key=lambda run: (run.mesh.size, run.name))
for run in runs:
    sent = {axis: f"{n / 1e3:,.0f} kB" for axis, n in run.axis_bytes.items() if n > 1000}
    print(f"{run.name}: {1e3 * run.seconds:6.0f} ms a step,", end=" ")
    print(f"peak {max(run.peaks) / 2**20:5.2f} MiB, sent", sent, *run.problems)

# %% [markdown]
# ## 3. The table
#
# `meshes.csv` has a row for each mesh. Bytes: those of the rank that sends most along that axis, in one step. Memory:
# the largest peak of any rank.


# %% nbgrader={"grade": false, "grade_id": "mesh_rows", "locked": false, "schema_version": 3, "solution": true, "task": false}
def mesh_rows(runs) -> list[tuple]:
    """Rows of meshes.csv: (data, tensor, pipeline, ranks, seconds of a step, tokens per
    second, bytes along tensor, along pipeline, along data, bytes of memory) for each run.
    """
    ### BEGIN SOLUTION
    rows = []
    for run in runs:
        mesh, sent = run.mesh, run.axis_bytes
        axes = mesh.data, mesh.tensor, mesh.pipeline, mesh.size
        times = run.seconds, run.tokens_per_second
        along = sent["tensor"], sent["pipeline"], sent["data"]
        rows.append((*axes, *times, *along, max(run.peaks)))
    return rows
    ### END SOLUTION


# %% tags=["raises-exception"]
COLUMNS = "data tensor pipeline ranks step_seconds tokens_per_second".split()
COLUMNS += "tensor_bytes pipeline_bytes data_bytes memory_bytes".split()
rows = mesh_rows(runs)
with open("meshes.csv", "w", newline="") as file:
    writer = csv.writer(file)
    writer.writerow(COLUMNS)
    for row in rows:
        writer.writerow([*row[:4], f"{row[4]:.5f}", *(f"{n:.0f}" for n in row[5:])])
print(Path("meshes.csv").read_text())

# %% [markdown]
# The losses of all logs must form one curve, and the table must agree with the logs:

# %% nbgrader={"grade": true, "grade_id": "check_measured", "locked": true, "points": 20, "schema_version": 3, "solution": false, "task": false}
check_homework("measured")

# %% [markdown]
# ## 4. The figures
#
# Three PDFs that explain themselves: axes with quantity and unit, curves with names. The check reads the values out of
# the file, so draw lines with markers: bars are not read, and a point without a line looks like one in a legend.
# In `step_time.pdf` let each line be a family of meshes, for example all that divide one axis alone.


# %% nbgrader={"grade": false, "grade_id": "draw_times", "locked": false, "schema_version": 3, "solution": true, "task": false}
def draw_times(runs):
    """step_time.pdf: time of a step and tokens per second of each mesh, over the number of ranks."""
    ### BEGIN SOLUTION
    figure, axes = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
    curves = {}
    for axis in ("data", "tensor", "pipeline"):
        alone = [run for run in runs if getattr(run.mesh, axis) == run.mesh.size]
        curves[f"{axis} alone"] = alone
    several = [run for run in runs if run.mesh.data > 1 and run.mesh.tensor > 1]
    curves["data x tensor (x pipeline)"] = runs[:1] + several
    for (name, of), colour, marker in zip(curves.items(), palette.CYCLE, "osD^"):
        ranks = [run.mesh.size for run in of]
        look = {"marker": marker, "color": colour, "label": name}
        axes[0].plot(ranks, [1e3 * run.seconds for run in of], **look)
        axes[1].plot(ranks, [run.tokens_per_second for run in of], **look)
    axes[0].set(title="Step time", ylabel="time of a step, ms")
    axes[1].set(title="Throughput", ylabel="tokens per second, all ranks")
    for ax in axes:
        ax.set(xlabel="ranks", ylim=(0, None))
        ax.legend(title="mesh", fontsize=8)
    return figure
    ### END SOLUTION


# %% tags=["raises-exception"]
draw_times(runs).savefig("step_time.pdf")


# %% nbgrader={"grade": false, "grade_id": "draw_memory", "locked": false, "schema_version": 3, "solution": true, "task": false}
def draw_memory(runs):
    """memory.pdf: the largest peak of a rank of each stage, a curve for each mesh."""
    ### BEGIN SOLUTION
    figure, ax = plt.subplots(figsize=(6, 4), layout="constrained")
    for run, colour, marker in zip(runs, [palette.INK, *palette.CYCLE], "osD^vPX"):
        peaks = np.array(run.stage_peaks()) / 2**20
        ax.plot(range(len(peaks)), peaks, marker=marker, color=colour, label=run.name)
    ax.set(xlabel="stage of the pipeline", ylabel="peak memory of a rank, MiB")
    ax.set(ylim=(0, None), title="Memory by stage")
    ax.set_xticks(range(max(run.mesh.pipeline for run in runs)))
    ax.legend(title="mesh", fontsize=8)
    return figure
    ### END SOLUTION


# %% tags=["raises-exception"]
draw_memory(runs).savefig("memory.pdf")


# %% nbgrader={"grade": false, "grade_id": "draw_losses", "locked": false, "schema_version": 3, "solution": true, "task": false}
def draw_losses(runs):
    """losses.pdf: the loss of every step of every mesh, over that of one rank."""
    ### BEGIN SOLUTION
    figure, ax = plt.subplots(figsize=(6, 4), layout="constrained")
    for k, (run, colour) in enumerate(zip(runs, [palette.INK, *palette.CYCLE])):
        width = 10 - 9 * k / max(1, len(runs) - 1)  # they lie on each other
        steps = range(1, len(run.losses) + 1)
        ax.plot(steps, run.losses, color=colour, linewidth=width, label=run.name)
    ax.set(xlabel="step", ylabel="loss", title="The same curve on every mesh")
    ax.legend(title="mesh", fontsize=8)
    return figure
    ### END SOLUTION


# %% tags=["raises-exception"]
draw_losses(runs).savefig("losses.pdf")

# %% nbgrader={"grade": true, "grade_id": "check_figures", "locked": true, "points": 15, "schema_version": 3, "solution": false, "task": false}
check_homework("figures")

# %% [markdown]
# ## 5. The plan
#
# `labkit.meshrun.TASKS` has three trainings: a GPT of 175 billion parameters on 1,024 GPUs and Llama 3 405B on
# 16,384, both on machines of eight GPUs; and the GPT once more, with sequences 16 times as long, on eight NVL72 racks,
# in each of which fast links join 72 GPUs (`task.domain`). `task.plan(...)` prices a choice with the simulator
# of unit 20 (`labkit.scale`). How good is a first guess?

# %%
for gpus, task in TASKS.items():
    guess = task.plan(data=gpus // 64, tensor=8, pipeline=8, recompute="full")
    seconds, memory = guess.estimate().seconds, guess.memory().total / 1e9
    print(f"{gpus:,} GPUs: {seconds:.2f} s a step, {memory:.0f} GB, fits: {guess.fits}")

# %% [markdown]
# Search, and write `plan.toml`, as `README.md` shows. The checkpoint interval follows from the failures that the
# Llama 3 paper counted on 16,384 GPUs (`task.mtbf`; other GPUs are assumed to fail as often) and from `task.save`,
# the seconds that a save takes.


# %% nbgrader={"grade": false, "grade_id": "best_plan", "locked": false, "schema_version": 3, "solution": true, "task": false}
def best_plan(task) -> dict:
    """The choice with the shortest step, of those that fit: arguments of `task.plan`."""
    ### BEGIN SOLUTION
    found = []
    for mesh in every_mesh(task.gpus, task.domain):
        for micro_batch in (1, 2, 4):
            for chunks in (1, 2, 4, 8):
                for recompute in ("none", "selective", "full"):
                    choice = dict(data=mesh.data, tensor=mesh.tensor)
                    choice |= dict(pipeline=mesh.pipeline, micro_batch=micro_batch)
                    choice |= dict(chunks=chunks, recompute=recompute)
                    try:
                        plan = task.plan(**choice)
                    except ValueError:
                        continue  # it does not come out even
                    if plan.fits:
                        found.append((plan.estimate().seconds, len(found), choice))
    return min(found)[2]
    ### END SOLUTION


# %% tags=["raises-exception"]
for gpus, task in TASKS.items():
    choice = best_plan(task)
    interval = young_daly(task.save, task.mtbf)
    seconds = task.plan(**choice).estimate().seconds
    print(f"{gpus:,} GPUs: {seconds:.2f} s a step, a checkpoint every {interval:.0f} s")
    print("  ", choice)

# %% nbgrader={"grade": true, "grade_id": "check_plan", "locked": true, "points": 15, "schema_version": 3, "solution": false, "task": false}
check_homework("plan")

# %% [markdown]
# ## 6. Bonus: context parallel (5 points)
#
# A fourth axis: each rank of a context group has its part of every sequence. Norms, MLPs and the loss look at one token
# at a time, so only attention needs the other parts (unit 16, *Deeper: ring attention*). Make `train` work on
# `Mesh(context=2)`, and on a mesh that also has replicas. Which ranks now hold the same parameters?

# %% nbgrader={"grade": true, "grade_id": "check_context", "locked": true, "points": 0, "schema_version": 3, "solution": false, "task": false}
check_homework("bonus")

# %% [markdown]
# ## 7. Discussion (5 points)
#
# About 250 words, with numbers from your own table, figures and plans:
#
# 1. Which axis sends the most bytes in a step, and what do they depend on? Check one number by hand.
# 2. Which mesh had the shortest step on your machine, and why that one? Would it be the same on a cluster?
# 3. Why do the stages of the pipeline need different amounts of memory?
# 4. Compare your three plans: what changes from 1,024 to 16,384 GPUs, and with 72 GPUs in a machine, and why?
# 5. What does the simulator leave out that could make another plan better?

# %% [markdown] nbgrader={"grade": true, "grade_id": "discussion", "locked": false, "points": 5, "schema_version": 3, "solution": true, "task": false}
# ### BEGIN SOLUTION
# **For graders**
#
# A claim counts if it rests on the student's own numbers.
#
# - 1 point: tensor, with these settings: four all-reduces of an activation in each block and micro-batch. A number
#   checked by hand, such as 2 (t - 1) / t x 4 x layers x micro-batches x bytes of an activation.
# - 1 point: on two cores a mesh that sends little and computes nothing twice: few ranks, along data or pipeline; more
#   ranks than cores take turns. On a cluster, tensor inside a node, replicas between nodes. Half a point without a
#   reason.
# - 1 point: the first stage keeps most micro-batches and has the embedding; the last one keeps one and has the logits.
# - 1 point: memory and the minibatch: more layers or wider ones need more ranks for a copy; with 128 replicas each has
#   few micro-batches, so the bubble calls for chunks; recomputation makes room. In a domain of 72 a tensor group of 12
#   can hold the activations of a long sequence, so two stages are enough, and only attention is recomputed.
# - 1 point: for example overlap of messages with computing, kernels that are slower on narrow matrices, congestion,
#   stragglers, buffers and fragmentation. Half a point for one without what it would change.
# ### END SOLUTION
