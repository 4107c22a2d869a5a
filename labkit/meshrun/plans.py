"""Three trainings to be planned: what is given of each, and a choice of mesh made into a `labkit.scale.Plan`."""

from __future__ import annotations

from dataclasses import dataclass

from labkit.scale.machine import machine
from labkit.scale.mesh import Mesh
from labkit.scale.model import Model
from labkit.scale.plan import Plan
from labkit.scale.trouble import young_daly

# 419 unexpected interruptions of 16,384 GPUs in 54 days: Grattafiori et al., "The Llama 3 Herd of Models" (2024),
# section 3.3.4. Of one GPU, in seconds:
MTBF = 54 * 86400 * 16384 / 419


@dataclass(frozen=True)
class Task:
    """gpus: how many there are, of the machine `node`. batch: sequences of a step. efficiency: the share of the peak
    that a rank is assumed to reach while it computes. save: seconds in which nothing else is done while a checkpoint is
    written, assumed."""

    gpus: int
    model: Model
    batch: int
    node: str = "DGX-H100"
    efficiency: float = 0.6
    save: float = 30.0

    @property
    def domain(self) -> int:
        """GPUs that fast links join: tensor groups of more are slow."""
        return machine(self.node).domain

    @property
    def mtbf(self) -> float:
        """Mean seconds between failures of all GPUs together."""
        return MTBF / self.gpus

    def plan(
        self,
        data: int,
        tensor: int,
        pipeline: int,
        context: int = 1,
        micro_batch: int = 1,
        chunks: int = 1,
        zero: int = 1,
        recompute: str = "none",
    ) -> Plan:
        """The plan of a choice: `.fits`, `.memory(stage)`, `.estimate().seconds`. Raises ValueError where something
        does not come out even."""
        mesh = Mesh(tensor=tensor, context=context, pipeline=pipeline, data=data)
        if mesh.size != self.gpus:
            raise ValueError(f"a mesh of {mesh.size:,} ranks for {self.gpus:,} GPUs")
        found = Plan(self.model, mesh, machine(self.node), self.batch, micro_batch, chunks, zero, recompute,
                     efficiency=self.efficiency)  # fmt: skip
        if not 0 <= zero <= 3:
            raise ValueError(f"zero {zero}: 0, 1, 2 or 3")
        return found

    def lost(self, interval: float) -> float:
        """The share of the time that is lost where a checkpoint is written every `interval` seconds, to first order:
        saving, and half an interval for each failure (unit 19)."""
        return self.save / interval + interval / (2 * self.mtbf)

    @property
    def least_lost(self) -> float:
        """At the interval of Young and Daly."""
        return self.lost(young_daly(self.save, self.mtbf))


TASKS = {
    # GPT-3's size (Brown et al. 2020, table 2.1) on as many GPUs as in Narayanan et al. (2021), section 5.1
    1024: Task(1024, Model(layers=96, width=12288, heads=96, vocabulary=51200, sequence=2048), batch=1536),
    # Llama 3's 405B: Grattafiori et al. (2024), table 3
    16384: Task(
        16384,
        Model(layers=126, width=16384, heads=128, vocabulary=128256, sequence=8192, kv_heads=8, ffn=53248,
              gated=True, tied=False, biases=False),
        batch=2048,
    ),
    # the first model once more, with sequences 16 times as long, on eight machines of 72 GPUs each
    576: Task(
        576,
        Model(layers=96, width=12288, heads=96, vocabulary=51200, sequence=32768),
        batch=144,
        node="GB200-NVL72",
    ),
}  # fmt: skip
