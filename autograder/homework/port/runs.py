"""Runs of a handed-in script on a few ranks, on small data made from the key, and what was seen in them
(`probes.script`).

Nothing of the script enters this process. What its ranks tell is untrusted: every number is checked, every array has
the size it must have.
"""

from __future__ import annotations

import contextlib
import itertools
import math
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from autograder.exercise import seed_of
from autograder.homework.port.altered import Altered, secret_of
from labkit import runlog
from labkit.cells.slicing import Chunk
from labkit.launch import horovod_job, horovod_rendezvous
from labkit.launch.launcher import Launcher, Limits, make_jobs
from labkit.relay.outcome import Outcome
from probes.life import TEST, mark

BATCH, EPOCHS, TEST_IMAGES = 8, 2, 30
ARRAYS = 40  # updates of which weights and gradients are kept
NOTES = 100 << 20  # bytes that a rank may tell
PATIENCE = 5  # s without work that are a standstill
MOST_PARAMETERS = 2_000_000


@dataclass(frozen=True)
class Means:
    """The library by which the ranks of a port talk, and the code that watches them. probe, replay: imports of
    `run_script` and `replay`. runtime: of the jobs."""

    name: str
    probe: str
    replay: str
    runtime: str

    def run(self, launcher: Launcher, jobs: list, limits: Limits, **how) -> tuple[Outcome, list[dict]]:
        """Run a case: real Horovod over loopback, or torch.distributed on the relay. how: notes, together,
        ranks_per_node, windows, altered."""
        if self is HOROVOD:
            how = {name: value for name, value in how.items() if name not in ("together", "altered")}
            return horovod_job.run(launcher.with_frameworks(horovod_rendezvous.FRAMEWORKS), jobs, limits=limits, **how)
        how = {name: value for name, value in how.items() if name in ("notes", "together", "altered")}
        return launcher.run(jobs, limits=replace(limits, patience=PATIENCE_OF_A_RANK), **how)


HOROVOD = Means(
    "horovod", "from probes.script import run_script", "from probes.one_process import replay", runtime="horovod"
)
DDP = Means("ddp", "from probes.ddp import run_script", "from probes.one_process_torch import replay", runtime="torch")
PATIENCE_OF_A_RANK = 30.0  # s that a rank on the relay may compute, or sleep, without a word


@dataclass(frozen=True)
class RunSetting:
    """One run: how many ranks, on how many images, whether the ranks are started apart, ranks on each machine (0: one
    machine)."""

    world_size: int
    images: int
    apart: bool = False
    ranks_per_node: int = 0
    epochs: int = EPOCHS
    arrays: int = ARRAYS
    no_broadcast: bool = False
    init: bool = False  # Horovod is initialised for the script
    shared: bool = False
    gpus: int = 0  # that each machine is said to have; the script ends where it has chosen one
    more: tuple[str, ...] = ()  # words for the command line
    altered: str = ""  # what is altered on its way between the ranks: "all", or "sums" without broadcasts


@dataclass
class RecordedUpdate:
    """One update on one rank. numbers: of the images it was made from. Arrays: one vector each, None where they were
    not kept."""

    numbers: list[int]
    sizes: list[int]
    rate: float
    gradient: np.ndarray | None = None
    weights: np.ndarray | None = None  # before the update
    images: np.ndarray | None = None
    reduced: int = 0  # elements that were all-reduced since the update before
    # (elements, norm, sum) of what the rank brought to sums of Horovod since the update before
    brought: list[tuple[int, float, float]] = field(default_factory=list)
    came: float = math.nan  # share of the gradient that collectives of Horovod have given back, where it was looked for
    # (root, elements, floating) since the update before
    broadcasts: list[tuple[int, int, bool]] = field(default_factory=list)


@dataclass
class ObservedRank:
    """One rank's part of a run, as it was seen."""

    steps: list[RecordedUpdate] = field(default_factory=list)
    after: RecordedUpdate = field(
        default_factory=lambda: RecordedUpdate([], [], 0.0)
    )  # what came after the last update
    tests: list[tuple[int, list[int]]] = field(default_factory=list)  # (updates so far, numbers of test images)
    reductions: list[tuple[int, list[float], list[float]]] = field(
        default_factory=list
    )  # (updates so far, what came in, what went out)
    shapes: list[tuple[int, ...]] = field(default_factory=list)
    optimizer: str = ""
    config: dict = field(default_factory=dict)
    initialised: bool = False
    size: int = 0
    ended: str = ""
    files: list[str] = field(default_factory=list)
    log: str | None = None
    final: np.ndarray | None = None
    options: list[dict] = field(default_factory=list)
    outside: list[str] = field(default_factory=list)
    device: int | None = None  # the GPU that it has chosen, where it was said to have some
    batches: int = 0  # minibatches of training images that were recognised
    updated: tuple[float, float] | None = None  # when the first and the last update were told, by our clock


