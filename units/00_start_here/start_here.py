# %% [markdown]
# # 00 · Start here
#
# A network that takes a week on one GPU can take a day on eight. Not because the eight
# are clever, but because somebody told each of them what to do and what to say to the
# others. This course is about telling them.
#
# **At the end of this page** four processes on your own machine obey one notebook cell,
# you know which of them is speaking, a check has told you what is wrong with a
# function, and you have watched a parallel program hang and read its report.
#
# **You need** Python and an idea of how a network is trained: no GPU, no cluster, no
# earlier unit. **It takes** about 25 minutes. The cells themselves run for 20 seconds
# on two cores. They take about 0.8 GB of memory.
#
# On every page, sections marked *stretch* (or "Deeper", "Bonus") can wait for another
# day: run their cells, and skip their exercises if you like.

# %% [markdown]
# ## Why more than one?
#
# Sooner or later a network outgrows one device, in one of two ways. Training takes too
# long: there are more images than you have time for. Or the network is too large: its
# parameters do not fit into memory. The two problems have different cures.
#
# **Guess first.** GPT-3 has 175 billion parameters. How many GPUs with 80 GB each does
# it take just to *hold* it, four bytes a parameter? Write your guess into the next
# cell, then run both. Nobody marks it. A guess is a hook to hang the answer on.

# %%
my_guess = "?"  # GPUs with 80 GB each

# %%
parameters = 175e9  # Brown et al., "Language Models are Few-Shot Learners", 2020
to_hold = 4 * parameters / 1e9
# its gradients and Adam's two running averages are each as large as the parameters
to_train = 4 * to_hold

print(f"your guess      {my_guess} GPUs")
print(f"to hold it      {to_hold:6.0f} GB  = {to_hold / 80:.1f} GPUs")
print(f"to train it     {to_train:6.0f} GB  = {to_train / 80:.1f} GPUs")

# %% [markdown]
# ### Too slow: data parallelism
#
# ![Data parallelism: every rank holds the whole model and gets its own part of the batch; the gradients are averaged over the ranks by an all-reduce, so all copies stay equal.](../../images/data_parallel.svg)
#
# Every process, a *rank* in the picture, holds a complete copy of the model. The batch
# is cut: with 1000 images and 10 processes, each sees 100 and computes their gradient.
# They average these (an *all-reduce*) and take the same step, so the copies stay equal.
#
# The price is one conversation per step, as large as the model. You gain time. The
# model gets no smaller: it must fit on one device. This is how most networks are
# trained, and what most of this course is about.

# %% [markdown]
# ### Too large: model parallelism
#
# ![Model parallelism: one copy of the model is cut over the ranks. Left, network parallelism: every layer is cut, each rank computes some neurons of every layer and the ranks exchange activations after each layer. Right, layer pipelining: whole layers are placed on different ranks and activations are passed from one rank to the next.](../../images/model_parallel.svg)
#
# There is only one copy of the model, and it is cut. You can cut *through* every layer,
# so that each process computes some of its neurons and everybody talks after each
# layer. Or you cut *between* layers, and the processes hand activations down the line
# as on a conveyor belt.
#
# You gain memory. Cut through layers, and you pay with messages in each, forward and
# backward. Cut between them, and a process is idle until its turn comes, unless you
# find other work for it. Cutting evenly is hard, too: the slowest piece sets the pace.

# %% [markdown]
# ### Both: hybrid parallelism
#
# ![Hybrid parallelism: four ranks in a grid of two by two. Each row is one copy of the model cut over two ranks (model parallelism); each column holds the same part of the model and averages its gradients (data parallelism).](../../images/hybrid_parallel.svg)
#
# A group of processes shares one copy of the model. There are several such groups, each
# with its own part of the batch. The largest language models are trained this way.
#
# A rule that will carry you far: **cut the model over as few devices as it needs, then
# copy that group as often as you can afford.** If it fits on one device, the first half
# of the rule is done, and you are left with data parallelism.

# %% [markdown]
# ## Four processes, one notebook
#
# Enough pictures. The next cell loads two helpers: `ranks` starts processes, `check`
# looks at your answers.

# %%
import os

from autograder import check
from labkit import ranks

RANKS = 4  # more ranks than cores is fine: they take turns

# %%
ranks.start(RANKS)

