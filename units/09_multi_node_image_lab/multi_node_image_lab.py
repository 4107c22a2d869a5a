# %% [markdown]
# # 09 · Multi-node image lab
#
# So far all ranks ran on one machine. On a cluster they run on several **nodes**: each
# has its own disk, memory and GPUs, and a network connects the nodes. Most of your
# knowledge still applies, but the *place* of files, GPUs and data begins to matter, and
# programs that ignore it fail: a file exists for only half of the ranks, two ranks
# choose the same GPU, most images are never used.
#
# On this page you prepare a whole job for several nodes: a small MobileNet sorts photos
# of products into twelve kinds. It follows a lab that NVIDIA published for its
# enterprise cloud (*Multi-Node Training with Tanzu*, 2023), with images that your
# computer draws.
#
# **At the end of this page** you have a program that trains on any number of nodes,
# prepares its data once on each, resumes where it was stopped, and runs unchanged under
# mpiexec, Slurm and Kubernetes. And you can compute, before you buy a GPU, which models
# fit on it and how many bytes cross the network.
#
# **You need** units 03 (ring all-reduce), 05 and 07. **It takes** about 100 minutes, the
# *stretch* 15 more: two sittings. The cells themselves run for about a minute on two
# cores. They take about 2.2 GB of memory.

# %%
import os
import time
from pathlib import Path
from tempfile import TemporaryDirectory

# TensorFlow: errors only
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import numpy as np
import torch
import torch.distributed as dist

from autograder import check
from labkit import products, ranks, runlog, simulation
from labkit.environment import cores, need_frameworks
from labkit.lessons import multi_node_image_lab as image_lab
from labkit.plots import charts, tiles

# %% tags=["parameters"]
# ranks of the training at the end; each needs a core to import TensorFlow and compile
RANKS = 2
DEVICE = "cpu"  # where the scripts train; "gpu" takes one GPU for each rank
EPOCHS = 4

folder = TemporaryDirectory(prefix="products-")
scratch = Path(folder.name)

# says what to do where TensorFlow or Horovod is missing; cells without them still run
need_frameworks()

import horovod.tensorflow as hvd
import tensorflow as tf

from labkit import keras_models

# %% [markdown]
# ## Guess first
#
# 1. 8 ranks run on 4 nodes with 2 GPUs each. The images are divided into 8 shares, and
#    every rank takes the share with its number *on its node*, 0 or 1. What fraction of
#    the images is ever used?
# 2. A model has 175 billion parameters, in float32. How many GPUs with 80 GB are needed
#    to hold it? And to *train* it with Adam?
# 3. Two nodes with four GPUs each average 100 MB of gradients with a ring. How many MB
#    does each node send over the network? Does the order of the ranks in the ring
#    matter?

# %%
guess_1, guess_2, guess_3 = "?", "?", "?"

# %% [markdown]
# ## The data
#
# *Stanford Online Products* (H. Oh Song, Y. Xiang, S. Jegelka, S. Savarese, CVPR 2016):
# 120,053 photos of 22,634 products from an auction site. Twelve folders,
# `bicycle_final` to `toaster_final`, and two lists, `Ebay_train.txt` and
# `Ebay_test.txt`. The real data set is 2.9 GB. The next cell draws a small imitation
# with the same layout. (If you have the real one, set `data` to its folder.)
#
# (You need not read the functions of `image_lab.`, which start scripts, pick photos and
# count pages of memory. They are in `labkit/lessons/multi_node_image_lab.py`.)

# %%
start = time.perf_counter()
data = products.draw(scratch)
print(
    f"drawn in {time.perf_counter() - start:.1f} s:",
    *sorted(path.name for path in data.iterdir())[:5],
    "...",
)
print(*(data / "Ebay_train.txt").read_text().splitlines()[:4], sep="\n")

# %% alt="Two rows of twelve small photographs, two products of each of the twelve kinds, with the kinds' names above them."
train_list, test_list = (
    products.read_list(data / name) for name in ("Ebay_train.txt", "Ebay_test.txt")
)
first, last = image_lab.two_of_each_kind(train_list, data)
tiles.pictures({"first": first, "last": last}, each=1.0)
products_of = [
    {entry.class_id for entry in entries} for entries in (train_list, test_list)
]
print(
    f"{len(train_list)} photos of {len(products_of[0])} products to train with, "
    f"{len(test_list)} of {len(products_of[1])} to test with"
)
print(f"{len(products_of[0] & products_of[1])} products are in both lists")

# %% [markdown]
# The list gives two labels for each photo: the product (`class_id`) and its kind
# (`super_class_id`). The last line above shows which one can be learned. No product of
# the test list is in the training list, in the real data as in ours: a network trained
# to name products cannot name those of the test. The data was made for another task, to
# find photos of the *same* unknown product. We predict the kind.
#
# A network counts its twelve outputs from 0, the file counts kinds from 1, and a part
# of the data may lack some kinds. And label 3 must be the same kind in the test list as
# in the training list.
#
# ### Read the list (3 points)

