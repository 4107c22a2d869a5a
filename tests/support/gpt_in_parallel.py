"""`models.gpt` under torch's own parallelism, on ranks of gloo: each `case_...` trains one step on its share and returns
how far the result is from the same step in one process (float64).

As a program it forks two ranks and prints, as JSON, for each case the largest difference on any rank or the traceback.
"""

from __future__ import annotations

import json
import sys
import tempfile
import traceback
import warnings
from collections.abc import Iterable
from datetime import timedelta

import torch
import torch.distributed as dist
from torch import Tensor, multiprocessing, nn
from torch.distributed import pipelining
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor import DTensor, Replicate, Shard
from torch.distributed.tensor.parallel import (
    ColwiseParallel,
    PrepareModuleInput,
    RowwiseParallel,
    SequenceParallel,
    loss_parallel,
    parallelize_module,
)
from torch.nn.functional import cross_entropy

from labkit.models import gpt

RANKS = 2
TIMEOUT = timedelta(seconds=30)  # of a collective; a case takes a fraction of a second


def model(tied: bool = False) -> nn.Sequential:
    torch.manual_seed(1)
    return gpt(vocabulary=16, context=8, width=12, heads=6, layers=3, tied=tied).double()


def minibatch() -> tuple[Tensor, Tensor]:
    torch.manual_seed(2)
    tokens = torch.randint(16, (8, 9))
    return tokens[:, :-1], tokens[:, 1:]


def loss_of(logits: Tensor, targets: Tensor) -> Tensor:
    return cross_entropy(logits.flatten(0, 1), targets.flatten())


def reference(tied: bool = False) -> dict[str, Tensor]:
    """The gradients of one process, by name."""
    sequential = model(tied)
    x, y = minibatch()
    loss_of(sequential(x), y).backward()
    return gradients(sequential)


def gradients(part: nn.Module) -> dict[str, Tensor]:
    """By name, whole on every rank; parameters without one raise."""
    named = {name: parameter.grad for name, parameter in part.named_parameters()}
    return {name: grad.full_tensor() if isinstance(grad, DTensor) else grad for name, grad in named.items()}


def difference(found: dict[str, Tensor], expected: dict[str, Tensor], names: Iterable[str]) -> float:
    assert sorted(found) == sorted(names), (sorted(found), sorted(names))
    return max(float((found[name] - expected[name]).abs().max()) for name in found)


def columns_then_rows(layouts: dict | None = None) -> dict:
    """The plan of a block: attention divided by heads, the MLP by its inner width."""
    plan = {f"attention.{name}": ColwiseParallel() for name in "qkv"} | {"mlp.up": ColwiseParallel()}
    return plan | {name: RowwiseParallel(**(layouts or {})) for name in ("attention.out", "mlp.down")}