# %% [markdown]
# These are four real processes, joined by MPI, the standard by which programs have
# passed messages between the machines of supercomputers since 1994. (Here a library
# called Open MPI does it.) A cell that begins with `%%ranks` runs on all of them
# instead of in the notebook.
#
# **Guess first.** There is a single `print` in the next cell. How many lines will
# appear? Will rank 0 always be the first to finish?

# %%
my_guess = "? lines"

# %%
# %%ranks
import os

print(f"I am rank {rank} of {world_size}. My process number is {os.getpid()}.")

# %% [markdown]
# One program, run four times at once. The program can tell its copies apart by one
# thing: each has a number, its **rank**, from 0 to `world_size - 1`. Everything that
# makes a parallel program parallel starts from that number. *If you are rank 0, read
# the file. Start at image `rank * 100`. Send to rank + 1.*
#
# They may finish in any order. The notebook sorts their lines for you, so you can read
# them.
#
# ### What a rank owns
#
# ![Four ranks: four processes that run the same program, each with its own number, its own memory and its own value of x. They share no variables; the only way from one memory to another is a message.](../../images/what_is_a_rank.svg)
#
# Each rank has its own memory. Here each makes an `x`:

# %%
# %%ranks
x = 10 * rank

# %% [markdown]
# It is still there in the next cell, as you would expect:

# %%
# %%ranks
print("my x is", x)

# %% [markdown]
# The notebook itself is a fifth process, but not a rank. It never made an `x`:

# %%
"x" in globals()

# %% [markdown]
# To look at a variable of the ranks, pull it. You get a list, one value per rank:

# %%
ranks.pull("x")

# %% [markdown]
# The other direction needs no command. Anything that you define in the notebook and use
# in a `%%ranks` cell is copied to every rank:

# %%
greeting = "good morning"

# %%
# %%ranks
greeting = greeting + f" from rank {rank}"
print(greeting)

# %% [markdown]
# Four copies, each changed once. The original is untouched:

# %%
greeting

# %% [markdown]
# Sometimes you want to hear one rank only. Name it after `%%ranks`, or name several:
# `%%ranks 0,2`.

# %%
# %%ranks 0
print("only rank", rank, "runs this")

# %% [markdown]
# ### The first conversation
#
# Four memories, and no rank can look into another's. How do they find the sum of all
# `x`? They send messages. `comm` is the line they talk on, and `allreduce` is the most
# important conversation in this course: everybody brings a number, everybody leaves
# with the sum.
#
# With `--timeline` the cell draws who talked when.

# %% alt="Space-time diagram of four ranks, a line for each: they come to one allreduce at different moments, wait, hatched, for the last, and leave it together."
# %%ranks --timeline
total = comm.allreduce(x)
print(f"I brought {x:2d}, the sum is {total}")

# %% [markdown]
# Time runs to the right, one line per rank. Hatched means waiting: whoever comes first
# waits for the last, because there is no sum before everybody has brought a number. You
# will read many such pictures, and most of them will be about the hatching.
#
# Now think of `x` as a gradient, and divide the sum by 4. You have just seen the heart
# of data parallelism. What is left to learn is how to make it fast, how to cut the
# data, and how to notice when it is quietly wrong.

# %% [markdown]
# ## How a check talks
#
# In the coming units you write functions, and `check` tries them on different numbers
# of ranks. Let it look at one that is wrong.
#
# Imagine the ranks in a circle. Everybody's *right neighbour* is the rank with the next
# number, and the last rank's right neighbour is rank 0. Somebody with four ranks on the
# screen wrote this:

# %%
def right_neighbour(rank: int, world_size: int) -> int:
    """The rank to the right of `rank` in a ring of `world_size` ranks."""
    return (rank + 1) % 4


check(right_neighbour)

# %% [markdown]
# The answer is a card. Read it slowly: all cards look like this one.
#
# - One line per **level**. Later, levels carry points, and you keep the points of every
#   level that passed.
# - For the first case that failed: how many ranks there were, what your function
#   **returned** on one of them, and what was **expected**.
# - Then, where the mistake is a known one, its name in plain words: what your code
#   does, and what to do about it.
#
# A check never says just *wrong*. If it does not know your mistake, it still shows you
# the numbers. Nothing is hidden either: the grader asks the same, with other numbers.
#
# ### Your turn
#
# Write it so that it works on any number of ranks. This one carries no points. Make a
# mistake or two on purpose: return nothing, misspell a name, go left. You will meet
# those cards again, so learn to recognise them.