@dataclass
class ObservedRun:
    """One run, as it was seen."""

    setting: RunSetting
    data: dict
    rate: float
    nonce: str
    ranks: list[ObservedRank]
    outcome: Outcome
    ends: list[dict]
    label: str
    means: Means = HOROVOD
    wall: float = math.inf  # seconds that it took, by our clock
    altered: Altered | None = None

    @property
    def failure(self) -> str:
        """The way in which the run failed, "" if it did not: "raised", "died", "hung", "too_slow"."""
        states = [rank.state for rank in self.outcome.ranks]
        if "raised" in states:
            return "raised"
        if "dead" in states:
            used_up = any(end.get("signal") == 24 or end.get("over") == "cpu" for end in self.ends)
            return "too_slow" if used_up else "died"
        if self.outcome.hang is not None:
            return "hung"
        return "too_slow" if self.outcome.too_slow else ""

    @property
    def counts(self) -> list[int]:
        """Updates of each rank."""
        return [len(rank.steps) for rank in self.ranks]

    def epochs(self, rank: int) -> list[list[RecordedUpdate]]:
        """The rank's steps by epochs: equal parts where the script came to its end, else what an epoch would hold."""
        steps = self.ranks[rank].steps
        per_epoch = len(steps) / self.setting.epochs
        if self.failure or per_epoch != int(per_epoch):
            ends = sorted({done for done, _ in self.ranks[rank].tests if done}) or [len(steps)]
            bounds = [0, *ends] if ends[-1] == len(steps) else [0, *ends, len(steps)]
            return [steps[a:b] for a, b in itertools.pairwise(bounds)]
        size = int(per_epoch)
        return [steps[k * size : (k + 1) * size] for k in range(self.setting.epochs)] if size else []

    def printed(self, rank: int) -> list[str]:
        return [line for r, line in self.outcome.printed if r == rank and line.strip()]

    def run_log(self) -> tuple[runlog.RunLog | None, str]:
        """(the log that rank 0 wrote, why there is none)."""
        return read_log(self.ranks[0].log, self.setting.world_size)


def read_log(text: str | None, world_size: int) -> tuple[runlog.RunLog | None, str]:
    """(the run log, "") or (None, why it cannot be read); (None, "") where there is none."""
    if text is None:
        return None, ""
    name, _, content = text.partition("\n")
    with tempfile.TemporaryDirectory(prefix="log-") as folder:
        path = Path(folder) / ("metrics.dat" if name.endswith(".dat") else "run.jsonl")
        path.write_text(content, encoding="utf-8", errors="replace")
        try:
            return runlog.read(path, world_size), ""
        except runlog.RunLogError as error:
            return None, str(error)


# -- the data ----------------------------------------------------------------------------------------------------------


def draw(key: str, setting: RunSetting) -> dict:
    """Images of ten kinds, uint8, that carry their numbers, and labels, some of them wrong: losses differ from image to
    image."""
    random = np.random.default_rng(seed_of(key, "port", setting.world_size, setting.images))
    kinds = random.integers(0, 256, (10, 28, 28))

    def part(count: int, test: bool):
        labels = random.integers(0, 10, count)
        shown = np.where(random.random(count) < 0.3, random.integers(0, 10, count), labels)
        weight = random.uniform(0.1, 0.9, (count, 1, 1))
        images = weight * kinds[shown] + (1 - weight) * random.integers(0, 256, (count, 28, 28))
        return mark(images.astype(np.uint8), test), labels.astype(np.uint8)

    (x_train, y_train), (x_test, y_test) = part(setting.images, False), part(TEST_IMAGES, True)
    return {"x_train": x_train, "y_train": y_train, "x_test": x_test, "y_test": y_test}


# -- running -----------------------------------------------------------------------------------------------------------


