"""The machinery of unit 18: vectors whose sum is known, ranks and links of a network of nodes, and the small network
that four ranks train with compressed gradients or in rounds of local steps.

What needs a process group runs as a part of a program of one rank: `labkit.simulation.run` runs those.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np
import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import Tensor, nn

from labkit import training
from labkit.interconnect.topology import Topology
from labkit.relay.outcome import Outcome

# --- vectors whose sum is known ---------------------------------------------------------------------------------------


def summand(n: int) -> Tensor:
    """This rank's vector, float64, (n,): 0, 1, 2 ... times the number of the rank, counted from 1."""
    return torch.arange(n, dtype=torch.float64) * (dist.get_rank() + 1)


def is_sum(x: Tensor) -> bool:
    """True where x is exactly the sum of the `summand` of all ranks."""
    p = dist.get_world_size()
    return bool(torch.equal(x, torch.arange(len(x), dtype=torch.float64) * (p * (p + 1) / 2)))


# --- ranks and links --------------------------------------------------------------------------------------------------


def node_and_across(per_node: int) -> tuple[list[int], list[int]]:
    """The ranks on this rank's node, and those with its place on all nodes; nodes are filled one after the other."""
    rank, p = dist.get_rank(), dist.get_world_size()
    home = rank // per_node * per_node
    return list(range(home, home + per_node)), list(range(rank % per_node, p, per_node))


def node_and_across_where_placed(places: Sequence[str], per_node: int) -> tuple[list[int], list[int]]:
    """`node_and_across` of a program that takes all nodes to be filled one after the other, while a launcher has placed
    its ranks otherwise.

    places: the host of each rank of the program. The ranks returned are those of this network, whose nodes are filled:
    on each of them stand, in their order, the program's ranks that its host holds.
    """
    hosts = dict.fromkeys(places)
    programs = [k for host in hosts for k, place in enumerate(places) if place == host]  # rank here -> the program's
    here = {name: rank for rank, name in enumerate(programs)}
    name = programs[dist.get_rank()]
    home = name // per_node * per_node
    node = [here[k] for k in range(home, home + per_node)]
    return node, [here[k] for k in range(name % per_node, len(places), per_node)]


def link_loads(outcome: Outcome) -> dict[tuple[int, int], int]:
    """The bytes that were sent from rank to rank: (from, to) -> bytes, of messages, not of collectives."""
    table: dict[tuple[int, int], int] = {}
    for e in outcome.events:
        if e.kind in ("send", "isend") and e.nbytes:
            table[e.rank, e.peer] = table.get((e.rank, e.peer), 0) + e.nbytes
    return table