# %% nbgrader={"grade": false, "grade_id": "read_products", "locked": false, "schema_version": 3, "solution": true, "task": false}
def read_products(text: str, classes: list[int] | None = None):
    """Return the paths and labels of a list of product photos.

    text: str, the content of Ebay_train.txt or Ebay_test.txt: a header, then a line
        "image_id class_id super_class_id path" for each image, single blanks between,
        none in the path
    classes: list of super_class_ids in the order of their labels, label 0 first, or
        None
    Returns: (paths, labels, classes), lists (labels may be an array)

    - paths: those of all images, in the order of the list; there may be empty lines at
      the end.
    - labels: ints, positions in classes. If None is given, classes are the
      super_class_ids of this list, smallest first.
    - the test list: given classes are returned as they are; every image is of one of
      them.

    Example: super_class_ids 7, 3, 7 and classes None: labels [1, 0, 1], classes [3, 7].
    """
    ### BEGIN SOLUTION
    rows = [line.split() for line in text.splitlines()[1:] if line.strip()]
    ids = [int(row[2]) for row in rows]
    if classes is None:
        classes = sorted(set(ids))
    return [row[3] for row in rows], [classes.index(one) for one in ids], classes
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "check_read_products", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
check(read_products)

# %% [markdown]
# ## One node
#
# Beside this notebook is `train_products.py`: Keras, one process, no ranks. Read it; it
# is short. It has the two parts of every image job: **prepare** (open every photo,
# resize it, write all of them as one array), then **train**. Preparing needs no GPU and
# no second node; on the real data it takes longer than an epoch. So it is done once,
# and the array is kept.
#
# Here the script runs as one process. **Predict:** for what share of the test photos,
# whose products are new to it, does it name the right kind?

# %%
def run_script(name, world_size, *options):
    """Run a script beside this notebook on `world_size` ranks. Returns what it printed;
    raises RuntimeError with its last words.
    """
    where = ["--data", data, "--scratch", scratch / "prepared", "--device", DEVICE]
    return image_lab.run_script(name, world_size, [*where, *options])

# %%
start = time.perf_counter()
for split in ("train", "test"):
    products.prepare(data, split, scratch / "prepared")
print(f"prepared in {time.perf_counter() - start:.1f} s")
options = ["--epochs", EPOCHS, "--log", scratch / "run_1.jsonl"]
print(run_script("train_products.py", 1, *options).splitlines()[-1])

# %% [markdown]
# The model is a **MobileNet** (A. Howard and others, 2017, arXiv:1704.04861), a thin
# one. MobileNets were made for phones: few parameters, little computing. Does it suit
# clusters as well? That depends on how much a rank computes for each byte of gradients
# that it sends. **Predict** the order of three well-known models before you run the
# cell.

# %%
# parameters and multiply-adds for an image of 224 x 224: Howard 2017, table 8; for
# ResNet-34 He 2016, table 1 and labkit.models
published = {
    "MobileNet": (4.2e6, 569e6),
    "ResNet-34": (21.8e6, 3.6e9),
    "VGG-16": (138e6, 15.3e9),
}
for name, (parameters, multiply_adds) in published.items():
    gradients = 4 * parameters
    print(
        f"{name:<10} {gradients / 1e6:4.0f} MB of gradients per step, "
        f"{multiply_adds / gradients:3.0f} multiply-adds of an image for each byte"
    )

# %% [markdown]
# The small model sends little *and* computes little, so it hardly relieves the links
# between the nodes. (A larger local batch helps: twice the images, twice the computing
# for the same bytes.)
#
# ## World size, rank and local rank on several nodes
#
# 4 nodes with 2 GPUs each make 8 processes, one per GPU. The **world size** is 8. The
# **rank** counts over all nodes, 0 to 7. The **local rank** counts on each node: 0 and
# 1 here. `hvd.cross_rank()` is the number of the node. The *local* rank alone chooses
# the GPU of a process, and the *rank* alone its part of the work. Confusing them is the
# classic multi-node bug, because on one node both are equal.

# %%
print("rank         " + " ".join(f"{r}" for r in range(8)))
print("node         " + " ".join(f"{r // 2}" for r in range(8)))
print("local rank   " + " ".join(f"{r % 2}" for r in range(8)))
images = np.arange(7200)
for name, number in (("rank", lambda r: r), ("local rank", lambda r: r % 2)):
    seen = set().union(*(images[number(r) :: 8].tolist() for r in range(8)))
    print(f"shards chosen by {name:<11} {len(seen) / len(images):.0%} of images seen")

# %% [markdown]
# That answers your first guess. The published lab writes
# `dataset.shard(hvd.size(), hvd.rank())` and then explains that this splits the data
# into `hvd.local_rank()` parts. The code is right but the sentence is not: there are
# `size` parts, and `rank` chooses one of them. On one node nobody would notice.