def watch(
    launcher: Launcher,
    name: str,
    source: str,
    key: str,
    setting: RunSetting,
    limits: Limits,
    patience: int = PATIENCE,
    means: Means = HOROVOD,
) -> ObservedRun:
    """Run the script once. name: its file's name, by which its lines are shown. patience: seconds without work that are
    a standstill."""
    data = draw(key, setting)
    random = np.random.default_rng(seed_of(key, "port", setting.world_size, setting.images, setting.apart))
    rate, seed = round(float(random.uniform(0.01, 0.02)), 5), int(random.integers(1, 10_000))
    nonce = f"port-{seed_of(key, 'nonce'):08x}"
    device = "gpu" if setting.gpus else "cpu"
    words = f"--batch-size {BATCH} --epochs {setting.epochs} --lr {rate} --device {device} --seed {seed}".split()
    words += ["--data", "DATA"]
    words += ["--log", f"run_{setting.world_size}.jsonl", "--nonce", nonce, *setting.more]
    options = {"spread": 0.02 if setting.apart else 0.0, "seed": seed, "arrays": setting.arrays}
    options |= {name: getattr(setting, name) for name in ("no_broadcast", "init", "shared", "gpus")}
    chunks = [
        Chunk("probe", 1, means.probe),
        Chunk(name, 1, ""),
    ]  # the second one is its label: hangs and errors name the script's lines
    arguments = [(name, source, words, data, options)] * setting.world_size
    if means is DDP:
        places = ({"rank": r, "world_size": len(arguments), "per_node": setting.ranks_per_node} for r in range(99))
        arguments = [(*one, place) for one, place in zip(arguments, places, strict=False)]
    jobs = make_jobs(chunks, "run_script", arguments, runtime=means.runtime, seed=seed)
    altered = Altered(secret_of(key), setting.altered) if means is DDP else None
    how = {"ranks_per_node": setting.ranks_per_node, "together": setting.shared, "altered": altered}
    began = time.monotonic()
    outcome, ends = means.run(launcher, jobs, limits, notes=NOTES, windows=patience, **how)
    wall = time.monotonic() - began
    ranks = [seen_by(rank.notes, setting) for rank in outcome.ranks]
    for rank in outcome.ranks:
        rank.notes = []
    return ObservedRun(setting, data, rate, nonce, ranks, outcome, ends, name, means, wall, altered)


def seen_by(notes: list[tuple[dict, bytes]], setting: RunSetting) -> ObservedRank:
    """A rank's notes, put in order. What is not as the probe would have written it is left out."""
    rank = ObservedRank()
    now = RecordedUpdate([], [], 0.0)
    for meta, payload in notes:
        with contextlib.suppress(KeyError, TypeError, ValueError, OverflowError, IndexError):
            now = _take(rank, now, meta, payload, setting)
    rank.after = now
    return rank


def _take(rank: ObservedRank, now: RecordedUpdate, meta: dict, payload: bytes, setting: RunSetting) -> RecordedUpdate:
    """Add one note to what is known; returns the step that has not been completed yet."""
    what = meta["saw"]
    if what == "batch":
        _take_batch(rank, now, meta, payload, setting)
    elif what == "optimizer" and not rank.shapes:
        shapes = [tuple(int(size) for size in shape) for shape in meta["shapes"]]
        if sum(math.prod(shape) for shape in shapes) <= MOST_PARAMETERS:
            rank.shapes, rank.optimizer, rank.config = shapes, str(meta["name"])[:60], dict(meta["config"])
    elif what == "update":
        now.rate, now.came = float(meta["rate"]), float(meta.get("came", math.nan))
        rank.initialised = rank.initialised or bool(meta["initialised"])
        size = sum(math.prod(shape) for shape in rank.shapes)
        if payload and len(payload) == 8 * size:
            both = np.frombuffer(payload, dtype=np.float32)
            now.gradient, now.weights = both[:size], both[size:]
        rank.steps.append(now)
        now_by_our_clock = float(meta.get("arrived", math.nan))
        rank.updated = rank.updated[0] if rank.updated else now_by_our_clock, now_by_our_clock
        return RecordedUpdate([], [], 0.0)
    elif what == "collective":
        size = int(meta["size"])
        if meta["what"] == "broadcast":
            now.broadcasts.append((int(meta["root"]), size, bool(meta["float"])))
        else:
            now.reduced += size
            if "brought" in meta and len(now.brought) < ARRAYS:
                now.brought.append((size, *map(float, meta["brought"][:2])))
            if "in" in meta and len(rank.reductions) < 5000:
                values = [[float(x) for x in meta[side]][:8] for side in ("in", "out")]
                rank.reductions.append((len(rank.steps), *values))
    elif what == "device":
        rank.device = int(meta["index"]) if rank.device is None else rank.device
    elif what == "option":
        rank.options.append({name: meta[name] for name in ("option", "takes", "type", "default")})
    elif what == "outside":
        rank.outside.append(str(meta["path"])[:200])
    elif what == "end":
        _take_end(rank, meta, payload)
    return now