def case_tensor_parallel() -> float:
    divided, mesh = model(), init_device_mesh("cpu", (RANKS,))
    for name, module in divided.named_children():
        if name.startswith("block"):
            parallelize_module(module, mesh, columns_then_rows())
    assert divided.block1.attention.q.weight.to_local().shape == (12 // RANKS, 12)
    x, y = minibatch()
    loss_of(divided(x), y).backward()
    expected = reference()
    return difference(gradients(divided), expected, expected)


def case_vocabulary_parallel() -> float:
    """The embedding by rows, the head by columns, and the loss of divided logits."""
    divided, mesh = model(), init_device_mesh("cpu", (RANKS,))
    plan = {
        "embedding.tokens": RowwiseParallel(input_layouts=Replicate()),
        "head": ColwiseParallel(use_local_output=False),
    }
    parallelize_module(divided, mesh, plan)
    x, y = minibatch()
    with loss_parallel():
        logits = divided(x)
        assert logits.to_local().shape[-1] == 16 // RANKS
        loss_of(logits, y).backward()
    expected = reference()
    return difference(gradients(divided), expected, expected)


def case_sequence_parallel() -> float:
    """Between the matrices every rank has its part of the sequence, as in torch's tutorial of tensor parallelism."""
    divided, mesh = model(), init_device_mesh("cpu", (RANKS,))
    whole = PrepareModuleInput(input_layouts=(Shard(1),), desired_input_layouts=(Replicate(),))
    for name, module in divided.named_children():
        if name.startswith("block"):
            plan = columns_then_rows({"output_layouts": Shard(1)}) | {"attention": whole, "mlp": whole}
            parallelize_module(module, mesh, plan | {"norm1": SequenceParallel(), "norm2": SequenceParallel()})
    into = PrepareModuleInput(input_layouts=(Replicate(),), desired_input_layouts=(Shard(1),), use_local_output=True)
    parallelize_module(divided, mesh, {"block1": into, "norm": SequenceParallel()})
    parallelize_module(divided, mesh, {"head": ColwiseParallel(input_layouts=Shard(1), output_layouts=Replicate())})
    x, y = minibatch()
    loss_of(divided(x), y).backward()
    expected = reference()
    return difference(gradients(divided), expected, expected)


def case_fully_shard() -> float:
    sharded, mesh = model(), init_device_mesh("cpu", (RANKS,))
    for module in sharded:
        fully_shard(module, mesh=mesh)
    fully_shard(sharded, mesh=mesh)
    x, y = (tokens.chunk(RANKS)[dist.get_rank()] for tokens in minibatch())
    loss_of(sharded(x), y).backward()
    expected = reference()
    return difference(gradients(sharded), expected, expected)


def case_pipeline() -> float:
    """Two stages, four micro-batches, 1F1B."""
    whole, rank = model(), dist.get_rank()
    part = whole[:3] if rank == 0 else whole[3:]
    stage = pipelining.PipelineStage(part, rank, RANKS, torch.device("cpu"))
    schedule = pipelining.Schedule1F1B(stage, 4, loss_fn=loss_of)
    x, y = minibatch()
    schedule.step(x) if rank == 0 else schedule.step(target=y)
    expected = reference()
    return difference(gradients(part), expected, [name for name, _ in part.named_parameters()])


def case_pipeline_with_tied_weights() -> float:
    """The first stage and the last hold one matrix between them, so they add up its gradients."""
    rank = dist.get_rank()
    whole = model(tied=True)
    part = whole[:3] if rank == 0 else whole[3:]
    stage = pipelining.PipelineStage(part, rank, RANKS, torch.device("cpu"))
    schedule = pipelining.ScheduleGPipe(stage, 4, loss_fn=loss_of)
    x, y = minibatch()
    schedule.step(x) if rank == 0 else schedule.step(target=y)
    shared = part.embedding.tokens.weight if rank == 0 else part.head.weight
    dist.all_reduce(shared.grad)
    return float((shared.grad - reference(tied=True)["embedding.tokens.weight"]).abs().max())


CASES = {name.removeprefix("case_"): case for name, case in list(globals().items()) if name.startswith("case_")}


def run_rank(rank: int, store: str, answers) -> None:
    warnings.filterwarnings("ignore")
    torch.set_num_threads(1)
    dist.init_process_group("gloo", store=dist.FileStore(store, RANKS), rank=rank, world_size=RANKS, timeout=TIMEOUT)
    for name, case in CASES.items():
        try:
            answers.put((name, case()))
        except Exception:
            answers.put((name, traceback.format_exc()))
            break  # the other rank may wait for this one
    dist.destroy_process_group()


def main() -> None:
    context = multiprocessing.get_context("fork")
    answers = context.SimpleQueue()
    with tempfile.TemporaryDirectory() as folder:
        ranks = [context.Process(target=run_rank, args=(r, f"{folder}/store", answers)) for r in range(RANKS)]
        for rank in ranks:
            rank.start()
        for rank in ranks:
            rank.join(4 * TIMEOUT.total_seconds())
            rank.kill()
    found: dict[str, float | str] = {}
    while not answers.empty():
        name, said = answers.get()
        worst = found.get(name, 0.0)
        found[name] = said if isinstance(said, str) else worst if isinstance(worst, str) else max(worst, said)
    json.dump(found, sys.stdout)


if __name__ == "__main__":
    main()