# %% [markdown]
# ## Once on every node
#
# Preparing writes to a disk. A node's own disk is fast and belongs to that node alone;
# a file that rank 0 wrote there does not exist for ranks on other nodes. So **one rank
# of every node** prepares, and the others wait for it. Which rank, and how do the
# others wait?
#
# First the mistake. Your ranks imitate two nodes, half of them on each, and each node
# has a disk of its own. In this program rank 0 prepares and a barrier follows.
# **Predict** the output of each rank.

# %%
ranks.start(4)
disks = [str(scratch / f"disk_of_node_{node}") for node in (0, 1)]
list_of_photos = str(data)

# %%
# %%ranks
from labkit import products
from labkit.data import DataError

node, local_rank = rank // 2, rank % 2  # as on two nodes with two GPUs each
if rank == 0:
    products.prepare(list_of_photos, "test", disks[node])
comm.Barrier()
try:
    images, labels = products.load("test", disks[node])
    print(f"node {node}: {len(images)} images")
except DataError as error:
    print(f"node {node}: {str(error).split('/')[-1]}")

# %% [markdown]
# One line makes it right: `if local_rank == 0`. (With one file system for all nodes,
# rank 0 alone would do, but a hundred nodes that read from it all the time would
# overload it.)
#
# And the barrier? Horovod for TensorFlow has none, but it needs none: with Horovod
# **every collective is a meeting**. Horovod begins an all-reduce when *all* ranks have
# called it. So everything that a rank did before its all-reduce is done when any other
# rank returns from its own.
#
# ### Prepared on every node (3 points)
#
# **Think first:** one node was used yesterday and has the images already. Which of its
# ranks must still come to the meeting?

# %% nbgrader={"grade": false, "grade_id": "prepared_images", "locked": false, "schema_version": 3, "solution": true, "task": false}
def prepared_images(hvd, is_ready, prepare, load):
    """Load the images from this node's disk on every rank, prepared first where
    missing.

    hvd: the horovod.tensorflow module, initialised
    is_ready: function, is_ready() is True if this node's disk has the images; any rank
        may ask, any number of times
    prepare: function, prepare() makes them on this node's disk
    load: function, load() reads them from this node's disk
    Returns: what load() returns

    - two nodes: on each node without the images prepare is called once, by local rank 0
      alone.
    - one node: every rank calls load, after the images are there.
    - a node that already has the images: prepare is not called there.

    Example: node 0 is ready, node 1 is not: one call of prepare, by local rank 0 of
    node 1.
    """
    ### BEGIN SOLUTION
    if hvd.local_rank() == 0 and not is_ready():
        prepare()
    hvd.allreduce(tf.constant(0.0), name="prepared")
    return load()
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "check_prepared_images", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
check(prepared_images)

# %% [markdown]
# Waiting is one half. The other half is that a file appears **whole or not at all**: it
# is written under another name, then renamed. Otherwise a job that is killed while it
# writes leaves half a file, and the next job trusts it. `products.prepare` writes into
# a folder with a temporary name, and renames it at the end.
#
# `load` does not copy the array into the rank's own memory. The array is *mapped*:
# ranks of a node that map the same file share its pages. Linux counts them: `Rss` is
# the part of the file that is in memory for this rank, `Pss` is this rank's share when
# every page is divided among the processes that share it. **Predict** the ratio of the
# two.

# %%
# %%ranks
if local_rank == 0:
    products.prepare(list_of_photos, "train", disks[node])
comm.Barrier()
images, labels = products.load("train", disks[node])
images.sum()  # touches every page
comm.Barrier()
rss, pss = image_lab.pages_in_memory("train-32/images.npy")
comm.Barrier()
megabytes = images.nbytes / 1e6
print(f"node {node}: {megabytes:.2f} MB of images; Rss {rss} kB, Pss {pss} kB")

# %% [markdown]
# ## Half-time
#
# The labels come from the list, each node prepares its images once, and every rank
# comes to the same meeting. This is a good place for a break: next you share out the
# images so that all ranks make the same number of steps.

# %% [markdown]
# ## Minibatches when nothing divides
#
# In unit 07, images that did not fill a step were left out. With sorted lists and few
# images you may not want that. Then the shares are unequal, but every rank must still
# make **the same number of steps**, and every minibatch must be **full**. The trick is
# an endless stream and a fixed number of steps:
#
# $$\text{dataset} \to \text{shard} \to \text{shuffle} \to \text{repeat} \to \text{batch}$$
#
# The order matters. If you shuffle before you shard, with different seeds, shares
# overlap. If you batch before you repeat, some minibatches are short. If you do not
# repeat, a rank with a smaller share runs out of images while the others wait for its
# gradients.
#
# ### An epoch's minibatches (3 points)
#
# **Think first:** 50 images, 3 ranks, minibatches of 4. How many steps does it take
# until every image has been seen?

