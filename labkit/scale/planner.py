"""The best meshes for a model on a number of GPUs: every one that fits, by the estimated seconds of a step.

    found = search(named_model("Llama 3 405B").model, machine("DGX-H100"), Wish(gpus=16384, batch=2048))
    found.choices[0].plan, found.choices[0].seconds, found.choices[0].days(15.6e12)
    explanation(found)                                   why the runner-up loses, in two sentences

Pure functions; the command `labkit plan` prints what they return (`labkit.scale.planner_text`).
"""

from __future__ import annotations

import difflib
import math
import tomllib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cache, cached_property
from pathlib import Path

from labkit.scale.formula import Estimate
from labkit.scale.machine import Machine, hardware, machine
from labkit.scale.memory import Memory
from labkit.scale.mesh import AXES, Mesh, every_mesh
from labkit.scale.model import RECOMPUTE, Model
from labkit.scale.overlap import Overlap
from labkit.scale.plan import Formats, Plan
from labkit.scale.step import Step
from labkit.scale.wires import Wires

HERE = Path(__file__).parent
PARTS = ("computing", "tensor", "context", "experts", "pipeline", "data", "waiting")
OF_MIXTURES = ("tensor", "context", "data", "pipeline")  # the order of axes: experts lie on neighbours, stages apart
MICRO_BATCHES = (1, 2, 4, 8)
CHUNKS = (1, 2, 3, 4, 6, 8)
MOST_GPUS = 1 << 20
EFFICIENCY = 0.5  # with it, and eight chunks, the rows of Llama 3's table 4 come out within a tenth
TOKENS_PER_PARAMETER = 20  # Hoffmann et al. 2022, arXiv 2203.15556, table 3
TOKENS_PER_STEP = 1 << 22  # where no batch is published: Llama 3's first, arXiv 2407.21783, section 3.4.1
RESERVE = 5.4e9  # bytes for buffers and libraries: about 5 GiB with Megatron-DeepSpeed, EleutherAI/cookbook, calc/
PUE = 1.1  # assumed: about what large clouds say of their data centres


# -- names -------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Named:
    """A model of `models.toml`. batch: sequences of a step, as published; 0 where nothing is."""

    name: str
    model: Model
    batch: int
    source: str


@cache
def named_models() -> dict[str, Named]:
    """The models that are known by name, each with its source."""
    found = {}
    for name, entry in tomllib.loads((HERE / "models.toml").read_text(encoding="utf-8")).items():
        shape = {part: value for part, value in entry.items() if part not in ("batch", "source")}
        found[name] = Named(name, Model(**shape), entry.get("batch", 0), entry["source"])
    return found


def named_model(name: str) -> Named:
    """The model of that name, however it is spelled: "llama3-405b". Raises ValueError that names the nearest ones."""
    known = named_models()
    return known[_nearest(name, list(known), "model")]


def named_machine(name: str) -> Machine:
    """The machine of that name: "dgx h100". Raises ValueError that names the nearest ones."""
    return machine(_nearest(name, list(hardware()["node"]), "machine"))


def _plain(name: str) -> str:
    return "".join(c for c in name.lower() if c.isalnum())


def _nearest(name: str, known: list[str], kind: str) -> str:
    """The one of the known names that this is, but for case, blanks and hyphens."""
    plain = {_plain(one): one for one in known}
    if _plain(name) in plain:
        return plain[_plain(name)]
    near = [plain[one] for one in difflib.get_close_matches(_plain(name), plain, n=3, cutoff=0.4)]
    there = f"did you mean {' or '.join(near)}?" if near else f"there are {', '.join(known)}"
    raise ValueError(f"no {kind} is called {name!r}; {there}")


