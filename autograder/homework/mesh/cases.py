"""The meshes on which a script is run, drawn from the key, and what each of them is for."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace

import numpy as np

from labkit.meshrun import Settings
from labkit.scale import Mesh

STEPS = 4
FREE = 1e6  # a limit that no gradient reaches
LIMITS = (0.8, 0.85, 0.9, 0.95, 1.0, 1.05, 1.1)  # that some gradients reach and others do not
MIXED = ((3, 2, 1), (1, 2, 4), (2, 1, 4), (2, 4, 1), (3, 1, 2), (1, 4, 2))  # data, tensor, pipeline
RESUMED = (((2, 2, 1), (1, 1, 2)), ((1, 2, 2), (3, 1, 1)), ((3, 1, 2), (2, 2, 1)), ((1, 4, 1), (3, 1, 2)))


def mesh_of(data: int, tensor: int, pipeline: int, context: int = 1) -> Mesh:
    return Mesh(tensor=tensor, context=context, pipeline=pipeline, data=data)


@dataclass(frozen=True)
class Trial:
    """One call of `train` on all ranks of a mesh. line: of the rubric, that it is for first of all. after: the name of
    the trial whose checkpoint it goes on from. counted: whether bytes alive are counted. also: another line
    that it is for. altered: whether what travels is altered on its way. scaled: whether weights of the checkpoint
    are. stretched: whether all that context ranks hand each other is changed."""

    name: str
    line: str
    mesh: Mesh
    settings: Settings
    steps: int = STEPS
    after: str = ""
    counted: bool = False
    also: str = ""
    altered: bool = False
    scaled: bool = False
    stretched: bool = False

    @property
    def arguments(self) -> tuple[dict, dict, int]:
        """mesh, settings and steps as plain values."""
        mesh = {axis: getattr(self.mesh, axis) for axis in self.mesh.order}
        return mesh, asdict(self.settings), self.steps


def trials(key: str) -> list[Trial]:
    """All of them, in the order in which they are run."""
    random = np.random.default_rng(int.from_bytes(hashlib.sha256(f"train_a_mesh {key}".encode()).digest()[:8], "big"))
    shape = {"layers": 4, "heads": 4, "width": int(random.choice([16, 20])), "context": int(random.choice([12, 16]))}
    free = Settings(**shape, batch=12, micro_batches=2, clip=FREE, seed=int(random.integers(1 << 16)))
    tight = Settings(**shape, batch=12, micro_batches=2, rate=2e-3, clip=0.4, seed=free.seed + 1)
    some = random.permutation(len(MIXED))[:2]
    first, second = RESUMED[random.integers(len(RESUMED))]
    found = [
        Trial("one", "one_rank", mesh_of(1, 1, 1), free, counted=True),
        Trial("data", "data", mesh_of(3, 1, 1), free, counted=True),
        Trial("tensor", "tensor", mesh_of(1, int(random.choice([2, 4])), 1), free),
        Trial("pipeline", "pipeline", mesh_of(1, 1, int(random.choice([2, 4]))), free),
        Trial("all axes", "mixed", mesh_of(2, 2, 2), free, counted=True),
        *(Trial(f"mixed {k}", "mixed", mesh_of(*MIXED[n]), free) for k, n in enumerate(some)),
        Trial("clipped on one", "norm", mesh_of(1, 1, 1), tight),
        Trial("clipped", "norm", mesh_of(2, 2, 1) if random.integers(2) else mesh_of(1, 2, 2), tight),
        Trial("saved", "checkpoint", mesh_of(*first), free, steps=2),
        Trial("resumed", "checkpoint", mesh_of(*second), free, steps=2, after="saved"),
    ]
    wide = {**shape, "context": 32, "clip": FREE, "seed": free.seed}
    for name, m in (("few", 2), ("many", 6)):
        found.append(Trial(name, "memory", mesh_of(1, 1, 2), Settings(**wide, batch=2 * m, micro_batches=m), 2,
                           counted=True, also="pipeline"))  # fmt: skip
    found.append(Trial("context", "context", mesh_of(1, 1, 1, 2), free))
    found.append(Trial("context and data", "context", mesh_of(2, 1, 1, 2), free))
    found.append(Trial("scaled", "checkpoint", mesh_of(*second), free, steps=2, after="saved", scaled=True))
    for line, mesh in (("data", (3, 1, 1)), ("tensor", (1, 2, 1)), ("pipeline", (1, 1, 2)), ("mixed", (2, 2, 2)),
                       ("context", (2, 1, 1, 2))):  # fmt: skip
        found.append(Trial(f"{line}, altered", line, mesh_of(*mesh), free, steps=3, altered=True))
    found.append(Trial("context, stretched", "context", mesh_of(1, 1, 1, 2), free, steps=1, stretched=True))
    return found


def with_limits(asked: list[Trial]) -> dict[Settings, Settings]:
    """The settings of the trials of clipping with every limit -> those settings."""
    tight = [trial.settings for trial in asked if trial.line == "norm"]
    return {replace(one, clip=limit): one for one in tight for limit in LIMITS}


def limited(asked: list[Trial], given: Mapping[Settings, np.ndarray]) -> list[Trial]:
    """Trials of clipping get a limit that some of the first gradients reach and others do not: Adam does not notice a
    factor that all gradients have. given: settings -> (steps, 2) of loss and norm, with every limit."""
    better = {}
    for settings, plain in with_limits(asked).items():
        clipped = given[settings][:3, 1] > settings.clip
        if clipped.any() and not clipped.all():
            better.setdefault(plain, settings)
    return [replace(trial, settings=better.get(trial.settings, trial.settings)) for trial in asked]