# %% nbgrader={"grade": false, "grade_id": "epoch_batches", "locked": false, "schema_version": 3, "solution": true, "task": false}
def epoch_batches(dataset: tf.data.Dataset, n: int, local_batch_size: int, seed: int):
    """Return this rank's endless stream of minibatches and the steps of an epoch.

    dataset: tf.data.Dataset of n images, in the same order on every rank
    n: int, number of images, at least one for each rank
    local_batch_size: int, images of a minibatch
    seed: int
    Returns: (minibatches, steps): an endless tf.data.Dataset, and an int or tensor; the
        stream is iterated once, and what a second iteration gives is up to you

    - shares of equal size: in each pass the ranks' shares together hold every image
      once (which ones a rank has may change from pass to pass). A pass goes through the
      share once, in a new order, in which any image can come first. Two calls with the
      same seed give the same orders, and with another seed different ones. (Once the
      data is dealt out, a rank may add its rank to the seed.)
    - shares of unequal size: shares differ by at most one image. Every minibatch is
      full and may reach into the next pass. The steps are the fewest in which all ranks
      together see every image, the same number on every rank.

    Example: n = 50, 3 ranks, minibatches of 4: shares of 17, 17 and 16, 5 steps.
    """
    ### BEGIN SOLUTION
    steps = -(-n // (local_batch_size * hvd.size()))
    share = dataset.shard(num_shards=hvd.size(), index=hvd.rank())
    return share.shuffle(n, seed=seed).repeat().batch(local_batch_size), steps
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "check_epoch_batches", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
check(epoch_batches)

# %% [markdown]
# ## Checkpoints: how a stopped job resumes
#
# On a cluster a job has a time limit, and it may be sent back to the queue. Then it
# must resume where it stopped. **Rank 0** writes the checkpoint, and when the job
# starts again, perhaps on other nodes, rank 0 reads it. The others may not even see the
# file: it may lie on storage that only rank 0's node has mounted.
#
# All ranks need more than the weights: the optimizer's momentum and step count; the
# moving averages of batch normalisation, which are variables but not trainable; and the
# *epoch*. A rank that begins with epoch 0 while rank 0 begins with epoch 3 has three
# more epochs to do, and in the end it waits for ranks that have finished.
#
# ### Go on from rank 0's checkpoint (3 points)

# %% nbgrader={"grade": false, "grade_id": "go_on", "locked": false, "schema_version": 3, "solution": true, "task": false}
def go_on(model, optimizer, read_checkpoint) -> int:
    """Bring all ranks to the state of rank 0's checkpoint and return the next epoch.

    model: Keras model
    optimizer: Keras optimizer, already built: with the same variables on all ranks
    read_checkpoint: function; on rank 0 it returns {"epochs": finished epochs,
        "weights": for model.set_weights, "optimizer": values for optimizer.variables,
        in their order}, or None; other ranks may call it and get None
    Returns: int or tensor, the first epoch to train: the number of finished ones

    - a fresh start: without a checkpoint all ranks start with rank 0's variables, at
      epoch 0.
    - a checkpoint that only rank 0 can read: afterwards all ranks hold the same model,
      optimizer and epoch.

    Example: a checkpoint with "epochs": 3 on rank 0: every rank returns 3.
    """
    ### BEGIN SOLUTION
    epochs = 0
    checkpoint = read_checkpoint()
    if checkpoint is not None:
        epochs = checkpoint["epochs"]
        model.set_weights(checkpoint["weights"])
        for variable, value in zip(optimizer.variables, checkpoint["optimizer"]):
            variable.assign(value)
    hvd.broadcast_variables(model.variables, root_rank=0)
    hvd.broadcast_variables(optimizer.variables, root_rank=0)
    return hvd.broadcast_object(epochs, root_rank=0, name="epochs")
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "check_go_on", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
check(go_on)

# %% [markdown]
# ## Break it
#
# What if every rank writes the checkpoint? In the next cells all of your ranks do, as
# in thousands of programs: they open the same file and write. Then the file is read.
# **Predict:** whose numbers are in it?

# %%
checkpoint_file = str(scratch / "everybody.bin")

# %%
# %%ranks
# stands for this rank's moving averages: they differ from rank to rank
weights = np.full(1_000_000, float(rank))
torn = 0
for attempt in range(10):
    comm.Barrier()
    with open(checkpoint_file, "wb") as file:
        for piece in np.array_split(weights, 50):
            file.write(piece.tobytes())
    comm.Barrier()
    if rank == 0:
        owners = np.unique(np.fromfile(checkpoint_file))
        torn += len(owners) > 1
    comm.Barrier()
if rank == 0:
    print(
        f"{torn} of 10 checkpoints hold pieces of several ranks; in the last one: "
        f"rank {', '.join(f'{o:.0f}' for o in owners)}"
    )

# %% [markdown]
# There is no error and no warning: the file has the right size, and weights that no
# rank ever had. How often this happens depends on timing, and *that* is the trouble: in
# your tests all may go well. On a network file system it is worse. So rank 0 alone
# writes, under another name, and then renames the file.

# %%
ranks.stop()

# %% [markdown]
# ## The port to several ranks
#
# Now the whole program. Copy `train_products.py` to `train_products_hvd.py`, in the
# same folder, and change it in the eight steps of unit 07:
#
# | step | what | where in this script |
# |---|---|---|
# | 1 | `hvd.init()` | first thing in `main` |
# | 2 | one GPU per rank, by **local** rank | `choose_device` |
# | 3 | share out images and steps, by **rank** | `epoch_batches`; the test images as well |
# | 4 | scale the learning rate | the optimizer |
# | 5 | wrap the optimizer: `hvd_keras.DistributedOptimizer` | before `optimizer.build` |
# | 6 | all ranks start with what rank 0 has | `go_on` |
# | 7 | rank 0 alone writes checkpoint and log | callbacks, `runlog.Writer` (shown at the top of `labkit/runlog.py`) |
# | 8 | average the metrics: `MetricAverageCallback` | callbacks, before the log |
# | and | prepare once on every node | `prepare`, with `prepared_images` |
#
# One thing is new with this model: **batch normalisation** keeps moving averages over
# the images of its rank, and each rank has different images. Gradients are averaged,
# the moving averages are not: trainable weights stay equal, but the averages drift
# apart. Before a test, and before a checkpoint, average them over the ranks (a callback
# with `on_test_begin` will do for both, if the checkpoint comes after the test).
#
# The next cell starts your script on two ranks for half of the epochs, with a
# checkpoint.

# %%
PORT = "train_products_hvd.py"
log_file = scratch / "run_hvd.jsonl"


def run_port(epochs):
    """Start the port with a checkpoint and a log; or say that it is not written yet."""
    if not Path(PORT).exists():
        return f"{PORT} is not there yet: copy train_products.py and change it."
    options = [
        "--epochs",
        str(epochs),
        "--checkpoint",
        str(scratch / "products.npz"),
        "--log",
        str(log_file),
    ]
    return run_script(PORT, RANKS, *options).splitlines()[-1]


print(run_port(EPOCHS // 2))

# %% [markdown]
# Now start it again, for all of the epochs, like a job that comes back from the queue.
# It has to go on from the middle.

# %%
print(run_port(EPOCHS))

# %%
alone = runlog.read(str(scratch / "run_1.jsonl"))
steps = len(alone.epochs[0].step_seconds)
print(
    f"1 rank: {steps} steps an epoch, test accuracy {alone.epochs[-1].val_accuracy:.2f}"
)
if log_file.exists():
    together = runlog.read(str(log_file))
    print(
        f"{together.world_size} ranks: {len(together.epochs[0].step_seconds)} steps "
        "an epoch, test accuracy "
        f"{together.epochs[-1].val_accuracy:.2f}; the second job trained "
        f"{len(together.epochs)} of the {EPOCHS} epochs"
    )
    print("problems:", "; ".join(together.problems) or "none")

# %% [markdown]
# Two ranks made half the steps for the same images, and the second job began where the
# first one had ended. The accuracy is lower than that of one process: this early in
# training, a few long steps do not replace many short ones (hence the warm-up of unit
# 07), and the moving averages of batch normalisation get half as many updates. What
# accuracy does your port reach with `--lr 0.02`, or after twice as many epochs, if it
# starts over with a new checkpoint file?
#
# ### The same script elsewhere
#
# The script does not depend on the program that starts it. So you can work from small
# to large: a sample of the data on one machine until the program is right, then all of
# the data on many nodes.
#
# | where | how |
# |---|---|
# | here | `mpiexec -n 2 python train_products_hvd.py` |
# | Slurm | `sbatch job_scripts/slurm/image_lab.sh`: it asks for nodes, and `mpiexec` starts one process per GPU |
# | PBS | `qsub job_scripts/pbs/image_lab.sh` |
# | Kubernetes | `kubectl apply -k job_scripts/kubernetes/overlays/cpu -l job=image-lab`: an **MPIJob** |
#
# Kubernetes manages pods (groups of containers), not ranks. The *MPI operator*
# translates: it starts a pod for every worker and one for the *launcher*, writes the
# list of the workers as a host file, and runs the same mpiexec in the launcher. The
# steps are those of the published lab: install the operator, build a container image
# with the libraries, port the program, submit. `job_scripts/README.md` has the details.

# %% [markdown]
# ## Links: how data moves in a cluster
#
# ![Two nodes, each with two GPUs, a processor with host memory, a disk and a network card. Inside a node the parts are joined by PCIe, and the GPUs by NVLink as well; the nodes are joined by InfiniBand or Ethernet. Images go from disk through host memory to the GPUs of the same node and never cross the network. Gradients go from GPU to GPU, inside the node and over the network. Checkpoints go from rank 0's GPU to the common file system.](../../images/what_moves_where.svg)
#
# - **PCIe** joins the parts of one machine: processors, GPUs, network cards. **NVLink**
#   joins GPUs to each other, several times as fast.
# - **InfiniBand** or high-speed Ethernet joins machines. The cards of the published lab
#   reach 100 to 200 Gbit/s, that is 12.5 to 25 GB/s.
# - **NCCL** is the library that moves gradients between GPUs. At the start it detects
#   all these links and arranges its rings and trees so that few bytes take the slow
#   ones. On GPUs Horovod uses NCCL to add up gradients, and MPI or gloo only to agree
#   on which of them are ready.
# - **Images** stay on their node, if it has prepared them. **Gradients** must cross.
#
# How many bytes cross? The lab describes data parallelism as follows: every copy sends
# its parameters to a central *parameter server*, which averages them and sends them
# back, "this operation is called all reduce". This mixes up two things. An
# **all-reduce** is the *result*: every rank has the sum. A parameter server is *one
# way* to get it, and the one that was slow in unit 03: with p ranks the server's link
# carries p times the bytes. Horovod has no server; NCCL uses rings and trees. And each
# step averages **gradients**, not parameters: with SGD, even with momentum, the result
# is the same if all start equal; with Adam it is not.
#
# Now take a ring of all 8 ranks on two nodes. Rank r sends to rank r + 1, and most of
# these sends stay inside a node. Which do not?
#
# ### Bytes between the nodes (3 points)
#
# A **hierarchical all-reduce** (Horovod and IBM's DDL have one) has two levels. First
# it adds up inside each node, so that each of its g ranks holds 1/g of the node's sum
# (reduce-scatter). Then the ranks with local rank k on all nodes form a ring and add up
# their parts. Finally the ranks of a node share the finished parts (all-gather).

# %% nbgrader={"grade": false, "grade_id": "network_bytes", "locked": false, "schema_version": 3, "solution": true, "task": false}
def network_bytes(node_of: list[int], nbytes: float, two_levels: bool) -> list[float]:
    """Return the bytes that each node sends over the network in one all-reduce.

    node_of: list of ints, the node of each rank, numbered from 0 without gaps
    nbytes: float, bytes of the vector
    two_levels: bool
    Returns: list of floats, one for each node, in the order of their numbers

    - one ring, node after node: with two_levels False, rank r sends to rank (r + 1) %
      p; every rank makes 2 (p - 1) sends of nbytes / p.
    - one ring, round-robin placement: the ring follows the ranks, wherever they are.
    - two-level all-reduce: every node has g ranks. A reduce-scatter within each node;
      then each of the g ranks is in one ring over the N nodes that all-reduces nbytes /
      g, by the same rule with N for p; then an all-gather within the node.

    Example: network_bytes([0, 0, 1, 1], 8.0, False) == [12.0, 12.0]
    """
    ### BEGIN SOLUTION
    p, nodes = len(node_of), max(node_of) + 1
    if two_levels:
        g = p // nodes
        return [g * 2 * (nodes - 1) * (nbytes / g / nodes)] * nodes
    sent = [0.0] * nodes
    for r in range(p):
        if node_of[r] != node_of[(r + 1) % p]:
            sent[node_of[r]] += 2 * (p - 1) * nbytes / p
    return sent
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "check_network_bytes", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
check(network_bytes)

# %% [markdown]
# Check the formula by counting. The course's simulated network sees every message: here
# a ring of 8 ranks really sends, and the cell counts the bytes that leave each node,
# for two ways of placing the ranks. Does your function give the same numbers?

# %%
def ring_traffic(nbytes):
    """The messages of a ring all-reduce, without the adding."""
    rank, p = dist.get_rank(), dist.get_world_size()
    chunk = torch.zeros(nbytes // p, dtype=torch.uint8)
    arrived = torch.zeros(nbytes // p, dtype=torch.uint8)
    for _ in range(2 * (p - 1)):
        sending = dist.isend(chunk, dst=(rank + 1) % p)
        dist.recv(arrived, src=(rank - 1) % p)
        sending.wait()

# %%
placements = {
    "node after node": [0, 0, 0, 0, 1, 1, 1, 1],
    "dealt out in turn": [0, 1, 0, 1, 0, 1, 0, 1],
}
NBYTES = 800_000
sent_by = [one.sent_bytes for one in simulation.run(ring_traffic, 8, (NBYTES,)).ranks]
counted = {}
for name, node_of in placements.items():
    leaves = [r for r in range(8) if node_of[r] != node_of[(r + 1) % 8]]
    counted[name] = [
        sum(sent_by[r] for r in leaves if node_of[r] == node) for node in (0, 1)
    ]
    print(f"{name:<20} counted {counted[name]} bytes for a vector of {NBYTES:,}")

# %% tags=["raises-exception"] alt="Three bars, what each node sends over its network card for 100 MB of gradients: placed node after node, dealt out in turn, which sends several times as much, and in two levels, which sends least."
bars = {
    name: network_bytes(node_of, 100, False)[0] for name, node_of in placements.items()
}
bars["two levels"] = network_bytes(placements["node after node"], 100, True)[0]
print(f"you guessed {guess_3}")
for name in placements:
    said = network_bytes(placements[name], NBYTES, False)
    print(f"{name:<20} your function says {said}")
charts.bars(
    bars,
    ends="{:.0f} MB",
    colours=("blue", "red", "green"),
    xlabel="sent by each node over its network card, MB",
    title="100 MB of gradients, 2 nodes with 4 GPUs each",
);

# %% [markdown]
# A ring in the wrong order sends four times as much as one in the right order: every
# neighbour is on another node. Job systems can place ranks either way (Slurm:
# `--distribution=block` or `cyclic`). That is why NCCL detects the topology itself.
#
# Two levels send the fewest bytes, above all between few nodes: 2 (N - 1) / N of the
# gradients instead of 2 (p - 1) / p. With many nodes both are close to 2. Even then
# fewer *messages* follow one another: 2 (N - 1) over the network instead of 2 (p - 1),
# and each has its latency.
#
# ### GPUDirect RDMA: the path of one message
#
# ![Above, without GPUDirect RDMA: from GPU memory a message is copied into a buffer of the driver in host memory, from there into a buffer of the network card; after the network the same two buffers follow in the other order. Below, with GPUDirect RDMA: the network card reads GPU memory and the other card writes GPU memory, without a copy in host memory and without the processor.](../../images/gpudirect_rdma.svg)
#
# By itself, a network card reads and writes *host* memory only. A gradient on a GPU
# first goes to host memory, into a buffer of the GPU's driver; there it is copied into
# a buffer for the card, the **bounce buffer**; on the other side the same happens in
# reverse order. With TCP the operating system's kernel makes further copies, and the
# processor does the work. **RDMA**, remote direct memory access, lets the card move
# bytes without the kernel. **GPUDirect RDMA** lets it read and write *GPU* memory: no
# bounce buffer, and no processor in the way.
#
# What do these copies in host memory cost, one at each end? You can measure that
# without a GPU: compare this machine's memory with a network.

# %%
message = np.ones(25_000_000, dtype=np.uint8)
bounce, chunk = np.empty_like(message), 1_000_000

# seconds per byte
copying = image_lab.fastest_seconds(lambda: np.copyto(bounce, message)) / message.nbytes
for gigabits in (10, 100, 200):
    network = gigabits * 1e9 / 8
    direct = 100e6 / network
    whole = direct + 2 * 100e6 * copying
    first = 2 * chunk * copying + 100e6 * max(1 / network, copying)
    print(
        f"100 MB over {gigabits:>3} Gbit/s: direct {1e3 * direct:5.1f} ms, copied "
        f"whole {1e3 * whole:6.1f} ms, copied in pieces {1e3 * first:6.1f} ms"
    )
print(f"(memory here copies {1e-9 / copying:.1f} GB/s)")

# %% [markdown]
# Over a slow network the copies matter little; over one that is as fast as memory they
# are the bottleneck. If a message is cut into pieces, one piece is copied while another
# is sent, and only the slowest part counts. But copying still takes processor time and
# memory bandwidth, and preparing the next minibatch needs both.

# %% [markdown]
# ## GPU memory: which models fit · stretch
#
# The lab says that a language model with 175 billion parameters needs 700 GB of GPU
# memory. Check it: 175e9 parameters of 4 bytes. True, for the **weights**. To *train*,
# a rank holds more:
#
# - the **gradients**, one for each parameter
# - the **optimizer's values**: none for plain SGD, one for each parameter with
#   momentum, two with Adam; in float32
# - the **activations**, which the forward pass keeps for the backward pass: a number of
#   values for each sample of the local minibatch
# - in **mixed precision**, weights, gradients and activations have 2 bytes each, and
#   there is also a **copy** of the weights in float32, because small steps would be
#   rounded away in 16 bits
#
# Data parallelism divides the *batch*. Every rank holds the whole model, its gradients
# and its optimizer state.
#
# ### What a rank holds (3 points)

# %% nbgrader={"grade": false, "grade_id": "training_memory", "locked": false, "schema_version": 3, "solution": true, "task": false}
def training_memory(
    parameters,
    optimizer,
    precision,
    activations,
    global_batch_size,
    world_size,
    gpu_bytes,
):
    """Return the bytes that a data-parallel rank holds, and how many GPUs that would
    take.

    parameters: int, number of parameters, 1 to 10**12
    optimizer: "sgd", "momentum" or "adam"; its values always have 4 bytes
    precision: "float32" or "mixed"
    activations: int, values kept for each sample of the local minibatch, at most 10**9
    global_batch_size: int, a multiple of world_size, at most 10**5
    world_size: int, number of ranks
    gpu_bytes: int, memory of one GPU in bytes
    Returns: (parts, gpus), a dict with the bytes of "weights", "gradients", "copy",
        "optimizer" and "activations", and an int

    - float32: all values have 4 bytes, and there is no copy: 0 bytes.
    - mixed precision: 2 bytes for weights, gradients and activations, 4 for the copy.
    - a model that does not fit: gpus is the smallest number of GPUs whose memory
      together is at least the sum of the parts; 1 if one is enough.

    Example: training_memory(100, "sgd", "float32", 0, 8, 8, 500)[1] == 2
    """
    ### BEGIN SOLUTION
    half = 2 if precision == "mixed" else 4
    parts = {
        "weights": half * parameters,
        "gradients": half * parameters,
        "copy": 4 * parameters if precision == "mixed" else 0,
        "optimizer": 4 * {"sgd": 0, "momentum": 1, "adam": 2}[optimizer] * parameters,
        "activations": half * activations * (global_batch_size // world_size),
    }
    return parts, -(-sum(parts.values()) // gpu_bytes)
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "check_training_memory", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
check(training_memory)

# %%
# the outputs of convolutions, normalisations and ReLUs for one image
mobilenet = image_lab.kept_values(keras_models.mobilenet())
resnet34 = image_lab.kept_values(keras_models.resnet34())
# a language model with activation checkpointing (unit 15) keeps only each layer's
# input: tokens x width x layers
tokens = 2048
models = {  # parameters, optimizer, values kept for a sample, samples on a rank
    "MobileNet": (4_231_976, "momentum", mobilenet, 256),
    "ResNet-34": (21_797_672, "momentum", resnet34, 256),
    # LLaMA: Touvron 2023, table 2
    "7 B, language": (7 * 10**9, "adam", tokens * 4096 * 32, 1),
    # GPT-3: Brown 2020, table 2.1
    "175 B, language": (175 * 10**9, "adam", tokens * 12288 * 96, 1),
}
for name, (_, _, kept, _) in models.items():
    print(f"{name:<16} {kept / 1e6:,.0f} million values")

# %% tags=["raises-exception"] alt="Four bars of equal length, the memory of a rank for MobileNet, ResNet-34 and language models of 7 B and 175 B, divided into weights, gradients, copy, optimizer and activations: activations fill nearly all of the first two, the optimizer and the copy most of the last two."
GPU = 80 * 10**9
shares, notes = {}, []
for name, (parameters, optimizer, activations, batch) in models.items():
    parts, gpus = training_memory(
        parameters, optimizer, "mixed", activations, batch, 1, GPU
    )
    total = sum(parts.values())
    shares[name] = {part: nbytes / total for part, nbytes in parts.items()}
    notes.append(f"{total / 1e9:,.1f} GB, {gpus:,.0f} GPU{'s' if gpus > 1 else ''}")
axis = "share of a rank's memory, mixed precision"
charts.parts(shares, ends=notes, xlim=(0, 1.3), xticks=[0, 0.5, 1], xlabel=axis)
weights_only = 175e9 * 4
whole, gpus = training_memory(175 * 10**9, "adam", "float32", 0, 1, 1, GPU)
print(
    f"175 B: weights alone {weights_only / 1e9:,.0f} GB in float32, "
    f"{weights_only / GPU:.1f} GPUs; with gradients and Adam "
    f"{sum(whole.values()) / 1e9:,.0f} GB, {gpus:,.0f} GPUs; you guessed {guess_2}"
)

# %% [markdown]
# In small image models activations take nearly all of the memory: data parallelism
# helps, because it divides the batch. In large language models weights, gradients and
# optimizer state take it: dividing the batch does not help, the *model* has to be
# divided. That is **model parallelism**. A pipeline puts the first layers on GPU 0, the
# next on GPU 1; activations go forward from one to the next, and gradients backward
# (unit 17). Unit 16 divides every layer instead. Unit 15 divides only what is stored: a
# layer is gathered whole while it is used. Memory is also why few people train large
# language models and many **fine-tune** them: they train a finished model for a few
# more steps on their own data, for example a speech recogniser on medical words. Even
# that may not fit on one GPU.

# %% [markdown]
# ## What to remember
#
# - `rank` chooses the data. `local_rank` chooses the GPU and decides which rank of a
#   node prepares. Rank 0 prints and saves. On one node a mix-up does not show.
# - Prepare once on every node; let all ranks meet; read. A file appears whole or not at
#   all.
# - Shard, shuffle, repeat, batch, in this order; all ranks compute the same number of
#   steps.
# - A checkpoint holds the weights, the variables that are not trainable, the optimizer
#   state *and* the epoch. Rank 0 reads it, all ranks get it.
# - Averaged gradients keep trainable weights equal, but not the moving averages of
#   batch normalisation.
# - Images stay on their node, gradients cross the network: 2 (p - 1) / p of their size
#   per node in a ring in the right order, 2 (N - 1) / N in two levels.
# - Bounce buffers cost two copies, one at each end; GPUDirect RDMA avoids them. This
#   matters if the network is as fast as the memory.
# - Weights are the small part: training with Adam takes 16 bytes per parameter, plus
#   activations.
#
# **To think about.** The lab promises that 10 GPUs train ten times as fast "in the
# ideal case". Name three things from this page that do not get faster with ten GPUs on
# ten nodes, and say which of them you would improve first on the real data set.

# %%
folder.cleanup()
print(f"done, on {cores()} cores")