# -- the search --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Wish:
    """The question of a search. batch: sequences of a step. sequence: tokens of one, the model's where nothing is said.
    context: the most ranks that share a sequence. efficiency: the share of the peak that a rank reaches while it
    computes. mesh: this one alone; of a mixture, with experts on any number of its replicas, unless it says on how
    many. top: so many meshes are wanted. flash, gradient_bytes, overlap, formats, capacity: as in `Plan`. reserve:
    bytes of each accelerator that no plan may take."""

    gpus: int
    batch: int
    sequence: int = 0
    context: int = 1
    efficiency: float = EFFICIENCY
    mesh: Mesh | None = None
    top: int = 5
    flash: bool = True
    gradient_bytes: int = 4
    reserve: float = RESERVE
    overlap: Overlap = Overlap()
    formats: Formats = Formats()
    capacity: float = 1.0


@dataclass(frozen=True)
class Choice:
    """A mesh with the best of its micro-batches, chunks, ways to recompute and stages of ZeRO."""

    plan: Plan
    estimate: Estimate

    @property
    def seconds(self) -> float:
        """The seconds of one step."""
        return self.estimate.seconds

    @cached_property
    def memory(self) -> Memory:
        """The bytes of the fullest rank."""
        return self.plan.memory(self.plan.fullest)

    @property
    def utilisation(self) -> float:
        """MFU: the share of the peak, counting what the model needs once."""
        return self.plan.utilisation(self.seconds)

    def days(self, tokens: float) -> float:
        """The days that so many tokens take, if nothing fails and nothing is saved."""
        return tokens / self.plan.tokens * self.seconds / 86400

    def kilowatt_hours(self, tokens: float, watts: float, pue: float = PUE) -> float:
        """The energy of the accelerators at their thermal design power, times what the building adds. Processors,
        memory and switches of the nodes are not in it."""
        return energy(self.plan.mesh.size, watts, self.days(tokens), pue)


@dataclass(frozen=True)
class Found:
    """The result of a search. choices: the best meshes, the fastest first. tried: plans that come out even. fitting:
    those of them that fit in memory and are the best of their mesh and micro-batches. refused: the reason of each mesh
    that cannot be. smallest: where nothing fits, the plan that needs least."""

    choices: tuple[Choice, ...]
    tried: int
    fitting: int
    refused: dict[Mesh, str]
    smallest: Plan | None = None


def energy(gpus: int, watts: float, days: float, pue: float = PUE) -> float:
    """kWh: GPUs x watts x PUE x time."""
    return gpus * watts * pue * days * 24 / 1000


def power(on: Machine) -> float | None:
    """The watts of one of its accelerators by design (TDP); None where no source was found."""
    return hardware()["accelerator"][hardware()["node"][on.name]["accelerator"]].get("power")


def default_tokens(model: Model) -> float:
    """The tokens of a compute-optimal training, about 20 for each parameter (Hoffmann et al. 2022, table 3)."""
    return float(TOKENS_PER_PARAMETER * model.parameters)