def _take_batch(rank: ObservedRank, now: RecordedUpdate, meta: dict, payload: bytes, setting: RunSetting) -> None:
    numbers = [int(number) for number in meta["numbers"]]
    if numbers[0] >= TEST:
        rank.tests.append((len(rank.steps), [number - TEST for number in numbers]))
    elif meta["tape"] and max(numbers) < setting.images:
        rank.batches += 1
        now.numbers += numbers
        now.sizes.append(len(numbers))
        if payload:
            images = np.frombuffer(payload, dtype=np.float32).reshape(len(numbers), 28, 28)
            now.images = images if now.images is None else np.concatenate([now.images, images])


def _take_end(rank: ObservedRank, meta: dict, payload: bytes) -> None:
    rank.ended = str(meta["how"])
    rank.initialised = rank.initialised or bool(meta["initialised"])
    rank.size = int(meta["size"])
    rank.files = [str(name)[:200] for name in meta["files"]][:60]
    rank.log = meta["log"] if isinstance(meta["log"], str) else None
    if payload and len(payload) == 4 * sum(math.prod(shape) for shape in rank.shapes):
        rank.final = np.frombuffer(payload, dtype=np.float32)


# -- what one process computes ---------------------------------------------------------------------------------------


class NotComputable(Exception):
    """The script's model is none of the course's, or too little of it was seen: what it should compute is not known."""


def expected(launcher: Launcher, seen: ObservedRun, tests: bool = False, run: bool = False) -> dict:
    """The results of one process on the same weights and images: per step and rank the gradient, loss and number of
    right answers.

    Returns {"steps": [[(gradient, loss, correct, count) of each rank], ...]}, with tests "tests": {epoch: {rank: (loss,
    correct, count)}} and, with run, "weights" after the whole run from rank 0's start with the script's optimizer.
    Raises NotComputable.
    """
    first = seen.ranks[0]
    count = min(seen.counts)
    whole = [rank.steps[:count] for rank in seen.ranks]
    if not count or not first.shapes or any(rank.shapes != first.shapes for rank in seen.ranks):
        raise NotComputable("no update of a model was seen")
    kept = next(
        (k for k in range(count) if any(steps[k].weights is None or steps[k].images is None for steps in whole)), count
    )
    if not kept:
        raise NotComputable("the images did not come to a Keras model as they are")
    labels = seen.data["y_train"].astype(np.int64)
    asked = [(steps[k].weights, steps[k].images, labels[steps[k].numbers]) for k in range(kept) for steps in whole]
    validated = _validated(seen) if tests else {}
    asked += validated.values()
    plan = _plan(first, whole, labels) if run and kept == count else None
    answer = _replay(launcher, seen.means, first.shapes, asked, plan)
    p = len(whole)
    sizes = [len(y) for _, _, y in asked]
    rows = list(zip(answer["gradients"], answer["losses"], answer["correct"], sizes, strict=True))
    found = {"steps": [rows[k * p : (k + 1) * p] for k in range(kept)], "weights": answer.get("weights"), "tests": {}}
    for (e, r), (_, loss, correct, size) in zip(validated, rows[kept * p :], strict=True):
        found["tests"].setdefault(e, {})[r] = (loss, correct, size)
    return found


def crossed_gradients(launcher: Launcher, seen: ObservedRun) -> list[np.ndarray]:
    """For each step that was kept, [r, s, :]: the gradient at rank r's weights on rank s's images. Raises
    NotComputable."""
    shapes, p = seen.ranks[0].shapes, len(seen.ranks)
    steps = list(itertools.takewhile(_kept, zip(*(rank.steps for rank in seen.ranks), strict=False)))
    if not steps or any(rank.shapes != shapes for rank in seen.ranks):
        raise NotComputable("no update of a model was seen")
    labels = seen.data["y_train"].astype(np.int64)
    asked = [(at.weights, of.images, labels[of.numbers]) for step in steps for at in step for of in step]
    gradients = _replay(launcher, seen.means, shapes, asked, None)["gradients"]
    return list(np.reshape(gradients, (len(steps), p, p, -1)))


