"""A small GPT trained on a mesh of ranks: its settings, the same training in one process, and the log of a run.

settings = Settings(layers=4, width=64, batch=16)
with Log("run_d2_t2_p1.jsonl", Mesh(tensor=2, data=2), settings, program=__file__) as log:    # on every rank
    part = train(mesh, settings, 40, log)                       # a student's; calls log.step(loss, norm)
losses = [loss for loss, norm in sequential(settings, 40).steps]                              # in one process
run = read("run_d2_t2_p1.jsonl")
run.mesh, run.seconds, run.losses, run.axis_bytes, run.peaks, run.problems
"""

from labkit.meshrun.counting import Alive, Traffic, on_the_wire
from labkit.meshrun.log import Log
from labkit.meshrun.plans import TASKS, Task
from labkit.meshrun.reading import MeshRun, MeshRunError, read
from labkit.meshrun.sequential import Sequential, adam, sequential
from labkit.meshrun.settings import Settings

__all__ = [
    "TASKS",
    "Alive",
    "Log",
    "MeshRun",
    "MeshRunError",
    "Sequential",
    "Settings",
    "Task",
    "Traffic",
    "adam",
    "on_the_wire",
    "read",
    "sequential",
]
