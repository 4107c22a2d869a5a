"""More ranks than anybody has: a training step estimated by formulas, replayed as a graph, run as real code on the
relay; models, meshes and machines as numbers.

    model = Model(layers=80, width=8192, heads=64, vocabulary=32000, sequence=4096)
    plan = Plan(model, Mesh(tensor=8, pipeline=4, data=16), machine("DGX-H100"), batch=1024)
    plan.memory(stage=0), plan.fits                      bytes of a rank: parameters, gradients, optimizer, activations
    plan.estimate()                                      seconds of a step by part, bytes by axis and class of link
    ran = replay_step(plan.step(), plan.machine.topology, order_1f1b, Trouble(seed=1, jitter=0.02))
    ran.seconds, ran.idle, plan.utilisation(ran.seconds)
    explore.draw(plan), explore.sliders()                all of it as a figure (`from labkit.scale import explore`)
    replace(plan, overlap=Overlap(gradients=1 << 27))   hidden behind computing: gradients, in buckets of 128 MiB
    Mesh(pipeline=16, data=128, experts=64)              of a mixture: its routed experts on 64 neighbouring replicas
    planner.search(model, machine, planner.Wish(...))    the best meshes of all (`labkit plan`, docs/plan.md)

In place of `order_1f1b` goes any function of unit 17's form: (stage, p, m), or with chunks (stage, p, m, v). A `Step`
can be written by hand as well; of at most some hundred ranks `run_step` runs it as real code. Where the three part: a
message that meets another one, or a collective that is not hidden, on a card waits for it on the relay alone; tensor
groups that share a card, as they span nodes, take turns without a gap by formula and replay (`labkit.scale.wires`);
and where hidden communication takes longer than what hides it, on cards that other messages need as well, the two know
little of who is first.
"""

from labkit.interconnect.topology import flat, nodes
from labkit.scale.formula import Estimate, bubble, estimate, traffic
from labkit.scale.machine import Machine, hardware, machine, published
from labkit.scale.memory import Memory, alive, layer_activations, states
from labkit.scale.mesh import Mesh, every_mesh
from labkit.scale.model import Model, training_days, utilisation
from labkit.scale.overlap import Overlap
from labkit.scale.plan import Formats, Plan
from labkit.scale.real import run_step
from labkit.scale.replay import StepReplay, replay_step
from labkit.scale.step import Step, order_1f1b, order_eager_1f1b, order_interleaved
from labkit.scale.trouble import Run, Trouble, run_with_failures, young_daly

__all__ = [
    "Estimate",
    "Formats",
    "Machine",
    "Memory",
    "Mesh",
    "Model",
    "Overlap",
    "Plan",
    "Run",
    "Step",
    "StepReplay",
    "Trouble",
    "alive",
    "bubble",
    "estimate",
    "every_mesh",
    "flat",
    "hardware",
    "layer_activations",
    "machine",
    "nodes",
    "order_1f1b",
    "order_eager_1f1b",
    "order_interleaved",
    "published",
    "replay_step",
    "run_step",
    "run_with_failures",
    "states",
    "traffic",
    "training_days",
    "utilisation",
    "young_daly",
]