def steps_on_a_torus(loads: Mapping[tuple[int, int], int], side: int) -> list[tuple[int, int]]:
    """The different ways that messages took on a square torus, (rows down, columns right), both modulo `side`.

    loads: as `link_loads` returns it, of side * side ranks, row after row.
    """
    return sorted({((b // side - a // side) % side, (b % side - a % side) % side) for a, b in loads})


def costs(outcome: Outcome) -> str:
    """The virtual time of a run and the bytes on its links, in words."""
    kilobytes = {kind: nbytes / 1e3 for kind, nbytes in outcome.link_bytes.items()}
    return (
        f"{outcome.elapsed * 1e6:5.1f} us  between {kilobytes['between']:5.0f} kB  inside {kilobytes['inside']:5.0f} kB"
    )


def those_written(
    programs: Mapping[str, tuple[Callable, str]], p: int, n: int, per_node: int, network: Topology
) -> Iterator[tuple[str, Outcome]]:
    """The name and the run on p ranks of each program, but for those that call an exercise that is not written yet.

    programs: name -> (function, how); function(how, n, per_node) runs on every rank.
    """
    from labkit import simulation

    for name, (program, how) in programs.items():
        try:
            yield name, simulation.run(program, p, (how, n, per_node), topology=network)
        except RuntimeError as error:
            if "NotImplementedError" not in str(error):
                raise


def gather_pieces(size: int) -> None:
    """Gather `size` float32 numbers of each rank on every rank."""
    pieces = [torch.empty(size) for _ in range(dist.get_world_size())]
    dist.all_gather(pieces, torch.ones(size))


def reduce_all(size: int) -> None:
    """Sum `size` float32 numbers over all ranks."""
    dist.all_reduce(torch.ones(size))


# --- gradients with less to send --------------------------------------------------------------------------------------


def ledger(mean_sent: Callable[[Tensor, Tensor, Tensor], Tensor], steps: int) -> float:
    """The largest entry of gradients - sent - kept after any step, sums over all ranks: 0 up to rounding where nothing
    is lost.

    mean_sent: function, mean_sent(gradient, q, error) is the mean of what the ranks have sent in a step, (24, 20); it
    leaves in `error`, of the same shape, what this rank keeps, and in q, (20, 2), whatever it likes.
    """
    rank, p = dist.get_rank(), dist.get_world_size()
    draws = torch.Generator().manual_seed(rank)
    error = torch.zeros(24, 20, dtype=torch.float64)
    q = torch.randn(20, 2, generator=torch.Generator().manual_seed(9)).double()
    sent, given, worst = torch.zeros_like(error), torch.zeros_like(error), 0.0
    for _ in range(steps):
        gradient = torch.randn(24, 20, generator=draws, dtype=torch.float64)
        sent += p * mean_sent(gradient, q, error)
        given += gradient
        total = given - error
        dist.all_reduce(total)
        worst = max(worst, (total - sent).abs().max().item())
    return worst


def dense_mean(gradient: Tensor) -> Tensor:
    """The mean over all ranks, by an all-reduce of all numbers."""
    total = gradient.clone()
    dist.all_reduce(total)
    return total / dist.get_world_size()


def sign_mean(gradient: Tensor, error: Tensor) -> Tensor:
    """The mean over all ranks of one bit for each number and one scale, with error feedback: each rank sends the signs
    of gradient + error and their mean magnitude; `error` holds the rest afterwards. Both are float32, (n,).
    """
    full = gradient + error
    scale = full.abs().mean().reshape(1)
    bits = np.packbits((full >= 0).numpy())
    error.copy_(full - scale * torch.where(full >= 0, 1.0, -1.0))
    packed = torch.cat([scale.view(torch.uint8), torch.from_numpy(bits)])
    parts = [torch.empty_like(packed) for _ in range(dist.get_world_size())]
    dist.all_gather(parts, packed)
    mean = torch.zeros_like(full)
    for part in parts:
        ones = np.unpackbits(part[4:].numpy())[: len(full)]
        mean += part[:4].view(torch.float32) * (2.0 * torch.from_numpy(ones) - 1)
    return mean / len(parts)


def by_matrices(
    mean_of: Callable[[Tensor, Tensor, Tensor], Tensor],
    flat: Tensor,
    error: Tensor,
    params: Sequence[Tensor],
    qs: Sequence[Tensor],
) -> Tensor:
    """The mean of a flat gradient over all ranks, each matrix of it by mean_of(gradient, q, error). Biases are small,
    and are sent whole.

    flat, error: (n,), all parameters one after the other. params: the parameters. qs: one q for each of them.
    """
    means, sizes = [], [w.numel() for w in params]
    for w, g, e, q in zip(params, flat.split(sizes), error.split(sizes), qs, strict=True):
        if w.dim() == 1:
            means.append(dense_mean(g))
        else:
            means.append(mean_of(g.view_as(w), q, e.view_as(w)).flatten())
    return torch.cat(means)


# --- a small network and its data -------------------------------------------------------------------------------------

SHARE = 256  # samples of a rank
Compressed = Callable[[Tensor, Tensor, list[Tensor], list[Tensor]], Tensor]


def problem() -> tuple[Tensor, Tensor]:
    """The 1,024 samples of four ranks, (1024, 32), and their classes of ten, (1024,), the same on every rank."""
    draws = torch.Generator().manual_seed(0)
    x = torch.randn(4 * SHARE, 32, generator=draws)
    w, v = torch.randn(32, 64, generator=draws), torch.randn(64, 10, generator=draws)
    return x, (torch.tanh(x @ w / 6) @ v).argmax(1)


def network() -> nn.Sequential:
    """A network of two layers with weights that are the same on every rank; it seeds torch."""
    torch.manual_seed(1)
    return nn.Sequential(nn.Linear(32, 128), nn.Tanh(), nn.Linear(128, 10))


def minibatches(steps: int | None = None) -> Iterator[tuple[Tensor, Tensor]]:
    """Minibatches of 16 of this rank's own samples, (16, 32), and their classes, drawn at random; without `steps` they
    never end.
    """
    rank = dist.get_rank()
    x, y = problem()
    draws = torch.Generator().manual_seed(100 + rank)
    for _ in itertools.count() if steps is None else range(steps):
        i = torch.randint(0, SHARE, (16,), generator=draws) + SHARE * rank
        yield x[i], y[i]


def final_loss(net: nn.Module) -> float:
    """The loss of a network on the samples of all ranks."""
    x, y = problem()
    return F.cross_entropy(net(x), y).item()


def gradient_of(net: nn.Module, x: Tensor, y: Tensor) -> Tensor:
    """The gradient of the loss on a minibatch with respect to all parameters, in one vector; `.grad` holds it, too."""
    net.zero_grad()
    F.cross_entropy(net(x), y).backward()
    return training.flat(w.grad for w in net.parameters())


def descend(model: nn.Module, steps: int, after: Callable[[int], None] = lambda step: None) -> None:
    """Take steps of plain SGD with a rate of 0.5 on this rank's minibatches; after(step) is called after each of them,
    counted from 1.
    """
    optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
    for step, (x, y) in enumerate(minibatches(steps), start=1):
        optimizer.zero_grad()
        F.cross_entropy(model(x), y).backward()
        optimizer.step()
        after(step)


def train(compressed: Compressed, steps: int, lr: float) -> float:
    """The loss after some steps in which a rank's weights follow compressed(flat, error, params, qs).

    compressed: function of this rank's gradient, (n,); of a vector like it, zeros at first, that is kept from step to
    step; of the parameters; and of a random matrix of two columns for each of them, kept likewise.
    """
    net = network()
    params = list(net.parameters())
    qs = [torch.randn(w.shape[-1], 2) for w in params]
    error = torch.zeros(sum(w.numel() for w in params))
    for x, y in minibatches(steps):
        flat = compressed(gradient_of(net, x, y), error, params, qs)
        with torch.no_grad():
            for w, g in zip(params, flat.split([w.numel() for w in params]), strict=True):
                w -= lr * g.view_as(w)
    return final_loss(net)


def flat_problem() -> tuple[Tensor, Callable[[Tensor], Tensor], Callable[[Tensor], float]]:
    """The small network's weights as one vector, to begin with; a function, gradient(w), that gives this rank's
    gradient at any weights, on a new minibatch in each call; and one, loss(w), of the samples of all ranks.
    """
    net, drawn = network(), minibatches()
    params = list(net.parameters())

    def load(flat: Tensor) -> None:
        with torch.no_grad():
            for w, part in zip(params, flat.split([w.numel() for w in params]), strict=True):
                w.copy_(part.view_as(w))

    def gradient(flat: Tensor) -> Tensor:
        load(flat)
        return gradient_of(net, *next(drawn))

    def loss(flat: Tensor) -> float:
        load(flat)
        return final_loss(net)

    return training.flat(params), gradient, loss