def default_batch(named: Named, sequence: int = 0) -> int:
    """Sequences of a step: as many tokens as published, or 4 M; of another length than the model's a multiple of 64,
    where there are so many."""
    length = sequence or named.model.sequence
    tokens = named.batch * named.model.sequence or TOKENS_PER_STEP
    found = max(1, tokens // length)
    return found - found % 64 if length != named.model.sequence and found > 64 else found


def search(model: Model, on: Machine, wish: Wish) -> Found:
    """The best meshes of all that fit: tensor groups within a node, and every number of stages, micro-batches, chunks,
    every way to recompute and stage of ZeRO. Raises ValueError where no mesh can be, with the reason.

    Each plan has a lower bound; in its order they are estimated, until no bound is below what is found.
    """
    on = replace(on, memory=on.memory - wish.reserve)
    tried, refused, fitting, smallest = 0, {}, [], None
    for mesh in _with_experts(model, _meshes(on, wish)):
        try:
            plans = list(_every_plan(model, mesh, on, wish))
        except ValueError as error:
            refused[mesh] = str(error)
            continue
        tried += len(plans)
        fitting += _undominated(plans)
        if not fitting:
            smallest = min([*plans, *filter(None, [smallest])], key=lambda plan: plan.memory(plan.fullest).total)
    if not tried:
        raise ValueError(_why_none(wish, refused))
    best = _best_of_each_mesh(fitting, wish.top)
    return Found(best, tried, len(fitting), refused, None if fitting else smallest)


def _meshes(on: Machine, wish: Wish) -> Iterable[Mesh]:
    if wish.gpus > MOST_GPUS:
        raise ValueError(f"{wish.gpus:,} GPUs: at most {MOST_GPUS:,}")
    if min(wish.gpus, wish.batch, wish.top) < 1:
        raise ValueError(f"{wish.gpus} GPUs, a batch of {wish.batch}, the best {wish.top}: each is at least 1")
    if wish.mesh is None:
        return every_mesh(wish.gpus, min(on.topology.ranks_per_node, wish.gpus), wish.context)
    if wish.mesh.size != wish.gpus:
        raise ValueError(f"a mesh of {wish.mesh.size:,} ranks for {wish.gpus:,} GPUs")
    return [wish.mesh]


def _with_experts(model: Model, meshes: Iterable[Mesh]) -> Iterator[Mesh]:
    """The same for a dense model; for a mixture each with every number of ranks that its experts can be dealt out to,
    neighbours, which share a node as long as there are few."""
    for mesh in meshes:
        if not model.experts:
            yield mesh
            continue
        most = math.gcd(mesh.replicas, model.experts)
        order = OF_MIXTURES if mesh.order == AXES else mesh.order
        several = [n for n in range(1, most + 1) if most % n == 0] if mesh.experts == 1 else [mesh.experts]
        for experts in several:
            yield replace(mesh, order=order, experts=experts)


def _every_plan(model: Model, mesh: Mesh, on: Machine, wish: Wish) -> Iterator[Plan]:
    """The plans of a mesh that come out even. Raises the reason of the simplest one where there are none."""
    common = {"sequence": wish.sequence, "efficiency": wish.efficiency, "flash": wish.flash, "ends": True,
              "gradient_bytes": wish.gradient_bytes, "overlap": wish.overlap, "formats": wish.formats,
              "capacity": wish.capacity}  # fmt: skip
    hides_experts = model.experts and wish.overlap != Overlap()  # which is known of ZeRO-1 alone
    stages = (1,) if mesh.replicas == 1 or hides_experts else (1, 2, 3)
    for micro_batch in MICRO_BATCHES:
        for chunks in CHUNKS if mesh.pipeline > 1 else (1,):
            try:
                plan = Plan(model, mesh, on, wish.batch, micro_batch, chunks, **common)
            except ValueError:
                if micro_batch == chunks == 1:
                    raise
                continue
            for zero in stages:
                yield from (replace(plan, zero=zero, recompute=way) for way in RECOMPUTE)


def _undominated(plans: list[Plan]) -> list[Plan]:
    """The plans that fit and can be the fastest: a higher stage of ZeRO sends more, and computing again takes longer,
    so of two plans that differ in nothing else the one that does both less is as fast or faster."""
    kept: list[Plan] = []
    least: dict[tuple[int, int], int] = {}  # of a stage of ZeRO before, for each number of micro-batches and chunks
    for plan in sorted(plans, key=lambda plan: (plan.zero, RECOMPUTE.index(plan.recompute))):
        key, way = (plan.micro_batch, plan.chunks), RECOMPUTE.index(plan.recompute)
        if way < least.get(key, len(RECOMPUTE)) and plan.fits:
            least[key] = way
            kept.append(plan)
    return kept


def lower_bound(plan: Plan) -> float:
    """Seconds of a step with computing, waiting in the pipeline, and what the bytes within layers take at the least:
    no message has a latency or meets another, and of other messages there are none."""
    step = plan.step()
    p, m, v = step.mesh.pipeline, step.micro_batches, step.chunks
    busy = [m * sum(step.layers_of[stage::p]) * (step.forward + step.backward) for stage in range(p)]
    busy[-1] += 3 * m * step.head
    talking = m * max(sum(step.layers_of[stage::p]) for stage in range(p)) * _bytes_of_a_layer(step, plan.machine)
    return max(busy) + (p - 1) * sum(busy) / (p * m * v) + talking


def _bytes_of_a_layer(step: Step, on: Machine) -> float:
    """The seconds that a layer's bytes take at the least, forward and backward: its four all-reduces and four
    all-to-alls, at the full rate of the links."""
    mesh, found, inside = step.mesh, 0.0, on.topology.inside or on.topology.between
    if mesh.tensor > 1 and step.overlap.tensor == 1 and not inside.reduces:
        found += 2 * (mesh.tensor - 1) / mesh.tensor * step.tensor_bytes * inside.beta
    if mesh.experts > 1:
        near = on.domain // mesh.tensor if mesh.order == OF_MIXTURES else on.domain  # the most of a group on a node
        near = min(mesh.experts, max(1, near))
        far = (mesh.experts - near) * on.topology.between.beta
        found += max(far, (near - 1) * inside.beta) * step.expert_bytes / mesh.experts
    return 4 * found


def _best_of_each_mesh(plans: list[Plan], top: int) -> tuple[Choice, ...]:
    """The best plans of so many meshes, the fastest first; of a mixture's with the best number of ranks for experts."""
    bounds = sorted(((lower_bound(plan), place) for place, plan in enumerate(plans)))
    best: dict[Mesh, Choice] = {}
    wires: dict[Mesh, Wires] = {}
    limit = math.inf
    for bound, place in bounds:
        if bound >= limit:
            break
        plan, mesh = plans[place], replace(plans[place].mesh, experts=1)
        if plan.mesh not in wires:
            wires[plan.mesh] = Wires(plan.mesh, plan.machine.topology)
        choice = Choice(plan, plan.estimate(wires[plan.mesh]))
        if mesh not in best or choice.seconds < best[mesh].seconds:
            best[mesh] = choice
            ranked = sorted(one.seconds for one in best.values())
            limit = ranked[top - 1] if len(ranked) >= top else math.inf
    return tuple(sorted(best.values(), key=lambda choice: choice.seconds)[:top])


def _why_none(wish: Wish, refused: dict[Mesh, str]) -> str:
    reason = next(iter(refused.values()))
    if wish.mesh is not None or len(refused) > 1 == len(set(refused.values())):
        return reason
    return f"none of {len(refused)} meshes of {wish.gpus:,} GPUs comes out even; of the first: {reason}"


# -- why ---------------------------------------------------------------------------------------------------------------

WORDS = {
    "computing": "computing",
    "tensor": "tensor communication",
    "context": "context communication",
    "experts": "sending tokens to experts",
    "pipeline": "sending between stages",
    "data": "the replicas' communication",
    "waiting": "waiting in the pipeline",
}


def axes(mesh: Mesh) -> str:
    """A mesh in words: "tensor 8, pipeline 16, data 128"."""
    return ", ".join(
        f"{axis} {getattr(mesh, axis)}"
        for axis in ("tensor", "context", "pipeline", "data", "experts")
        if axis not in ("context", "experts") or getattr(mesh, axis) > 1
    )


def explanation(found: Found) -> str:
    """Two sentences: how much longer the second mesh takes, and which part of its step is longer. One where there is no
    second."""
    if len(found.choices) < 2:
        return "There is no second mesh that fits."
    best, second = found.choices[:2]
    more = second.seconds - best.seconds
    differences = {part: getattr(second.estimate, part) - getattr(best.estimate, part) for part in PARTS}
    longer = max(PARTS, key=differences.__getitem__)
    shorter = min(PARTS, key=differences.__getitem__)
    said = (
        f"The runner-up, {axes(second.plan.mesh)}, takes {more:.3g} s ({more / best.seconds:.1%}) longer. "
        f"Its {WORDS[longer].removeprefix('the ')} takes {differences[longer]:.3g} s more"
    )
    if differences[shorter] < 0:
        return f"{said}, and its {WORDS[shorter].removeprefix('the ')} {-differences[shorter]:.3g} s less."
    return f"{said}."