# %% nbgrader={"grade": false, "grade_id": "right_neighbour", "locked": false, "schema_version": 3, "solution": true, "task": false}
def right_neighbour(rank: int, world_size: int) -> int:
    """Return the rank to the right of a rank in a ring.

    rank: int, from 0 to world_size - 1
    world_size: int, number of ranks
    Returns: int, the next larger rank, and 0 for the last one

    - 4 ranks: the neighbours are 1, 2, 3 and 0.
    - any number of ranks: world_size may even be 1.

    Example: right_neighbour(3, 4) is 0.
    """
    ### BEGIN SOLUTION
    return (rank + 1) % world_size
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "check_right_neighbour", "locked": true, "points": 0, "schema_version": 3, "solution": false, "task": false}
check(right_neighbour)

# %% [markdown]
# ## A program that never ends
#
# A sequential program that fails usually stops with an error. A parallel program that
# fails often does not stop at all: one rank waits for a word that another never says.
# You cannot learn this trade without hanging a few programs, so hang one now, on
# purpose.
#
# `comm.Barrier()` is a meeting point: nobody leaves it before everybody has arrived. In
# the next cell the last rank stays away. `--deadline 4` says how many seconds you are
# willing to wait. Without it a cell gets 60.

# %%
# %%ranks --deadline 4
if rank != world_size - 1:
    comm.Barrier()
print("I am through")

# %% [markdown]
# That is a **hang report**. It names the operation that every rank is in, and the line.
# Read it like a detective. Who is waiting? For what? And who is missing?
#
# Here three ranks wait in the `Barrier` on line 3, and the last rank returned long ago.
# That is the most common way to hang a training run, usually better hidden: an
# `if rank == 0:` around a line in which *everybody* has to take part.
#
# A rank that is stuck cannot be rescued. So the old ranks were ended and fresh ones
# started. The old variables are gone: `x` must be made again before you can use it.

# %%
# %%ranks
print("x" in globals())

# %% [markdown]
# ## Handing in
#
# **In a course that uses nbgrader**, on a JupyterHub or on your own machine:
#
# 1. *Nbgrader → Assignment List → Fetch*, then open the unit and work.
# 2. Before you hand in: *Kernel → Restart Kernel and Run All Cells*. Anything that
#    works only because of a cell that you have since deleted will not work for the
#    grader.
# 3. *Validate* runs all checks as the grader does and tells you which fail.
# 4. *Submit* hands the unit in. Submit as often as you like; the last one before the
#    deadline counts.
#
# The same from a terminal, in the folder that holds `00_start_here`:
#
# ```
# nbgrader validate 00_start_here/start_here.ipynb
# nbgrader submit 00_start_here
# ```
#
# **Alone**, there is nobody to hand in to. The checks in your notebook are the grader's
# own, so a notebook whose checks all pass is finished. You may compare with
# `solutions/` afterwards. Afterwards.
#
# Do not delete or split the cells with a check; the grader looks for them. Add as many
# cells of your own as you like.

# %% [markdown]
# ## Where your ranks live
#
# This course runs in three kinds of places. What can yours do? (In a terminal of
# JupyterLab, `labkit doctor` prints the same table.)

# %%
from labkit import doctor

doctor.show(doctor.examine())