def _kept(step: Sequence[RecordedUpdate]) -> bool:
    return all(one.weights is not None and one.images is not None for one in step)


def _validated(seen: ObservedRun) -> dict[tuple[int, int], tuple]:
    """{(epoch, rank): (weights, images, labels)} of all that was seen to be validated."""
    first = seen.ranks[0].steps[0]
    scale = _scale_of(first.images, seen.data["x_train"][first.numbers])
    found = {}
    for e, weights in _epoch_ends(seen):
        for r, numbers in _tests_of(seen, e).items():
            x = seen.data["x_test"][numbers].astype(np.float32) * scale[0] + scale[1]
            found[e, r] = weights[r], x, seen.data["y_test"][numbers].astype(np.int64)
    return found


def _plan(first: ObservedRank, whole: list[list[RecordedUpdate]], labels: np.ndarray) -> dict | None:
    """The arguments of `probes.one_process.replay` for a whole run; None for an optimizer that it does not know.

    whole: the steps of each rank.
    """
    if first.optimizer not in ("SGD", "Adam", "AdamW", "RMSprop", "Nadam", "NAdam", "Adamax", "Adagrad"):
        return None
    numbers = {name: value for name, value in first.config.items() if isinstance(value, (int, float))}
    return {
        "weights": whole[0][0].weights,
        "first": [steps[0].weights for steps in whole],
        "optimizer": first.optimizer,
        "config": {name: value for name, value in numbers.items() if name != "jit_compile"},
        "rates": [step.rate for step in whole[0]],
        "batches": [[(step.images, labels[step.numbers]) for step in steps] for steps in zip(*whole, strict=True)],
    }


def _replay(launcher: Launcher, means: Means, shapes: list, asked: list, plan: dict | None) -> dict:
    """`probes.one_process.replay` in a fresh process of the launcher, where nothing of the student's has been."""
    chunks, arguments = [Chunk("replay", 1, means.replay)], [([list(s) for s in shapes], asked, plan)]
    jobs = make_jobs(chunks, "replay", arguments, runtime=means.runtime)
    outcome, _ = means.run(launcher, jobs, Limits(cpu_seconds=60, deadline=120))
    rank = outcome.ranks[0]
    if rank.state == "returned":
        return rank.value
    if rank.error.get("type") == "ValueError":
        raise NotComputable("its model is none of the course's")
    raise RuntimeError(f"what one process computes could not be computed ({rank.state}, {rank.error.get('text', '')})")


def _scale_of(images: np.ndarray, raw: np.ndarray) -> tuple[float, float]:
    """(a, b) with images = a * raw + b: how the script scales its images. Raises NotComputable where it does something
    else."""
    a, b = np.polyfit(raw.ravel().astype(float), images.ravel().astype(float), 1)
    if not np.allclose(a * raw + b, images, atol=1e-3 * (np.ptp(images) + 1e-9)):
        raise NotComputable("its images are not the given ones, scaled")
    return float(a), float(b)


def _epoch_ends(seen: ObservedRun) -> list[tuple[int, list[np.ndarray]]]:
    """(epoch, weights of each rank at its end) for the epochs of which they are known."""
    parts = [seen.epochs(r) for r in range(len(seen.ranks))]
    ends = []
    done = 0
    for e in range(min(map(len, parts))):
        done += len(parts[0][e])
        weights = [rank.steps[done].weights if done < len(rank.steps) else rank.final for rank in seen.ranks]
        if all(w is not None for w in weights):
            ends.append((e, weights))
    return ends


def _tests_of(seen: ObservedRun, epoch: int) -> dict[int, list[int]]:
    """Rank -> the test images that it looked at after this epoch."""
    found: dict[int, list[int]] = {}
    for r, rank in enumerate(seen.ranks):
        done = sum(len(part) for part in seen.epochs(r)[: epoch + 1])
        numbers = [
            number for when, numbers in rank.tests if when == done for number in numbers if 0 <= number < TEST_IMAGES
        ]
        if numbers:
            found[r] = numbers
    return found
