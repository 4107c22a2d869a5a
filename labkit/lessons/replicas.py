"""Unit 06: a step with DDP as bars on lanes, the cost of buckets and of micro-batches, trainings to be resumed, time to
accuracy. What begins with "print" or "draw" is for the notebook or for rank 0, all else runs on every rank.

    moments = replicas.timed_step(ddp, optimizer, inputs, labels)        on each rank
    replicas.draw_step(ranks.pull("moments"), ranks.events())            in the notebook
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence

import matplotlib.pyplot as plt
import torch
import torch.distributed as dist
from matplotlib.axes import Axes
from torch import Tensor, nn
from torch.nn import functional as F
from torch.nn.parallel import DistributedDataParallel
from torch.optim import Optimizer

from labkit.models import mlp
from labkit.plots import charts, spans
from labkit.training import evaluate, flat, minibatches
from labkit.watch.events import Event

PARTS = ("forward", "backward", "step")
LOOKS = {1: "ink o-", 2: "blue s--", 4: "red ^:"}
Curve = Sequence[tuple[float, float]]  # (seconds of training, accuracy), one per epoch
MicroBatches = Sequence[tuple[Tensor, Tensor]]


def timed_step(model: nn.Module, optimizer: Optimizer, inputs: Tensor, labels: Tensor) -> list[float]:
    """Make one training step. Returns the four moments around its three parts, forward, backward and the optimizer's
    step: seconds on the clock of this machine."""
    moments = [time.monotonic()]
    loss = F.cross_entropy(model(inputs), labels)
    moments.append(time.monotonic())
    optimizer.zero_grad()
    loss.backward()
    moments.append(time.monotonic())
    optimizer.step()
    return [*moments, time.monotonic()]


def all_reduces(events: Sequence[Event], rank: int) -> list[Event]:
    """The all-reduces of a rank among recorded events, in their order; an event knows its nbytes, posted and ended."""
    return [event for event in events if event.rank == rank and event.kind == "all_reduce"]


def draw_step(moments: Sequence[Sequence[float]], events: Sequence[Event]) -> Axes:
    """Draw for each rank the three parts of a step, and below them a bar for each all-reduce, from call to completion,
    with its size.

    moments: for each rank those of `timed_step`, minus the moment before a barrier. events: of the same cell.
    """
    zero = {one.rank: one.posted for one in events if one.kind == "barrier"}  # the recorder's time of that moment
    begin = min(zero[rank] + row[0] for rank, row in enumerate(moments))
    lanes: dict[str, list] = {}
    for rank, row in enumerate(moments):
        at = [1e3 * (zero[rank] + moment - begin) for moment in row]
        lanes[f"rank {rank}"] = [list(zip(at, at[1:], PARTS, [""] * 3, strict=False))]
        for event in all_reduces(events, rank):
            posted, ended = (1e3 * (t - begin) for t in (event.posted, event.ended))
            lanes[f"rank {rank}"].append([(posted, ended, "all-reduce", f"{event.nbytes / 1e6:.1f} MB")])
    kinds = dict(zip((*PARTS, "all-reduce"), ("sky", "orange", "purple", "red"), strict=True))
    return spans.lanes(lanes, kinds, xlabel="time, ms")


def slowest_steps(models: Sequence[nn.Module], inputs: Tensor, labels: Tensor, rounds: int = 7) -> list[list[float]]:
    """Seconds of a training step of each model on the slowest rank: one sorted list of `rounds` times per model.

    One step of each in turn: what disturbs this machine disturbs all of them. Two steps of each are not counted: in
    them DDP settles its buckets.
    """
    optimizers = [torch.optim.SGD(model.parameters(), lr=0.01) for model in models]
    times = torch.zeros(len(models), 2 + rounds, dtype=torch.float64)
    for k in range(2 + rounds):
        for number, (model, optimizer) in enumerate(zip(models, optimizers, strict=True)):
            dist.barrier()
            moments = timed_step(model, optimizer, inputs, labels)
            times[number, k] = moments[-1] - moments[0]
    dist.all_reduce(times, op=dist.ReduceOp.MAX)
    return times[:, 2:].sort(dim=1).values.tolist()


def calls_per_step(ddp: DistributedDataParallel) -> int:
    """The all-reduces of a step, as DDP says itself after its second one."""
    return len(ddp._get_ddp_logging_data()["rebuilt_bucket_sizes"].split(","))


def relative_error(gradient: Tensor, truth: Tensor) -> float:
    """The length of the difference of two gradients, in parts of the length of `truth`."""
    return float((gradient - truth).norm() / truth.norm())


def quarters(times: Sequence[float]) -> list[float]:
    """The times in ms below which a quarter, half, three quarters of sorted seconds stay."""
    return [1e3 * times[len(times) * k // 4] for k in (1, 2, 3)]


def draw_buckets(
    caps: Sequence[float], calls: Sequence[int], times: Sequence[Sequence[float]], alone: Sequence[float], title: str
) -> Axes:
    """Print and draw the time of a step over the all-reduces in it, a box for each cap of the buckets.

    caps: MiB. calls: all-reduces per step. times: sorted seconds for each cap; alone: the same without DDP.
    """
    names = [f"{cap:g} MiB" if cap > 1e-3 else "one each" for cap in caps]
    steps = [quarters(own) for own in times]
    for name, count, (low, middle, high) in zip(names, calls, steps, strict=True):
        print(f"{name:>9}: {count:>3} all-reduces, step {middle:6.1f} ms ({low:.1f} to {high:.1f})")
    ax = charts.boxes(calls, steps, names, log="x", xlim=(0.8, 250))
    ax.set(xlabel="all-reduces per step", ylabel="time of one step, ms")
    ax.set_title(title, fontsize=10)
    charts.guide(ax, "no communication", y=quarters(alone)[1], how="grey --", below=True)
    return ax


def count_bytes(ddp: DistributedDataParallel) -> list[int]:
    """A list that grows by the bytes of every bucket that `ddp` all-reduces from now on; averages stay as they are."""
    sent: list[int] = []

    def hook(state, bucket):  # DDP reads annotations, and knows no strings
        state.append(bucket.buffer().numel() * bucket.buffer().element_size())
        work = dist.all_reduce(bucket.buffer(), async_op=True)
        return work.get_future().then(lambda done: done.value()[0] / dist.get_world_size())

    ddp.register_comm_hook(sent, hook)
    return sent


def every_time(ddp: DistributedDataParallel, micro_batches: MicroBatches) -> None:
    """Accumulate the gradient over micro-batches (x, y), and let DDP average it after each of them."""
    for inputs, labels in micro_batches:
        (F.cross_entropy(ddp(inputs), labels) / len(micro_batches)).backward()


def print_cost(variant: Callable, ddp: DistributedDataParallel, micro_batches: MicroBatches, sent: list[int]) -> None:
    """Run `variant(ddp, micro_batches)` five times; print on rank 0 its all-reduces and bytes of one run, and the
    median of its times. sent: of `count_bytes`."""
    times = []
    for _ in range(5):
        ddp.zero_grad()
        sent.clear()
        dist.barrier()
        start = time.perf_counter()
        variant(ddp, micro_batches)
        times.append(time.perf_counter() - start)
    if dist.get_rank() == 0:
        cost = f"{sum(sent) / 1e6:5.1f} MB, {sorted(times)[2] * 1e3:6.1f} ms"
        print(f"{variant.__name__:<11} {len(sent):>3} all-reduces, {cost}")


def run(command: Sequence[str], seconds: int = 85) -> None:
    """Run a command, its ranks on this machine only, and print what it said; it is ended after so many seconds. Raises
    RuntimeError where it fails."""
    quiet = {"OMP_NUM_THREADS": "1", "PYTHONWARNINGS": "ignore"}
    environment = {**os.environ, "GLOO_SOCKET_IFNAME": "lo", **quiet}
    start = time.perf_counter()
    with tempfile.TemporaryDirectory() as logs:  # torchrun would leave its folder of logs behind
        environment["TMPDIR"] = logs
        try:
            done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=seconds)
        except subprocess.TimeoutExpired:
            print(f"Not done after {seconds} s: the machine is very busy. Run it again.")
            return
    print(done.stdout, end="")
    if done.returncode:
        raise RuntimeError(done.stderr[-1500:])
    print(f"{time.perf_counter() - start:.0f} s, most of them for importing torch")


def fresh(seed: int) -> tuple[DistributedDataParallel, Optimizer]:
    """A new model under DDP, with random numbers of `seed`, and its optimizer: SGD with momentum."""
    torch.manual_seed(seed)
    ddp = DistributedDataParallel(mlp())
    return ddp, torch.optim.SGD(ddp.parameters(), lr=0.1, momentum=0.9)


def one_epoch(
    ddp: nn.Module, optimizer: Optimizer, x: Tensor, y: Tensor, epoch: int = 0, batch_size: int = 64, group=None
) -> Tensor:
    """Train for one epoch on this rank's share of each minibatch. Returns the loss of the last share.

    x, y: all images and labels, the same on every rank. epoch: it decides the order; forget it and every epoch is
    alike. batch_size: of the ranks of `group` together.
    """
    rank, p = dist.get_rank(group), dist.get_world_size(group)
    for batch in minibatches(len(x), batch_size, seed=0, epoch=epoch):
        mine = batch[rank::p]
        optimizer.zero_grad()
        loss = F.cross_entropy(ddp(x[mine]), y[mine])
        loss.backward()
        optimizer.step()
    return loss.detach()


def interrupted(
    path: str, x: Tensor, y: Tensor, save_checkpoint: Callable, load_checkpoint: Callable
) -> tuple[nn.Module, nn.Module, nn.Module]:
    """Train three times for two epochs: without a break, with a checkpoint and everything created again between them,
    and with a new optimizer, so without momentum, after the break. Returns the three models.

    path: of the checkpoint. x, y: images and labels. The two functions: as unit 06's exercises of these names.
    """
    rank = dist.get_rank()
    uninterrupted, optimizer = fresh(0)
    one_epoch(uninterrupted, optimizer, x, y, 0)
    save_checkpoint(path, uninterrupted, optimizer, 1)
    one_epoch(uninterrupted, optimizer, x, y, 1)
    resumed, other = fresh(1000 + rank)
    one_epoch(resumed, other, x, y, load_checkpoint(path, resumed, other))
    forgetful, other = fresh(2000 + rank)
    load_checkpoint(path, forgetful, fresh(0)[1])
    one_epoch(forgetful, other, x, y, 1)
    return uninterrupted, resumed, forgetful


@contextlib.contextmanager
def shared_folder() -> Iterator[str]:
    """The path of a new folder, the same on every rank; it goes away when all ranks are done with it."""
    with tempfile.TemporaryDirectory() if dist.get_rank() == 0 else contextlib.nullcontext() as folder:
        place = [folder]
        dist.broadcast_object_list(place, src=0)
        yield place[0]
        dist.barrier()


def time_to_accuracy(
    training: tuple[Tensor, Tensor], test: tuple[Tensor, Tensor], epochs: int, global_batch: int, lr: float, group
) -> list[tuple[float, float | None]]:
    """Train on the ranks of a group. Returns [(seconds of training, accuracy), ...], one per epoch; testing is not
    counted, and rank 0 alone tests. training, test: images and labels. global_batch: of all these ranks together."""
    rank = dist.get_rank()
    torch.manual_seed(rank)
    ddp = DistributedDataParallel(mlp(), process_group=group)
    optimizer = torch.optim.SGD(ddp.parameters(), lr=lr, momentum=0.9)
    seconds, curve = 0.0, []
    for epoch in range(epochs):
        dist.barrier(group=group)
        start = time.perf_counter()
        one_epoch(ddp, optimizer, *training, epoch, global_batch, group)
        dist.barrier(group=group)
        seconds += time.perf_counter() - start
        curve.append((seconds, evaluate(ddp.module, *test)[1] if rank == 0 else None))
    return curve


def draw_accuracy(same: Mapping[int, Curve], more: Mapping[int, Curve], target: float) -> None:
    """Draw three charts of accuracy, for each number of ranks a curve: `same`, with one global batch, over epochs and
    over time, and `more`, with 256 images per rank, over time."""
    _, axes = plt.subplots(1, 3, figsize=(12, 3.8), sharey=True, layout="constrained")
    for ax, curves, over, title in (
        (axes[0], same, "epoch", "global batch 256: over epochs"),
        (axes[1], same, "training time, s", "global batch 256: over time"),
        (axes[2], more, "training time, s", "256 per rank: over time"),
    ):
        shown = {}
        for p, curve in curves.items():
            seconds, accuracy = zip(*curve, strict=True)
            at = range(1, len(curve) + 1) if over == "epoch" else seconds
            shown[f"{p} rank{'s' if p > 1 else ''}"] = at, accuracy, LOOKS[p]
        legend = "lower right" if over == "epoch" else None
        charts.lines(shown, ax, legend=legend, xlabel=over, title=title, xlim=(0, None))
        charts.guide(ax, "target" if legend else "", y=target, how="grey -")
    axes[0].set(ylabel="accuracy on 2000 unseen digits", ylim=(0, 1))


def when(curve: Curve, target: float) -> str:
    """Seconds and epochs until a curve reached the target, in words."""
    for epoch, (seconds, accuracy) in enumerate(curve, 1):
        if accuracy >= target:
            return f"{seconds:5.2f} s, {epoch} epochs"
    return f"not within {len(curve)} epochs"


def print_accuracy(same: Mapping[int, Curve], more: Mapping[int, Curve], target: float, images: int) -> None:
    """Print images per second, the speedup over one rank, and when the target was reached, for each curve. images: of
    an epoch."""
    print(f"{'':<20}{'images/s':>10}{'speedup':>9}   to {target:.0%}")
    for name, curves in (("global batch 256", same), ("256 per rank", more)):
        for p, curve in curves.items():
            rate = len(curve) * images / curve[-1][0]
            speedup = same[1][-1][0] / curve[-1][0]
            print(f"{name:<16} x {p}{rate:>10,.0f}{speedup:>9.2f}   {when(curve, target)}")


def fingerprints(model: nn.Module) -> list[float]:
    """The sum of all weights on each rank, gathered on every rank; they differ where models differ."""
    own = flat(model.parameters()).double().sum()
    gathered = [torch.zeros_like(own) for _ in range(dist.get_world_size())]
    dist.all_gather(gathered, own)
    return [round(value.item(), 3) for value in gathered]


class TwoHeads(nn.Module):
    """A body of 32 neurons with two heads of 10 outputs; `forward(images, use_right)` uses one of them."""

    def __init__(self):
        super().__init__()
        self.body = nn.Linear(784, 32)
        self.left, self.right = nn.Linear(32, 10), nn.Linear(32, 10)

    def forward(self, images: Tensor, use_right: bool) -> Tensor:
        hidden = torch.relu(self.body(images.flatten(1)))
        return self.right(hidden) if use_right else self.left(hidden)
