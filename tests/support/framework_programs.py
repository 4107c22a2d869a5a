"""torch's own parallelism, tried on every backend: what runs, what is refused (tests/labkit/mpi/test_frameworks.py).

Each program is called on all of 4 ranks of an initialised default group, and asserts that they end where one process
ends that does all of the work. `run_rank` runs them all on one rank and leaves a JSON file. As a program,
`framework_programs.py gloo FOLDER` forks the ranks itself, once it has imported what takes seconds;
`framework_programs.py mpi FOLDER` does so, too, each as soon as mpiexec has started what stands for it.
"""

from __future__ import annotations

import copy
import importlib
import json
import logging
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
import traceback
import warnings
from collections.abc import Callable, Sequence
from datetime import timedelta
from pathlib import Path

import torch
import torch.distributed as dist
from torch import nn

RANKS = 4
WIDTH = 16
TIMEOUT = timedelta(seconds=60)  # of the groups: a program takes a second
DEADLINE = 150.0  # s, for all of them
IMPORTED = ("torch._dynamo", "torch.distributed.fsdp", "torch.distributed.tensor.parallel")
IMPORTED += ("torch.distributed.pipelining", "torch.distributed.checkpoint", "torch.distributed.optim")
BACKENDS = ("gloo", "mpi", "relay")
# What torch's CPU build says; builds with CUDA have the hook, and need no GPU for it.
NO_BF16 = "TypeError: BF16 all reduce communication hook required CUDA"
PROGRAMS: dict[str, Callable[[int], None]] = {}  # name -> program(rank); the order of the table
REFUSED: dict[tuple[str, str], str] = {}  # (name, backend) -> what the error at the call says; all others run


def tried(name: str, refused: str = "", on: Sequence[str] = BACKENDS):
    """A row of the table. refused: what the error says on the backends `on`; there is none on the others."""

    def remember(program: Callable[[int], None]) -> Callable[[int], None]:
        PROGRAMS[name] = program
        if refused:
            REFUSED.update(((name, backend), refused) for backend in on)
        return program

    return remember


# --- what the programs share


def layers(count: int = 4) -> nn.Sequential:
    """The same network on all ranks."""
    torch.manual_seed(1)
    blocks = [nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.Tanh()) for _ in range(count)]
    return nn.Sequential(*blocks).double()


def block() -> nn.Sequential:
    torch.manual_seed(2)
    return nn.Sequential(nn.Linear(8, 32), nn.GELU(), nn.Linear(32, 8)).double()


def samples(number: int, width: int = WIDTH) -> torch.Tensor:
    """The same samples on all ranks."""
    return torch.randn(number, width, generator=torch.Generator().manual_seed(3), dtype=torch.float64)


def train(model: nn.Module, optimizer, batch: torch.Tensor, steps: int = 3) -> None:
    for _ in range(steps):
        optimizer.zero_grad()
        model(batch).square().mean().backward()
        optimizer.step()


