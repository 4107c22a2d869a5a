# %% [markdown]
# # 18 · Networks
#
# So far a network was two numbers: the cost of a message and the cost of a byte. In
# many machines the ranks of a node have fast links to each other but share one network
# card to the other nodes, and a line in a job script decides which rank runs where. On
# this page you adapt the all-reduce to such a network. Then you send less: a few
# numbers instead of all of them, or nothing at all for many steps.
#
# **At the end of this page** you can say which all-reduce is fastest on which network
# before you run it, your hierarchical all-reduce sends as few bytes between the nodes
# as possible, and you have compressed gradients without losing any of them.
#
# **You need** units 02, 03, 05 and 06. **It takes** about 120 minutes, the *stretch* 145
# more: two sittings. The cells themselves run for less than a minute on two cores. They
# take about 0.7 GB of memory.

# %%
import numpy as np
import torch
import torch.distributed as dist
from torch import Tensor
from torch.distributed.algorithms.ddp_comm_hooks import default_hooks, powerSGD_hook
from torch.distributed.algorithms.model_averaging.averagers import PeriodicModelAverager
from torch.nn.parallel import DistributedDataParallel

from autograder import check
from labkit import simulation, training
from labkit.lessons import networks as given
from labkit.plots import charts, networks

NODES = simulation.nodes(4)

# %% [markdown]
# (You need not read the functions called `given.` on this page: they count bytes, make
# vectors whose sum is known and provide a small network to train. They are in
# `labkit/lessons/networks.py`, and `help(given)` shows them.)
#
# ## Guess first
#
# Write down what you think before you read on; the page answers all three.
#
# 1. Two nodes of four ranks run a ring all-reduce. Somebody deals the ranks out to the
#    nodes in turn instead of filling one node after the other. By what factor does the
#    number of bytes sent between the nodes grow?
# 2. You send only the 50 largest of a gradient's 5,000 numbers and forget the rest. How
#    much of the progress of 100 training steps is lost?
# 3. Ranks train alone and average their weights every 8 steps. Does the training need 8
#    times as many steps?

# %%
guess_1, guess_2, guess_3 = "?", "?", "?"

# %% [markdown]
# ## Two kinds of links
#
# This is the network of this page. The four ranks of a node reach each other over fast
# links of their own. A message to the other node goes through the node's only card, and
# waits there while another rank is sending.

# %% alt="Eight ranks as two boxes of four. A word inside each box says what its links cost, a word between the boxes what the links between the nodes cost."
simulation.draw("nodes of 4", 8)

# %% [markdown]
# Next come the ring of unit 03, for any order of the ranks, and a picture of the bytes
# that it sends over each link. Boxes are nodes, wider arrows carry more bytes, and
# dashed arrows go from node to node.

# %% tags=["raises-exception"]
def ring(x, order, phases=(0, 1)):
    """Sums x over the ranks in `order`, in place. Phase 0 reduces (position k of the
    order ends with the sum of part k, which is returned), phase 1 gathers."""
    me, p = order.index(dist.get_rank()), len(order)
    right, left = order[(me + 1) % p], order[(me - 1) % p]
    parts = list(x.tensor_split(p))
    for phase in phases:
        for s in range(p - 1):
            out, into = (me - s - 1 + phase) % p, (me - s - 2 + phase) % p
            got = torch.empty_like(parts[into])
            sent = dist.isend(parts[out].clone(), right)
            dist.recv(got, left)
            sent.wait()
            if phase == 0:
                parts[into] += got
            else:
                parts[into].copy_(got)
    return parts[me]

# %% tags=["raises-exception"] alt="Eight ranks in two nodes, twice, with an arrow for each link that the ring used. In the order of the ranks two arrows go from node to node; with one rank of each node in turn all eight do."
def in_this_order(n, order):
    x = given.summand(n)  # 0, 1, 2 ..., times the rank's number, counted from 1
    ring(x, order)
    return x


N = 1 << 12  # entries of the vector (in the text N is the number of nodes)
orders = {"in order": list(range(8)), "in turn": [0, 4, 1, 5, 2, 6, 3, 7]}
loads = {}
for name, order in orders.items():
    run = simulation.run(in_this_order, 8, (N, order), topology=NODES)
    between = run.link_bytes["between"]
    print(f"{name:<9} {run.elapsed * 1e6:6.1f} us, {between:>9,.0f} B between nodes")
    loads[f"a ring, ranks {name}"] = given.link_loads(run)
networks.beside(loads, 8, 4)

# %% [markdown]
# Both runs use the same ring, and each rank sends the same number of bytes. Only the
# order differs, and with it the links that the bytes take.
#
# ### A ring that rarely leaves a node (2 points)

# %% nbgrader={"grade": false, "grade_id": "ring_order", "locked": false, "schema_version": 3, "solution": true, "task": false}
def ring_order(node_of: list[int]) -> list[int]:
    """Return an order of the ranks for a ring that rarely leaves a node.

    node_of: list of ints, node_of[r] is the number of rank r's node, any integer
    Returns: list of ranks, each once; the last one sends to the first

    - placed round-robin: as few links of the ring as possible go from one node to
      another. Any of the best orders will do.
    - any placement: the same; nodes may have different numbers of ranks, in any order.

    Example: ring_order([0, 1, 0, 1]) may be [0, 2, 1, 3]: two links between nodes.
    """
    ### BEGIN SOLUTION
    return sorted(range(len(node_of)), key=lambda rank: node_of[rank])
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "check_ring_order", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
check(ring_order)

# %% [markdown]
# ### Where the ranks go (3 points)
#
# A launcher decides which rank runs on which host. Each host has *slots*, room for one
# rank each. `mpirun --map-by slot` fills a host before it goes to the next.
# `mpirun --map-by node` deals the ranks out, one to each host in turn, and passes over
# a host that has no free slot. (IBM's `ddlrun -H host1,host2`, in the talk this course
# started from, hides this decision.)