# %% [markdown]
# ### On a laptop
#
# You are there already if you started with `make lab`. Four ranks on two cores take
# turns, and that is fine: everything you learn about *correctness* is the same as on a
# thousand GPUs. As for *speed*, the lessons tell you how taking turns changes a
# measurement.
#
# ### On a cluster, in an interactive allocation
#
# A cluster has *login nodes*, shared by everybody, for editing and installing, and
# *compute nodes*, which a scheduler lends you. Four steps.
#
# **1. Install, once, on the login node.** It can reach the internet; compute nodes
# often cannot.
#
# ```
# module avail python          # the centre's versions: 3.11 to 3.14 will do
# module load python/3.11      # units 07 and 13, parts of 09 need 3.11; names differ
# module load gcc              # a compiler, for Horovod in unit 07
# git clone ADDRESS course   # this course, on a file system that the compute nodes see
# cd course
# make lab   # installs everything; stop it with Ctrl-C once it prints its address
# ```
#
# **2. Ask for nodes.** Two nodes with two ranks each, for one hour.
#
# | | Slurm | PBS |
# |---|---|---|
# | ask | `salloc --nodes=2 --ntasks-per-node=2 --time=01:00:00` | `qsub -I -l select=2:ncpus=2:mpiprocs=2 -l place=scatter -l walltime=01:00:00` |
# | with a GPU per rank | add `--gpus-per-node=2` | `select=2:ncpus=2:mpiprocs=2:ngpus=2` |
# | what you got | `echo $SLURM_JOB_NODELIST` | `cat $PBS_NODEFILE` |
# | your jobs | `squeue --me` | `qstat -u $USER` |
# | give it back | `exit` | `exit` |
#
# Most centres also want an account (`-A`) and a queue (Slurm `-p`, PBS `-q`). Without
# `place=scatter` PBS may put both halves on one node.
#
# **3. A first job.** Before anything complicated, ask every rank where it is. Save the
# three lines of `hello.py` that you find at the end of this page, and run them on all
# of your ranks. You should see *two* host names.
#
# ```
# # Slurm
# .venv/bin/mpiexec -n 4 .venv/bin/python hello.py
#
# # PBS: a job starts in your home folder, so go back to where you came from;
# # two files say how to reach the job's other nodes
# cd $PBS_O_WORKDIR
# COURSE=$PWD; source job_scripts/site.sh; source job_scripts/pbs/launch.sh
# mpiexec -n 4 python hello.py
# ```
#
# **4. The notebook.** Type `hostname` in the allocation. If that is still the login
# node, your centre wants `srun --nodes=1 --ntasks=1 --overlap --pty bash` first. Then
# type `make lab`. It prints an address that begins with `http://localhost:8888`. Your
# browser cannot see that yet: open an SSH tunnel from your laptop to the node, here
# `node17`, leave its terminal open, and paste the address into the browser.
#
# ```
# ssh -J you@login.your-centre.org -L 8888:localhost:8888 you@node17
# ```
#
# `ranks.start(RANKS)` notices the allocation and starts its ranks on its nodes. The
# lessons need no change; those that can use a GPU have a constant for it at the top.
#
# ### On a hub
#
# Your instructor has installed everything: you log in, and this page is there. Two
# things are different. You share the machine, so release your ranks when you are done
# (`ranks.stop()`, near the end of each page that starts any). And your server may be
# stopped when it is idle: your files stay, your variables do not.

# %% [markdown]
# ## What to remember
#
# - **Data parallelism** copies the model and cuts the batch: it buys time. **Model
#   parallelism** cuts the model: it buys memory. **Hybrid** does both.
# - A **rank** is a process with a number. Same program, own memory. What one rank
#   knows, another learns only from a message.
# - `%%ranks` runs a cell on all ranks, `%%ranks 0` on one. `ranks.pull("x")` looks at
#   what they hold.
# - A **hang** can be read: who waits, for what, and who is missing?
# - A check shows what you returned, what was expected, and, if it recognises your
#   mistake, its name.
#
# **To think about.** Three of four ranks have computed their gradients; the fourth sits
# on a slower machine and needs twice as long. When does the next step begin? Who sets
# the speed of the training? Unit 08 has the answer.
#
# Now let go of your ranks. On to [unit 01](../01_mpi_pi/mpi_pi.ipynb), where four ranks
# throw darts.

# %%
ranks.stop()

# %% [markdown]
# ## Deeper: the same without a notebook
#
# There is no magic in `%%ranks`. MPI programs are plain scripts, started several times
# by `mpiexec` (on a cluster often by Slurm's `srun`). This is the `hello.py` of the
# first job:

# %%
# %%writefile hello.py
from mpi4py import MPI

comm = MPI.COMM_WORLD
print(f"rank {comm.rank} of {comm.size} on {MPI.Get_processor_name()}")

# %%
import subprocess
import sys

from labkit.environment import mpi_environment, mpiexec

command = [*mpiexec(), "-n", str(RANKS), sys.executable, "hello.py"]
print(
    subprocess.run(
        command,
        env={**os.environ, **mpi_environment(RANKS)},
        capture_output=True,
        text=True,
        timeout=60,
    ).stdout
)

# %% [markdown]
# Run the cell a few times. This time nobody sorts the lines, and the order changes:
# each rank prints when it gets there. `mpi_environment` returns the few settings that a
# small machine needs, such as permission to start more ranks than there are cores;
# `labkit/environment.py` explains each. Behind `%%ranks` is the same MPI: the ranks
# were started by `mpiexec`, too, and then wait for your next cell instead of ending.