def whole(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.full_tensor() if hasattr(tensor, "full_tensor") else tensor


def assert_close(found, expected, tolerance: float = 1e-12) -> None:
    found, expected = list(found), list(expected)
    assert len(found) == len(expected)
    for mine, right in zip(found, expected, strict=True):
        difference = (whole(mine) - right).abs().sum().item()
        assert whole(mine).shape == right.shape and difference <= tolerance * max(1, right.numel()), difference


def assert_share(model: nn.Module, reference: nn.Module, parts: int) -> None:
    """This rank holds one part of each parameter."""
    held = sum(parameter.to_local().numel() for parameter in model.parameters())
    assert held * parts == sum(parameter.numel() for parameter in reference.parameters())


def gradients(model: nn.Module) -> list[torch.Tensor]:
    return [parameter.grad for parameter in model.parameters()]


def mesh_of(*shape: int, names: Sequence[str] | None = None):
    from torch.distributed.device_mesh import init_device_mesh

    return init_device_mesh("cpu", shape, mesh_dim_names=names)


# --- sharding


def shards(mesh, parts: int, mine: Callable[[torch.Tensor], torch.Tensor], **more) -> None:
    from torch.distributed.fsdp import fully_shard

    model, reference = layers(), layers()
    for one in (*model, model):
        fully_shard(one, mesh=mesh, **more)
    assert_share(model, reference, parts)
    data = samples(8 * RANKS)
    train(model, torch.optim.Adam(model.parameters(), 1e-2), mine(data))
    train(reference, torch.optim.Adam(reference.parameters(), 1e-2), data)
    assert_close(model.parameters(), reference.parameters(), 1e-10)


@tried("fully_shard (FSDP2)")
def fully_sharded(rank: int) -> None:
    shards(mesh_of(RANKS), RANKS, lambda data: data.chunk(RANKS)[rank])


@tried("fully_shard, gathered once for forward and backward (ZeRO-2)")
def fully_sharded_and_kept(rank: int) -> None:
    shards(mesh_of(RANKS), RANKS, lambda data: data.chunk(RANKS)[rank], reshard_after_forward=False)


@tried("fully_shard on a 2 x 2 mesh (HSDP)")
def hybrid_sharded(rank: int) -> None:
    shards(mesh_of(2, 2, names=("replicate", "shard")), 2, lambda data: data.chunk(RANKS)[rank])


@tried("FullyShardedDataParallel (FSDP1)")
def wrapped_sharded(rank: int) -> None:
    """The relay writes into a tensor as an array of numpy, whose memory torch then cannot free."""
    from torch.distributed.fsdp import FullyShardedDataParallel

    model = FullyShardedDataParallel(layers(), device_id=torch.device("cpu"))
    reference, data = layers(), samples(8 * RANKS)
    train(model, torch.optim.Adam(model.parameters(), 1e-2), data.chunk(RANKS)[rank])
    train(reference, torch.optim.Adam(reference.parameters(), 1e-2), data)
    with FullyShardedDataParallel.summon_full_params(model):
        assert_close(model.parameters(), reference.parameters(), 1e-10)


@tried("ZeroRedundancyOptimizer (ZeRO-1)")
def optimizer_sharded(rank: int) -> None:
    from torch.distributed.optim import ZeroRedundancyOptimizer

    model, reference, data = nn.parallel.DistributedDataParallel(layers()), layers(), samples(8 * RANKS)
    optimizer = ZeroRedundancyOptimizer(model.parameters(), torch.optim.Adam, lr=1e-2)
    train(model, optimizer, data.chunk(RANKS)[rank])
    train(reference, torch.optim.Adam(reference.parameters(), 1e-2), data)
    assert_close(model.parameters(), reference.parameters(), 1e-10)
    states = [state for state in optimizer.optim.state.values()]
    held = torch.tensor(sum(state["exp_avg"].numel() for state in states))
    total = sum(parameter.numel() for parameter in reference.parameters())
    assert 0 < held < total
    dist.all_reduce(held)
    assert held == total


@tried("torch.distributed.checkpoint of a sharded model")
def checkpointed(rank: int) -> None:
    import torch.distributed.checkpoint as checkpoint
    from torch.distributed.fsdp import fully_shard

    place = [tempfile.mkdtemp(prefix="checkpoint-") if rank == 0 else ""]
    dist.broadcast_object_list(place, src=0)
    model, reference = layers(), layers()
    fully_shard(model)
    checkpoint.save(model.state_dict(), checkpoint_id=place[0])
    dist.barrier()
    assert sorted(os.listdir(place[0])) == [".metadata", *(f"__{r}_0.distcp" for r in range(RANKS))]
    # into a model that is not sharded, and into one that is sharded over two ranks
    plain = {name: torch.zeros_like(value) for name, value in reference.state_dict().items()}
    checkpoint.load(plain, checkpoint_id=place[0])
    assert_close(plain.values(), reference.state_dict().values(), 0)
    other = layers()
    for parameter in other.parameters():
        parameter.data.zero_()
    fully_shard(other, mesh=mesh_of(2, 2, names=("replicate", "shard")))
    state = other.state_dict()
    checkpoint.load(state, checkpoint_id=place[0])
    assert_close(state.values(), reference.state_dict().values(), 0)
    dist.barrier()
    if rank == 0:
        for name in os.listdir(place[0]):
            os.unlink(os.path.join(place[0], name))
        os.rmdir(place[0])


# --- splitting layers


@tried("distribute_tensor, redistribute, full_tensor (DTensor)")
def distributed_tensors(rank: int) -> None:
    from torch.distributed.tensor import Partial, Replicate, Shard, distribute_tensor

    data, mesh = samples(10, 6), mesh_of(RANKS)  # 4 divides neither
    rows = distribute_tensor(data, mesh, [Shard(0)])
    columns = rows.redistribute(mesh, [Shard(1)])
    assert_close([columns.to_local()], [data.chunk(RANKS, 1)[rank] if rank < 3 else data[:, :0]])
    assert_close([columns, rows @ rows.T, rows.sum(0)], [data, data @ data.T, data.sum(0)])
    partial = rows.sum(0)
    assert partial.placements == (Partial(),)
    assert_close([partial.redistribute(mesh, [Replicate()]).to_local()], [data.sum(0)])


@tried("torch.distributed.nn.functional (gradients through collectives)")
def differentiated(rank: int) -> None:
    from torch.distributed.nn import functional

    def gradient_through(collective) -> torch.Tensor:
        mine = samples(8, 1)[:, 0].requires_grad_()
        output = collective(mine)
        (output if isinstance(output, torch.Tensor) else torch.stack(output)).sum().backward()
        return mine.grad

    ones = torch.ones(8, dtype=torch.float64)
    found = [
        gradient_through(functional.all_reduce),
        gradient_through(functional.all_gather),
        gradient_through(lambda mine: functional.all_to_all_single(torch.empty_like(mine), mine)),
        gradient_through(lambda mine: functional.broadcast(mine, 1)),
        gradient_through(lambda mine: functional.reduce(mine, 1)),
        gradient_through(lambda mine: functional.reduce_scatter(torch.empty_like(mine[:2]), list(mine.chunk(RANKS)))),
    ]
    assert_close(found, [RANKS * ones, RANKS * ones, ones, RANKS * ones * (rank == 1), ones, ones])


@tried("parallelize_module: Colwise, Rowwise")
def tensor_parallel(rank: int) -> None:
    from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module

    model, reference, data = block(), block(), samples(5, 8)
    parallelize_module(model, mesh_of(RANKS), {"0": ColwiseParallel(), "2": RowwiseParallel()})
    found, expected = model(data), reference(data)
    assert_close([found], [expected])
    for output in (found, expected):
        output.square().mean().backward()
    assert_close(gradients(model), gradients(reference))
    assert model[0].weight.to_local().shape == (32 // RANKS, 8)


@tried("parallelize_module: SequenceParallel")
def sequence_parallel(rank: int) -> None:
    from torch.distributed.tensor import Shard
    from torch.distributed.tensor.parallel import (
        ColwiseParallel,
        PrepareModuleInput,
        RowwiseParallel,
        SequenceParallel,
        parallelize_module,
    )

    model = nn.Sequential(nn.LayerNorm(8).double(), *block())
    reference, data = copy.deepcopy(model), samples(8, 8)[None]  # 1 x 8 places x 8
    plan = {
        "0": SequenceParallel(use_local_output=False),
        "1": ColwiseParallel(input_layouts=Shard(1)),
        "3": RowwiseParallel(output_layouts=Shard(1), use_local_output=False),
    }
    parallelize_module(model, mesh_of(RANKS), plan)
    own = PrepareModuleInput(input_layouts=Shard(1), desired_input_layouts=Shard(1))
    parallelize_module(model, mesh_of(RANKS), own)
    found, expected = model(data.chunk(RANKS, 1)[rank]), reference(data)
    assert_close([found], [expected])
    found.full_tensor().square().mean().backward()
    expected.square().mean().backward()
    assert_close(gradients(model), gradients(reference))


@tried("loss_parallel")
def loss_parallel(rank: int) -> None:
    from torch.distributed.tensor.parallel import ColwiseParallel, loss_parallel, parallelize_module

    torch.manual_seed(2)
    model = nn.Sequential(nn.Linear(8, 20, bias=False)).double()
    reference, data, labels = copy.deepcopy(model), samples(6, 8), torch.arange(6) * 3
    parallelize_module(model, mesh_of(RANKS), {"0": ColwiseParallel(use_local_output=False)})
    with loss_parallel():
        found = nn.functional.cross_entropy(model(data), labels)
        found.backward()
    expected = nn.functional.cross_entropy(reference(data), labels)
    expected.backward()
    assert_close([found, *gradients(model)], [expected, *gradients(reference)])


@tried("Colwise, Rowwise x fully_shard on a 2 x 2 mesh")
def tensor_parallel_and_sharded(rank: int) -> None:
    from torch.distributed.fsdp import fully_shard
    from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module

    model, reference, data = block(), block(), samples(10, 8)
    mesh = mesh_of(2, 2, names=("data", "tensor"))
    parallelize_module(model, mesh["tensor"], {"0": ColwiseParallel(), "2": RowwiseParallel()})
    fully_shard(model, mesh=mesh["data"])
    assert model[0].weight.to_local().shape == (8, 8)
    train(model, torch.optim.SGD(model.parameters(), 0.1), data.chunk(2)[rank // 2])
    train(reference, torch.optim.SGD(reference.parameters(), 0.1), data)
    assert_close(model.parameters(), reference.parameters(), 1e-10)


@tried("context_parallel", refused="NotImplementedError: .*scaled_dot_product.*flash_attention_for_cpu")
def context_parallel(rank: int) -> None:
    from torch.distributed.tensor.experimental import context_parallel

    query = torch.randn(1, 2, 8 * RANKS, 8)
    with context_parallel(mesh_of(RANKS), buffers=[query], buffer_seq_dims=[2]):
        nn.functional.scaled_dot_product_attention(query, query, query, is_causal=True)


# --- pipelines


def pipeline(rank: int, name: str, stages_of: Sequence[Sequence[int]]) -> None:
    """One step of a schedule; stages_of: which stages each rank has. 8 micro-batches of 2 samples."""
    from torch.distributed import pipelining

    count = sum(len(stages) for stages in stages_of)
    model, reference, data = layers(count), layers(count), samples(16)
    targets, mine = data.flip(0), stages_of[rank]
    stages = [pipelining.PipelineStage(model[k], k, count, torch.device("cpu")) for k in mine]
    schedule = getattr(pipelining, name)
    several = issubclass(schedule, pipelining.schedules.PipelineScheduleMulti)
    schedule = schedule(stages if several else stages[0], 8, loss_fn=nn.functional.mse_loss)
    losses: list[torch.Tensor] = []
    last = {"target": targets, "losses": losses} if count - 1 in mine else {}
    schedule.step(*([data] if 0 in mine else []), **last)
    loss = nn.functional.mse_loss(reference(data), targets)
    loss.backward()
    assert_close([g for k in mine for g in gradients(model[k])], [g for k in mine for g in gradients(reference[k])])
    if last:
        assert_close([torch.stack(losses).mean()], [loss])


ONE_EACH = [(r,) for r in range(RANKS)]
IN_LOOPS = [(r, r + RANKS) for r in range(RANKS)]
IN_A_V = [(r, 2 * RANKS - 1 - r) for r in range(RANKS)]
for schedule_name, placed in {
    "ScheduleGPipe": ONE_EACH,
    "Schedule1F1B": ONE_EACH,
    "ScheduleInterleaved1F1B": IN_LOOPS,
    "ScheduleLoopedBFS": IN_LOOPS,
    "ScheduleInterleavedZeroBubble": IN_LOOPS,
    "ScheduleZBVZeroBubble": IN_A_V,
}.items():
    tried(f"pipelining: {schedule_name}")(lambda rank, name=schedule_name, on=placed: pipeline(rank, name, on))


# --- data parallel: hooks, averaging, uneven inputs


def hooked(rank: int, hook, state=None, tolerance: float = 1e-12, steps: int = 4) -> None:
    """The gradient of each of several steps is that of all data. One sample on each rank."""
    model, reference = nn.parallel.DistributedDataParallel(layers()), layers()
    model.register_comm_hook(state, hook)
    for step in range(steps):
        data = samples(RANKS) + step
        for one, batch in ((model, data[rank : rank + 1]), (reference, data)):
            one.zero_grad()
            one(batch).square().mean().backward()
        assert_close(gradients(model.module), gradients(reference), tolerance)


@tried("DDP hook: fp16_compress_hook")
def half_precision_hook(rank: int) -> None:
    from torch.distributed.algorithms.ddp_comm_hooks import default_hooks

    hooked(rank, default_hooks.fp16_compress_hook, tolerance=1e-3)


@tried("DDP hook: bf16_compress_hook", refused="" if torch.version.cuda else NO_BF16)
def brain_float_hook(rank: int) -> None:
    from torch.distributed.algorithms.ddp_comm_hooks import default_hooks

    hooked(rank, default_hooks.bf16_compress_hook, tolerance=1e-2)


@tried("DDP hook: powerSGD_hook")
def power_sgd(rank: int) -> None:
    """Of one sample on each rank the gradient of a layer has rank 4, so nothing is lost. One bucket: with more of them
    gloo may start what their callbacks start in another order on each rank (labkit.mpi does not).
    """
    from torch.distributed.algorithms.ddp_comm_hooks import powerSGD_hook

    more = {"matrix_approximation_rank": RANKS, "start_powerSGD_iter": 2, "min_compression_rate": 1}
    hooked(rank, powerSGD_hook.powerSGD_hook, powerSGD_hook.PowerSGDState(None, **more), 1e-9)


@tried("DDP hook: quantization_pertensor_hook", refused="IndexError", on=["gloo"])
def quantized(rank: int) -> None:
    """It takes the result of an all_gather for a list of lists, as NCCL has it; gloo's future has one list."""
    from torch.distributed.algorithms.ddp_comm_hooks import quantization_hooks

    hooked(rank, quantization_hooks.quantization_pertensor_hook, dist.group.WORLD, 0.02)


def step_in_the_hook(rank: int, wrapped) -> None:
    """The optimizer's steps are taken, and its shards sent around, while the backward pass goes on; the first two
    passes find out about the buckets, and step nowhere."""
    from torch.distributed.algorithms.ddp_comm_hooks import default_hooks
    from torch.distributed.optim import ZeroRedundancyOptimizer

    model, reference = nn.parallel.DistributedDataParallel(layers(), bucket_cap_mb=0.003), layers()
    optimizer = ZeroRedundancyOptimizer(model.parameters(), torch.optim.SGD, overlap_with_ddp=True, lr=0.1)
    model.register_comm_hook(None, wrapped(default_hooks.allreduce_hook, model, optimizer))
    data = samples(8 * RANKS)
    train(model, optimizer, data.chunk(RANKS)[rank], 5)
    train(reference, torch.optim.SGD(reference.parameters(), 0.1), data, 3)
    assert_close(model.module.parameters(), reference.parameters(), 1e-10)


@tried(
    "DDP hook: hook_with_zero_step", refused="Gloo backend using Overlapping DDP with ZeRO may meet hangs", on=["gloo"]
)
def zero_step(rank: int) -> None:
    from torch.distributed.algorithms.ddp_comm_hooks import ddp_zero_hook

    step_in_the_hook(rank, ddp_zero_hook.hook_with_zero_step)


@tried("DDP hook: hook_with_zero_step_interleaved", refused="Gloo backend .* may meet hangs", on=["gloo"])
def zero_step_interleaved(rank: int) -> None:
    """A callback for each bucket starts broadcasts, and the last one waits for all of them."""
    from torch.distributed.algorithms.ddp_comm_hooks import ddp_zero_hook

    step_in_the_hook(rank, ddp_zero_hook.hook_with_zero_step_interleaved)


@tried("DDP hook: post_localSGD_hook")
def post_local_sgd(rank: int) -> None:
    """Gradients are averaged over all ranks twice, then over pairs."""
    from torch.distributed.algorithms.ddp_comm_hooks import post_localSGD_hook

    pairs, _ = dist.new_subgroups(2)
    state = post_localSGD_hook.PostLocalSGDState(None, pairs, 2)
    hooked(rank, post_localSGD_hook.post_localSGD_hook, state, steps=2)
    model, reference = nn.parallel.DistributedDataParallel(layers()), layers()
    state.iter = 2
    model.register_comm_hook(state, post_localSGD_hook.post_localSGD_hook)
    pair = rank // 2 * 2
    model(samples(RANKS)[rank : rank + 1]).square().mean().backward()
    reference(samples(RANKS)[pair : pair + 2]).square().mean().backward()
    assert_close(gradients(model.module), gradients(reference))


def averaged(rank: int, averager, groups_at: dict[int, int]) -> None:
    """Local steps, after some of which parameters are averaged; groups_at: after which, over how many ranks."""
    model, reference = layers(), [layers() for _ in range(RANKS)]
    shares = samples(8 * RANKS).chunk(RANKS)
    for step in range(4):
        train(model, torch.optim.SGD(model.parameters(), 0.1), shares[rank], 1)
        averager.average_parameters(model.parameters())
        for one, share in zip(reference, shares, strict=True):
            train(one, torch.optim.SGD(one.parameters(), 0.1), share, 1)
        size = groups_at.get(step, 1)
        for parameters in zip(*(one.parameters() for one in reference), strict=True):
            for first in range(0, RANKS, size):
                group = parameters[first : first + size]
                mean = torch.stack([parameter.detach() for parameter in group]).mean(0)
                for parameter in group:
                    parameter.data.copy_(mean)
        assert_close(model.parameters(), reference[rank].parameters())


@tried("PeriodicModelAverager (local SGD)")
def local_sgd(rank: int) -> None:
    from torch.distributed.algorithms.model_averaging.averagers import PeriodicModelAverager

    averaged(rank, PeriodicModelAverager(period=2, warmup_steps=0), {0: RANKS, 2: RANKS})


@tried("HierarchicalModelAverager")
def hierarchical_sgd(rank: int) -> None:
    from torch.distributed.algorithms.model_averaging.hierarchical_model_averager import HierarchicalModelAverager

    averager = HierarchicalModelAverager({2: 2, 4: RANKS}, warmup_steps=0)
    averaged(rank, averager, {0: RANKS, 2: 2})


@tried("DDP in Join (uneven inputs)")
def joined(rank: int) -> None:
    """Rank r has 1 + r batches; who has none left counts as a gradient of zero."""
    from torch.distributed.algorithms.join import Join

    model, reference = nn.parallel.DistributedDataParallel(layers()), layers()
    optimizer, sequential = (torch.optim.SGD(one.parameters(), 0.1) for one in (model, reference))
    batches = samples(2 * RANKS).chunk(RANKS)
    with Join([model]):
        for step in range(1 + rank):
            train(model, optimizer, batches[rank] + step, 1)
    for step in range(RANKS):
        sequential.zero_grad()
        for share in batches[step:]:
            (reference(share + step).square().mean() / RANKS).backward()
        sequential.step()
    assert_close(model.module.parameters(), reference.parameters(), 1e-10)


@tried("SyncBatchNorm", refused="ValueError: SyncBatchNorm expected input tensor to be on GPU")
def batch_norm_over_all(rank: int) -> None:
    model = nn.SyncBatchNorm.convert_sync_batchnorm(nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4)))
    model(torch.randn(8, 4))


# --- running them


def run_programs(backend: str, rank: int) -> dict[str, dict]:
    """What each program came to on this rank: {"seconds": CPU} or {"error": its type and text, "traceback": ...}.

    Stops at the first that fails and should not: a rank that has failed is out of step with the others.
    """
    results: dict[str, dict] = {}
    for name, program in PROGRAMS.items():
        torch.manual_seed(rank)
        start = time.process_time()
        try:
            program(rank)
            results[name] = {"seconds": round(time.process_time() - start, 3)}
        except BaseException as error:
            results[name] = {"error": f"{type(error).__name__}: {error}", "traceback": traceback.format_exc()}
            if (name, backend) not in REFUSED:
                break
        dist.barrier()
    return results


def run_rank(backend: str, folder: str) -> None:
    """All programs on this rank of the default group; leaves FOLDER/BACKEND-RANK.json."""
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    logging.disable(logging.WARNING)  # DTensor's advice about two all_gathers
    rank = dist.get_rank()
    Path(folder, f"{backend}-{rank}.json").write_text(json.dumps(run_programs(backend, rank)))


def be_a_rank(backend: str, folder: str, **how) -> None:
    """The life of a forked rank. Never returns."""
    from labkit.launch.process import die_with_parent

    status = 1
    try:
        die_with_parent()
        dist.init_process_group(backend, timeout=TIMEOUT, **how)
        run_rank(backend, folder)
        dist.destroy_process_group()
        if backend == "mpi":
            from mpi4py import MPI

            MPI.Finalize()
        status = 0
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


def fork_gloo_ranks(folder: str) -> list[int]:
    os.environ["GLOO_SOCKET_IFNAME"] = "lo"
    children = []
    for rank in range(RANKS):
        children.append(os.fork())
        if children[-1] == 0:
            store = dist.FileStore(os.path.join(folder, "store"), RANKS)
            be_a_rank("gloo", folder, store=store, rank=rank, world_size=RANKS)
    return children


def fork_mpi_ranks(folder: str) -> tuple[list[int], list[socket.socket], subprocess.Popen]:
    """A rank for each stub (`labkit.ranks.stub`) that mpiexec starts; it gets what mpiexec gave the stub."""
    from labkit import environment
    from labkit.launch import framed
    from labkit.ranks import forker

    path = os.path.join(folder, "forker")
    stub = [sys.executable, "-I", "-S", str(Path(forker.__file__).with_name("stub.py")), path]
    children, stubs = [], []
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(path)
        listener.listen(RANKS)
        listener.settimeout(60)
        variables = {**os.environ, **environment.mpi_environment(RANKS)}
        mpiexec = subprocess.Popen([*environment.mpiexec(), "-n", str(RANKS), *stub], env=variables)
        for _ in range(RANKS):
            stubs.append(listener.accept()[0])
            request, streams = framed.receive(stubs[-1], 3)
            children.append(os.fork())
            if children[-1] == 0:
                os.environ.clear()
                os.environ.update(request["environment"])
                os.sched_setaffinity(0, request["cores"])
                be_a_rank("mpi", folder)
            for stream in streams:
                os.close(stream)
    return children, stubs, mpiexec


def wait_for(children: list[int]) -> None:
    """Until all have ended; after the deadline, or when one has failed, the others are ended."""
    left, end = set(children), time.monotonic() + DEADLINE
    while left and time.monotonic() < end:
        for child in list(left):
            ended, status = os.waitpid(child, os.WNOHANG)
            if ended:
                left.remove(child)
            if status:
                end = min(end, time.monotonic() + 5)
        time.sleep(0.02)
    for child in left:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


def main(backend: str, folder: str) -> None:
    for module in IMPORTED:
        importlib.import_module(module)  # seconds: once instead of once per rank
    torch.set_num_threads(1)
    if backend == "gloo":
        wait_for(fork_gloo_ranks(folder))
        return
    children, stubs, mpiexec = fork_mpi_ranks(folder)
    try:
        wait_for(children)
    finally:
        for stub in stubs:
            stub.sendall(b"0")
            stub.close()
        try:
            mpiexec.wait(20)
        finally:
            mpiexec.kill()


if __name__ == "__main__":
    main(*sys.argv[1:])