# %% nbgrader={"grade": false, "grade_id": "place_ranks", "locked": false, "schema_version": 3, "solution": true, "task": false}
def place_ranks(
    hosts: list[str], slots: list[int], p: int, by: str
) -> list[str]:
    """Return the host of each rank, as a launcher places them.

    hosts: list of str, the hosts in their order, at least one, no two alike
    slots: list of ints, how many ranks each host has room for; may be 0
    p: int, number of ranks, at least 0
    by: "slot" or "node"
    Returns: list of p hosts, one for each rank

    - by slot and by node: "slot" fills a host before it goes on to the next; "node"
      deals the ranks out, one to each host in turn.
    - hosts of different sizes: a host without a free slot is passed over.
    - illegal arguments: raise ValueError if there are more ranks than slots, and for
      any other `by`, even if p is 0.

    Example: place_ranks(["a", "b"], [1, 2], 3, "node") == ["a", "b", "b"]
    """
    ### BEGIN SOLUTION
    if by not in ("slot", "node") or p > sum(slots):
        raise ValueError(f"{p} ranks by {by} on {sum(slots)} slots")
    seats = [(k, host) for host, room in enumerate(slots) for k in range(room)]
    if by == "node":
        seats.sort()  # all first seats, then all second ones
    return [hosts[host] for _, host in seats[:p]]
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "check_place_ranks", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
check(place_ranks)

# %% [markdown]
# ## Hierarchical all-reduce: inside, across, inside
#
# A ring, even in the best order, carries every part around all the nodes. The
# hierarchical all-reduce sends less between them:
#
# 1. **Inside** each node a reduce-scatter: each of the $g$ ranks gets 1/g of its node's
#    sum.
# 2. **Across** the $N$ nodes an all-reduce of these parts, among the ranks at the same
#    place in their nodes.
# 3. **Inside** each node an all-gather.
#
# ![The hierarchical all-reduce on two nodes of four ranks, a grid of ranks by parts after each phase. A reduce-scatter inside each node leaves on every rank one part of its node's sum. An all-reduce across the nodes, between ranks at the same place, makes it the sum of all ranks; 2 n bytes go between the nodes. An all-gather inside each node gives every rank all parts.](../../images/hierarchical_all_reduce.svg)
#
# With two nodes, each rank talks to only one partner on the other node.
#
# For a vector of $n$ bytes, a ring across the nodes sends $2 (N-1)/N \cdot n$ bytes out
# of each node, $2 (N-1) n$ in all. That is the least possible if all the adding is done
# by ranks. On three nodes or more, a *switch* that adds needs less: each node sends its
# vector once, $n$ bytes, and the sum comes back. NVIDIA builds such switches between
# nodes (*SHARP*, for InfiniBand) and inside nodes (*NVLink SHARP*, NVLS, which NCCL
# uses by default on H100 and later GPUs). A benchmark that multiplies bytes per second
# by $2 (p-1)/p$ may then report more than the links can carry.
#
# ### All-reduce on nodes (4 points)

