"""`make bench-train`: what synchronous training costs on 2 ranks, beside the bound of two trainings that know nothing
of each other.

    make bench-train                           three to four minutes; the machine should have nothing else to do
    make bench-train OPTIONS=--quick           one minute, for a first look

Two models, a fixed local batch, one computing thread per rank. Each way to train is a job of two processes that is
started once and stays. A round measures the ways in turn, while all other jobs are stopped (SIGSTOP), so that whatever
else the machine does hits all of them and no waiting job costs anything; shown is the median over the rounds of the
images per second of both ranks together, and of its ratio to the bound of the same framework in the same round. After
each measurement the ranks must hold equal parameters.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import json
import math
import os
import platform
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from multiprocessing.connection import Client, Connection, Listener, wait
from pathlib import Path

from labkit import environment
from labkit.launch.process import die_with_parent

RANKS = 2
BATCH_SIZES = {"mlp": 256, "resnet": 32}  # images per step and rank
BARS = {"mlp": 0.65, "resnet": 0.90}  # of the bound, for the best of OURS
TITLES = {"mlp": "MLP 784-128-64-10, 28 x 28 pixels", "resnet": "ResNet-18, width 16, 32 x 32 pixels"}
WAYS = {  # name -> the job whose processes do it
    "sequential": "torch alone",
    "two sequential": "torch alone",
    "manual": "torch",
    "flat bucket": "torch",
    "DDP (mpi)": "torch",
    "DDP (gloo)": "torch",
    "Horovod torch": "horovod torch",
    "sequential TF": "tensorflow alone",
    "two sequential TF": "tensorflow alone",
    "Horovod TF": "horovod tensorflow",
}
OURS = ("manual", "flat bucket", "DDP (mpi)")
JOBS = tuple(dict.fromkeys(WAYS.values()))
START_SECONDS = 120  # until all processes have imported what they need
STEP_DEADLINE = 60  # seconds for one measurement, whatever happens


def bound_of(way: str) -> str:
    return "two sequential TF" if way.endswith("TF") else "two sequential"


# --- in the ranks: a trainer is a function that does one step


def torch_parts(name: str, rank: int):
    """Model, optimizer, images and labels; all ranks start with the same parameters and have images of their own."""
    import torch

    from labkit import models

    torch.manual_seed(0)
    model = models.mlp() if name == "mlp" else models.resnet18(classes=10, width=16, small_images=True)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    torch.manual_seed(1 + rank)
    shape = (1, 28, 28) if name == "mlp" else (3, 32, 32)
    return model, optimizer, torch.rand(BATCH_SIZES[name], *shape), torch.randint(10, (BATCH_SIZES[name],))


def torch_trainer(name: str, way: str, rank: int, groups: dict) -> tuple[Callable[[], None], Callable[[], float]]:
    import torch
    from torch import nn

    model, optimizer, images, labels = torch_parts(name, rank)
    forward: nn.Module = model
    average: Callable[[], None] = lambda: None  # noqa: E731
    parameters = list(model.parameters())
    if way == "manual":
        average = lambda: average_each(parameters)  # noqa: E731
    elif way == "flat bucket":
        average = lambda: average_flat(parameters)  # noqa: E731
    elif way.startswith("DDP"):
        forward = nn.parallel.DistributedDataParallel(model, process_group=groups[way])
    elif way == "Horovod torch":
        import horovod.torch as hvd

        optimizer = hvd.DistributedOptimizer(optimizer, named_parameters=model.named_parameters())
        hvd.broadcast_parameters(model.state_dict(), root_rank=0)

    def step() -> None:
        optimizer.zero_grad()
        nn.functional.cross_entropy(forward(images), labels).backward()
        average()
        optimizer.step()

    @torch.no_grad()
    def fingerprint() -> float:
        return sum(float(parameter.double().abs().sum()) for parameter in parameters)

    return step, fingerprint


def average_each(parameters: list) -> None:
    """One all-reduce per parameter."""
    import torch.distributed as dist

    for parameter in parameters:
        dist.all_reduce(parameter.grad)
        parameter.grad /= RANKS


def average_flat(parameters: list) -> None:
    """One all-reduce of all gradients, copied behind each other."""
    import torch
    import torch.distributed as dist

    bucket = torch.cat([parameter.grad.flatten() for parameter in parameters])
    dist.all_reduce(bucket)
    bucket /= RANKS
    for parameter, mean in zip(parameters, bucket.split([parameter.numel() for parameter in parameters]), strict=True):
        parameter.grad.copy_(mean.view_as(parameter))


def tensorflow_trainer(name: str, way: str, rank: int) -> tuple[Callable[[], None], Callable[[], float]]:
    import tensorflow as tf

    from labkit import keras_models

    tf.keras.utils.set_random_seed(0)
    model = keras_models.mlp() if name == "mlp" else keras_models.resnet18(classes=10, width=16, small_images=True)
    optimizer = tf.keras.optimizers.SGD(0.01)
    optimizer.build(model.trainable_variables)
    loss_function = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    tf.random.set_seed(1 + rank)
    images = tf.random.uniform((BATCH_SIZES[name], *((28, 28, 1) if name == "mlp" else (32, 32, 3))))
    labels = tf.random.uniform((BATCH_SIZES[name],), 0, 10, tf.int32)

    @tf.function(autograph=False)
    def training_step():
        with tf.GradientTape() as tape:
            loss = loss_function(labels, model(images, training=True))
        if way == "Horovod TF":
            import horovod.tensorflow as hvd

            tape = hvd.DistributedGradientTape(tape)
        optimizer.apply_gradients(
            zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables, strict=True)
        )
        return loss

    def fingerprint() -> float:
        return sum(float(abs(variable.numpy().astype("float64")).sum()) for variable in model.trainable_variables)

    return lambda: training_step().numpy(), fingerprint


def rank_program(job: str, address: str, rank: int) -> None:
    """Does what comes over the socket: ("prepare", model, way), ("run", model, way, steps); stops when it closes."""
    die_with_parent()  # a stopped process would stay for ever
    groups: dict = {}
    if "tensorflow" in job:
        import tensorflow as tf

        tf.config.set_visible_devices([], "GPU")
        tf.config.threading.set_intra_op_parallelism_threads(1)
        tf.config.threading.set_inter_op_parallelism_threads(1)
        make: Callable = tensorflow_trainer
    else:
        import torch

        torch.set_num_threads(1)
        make = lambda name, way, rank: torch_trainer(name, way, rank, groups)  # noqa: E731
    if job == "torch":
        import torch.distributed as dist

        dist.init_process_group("mpi")
        groups |= {"DDP (mpi)": dist.group.WORLD, "DDP (gloo)": dist.new_group(backend="gloo")}
        rank = dist.get_rank()
    elif job.startswith("horovod"):
        hvd = importlib.import_module(job.replace(" ", "."))
        hvd.init()
        rank = hvd.rank()
    trainers: dict = {}
    with Client(address) as parent:
        parent.send((job, rank, os.getpid()))
        with contextlib.suppress(EOFError):
            while True:
                command, name, way, *steps = parent.recv()
                if command == "prepare":
                    trainers[name, way] = make(name, way, rank)
                step, fingerprint = trainers[name, way]
                step()
                start = time.perf_counter()
                for _ in range(steps[0] if steps else 3):
                    step()
                parent.send((time.perf_counter() - start, fingerprint()))


# --- in the parent


class TrainingJob:
    """Two processes that train in one way or several: stopped unless they are asked for something."""

    def __init__(self, name: str, address: str, folder: Path) -> None:
        environ = {
            **os.environ,
            **environment.mpi_environment(RANKS),
            "GLOO_SOCKET_IFNAME": "lo",
            "TMPDIR": str(folder),
        }
        program = [sys.executable, __file__, "--rank", name, address]
        if name.endswith("alone"):
            commands = [[*program, str(rank)] for rank in range(RANKS)]
        else:
            commands = [[*environment.mpiexec(), "-n", str(RANKS), *program, "0"]]
        settings = {"env": environ, "stdin": subprocess.DEVNULL, "preexec_fn": die_with_parent}
        self.processes = [subprocess.Popen(command, **settings) for command in commands]
        self.ranks: dict[int, tuple[Connection, int]] = {}

    def signal(self, number: signal.Signals) -> None:
        for _, pid in self.ranks.values():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)

    def ask(self, *message: object, ranks: int = RANKS) -> list[tuple[float, float]]:
        """The answers of the first so many ranks: (seconds, fingerprint of the parameters) each. All other jobs stand
        still.
        """
        self.signal(signal.SIGCONT)
        connections = [self.ranks[rank][0] for rank in range(ranks)]
        for connection in connections:
            connection.send(message)
        answers = []
        for connection in connections:
            if not connection.poll(STEP_DEADLINE):
                raise TimeoutError(f"no answer to {message} within {STEP_DEADLINE} s")
            answers.append(connection.recv())
        self.signal(signal.SIGSTOP)
        return answers

    def close(self) -> None:
        self.signal(signal.SIGCONT)
        for connection, _ in self.ranks.values():
            connection.close()
        for process in self.processes:
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


@contextlib.contextmanager
def jobs_running(names: tuple[str, ...]) -> Iterator[dict[str, TrainingJob]]:
    """The jobs, started and stopped."""
    with tempfile.TemporaryDirectory(prefix="bench-") as folder, Listener(f"{folder}/socket", backlog=16) as listener:
        jobs: dict[str, TrainingJob] = {}
        try:
            for name in names:
                jobs[name] = TrainingJob(name, listener.address, Path(folder))
            accept(listener, jobs)
            yield jobs
        finally:
            for job in jobs.values():
                job.close()


def accept(listener: Listener, jobs: dict[str, TrainingJob]) -> None:
    """Waits until every process has called. Raises RuntimeError if one ends or is too late."""
    end = time.monotonic() + START_SECONDS
    for _ in range(RANKS * len(jobs)):
        while not wait([listener._listener._socket], 1):
            dead = [name for name, job in jobs.items() if any(process.poll() is not None for process in job.processes)]
            if dead or time.monotonic() > end:
                raise RuntimeError(
                    f"{', '.join(dead)} ended at the start" if dead else "not all processes have started in time"
                )
        connection = listener.accept()
        name, rank, pid = connection.recv()
        jobs[name].ranks[rank] = (connection, pid)
        if len(jobs[name].ranks) == RANKS:
            jobs[name].signal(signal.SIGSTOP)


def measure(jobs: dict[str, TrainingJob], name: str, rounds: int, seconds: float) -> dict[str, list[float]]:
    """Images per second, both ranks together, of each way and round."""
    steps: dict[str, int] = {}
    for way, job in WAYS.items():
        ranks = 1 if way.startswith("sequential") else RANKS
        jobs[job].ask("prepare", name, way, ranks=ranks)
        took = max(took for took, _ in jobs[job].ask("run", name, way, 5, ranks=ranks))
        steps[way] = max(3, math.ceil(5 * seconds / took))
    rates: dict[str, list[float]] = {way: [] for way in WAYS}
    for _ in range(rounds):
        for way, job in WAYS.items():
            ranks = 1 if way.startswith("sequential") else RANKS
            answers = jobs[job].ask("run", name, way, steps[way], ranks=ranks)
            if not job.endswith("alone") and len({fingerprint for _, fingerprint in answers}) != 1:
                raise RuntimeError(f"{way}: the ranks hold different parameters")
            rates[way].append(sum(BATCH_SIZES[name] * steps[way] / took for took, _ in answers))
    return rates


def machine() -> str:
    """One line on what was measured on."""
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    model = next((line.split(":")[1].strip() for line in lines if line.startswith("model name")), platform.machine())
    load = ", ".join(f"{value:.1f}" for value in os.getloadavg())
    return f"{environment.cores()} cores ({model}), load {load}, Python {platform.python_version()}"


def show(name: str, rates: dict[str, list[float]]) -> None:
    ratios = {way: [a / b for a, b in zip(values, rates[bound_of(way)], strict=True)] for way, values in rates.items()}
    print(f"\n{TITLES[name]}, {BATCH_SIZES[name]} images per step and rank")
    print("                       images/s   ms/step   of the bound (lowest-highest)")
    for way, values in rates.items():
        ranks = 1 if way.startswith("sequential") else RANKS
        rate, ratio = statistics.median(values), statistics.median(ratios[way])
        milliseconds = 1e3 * ranks * BATCH_SIZES[name] / rate
        print(
            f"  {way:<18s} {rate:10.0f}  {milliseconds:8.2f}   {ratio:6.2f} "
            f"({min(ratios[way]):.2f}-{max(ratios[way]):.2f})"
        )
    best = max(OURS, key=lambda way: statistics.median(ratios[way]))
    ratio = statistics.median(ratios[best])
    verdict = "reached" if ratio >= BARS[name] else "MISSED"
    print(f"  best of ours: {best}, {ratio:.2f} of the bound; the bar is {BARS[name]:.2f}: {verdict}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="2 short rounds")
    parser.add_argument(
        "--json", type=Path, metavar="FILE", help="write the images per second of every round to this file"
    )
    options = parser.parse_args()
    rounds, seconds = (2, 0.3) if options.quick else (5, 1.2)
    print(machine(), flush=True)
    if environment.cores() < RANKS:
        print("Fewer cores than ranks: the bound holds all the same, but it is no more than one rank's speed.")
    found = {}
    with jobs_running(JOBS) as jobs:
        for name in BATCH_SIZES:
            found[name] = measure(jobs, name, rounds, seconds)
            show(name, found[name])
            sys.stdout.flush()
    if options.json:
        options.json.write_text(json.dumps({"machine": machine(), "images_per_second": found}) + "\n")


if __name__ == "__main__":
    rank_program(sys.argv[2], sys.argv[3], int(sys.argv[4])) if sys.argv[1:2] == ["--rank"] else main()