# %% nbgrader={"grade": false, "grade_id": "hierarchical_all_reduce", "locked": false, "schema_version": 3, "solution": true, "task": false}
def hierarchical_all_reduce(x: Tensor, ranks_per_node: int) -> Tensor:
    """Sum a vector over all ranks while sending few bytes between nodes.

    x: tensor (n,), at least one entry, the same n on all ranks
    ranks_per_node: int, ranks on a node; rank r is on node r // ranks_per_node, and all
        nodes are full
    Returns: tensor (n,), the sum in the dtype of x, on every rank

    - the sum: for every n; x is not changed.
    - bytes between the nodes: if p divides n, all nodes together send each other at
      most 2 (N - 1) times the bytes of x.
    - no card idle: if p divides n and messages cost nothing but their bytes, it takes
      at most a tenth longer than the three steps above.
    - messages: point to point or collectives, as you like; for collectives on a group
      all ranks must call `dist.new_group`.

    Example: N = 2 nodes, x of 1 MB: at most 2 MB between the nodes.
    """
    ### BEGIN SOLUTION
    g, rank, p = ranks_per_node, dist.get_rank(), dist.get_world_size()
    insides = [dist.new_group(list(range(k, k + g))) for k in range(0, p, g)]
    acrosses = [dist.new_group(list(range(k, p, g))) for k in range(g)]
    whole = torch.cat([x, x.new_zeros(-len(x) % p)])
    pieces = whole.split(p * max(1, -(-len(x) // (4 * p))))  # four of them, or fewer
    parts = [piece.new_empty(len(piece) // g) for piece in pieces]
    works = []
    for part, piece in zip(parts, pieces):  # one goes across, the next inside
        dist.reduce_scatter_single(part, piece, group=insides[rank // g])
        works.append(dist.all_reduce(part, group=acrosses[rank % g], async_op=True))
    for part, piece, work in zip(parts, pieces, works):
        work.wait()
        dist.all_gather_single(piece, part, group=insides[rank // g])
    return whole[: len(x)]
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "check_hierarchical_all_reduce", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
check(hierarchical_all_reduce)

# %% [markdown]
# Compare yours with three others: the ring; the three steps one after the other, built
# from the ring above; and **leaders**, the version most people write first: one rank of
# each node sums its vectors, these leaders run a ring, and each broadcasts the result
# in its node.

# %%
def by_leaders(x, node, per_node):
    """Sums x, in place. node: the ranks of this node; the first is its leader."""
    leader, *others = node
    if dist.get_rank() == leader:
        got = torch.empty_like(x)
        for other in others:
            dist.recv(got, other)
            x += got
        ring(x, list(range(0, dist.get_world_size(), per_node)))
        for other in others:
            dist.send(x, other)
    else:
        dist.send(x, leader)
        dist.recv(x, leader)


def in_three_steps(x, node, across):
    """Sums x, in place. across: the ranks at this rank's place in their nodes."""
    part = ring(x, node, [0])
    ring(part, across)
    ring(x, node, [1])

# %%
def all_reduced(how, n, per_node):
    """Runs one of the all-reduces; returns whether the sum is right."""
    x = given.summand(n)
    node, across = given.node_and_across(per_node)
    if how == "yours":
        x = hierarchical_all_reduce(x, per_node)
    elif how == "three steps":
        in_three_steps(x, node, across)
    elif how == "leaders":
        by_leaders(x, node, per_node)
    else:
        ring(x, list(range(dist.get_world_size())))
    return given.is_sum(x)

# %% tags=["raises-exception"] alt="Three pictures of the links. The ring uses two between the nodes, leaders two, the three steps eight, each of them much thinner."
runs = {}
for how in ("ring", "leaders", "three steps", "yours"):
    run = runs[how] = simulation.run(all_reduced, 8, (how, N, 4), topology=NODES)
    print(f"{how:<11} right: {all(r.value for r in run.ranks)}  {given.costs(run)}")
print(f"the bound between: {2 * (2 - 1) * 8 * N / 1e3:.0f} kB")
loads = {how: given.link_loads(run) for how, run in runs.items() if how != "yours"}
networks.beside(loads, 8, 4, size=(12, 2.9))

# %% [markdown]
# Is yours slower here than the three steps? If it cuts the vector into pieces, as
# below, that is no mistake: with 33 kB most of the time is latency, and each piece pays
# it again. The best number of pieces depends on the size.
#
# Leaders send no more bytes between the nodes than the three steps. But a leader
# receives from the other ranks of its node one after the other, and while it adds,
# these wait. This costs time when the bytes dominate. Below, each byte takes a hundred
# times as long:

# %% tags=["raises-exception"] alt="Space-time diagrams of eight ranks, leaders and three steps, one below the other. Under leaders most ranks wait most of the time; in three steps all ranks take part in every step."
slow = simulation.nodes(4, inside=(1e-6, 100 / 300e9), between=(5e-6, 100 / 12.5e9))
drawn = {}
for how in ("leaders", "three steps"):
    drawn[how] = simulation.run(all_reduced, 8, (how, N, 4), topology=slow)
    print(f"{how:<11} {drawn[how].elapsed * 1e6:6.0f} us")
charts.diagrams(drawn, 8)

# %% [markdown]
# The three steps use one kind of link at a time: while the links inside a node work,
# its card is idle, and the other way round. Cut the vector into **pieces**: then one
# piece goes across while the next is reduced inside. In the next cell the links inside
# are only four times as fast as the card, and a message costs nothing but its bytes.
# There the time can come close to what the card alone needs, the bound that your check
# names. Does yours? (To show your class the records that the check prints, write
# `# my records: NAME` into any code cell, with a name of your choice.)

# %% tags=["raises-exception"] alt="Space-time diagrams of eight ranks, three steps and yours, where the links inside the nodes are four times as fast as those between them."
bytes_only = simulation.nodes(4, inside=(0, 1e-8), between=(0, 4e-8))
pieces = {}
for how in ("three steps", "yours"):
    pieces[how] = simulation.run(all_reduced, 8, (how, N, 4), topology=bytes_only)
    print(f"{how:<11} {pieces[how].elapsed * 1e6:6.0f} us")
print(f"the card    {2 * (2 - 1) / 2 * 8 * N * 4e-8 * 1e6:6.0f} us")
charts.diagrams(pieces, 8)

# %% [markdown]
# ### A torus is the same program · stretch
#
# On a torus the ranks are arranged in rows and columns, and each has links to its four
# neighbours only. Treat the rows as nodes: reduce-scatter along the row, all-reduce
# along the column, all-gather along the row. Each message goes to a neighbour (also
# around the edge), and the all-reduce takes $2 (\text{columns} - 1) + 2 (\text{rows} -
# 1)$ steps instead of $2 (p - 1)$.

# %% tags=["raises-exception"]
torus = simulation.run(all_reduced, 9, ("three steps", 720, 3))
flat = simulation.run(all_reduced, 9, ("ring", 720, 3))
steps = {name: run.ranks[0].sends for name, run in (("torus", torus), ("ring", flat))}
print("messages of each rank:", steps)
print(f"torus {torus.elapsed * 1e6:.1f} us, ring {flat.elapsed * 1e6:.1f} us")
neighbours = given.steps_on_a_torus(given.link_loads(torus), 3)
print("(rows down, columns right) from sender to receiver:", neighbours)

# %% [markdown]
# ## Fewer messages: halving and doubling · stretch
#
# A ring takes $2 (p - 1)$ messages, one after the other. For a short vector only their
# latency matters. **Recursive halving** needs fewer: exchange halves with the rank
# $p/2$ away, so that each of the two sums one half; then quarters with the rank $p/4$
# away; and so on. After $\log_2 p$ messages each rank has the sum of $1/p$ of the
# vector. **Doubling** runs the same exchanges backwards and distributes the sums. Each
# rank sends as many bytes as in a ring.
#
# ![Recursive halving and doubling on eight ranks. Halving: partners 4, 2 and 1 ranks apart exchange a half, a quarter and an eighth of the vector; the part that a rank works on shrinks, and holds the sum of 2, 4 and 8 ranks. Doubling: the same partners in the opposite order, 1, 2 and 4 apart, exchange what is summed, an eighth, a quarter and a half, until every rank has the whole sum.](../../images/halving_doubling.svg)
#
# The filled part is what a rank still works on; its partner has taken over the rest.
# The farthest partners exchange the most.
#
# What if $p$ is not a power of two? Let $q$ be the largest power of two below $p$. Each
# rank numbered $q$ or higher first sends its vector to a rank below $q$, waits, and
# receives the sum at the end.
#
# ### All-reduce by halving and doubling (5 points)

# %% nbgrader={"grade": false, "grade_id": "halving_doubling", "locked": false, "schema_version": 3, "solution": true, "task": false}
def halving_doubling(x: Tensor) -> Tensor:
    """Sum a vector over all ranks by recursive halving and doubling.

    x: tensor with one dimension; it may have fewer entries than there are ranks
    Returns: tensor like x, the sum in the dtype of x, on every rank

    - the sum: x is not changed.
    - messages and bytes: no collectives. If p is a power of two, each rank sends at
      most 2 log2 p messages and 2 (p - 1) / p of the bytes of x, plus at most one
      element in each message.
    - any number of ranks: if p is not a power of two, the limits hold with q in place
      of p, plus two messages and the bytes of x once.

    Example: p = 4, 8 elements. Each rank sends 4 + 2 and then 2 + 4 elements.
    """
    ### BEGIN SOLUTION
    rank, p = dist.get_rank(), dist.get_world_size()
    x, q = x.clone(), 1 << (p.bit_length() - 1)
    got = torch.empty_like(x)
    if rank >= q:
        dist.send(x, rank - q)
        dist.recv(x, rank - q)
        return x
    if rank + q < p:
        dist.recv(got, rank + q)
        x += got
    part, halves, distance = x, [], q // 2
    while distance:
        low, high = part.tensor_split(2)
        keep, give = (high, low) if rank & distance else (low, high)
        got = torch.empty_like(keep)
        sent = dist.isend(give.clone(), rank ^ distance)
        dist.recv(got, rank ^ distance)
        sent.wait()
        keep += got
        halves.append((keep, give, rank ^ distance))
        part, distance = keep, distance // 2
    for keep, give, other in reversed(halves):
        got = torch.empty_like(give)
        sent = dist.isend(keep.clone(), other)
        dist.recv(got, other)
        sent.wait()
        give.copy_(got)
    if rank + q < p:
        dist.send(x, rank + q)
    return x
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "check_halving_doubling", "locked": true, "points": 5, "schema_version": 3, "solution": false, "task": false}
check(halving_doubling)

# %% [markdown]
# ## Half-time
#
# A message between two nodes costs more than one inside a node, and the ranks of a node
# share their card. A good ring leaves each node once; a hierarchical all-reduce adds
# inside the nodes first and so sends less between them. (In machines made for training
# each GPU has a card of its own, `nodes(4, cards=4)`: a library then runs several rings
# at once, each through a different card. Unit 20 uses such machines.) This is a good
# place for a break: next you compute the cost of each algorithm, and then send less by
# compression.

# %% [markdown]
# ## Which one is fastest?
#
# Compute the cost of each algorithm, and you need not try them all. Let a message of
# $n$ bytes take $\alpha + n \beta$, with one pair $(\alpha, \beta)$ inside nodes and
# one between them. If all $g$ ranks of a node send to other nodes at the same time,
# their messages share one card: $\alpha + g n \beta$. A step takes as long as its
# slowest message.
#
# | algorithm | steps and their bytes |
# |---|---|
# | ring | $2 (p - 1)$ of $n/p$; on several nodes each step waits for a link between |
# | doubling | $\log_2 p$ of $n$: partners 1, 2, 4 ... away swap and add whole vectors |
# | halving_doubling | partners at $d = 1, 2 \ldots p/2$ swap $n d / p$, 2 steps each |
# | hierarchical | $2 (g-1)$ of $n/g$ inside, $2 (N-1)$ of $n/p$ between, $g$ at once |
#
# Partners at a distance below $g$ are on one node (if $p$ is a power of two, so is
# $g$). At any larger distance all $g$ ranks of a node send over the shared card.
#
# ### How long an all-reduce takes (5 points)

# %% nbgrader={"grade": false, "grade_id": "all_reduce_seconds", "locked": false, "schema_version": 3, "solution": true, "task": false}
def all_reduce_seconds(
    algorithm: str,
    nbytes: int,
    nodes: int,
    per_node: int,
    inside: tuple,
    between: tuple,
) -> float:
    """Return the time of an all-reduce by one of the four algorithms of the table.

    algorithm: "ring", "doubling", "halving_doubling" or "hierarchical"
    nbytes: int, bytes of the vector
    nodes: int, number of nodes
    per_node: int, ranks on each node
    inside, between: tuples (alpha, beta) of the links in s and s/byte; both numbers are
        smaller inside
    Returns: float, seconds

    - one rank on a node: every message takes a link between nodes.
    - shared cards: if the g ranks of a node send n bytes each to other nodes at the
      same time, that takes alpha + g n beta.
    - illegal arguments: raise ValueError for another algorithm, and for doubling and
      halving_doubling if nodes * per_node is not a power of two.

    Example: all_reduce_seconds("ring", 8, 2, 1, (0, 0), (1, 1)) == 10.0
    """
    ### BEGIN SOLUTION
    p = nodes * per_node
    if algorithm == "ring":
        alpha, beta = inside if nodes == 1 else between
        return 2 * (p - 1) * (alpha + nbytes / p * beta)
    if algorithm == "hierarchical":
        at_home = 2 * (per_node - 1) * (inside[0] + nbytes / per_node * inside[1])
        return at_home + 2 * (nodes - 1) * (between[0] + nbytes / nodes * between[1])
    if algorithm not in ("doubling", "halving_doubling") or p & (p - 1):
        raise ValueError(f"{algorithm} on {p} ranks")
    seconds, d = 0.0, 1
    while d < p:
        (alpha, beta), at_once = (between, per_node) if d >= per_node else (inside, 1)
        times, size = (1, nbytes) if algorithm == "doubling" else (2, nbytes * d / p)
        seconds += times * (alpha + at_once * size * beta)
        d *= 2
    return seconds
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "check_all_reduce_seconds", "locked": true, "points": 5, "schema_version": 3, "solution": false, "task": false}
check(all_reduce_seconds)

# %% [markdown]
# Do the programs of this page take as long as the model says? In the next network a
# message keeps its card busy only while its bytes pass (`overhead=0`), as in the model.

# %% tags=["raises-exception"]
INSIDE, BETWEEN = (1e-6, 1 / 300e9), (5e-6, 1 / 12.5e9)
bytes_alone = [simulation.Link(*one, overhead=0) for one in (INSIDE, BETWEEN)]


def halved(how, n, per_node):
    return halving_doubling(given.summand(n))

# %% tags=["raises-exception"]
def modelled(algorithm, nbytes, count, per_node):
    return all_reduce_seconds(algorithm, nbytes, count, per_node, INSIDE, BETWEEN)


NAMES = {  # the algorithm's name in your function: the program, its name there
    "ring": (all_reduced, "ring"),
    "halving_doubling": (halved, "halving_doubling"),  # stretch: perhaps not written
    "hierarchical": (all_reduced, "three steps"),
}
print("nodes  bytes   algorithm          model     measured")
for count, per_node, n in ((4, 1, 4096), (2, 4, 64), (2, 4, 1 << 14)):
    network, p = simulation.nodes(per_node, *bytes_alone), count * per_node
    for name, run in given.those_written(NAMES, p, n, per_node, network):
        model = modelled(name, 8 * n, count, per_node)
        which = f"{count} x {per_node}  {8 * n:>7,}  {name:<17}"
        print(f"{which}{model * 1e6:8.2f} us {run.elapsed * 1e6:8.2f} us")

# %% [markdown]
# The model is exact, or else an upper bound: of the ranks that share a card, the first
# to send go on to the next step while the others still wait. In the model all ranks
# begin each step together.
#
# Now draw the model for 64 ranks, without running anything:

# %% tags=["raises-exception"] alt="Modelled seconds over bytes, both axes logarithmic, for 64 nodes of one rank and for 8 nodes of 8: doubling and halving_doubling are fastest for few bytes, the ring is slowest there; for many bytes doubling is slowest. On 8 nodes of 8 hierarchical lies below the ring throughout."
networks.modelled(modelled, [(64, 1), (8, 8)])

# %% [markdown]
# No algorithm wins everywhere. That is why a library has several and chooses by size.
#
# ## A published figure, taken apart
#
# The talk this course started from (B. Nelson, *Distributed Deep Learning*, CentOS Dojo
# at Oak Ridge, 16 April 2019) shows `ddlrun` on one host, `total images/sec: 1248.06`,
# and on ten, `total images/sec: 12043.78` (slide "Execution"). An earlier slide says:
# "Almost linear scaling for 64 machines with 4 GPUs each for ResNet-50. Training time
# took 50 mins for 90 epochs". (The paper gives the same time: Cho et al., *PowerAI
# DDL*, arXiv 1708.02188, abstract: 64 IBM Power8 S822LC servers, 256 GPUs.) ImageNet
# has 1.28 million images. Do the two fit together?

# %%
one, ten = 1248.06, 12043.78
print(f"ten hosts: {ten / one:.2f} times one host, {ten / one / 10:.1%} of linear")
needed = 90 * 1.28e6 / (50 * 60)
print(f"90 epochs in 50 minutes: {needed:,.0f} images/s, {needed / 64:,.0f} a host")
print(f"of the 1248.06 of the other slide: {needed / 64 / one:.0%}")

# %% [markdown]
# Both may be true, and still the second does not follow from the first: each of the 64
# servers of 2017 processed about half as many images per second as the one host of
# 2019, and the talk does not say what that host was. "Almost linear" always means
# relative to *its own* one-node rate, which the slide does not give. A scaling
# efficiency of 96.5 % says nothing about the network without a step's computation time.
#
# ## Gradient compression: the k largest, and error feedback
#
# A gradient has a few large entries and many small ones. So let each rank send only its
# $k$ largest, as pairs of index and value (*top k*). If it forgets the others, they are
# lost. **Error feedback** keeps them: the rank adds them to its next gradient before it
# chooses. A small entry that always has the same sign then grows until it is sent.
#
# ![A gradient of eight numbers as bars in three steps. In each step the two largest in magnitude are sent and the rest is kept, hatched, and added to the gradient of the next step. One entry is small and negative in every gradient: it grows from step to step, and in step 2 it is the largest and is sent.](../../images/top_k_error_feedback.svg)
#
# Watch the third entry. It is never among the two largest of a gradient, but added to
# what was kept, it becomes the largest.
#
# ### The k largest, and what is left for later (4 points)

# %% nbgrader={"grade": false, "grade_id": "top_k_mean", "locked": false, "schema_version": 3, "solution": true, "task": false}
def top_k_mean(gradient: Tensor, error: Tensor, k: int) -> Tensor:
    """Average the k largest entries of each rank's gradient, with error feedback.

    gradient: float64 tensor (n,), this rank's gradient
    error: float64 tensor (n,), what this rank has not sent in earlier steps; changed
    k: int, 1 <= k <= n
    Returns: float64 tensor (n,), the same bits on every rank

    - one step: each rank chooses the k entries of gradient + error that are largest in
      magnitude (no two are equally large) and sets the others to zero. The result is
      the mean of these vectors; ranks may choose the same entries or different ones.
    - error feedback over many steps: afterwards `error` holds, in place, the entries of
      gradient + error that were not chosen.
    - bytes: in each step a rank sends k values and k indices, at most 16 k bytes,
      counted once however many ranks receive them.
    - unchanged: gradient.

    Example: p = 1, k = 1, gradient [1, 3], error [0, 0]: mean [0, 3], error [1, 0].
    """
    ### BEGIN SOLUTION
    p = dist.get_world_size()
    full = gradient + error
    indices = full.abs().topk(k).indices
    values = full[indices]
    error.copy_(full)
    error[indices] = 0
    all_indices = [torch.empty_like(indices) for _ in range(p)]
    all_values = [torch.empty_like(values) for _ in range(p)]
    dist.all_gather(all_indices, indices)
    dist.all_gather(all_values, values)
    mean = torch.zeros_like(gradient)
    for i, v in zip(all_indices, all_values):
        mean.index_add_(0, i, v)
    return mean / p
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "check_top_k_mean", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
check(top_k_mean)

# %% [markdown]
# ### A matrix as a product of two thin ones (4 points) · stretch
#
# PowerSGD (Vogels, Karimireddy, Jaggi, *PowerSGD*, arXiv 1905.13727) sends a matrix $M$
# of gradients as $P Q^T$, where $P$ and $Q$ have only a few columns. It starts from the
# $Q$ of the step before. $P$ is the mean of all ranks' $M Q$, with its columns made
# orthonormal (in any way: $P Q^T$ is the same). The new $Q$ is the mean of all ranks'
# $M^T P$. The result is the mean of the ranks' matrices, projected onto the column
# space of $P$. `all_reduce` computes both small means; nothing needs to be gathered.
#
# ![Three ways to send a gradient matrix of 24 by 20. Whole: 480 numbers by all-reduce, and the mean arrives. Top k: the five largest with their index, 10 numbers by all-gather; on p ranks p times 10 arrive. Low rank: a matrix P of 24 by 2 times a matrix Q transposed of 2 by 20, 88 numbers by two all-reduces; the mean arrives, projected.](../../images/gradient_low_rank.svg)
#
# The sizes are to scale. Only with top k, in the middle, does the amount that arrives
# grow with the number of ranks.

# %% nbgrader={"grade": false, "grade_id": "power_sgd", "locked": false, "schema_version": 3, "solution": true, "task": false}
def power_sgd(gradient: Tensor, q: Tensor, error: Tensor) -> Tensor:
    """Return the PowerSGD approximation P Q^T of the mean of gradient + error.

    gradient: tensor (rows, columns), this rank's gradient
    q: tensor (columns, r), Q of the step before, the same on every rank; changed
    error: tensor (rows, columns), this rank's error of the step before; changed
    Returns: tensor (rows, columns), the same on every rank

    - one step: as above, with M = gradient + error; the mean of M Q has r independent
      columns.
    - several steps: afterwards q holds the new Q, and error holds this rank's gradient
      + error minus the approximation, both in place.
    - two small collectives: of rows x r and of columns x r elements.
    - unchanged: gradient.

    Example: 1,000 x 1,000 and r = 2: 4,000 elements in place of a million.
    """
    ### BEGIN SOLUTION
    p = dist.get_world_size()
    full = gradient + error
    left = full @ q
    dist.all_reduce(left)
    left = torch.linalg.qr(left)[0]
    right = full.T @ left
    dist.all_reduce(right)
    q.copy_(right / p)
    mean = left @ q.T
    error.copy_(full - mean)
    return mean
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "check_power_sgd", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
check(power_sgd)

# %% [markdown]
# Is nothing lost? After every step, what was sent so far and what the ranks still keep
# must add up to the sum of all gradients:

# %% tags=["raises-exception"]
def ledger(method, steps):
    """The largest magnitude in gradients - sent - kept, over all steps."""

    def mean_sent(g, q, error):
        if method == "power_sgd":
            return power_sgd(g, q, error)
        return top_k_mean(g.view(-1), error.view(-1), 5).view_as(g)

    return given.ledger(mean_sent, steps)


for method in ("top_k", "power_sgd"):
    worst = simulation.run(ledger, 4, (method, 30)).ranks[0].value
    print(f"{method:<10} largest difference after any of 30 steps: {worst:.1e}")

# %% [markdown]
# ### Does it train? · stretch
#
# Four ranks train a small network, now in float32, on different data (`given.train`,
# plain SGD): `dense` sends whole gradients, `alone` none. `given.sign_mean` sends one
# bit for each number and one scale, with error feedback; `given.by_matrices` hands each
# matrix of the gradient to your `power_sgd`.

# %% tags=["raises-exception"]
def train(method, steps, lr):
    def compressed(flat, error, params, qs):
        if method == "alone":
            return flat
        if method == "dense":
            return given.dense_mean(flat)
        if method == "sign":
            return given.sign_mean(flat, error)
        if method == "power_sgd":
            return given.by_matrices(power_sgd, flat, error, params, qs)
        if "without" in method:
            error.zero_()
        return top_k_mean(flat, error, len(flat) // 100)

    return given.train(compressed, steps, lr)

# %% tags=["parameters", "raises-exception"]
STEPS = 100
methods = ("dense", "alone", "top 1 %", "top 1 % without feedback", "sign", "power_sgd")
print(f"{'':<25} loss   bytes/step  collectives")
for method in methods:
    rank = simulation.run(train, 4, (method, STEPS, 0.5)).ranks[0]
    sent, calls = rank.collective_bytes / STEPS, len(rank.collectives) / STEPS
    print(f"{method:<25} {rank.value:.3f} {sent:>10,.0f} {calls:>8.0f}")

# %% [markdown]
# Compare the two lines of top 1 %: they answer your second guess. Without feedback the
# small entries are not sent, and the loss falls far more slowly.
#
# And look at the last column. PowerSGD calls several small collectives in each step: on
# a fast network their latency can cost more time than sending fewer bytes saves.
#
# ### As a hook of DDP · stretch
#
# In unit 06 a hook saw each bucket before it was reduced. A hook may also replace the
# reduction. Here are your top k and two hooks from the library:

# %% tags=["raises-exception"]
def top_k_hook(errors, bucket):
    flat = bucket.buffer()
    error = errors.setdefault(bucket.index(), torch.zeros_like(flat))
    future = torch.futures.Future()
    future.set_result(top_k_mean(flat, error, max(1, len(flat) // 100)))
    return future


def register_hook(ddp, name):
    if name == "yours, top 1 %":
        ddp.register_comm_hook({}, top_k_hook)  # its state: the error of each bucket
    elif name == "fp16":
        ddp.register_comm_hook(None, default_hooks.fp16_compress_hook)
    elif name == "PowerSGD":
        # among all ranks, with matrices of rank 2, from the third step on
        state = powerSGD_hook.PowerSGDState(None, 2, start_powerSGD_iter=2)
        ddp.register_comm_hook(state, powerSGD_hook.powerSGD_hook)

# %% tags=["raises-exception"]
def with_hook(name, steps):
    net = given.network()
    ddp = DistributedDataParallel(net)
    register_hook(ddp, name)
    given.descend(ddp, steps)  # each backward pass calls the hook
    return given.final_loss(net)


for name in ("none", "yours, top 1 %", "fp16", "PowerSGD"):
    rank = simulation.run(with_hook, 4, (name, STEPS)).ranks[0]
    print(f"{name:<15} loss {rank.value:.3f}, {rank.collective_bytes / 1e3:7.0f} kB")

# %% [markdown]
# ### A second published figure · stretch
#
# "99.9% of the gradient exchange in distributed SGD is redundant", and "a gradient
# compression ratio from 270x to 600x without losing accuracy, cutting the gradient size
# of ResNet-50 from 97MB to 0.35MB" (Lin et al., *Deep Gradient Compression*, arXiv
# 1712.01887, abstract). Two questions: if 0.1 % of the numbers are sent, why is the
# ratio not 1,000? And is it also the ratio of the bytes that travel? The cell compares,
# for more and more ranks, an all-gather of 1/277 of a gradient with a ring all-reduce
# of all of it.

# %%
parameters = 25_557_032  # ResNet-50 (unit 11 counts them); 4 bytes each
print(f"all: {4 * parameters / 2**20:.1f} MiB; 97 / 0.35 = {97 / 0.35:.0f}")
print(f"0.1 %, each with a 4-byte index: {8 * 0.001 * parameters / 2**20:.2f} MiB")
print("\nranks   ring, all   gathered, 1/277   ratio of what travels")
for p in (2, 4, 8, 16):
    moved = [
        sum(simulation.run(f, p, (size,)).link_bytes.values()) / p
        for f, size in ((given.reduce_all, 277 * 64), (given.gather_pieces, 64))
    ]
    print(f"{p:5} {moved[0]:9,.0f} B {moved[1]:15,.0f} B {moved[0] / moved[1]:20.1f}")

# %% [markdown]
# The index costs as much as the value, so 0.1 % is 0.2 MiB and not 0.1, a ratio of 500;
# the abstract does not explain the rest. And 0.35 MB is what one rank *sends into* the
# exchange. What it must *receive* grows with the number of ranks, because their choices
# differ: $(p-1)$ times 0.35 MB. A ring moves $2 (p-1)/p$ times 97 MB for each rank:
# less than 194 MB. The ratio of what travels is $2 \cdot 277 / p$: on 64 ranks not 277
# but 8.7, and on more than 554 ranks the ring with everything moves less. Both
# sentences of the abstract may be true, but neither says how much time you save.
#
# ## Local SGD: many steps without a message · stretch
#
# Let every rank train alone for some steps, a *round*, and then average the weights:
# **local SGD**. A round can also be seen as one step of an outer optimizer whose
# gradient is `start - mean`, the mean taken over the ranks' weights. **DiLoCo**
# (Douillard et al., arXiv 2311.08105) gives this outer gradient to SGD with Nesterov
# momentum:
#
# $$\delta = \text{start} - \text{mean of the weights}, \quad
# v \leftarrow \mu v + \delta, \quad
# \text{start} \leftarrow \text{start} - \eta\,(\delta + \mu v)$$
#
# With $\eta = 1$ and $\mu = 0$ it is local SGD.
#
# ![Above, a round of DiLoCo: from a common start four ranks take four steps each along different paths; the dashed line leads to the mean of their ends, start minus delta; the outer step with momentum leads beyond it to the new start. Below, two timelines of four ranks and eight steps: with an all-reduce in every step there are eight, with rounds of four steps there are two.](../../images/local_sgd.svg)
#
# Local SGD would continue from the white square, the mean. Here momentum carries the
# new start beyond it, and all ranks begin the next round there.
#
# ### Many steps alone, one together (4 points)

# %% nbgrader={"grade": false, "grade_id": "diloco", "locked": false, "schema_version": 3, "solution": true, "task": false}
def diloco(
    w: Tensor, gradient, steps: int, every: int, lr: float, outer_lr: float, mu: float
) -> Tensor:
    """Train in rounds of local steps, with an outer optimizer step after each round.

    w: tensor (n,), the weights, the same on every rank
    gradient: function, gradient(w) is this rank's gradient at w
    steps: int, number of inner steps, at least 1
    every: int, inner steps in a round
    lr: float, inner learning rate
    outer_lr: float, outer learning rate (eta above)
    mu: float, outer momentum
    Returns: tensor (n,), the weights after the last outer step, the same on every rank

    - local SGD: an inner step is w -= lr * gradient(w); call gradient once for each.
      All ranks begin a round with the same weights.
    - Nesterov's momentum outside: an outer step as above after each round, also after a
      short last one; v starts at zero.
    - one collective a round: of n elements.
    - unchanged: the given w.

    Example: steps = 5, every = 2: three rounds of 2, 2 and 1 steps, three collectives.
    """
    ### BEGIN SOLUTION
    p = dist.get_world_size()
    start, v = w.clone(), torch.zeros_like(w)
    w = start.clone()
    for step in range(1, steps + 1):
        w = w - lr * gradient(w)
        if step % every == 0 or step == steps:
            delta = start - w
            dist.all_reduce(delta)
            delta /= p
            v = mu * v + delta
            start = start - outer_lr * (delta + mu * v)
            w = start.clone()
    return start
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "check_diloco", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
check(diloco)

# %% [markdown]
# Train the same small network, with its weights as one vector (`given.flat_problem`):

# %% tags=["raises-exception"]
def rounds(every, outer_lr, mu):
    w, gradient, loss = given.flat_problem()
    return loss(diloco(w, gradient, 96, every, 0.5, outer_lr, mu))


for every, outer_lr, mu in ((1, 1.0, 0.0), (8, 1.0, 0.0), (8, 0.7, 0.5), (8, 0.7, 0.9)):
    rank = simulation.run(rounds, 4, (every, outer_lr, mu)).ranks[0]
    which = f"every {every}, outer rate {outer_lr}, momentum {mu}"
    print(f"{which}: loss {rank.value:.3f} after {len(rank.collectives)} collectives")

# %% [markdown]
# The second line answers your third guess. Read the last two with care: an outer step
# with momentum is also a *larger* step. A fair comparison tunes the learning rates of
# both methods. (The paper uses AdamW for the inner steps, where this page uses plain
# SGD, and tunes the outer optimizer: a rate of 0.7 and a momentum of 0.9.)
#
# ## Break it: placed in turn
#
# Somebody writes `--map-by node` into the job script. The program still assumes that
# rank $r$ is on node $\lfloor r / g \rfloor$; now it is on node $r \bmod N$. The cell
# runs the three steps with each rank where that line puts it:

# %% tags=["raises-exception"] alt="The links that the three steps use, twice. By slot eight thin arrows go between the nodes; by node the thick arrows that belong inside the nodes go between them."
def misplaced(n, per_node, by):
    """Runs the three steps, with the ranks renumbered as if so placed."""
    x, p = given.summand(n), dist.get_world_size()
    hosts = [str(k) for k in range(p // per_node)]
    places = place_ranks(hosts, [per_node] * len(hosts), p, by)
    in_three_steps(x, *given.node_and_across_where_placed(places, per_node))
    return x


loads = {}
for by in ("slot", "node"):
    run = simulation.run(misplaced, 8, (N, 4, by), topology=NODES)
    between = run.link_bytes["between"]
    print(f"by {by}: {run.elapsed * 1e6:5.1f} us, {between:,.0f} B between the nodes")
    loads[f"--map-by {by}"] = given.link_loads(run)
networks.beside(loads, 8, 4)

# %% [markdown]
# The sum is right, with no error and no warning, but the traffic that should stay
# inside the nodes goes between them. If you rely on a placement, check it: ask each
# rank for its host name once.
#
# ## PyTorch's own · stretch
#
# The library's collectives on groups carry out the same three phases, and its
# `PeriodicModelAverager` does local SGD.

# %% tags=["raises-exception"] alt="Two space-time diagrams of eight ranks, the three steps by hand and with the library's groups: messages in the first, three collectives in the second, over the same time."
def with_groups(n, per_node):
    x, rank, p = given.summand(n), dist.get_rank(), dist.get_world_size()
    homes = range(0, p, per_node)
    inside = [dist.new_group(list(range(k, k + per_node))) for k in homes]
    across = [dist.new_group(list(range(k, p, per_node))) for k in range(per_node)]
    part = x.new_empty(n // per_node)
    dist.reduce_scatter_single(part, x, group=inside[rank // per_node])
    dist.all_reduce(part, group=across[rank % per_node])
    dist.all_gather_single(x, part, group=inside[rank // per_node])
    return given.is_sum(x)


library = simulation.run(with_groups, 8, (N, 4), topology=slow)
both = {"by hand": drawn["three steps"], "with the library's groups": library}
for how, run in both.items():
    between, right = run.link_bytes["between"], all(rank.value for rank in run.ranks)
    print(f"{how:<26} {run.elapsed * 1e6:4.0f} us, {between:,.0f} B, right: {right}")
charts.diagrams(both, 8)

# %% tags=["raises-exception"]
def averaged(every, steps):
    """Local SGD by the library: weights at the end."""
    net = given.network()
    averager = PeriodicModelAverager(period=every, warmup_steps=0)

    def average(step):
        averager.step = step  # its own count starts at 0: it averages at once
        averager.average_parameters(net.parameters())

    given.descend(net, steps, after=average)
    return training.flat(net.parameters())


def by_hand(every, steps):
    w, gradient, _ = given.flat_problem()
    return diloco(w, gradient, steps, every, 0.5, 1.0, 0.0)


theirs = simulation.run(averaged, 4, (4, 16)).ranks[0].value.values
ours = simulation.run(by_hand, 4, (4, 16)).ranks[0].value.values
print(f"largest difference of a weight: {np.abs(ours - theirs).max():.1e}")

# %% [markdown]
# ## What to remember
#
# - A network has **levels**. Bytes inside a node and bytes between nodes have different
#   costs; count them separately.
# - **Hierarchical**: reduce-scatter inside, all-reduce across, all-gather inside. It
#   sends $2 (N-1)/N$ of the vector out of each node; in pieces, it keeps the card busy.
# - Short vectors need few messages (halving and doubling). Long ones need few bytes and
#   busy links. Compute the cost before you measure.
# - **Placement** is part of the program. A wrong one gives the right sums, but slowly.
# - Compress with **error feedback**: after every step, what was sent and what is kept
#   add up to the sum of all gradients.
# - A round of local steps costs only one all-reduce, but it changes the training; tune
#   both methods before you compare.
#
# **To think about.** PowerSGD's factors can be added up on the way, but the pairs of
# top k cannot. What does that mean for 1,024 ranks?
#
# ### To read
#
# - R. Thakur, R. Rabenseifner, W. Gropp, *Optimization of Collective Communication
#   Operations in MPICH*, 2005.
# - M. Cho et al., *PowerAI DDL*, arXiv 1708.02188.
# - Y. Lin et al., *Deep Gradient Compression*, arXiv 1712.01887.
# - T. Vogels, S. P. Karimireddy, M. Jaggi, *PowerSGD*, arXiv 1905.13727.
# - A. Douillard et al., *DiLoCo: Distributed Low-Communication Training of Language
#   Models*, arXiv 2311.08105.
