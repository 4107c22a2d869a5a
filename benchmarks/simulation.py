"""`make bench-simulation`: the three ways to know what a training step takes, held against each other, and how long the
replay of very many ranks takes.

Each line of the table is a mesh of up to 64 ranks on nodes of 4 or 8, or on a flat network: step time, the share of it
in which a rank does not compute, and bytes over links of each class, as real code on the relay has them; then how far
replay and formula are from that. More than 1 % anywhere ends it with exit status 1. Two lines below the table show
where the three part: replay and formula know less of what meets on a card.
"""

from __future__ import annotations

import json
import platform
import re
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

from labkit.scale import (
    Mesh,
    Model,
    Overlap,
    Plan,
    Step,
    Trouble,
    estimate,
    flat,
    machine,
    nodes,
    order_1f1b,
    order_interleaved,
    published,
    replay_step,
    run_step,
)
from labkit.scale.planner import OF_MIXTURES

BOUND = 0.01
SIDES = ("replay", "formula")
# tensor, context, pipeline, data; micro-batches, chunks; ZeRO stage; ranks on a node (1: flat); its cards (1)
GRID = [
    *[(1, 1, p, 1, m, 1, 0, 1) for p in (2, 4, 8, 16) for m in (p, 2 * p + 1)],
    *[(1, 1, p, 1, m, v, 0, 1) for p, m, v in ((2, 4, 2), (4, 8, 2), (4, 8, 4), (8, 16, 2))],
    *[(1, 1, 1, d, 2, 1, zero, per) for d, per in ((4, 1), (16, 8)) for zero in range(4)],
    *[(t, 1, 1, 1, 4, 1, 0, 8) for t in (2, 8)],
    *[(1, c, 1, 1, 4, 1, 0, per) for c, per in ((4, 4), (8, 1), (16, 8))],
    *[(t, 1, p, 1, 8, 1, 0, 4) for t in (2, 4) for p in (2, 4)],
    *[(t, 1, p, d, 8, 1, zero, 8) for t, p, d in ((2, 4, 2), (4, 2, 4), (8, 4, 2), (8, 2, 4)) for zero in (0, 1)],
    *[(8, 1, 4, 2, 8, v, 1, 8) for v in (2, 4)],
    *[(2, 2, 4, 2, 8, 1, zero, 4) for zero in (1, 2, 3)],
    *[(4, 2, 2, 4, 4, 2, zero, 8) for zero in (0, 2)],
    *[(2, 4, 4, 2, 4, 1, 1, 8), (1, 8, 4, 2, 4, 2, 1, 8), (4, 1, 8, 2, 16, 1, 1, 4), (1, 1, 64, 1, 64, 1, 0, 1)],
]
OWN = [  # a card for each rank, or for each two
    *[(t, 1, 1, 1, 4, 1, 0, per, per) for t, per in ((4, 2), (8, 2), (8, 4), (16, 8))],  # tensor groups across nodes
    *[(t, 1, 2, 2, 4, 1, 1, per, per) for t, per in ((4, 2), (8, 4), (16, 8))],
    *[(1, 1, 1, d, 2, 1, zero, per, per) for d, per in ((8, 2), (16, 4), (32, 8)) for zero in (0, 3)],
    *[(t, 1, 1, 16 // t, 4, 1, 0, 4, 4) for t in (2, 4)],
    *[(1, 1, p, 1, 2 * p + 1, 1, 0, per, per) for p, per in ((8, 2), (16, 8))],
    *[(2, 1, p, 2, 8, 1, 0, per, per) for p, per in ((2, 2), (4, 4), (4, 8))],
    *[(1, c, 1, 1, 4, 1, 0, per, per) for c, per in ((8, 2), (16, 8))],
    *[(t, 1, p, d, 8, 1, zero, 8, 8) for t, p, d in ((8, 4, 2), (4, 2, 4)) for zero in (0, 1)],
    *[(8, 1, 4, 2, 8, v, 1, 8, 8) for v in (2, 4)],
    *[(2, 2, 4, 2, 8, 1, zero, 4, 4) for zero in (2, 3)],
    *[(4, 1, 2, 4, 4, 1, 1, 8, 4), (2, 1, 2, 4, 4, 2, 1, 4, 2)],
    *[(t, 1, p, d, 4, 1, 1, 72, 72) for t, p, d in ((36, 2, 2), (72, 2, 1), (8, 9, 2), (144, 1, 1))],  # a rack as node
]
# the same, bytes of a chunk's gradients and weights as powers of two, and what is hidden; buckets in halves of a layer
HIDDEN = [
    *[((1, 1, 1, 4, 2, 1, zero, 1), 18, 16, Overlap(gradients=2, gathers=1)) for zero in range(4)],
    # more than hides it
    *[((1, 1, 1, 4, 2, 1, zero, 1), 20, 19, Overlap(gradients=2, gathers=1)) for zero in range(4)],
    ((1, 1, 1, 8, 3, 1, 0, 8), 18, 16, Overlap(gradients=4)),
    ((1, 1, 1, 8, 3, 1, 1, 8), 18, 16, Overlap(gathers=2)),
    *[((4, 1, 1, 1, 4, 1, 0, 4), 10, 10, Overlap(tensor=parts)) for parts in (2, 4)],
    ((8, 1, 1, 2, 2, 1, 1, 4, 4), 16, 16, Overlap(gradients=2, tensor=2)),
    *[((1, 1, p, 1, 2 * p + 1, 1, 0, 1), 10, 10, Overlap(messages=True)) for p in (2, 4, 8)],
    *[((4, 1, 2, 4, 4, 1, zero, 4, 4), 18, 17, Overlap(gradients=2, gathers=1)) for zero in range(4)],
    *[((2, 1, 2, 4, 4, 1, zero, 2, 2), 20, 19, Overlap(gradients=1, gathers=1)) for zero in (0, 1, 2, 3)],
    *[((2, 2, 2, 4, 4, 1, zero, 4, 4), 18, 17, Overlap(gradients=2, gathers=1)) for zero in (0, 3)],
    *[((8, 1, 2, 2, 4, 2, zero, 8, 8), 17, 16, Overlap(gradients=2, gathers=1, tensor=2)) for zero in (0, 1, 3)],
    *[((2, 1, 4, 4, 8, 1, zero, 8, 1), 18, 17, Overlap(gradients=2, gathers=2, messages=True)) for zero in (1, 2, 3)],
    *[((t, 1, p, d, 4, 1, zero, 72, 72), 16, 16, Overlap(gradients=2, gathers=1))
      for t, p, d, zero in ((36, 2, 2, 1), (8, 1, 9, 3))],
]  # fmt: skip


# a mixture of experts: the same, and the replicas that its experts are dealt out to
EXPERTS = [
    *[((1, 1, 1, 4, 4, 1, 0, 1), n) for n in (2, 4)],
    *[((1, 1, 1, 8, 3, 1, 1, 4, 4), n) for n in (2, 4, 8)],
    *[((2, 1, 1, 8, 3, 1, 1, 8, 8), 4), ((2, 1, 2, 8, 4, 1, 1, 8, 8), 4), ((1, 2, 2, 4, 4, 1, 1, 4, 4), 8)],
    *[((1, 1, 4, 4, 8, v, 1, 4, 4), 4) for v in (1, 2)],
    *[((1, 1, 4, 4, 8, 1, zero, 4, 4), 2) for zero in (0, 2, 3)],
    *[((1, 1, 2, 8, 4, 1, 1, 4, cards), 8) for cards in (1, 2)],
    *[((1, 1, 1, 72, 2, 1, 1, 72, 72), 72), ((1, 1, 2, 36, 2, 1, 1, 72, 72), 36)],  # a rack as node
]  # fmt: skip


def expert_step_of(row, experts) -> tuple[Step, object, object]:
    """A step with two all-to-alls in each layer and pass, its network and its order."""
    step, network, order = step_of(*row)
    mesh = replace(step.mesh, order=OF_MIXTURES, experts=experts)
    sizes = {"gradient_bytes": mesh.replicas << 12, "weight_bytes": mesh.replicas << 9}
    sizes |= {"expert_gradient_bytes": mesh.copies << 12, "expert_weight_bytes": mesh.copies << 11}
    return replace(step, mesh=mesh, expert_bytes=experts << 14, **sizes), network, order


def hidden_step_of(row, gradients, weights, overlap) -> tuple[Step, object, object]:
    """A step of four layers in a chunk, or two, that hides this."""
    step, network, _ = step_of(*row)
    more = {"layers": 4 if step.chunks == 1 else 2, "gradient_bytes": step.mesh.replicas << (gradients - 2)}
    if overlap.gradients:
        overlap = replace(overlap, gradients=overlap.gradients * more["gradient_bytes"] // more["layers"] // 2)
    step = replace(step, **more, weight_bytes=step.mesh.replicas << (weights - 2), overlap=overlap)
    return step, network, step.usual_order


def step_of(tensor, context, pipeline, data, m, v, zero, per_node, cards=1) -> tuple[Step, object, object]:
    """A step in which talking matters, its network and the order of its pipeline."""
    step = Step(
        Mesh(tensor, context, pipeline, data),
        m,
        v,
        layers=2 if v == 1 else 1,
        forward=400e-6,
        backward=800e-6,
        tensor_bytes=1 << 15,
        context_bytes=1 << 12,
        hop_bytes=1 << 10,
        weight_bytes=1 << 12,
        gradient_bytes=1 << 15,
        zero=zero,
    )
    network = flat(2e-6, 4e-9) if per_node == 1 else nodes(per_node, (1e-6, 5e-10), (2e-6, 1e-9), cards)
    return step, network, order_1f1b if v == 1 else order_interleaved


def beyond() -> dict[str, tuple]:
    """Steps on which the three need not agree, and why."""
    step, network, order = step_of(4, 1, 1, 4, 4, 1, 0, 4)
    across = replace(step, mesh=Mesh(4, 1, 1, 4, ("data", "context", "pipeline", "tensor")))
    long, *more = step_of(8, 1, 4, 1, 8, 2, 0, 8)
    return {
        "tensor groups across nodes, four on a card": (across, network, order),
        "messages longer than a forward pass": (replace(long, hop_bytes=1 << 16), *more),
    }


def compared(step: Step, network, order) -> dict:
    """Relay, replay and formula of one step: seconds, idle share, bytes by class of link, and the largest difference of
    the latter two from the relay's, relative to them."""
    real = run_step(step, network, order)
    busy = sum(rank.busy for rank in real.ranks) / len(real.ranks)
    idle = 1 - busy / real.elapsed
    sides = {"replay": replay_step(step, network, order), "formula": estimate(step, network)}
    found = {"seconds": real.elapsed, "idle": idle, "bytes": dict(real.link_bytes)}
    for name, side in sides.items():
        sent: dict[str, float] = {}
        for classes in side.bytes.values():
            for kind, nbytes in classes.items():
                sent[kind] = sent.get(kind, 0.0) + nbytes
        off = [abs(sent.get(kind, 0.0) / n - 1) for kind, n in real.link_bytes.items() if n]
        missing = [kind for kind in sent if sent[kind] and not real.link_bytes.get(kind)]
        found[name] = {
            "seconds": side.seconds / real.elapsed - 1,
            "idle": side.idle / idle - 1,
            "bytes": 1.0 if missing else max(off, default=0.0),
        }
    return found


def largest(found: dict) -> float:
    """The largest difference of one line."""
    return max(abs(value) for name in SIDES for value in found[name].values())


def llama(data: int = 128) -> Plan:
    """Llama 3 405B on 8 x 16 x `data` ranks, 2,048 sequences a step; the 8 chunks are assumed."""
    known = published()["llama"]
    model = Model(
        known["layers"],
        known["width"],
        known["heads"],
        known["vocabulary"],
        8192,
        kv_heads=known["kv_heads"],
        ffn=known["ffn"],
        gated=True,
        tied=False,
        biases=False,
    )
    return Plan(model, Mesh(8, 1, 16, data), machine("Grand-Teton"), 2048, chunks=8, recompute="selective")


def peak_mb() -> int:
    """Megabytes that this process has held at most, its parent's not counted."""
    found = re.search(r"VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text(encoding="ascii"))
    return int(found[1]) >> 10


def timed(which: str) -> dict:
    """Seconds and megabytes of one large replay, in this process."""
    start, cpu = time.perf_counter(), time.process_time()
    if which == "405B":
        plan = llama()
        found = replay_step(plan.step(), plan.machine.topology, order_interleaved, Trouble(seed=1, jitter=0.02))
        ranks = plan.mesh.size
    elif which == "million, 128 pipelines":
        step = Step(Mesh(1, 1, 16, 128), 32, 8, forward=1e-3, backward=2e-3)
        found, ranks = replay_step(step, flat(), order_interleaved, Trouble(seed=1, jitter=0.02)), step.mesh.size
    else:
        step = Step(Mesh(1, 1, 1024, 1), 512)
        found, ranks = replay_step(step, flat(), order_1f1b), step.mesh.size
    return {
        "ranks": ranks,
        "actions": found.actions,
        "wall": time.perf_counter() - start,
        "cpu": time.process_time() - cpu,
        "peak": peak_mb(),
    }


def main() -> int:
    """Print the tables."""
    many = GRID + OWN + EXPERTS + HIDDEN
    count = f"{len(many)} meshes, of which the last {len(HIDDEN)} with overlap, {len(EXPERTS)} before with experts"
    print(f"{platform.machine()}, Python {platform.python_version()}; {count}\n")
    print(
        " TP CP PP DP   m  v ZeRO node cards   step ms   idle  inside MB between MB   replay: time idle bytes   formula"
    )
    worst = 0.0
    steps_of = [(row, step_of(*row)) for row in GRID + OWN]
    steps_of += [(row, expert_step_of(row, experts)) for row, experts in EXPERTS]
    for row, steps in steps_of + [(one[0], hidden_step_of(*one)) for one in HIDDEN]:
        found = compared(*steps)
        worst = max(worst, largest(found))
        sent = [found["bytes"].get(kind, 0.0) / 1e6 for kind in ("inside", "between")]
        off = ["{seconds:+.3%} {idle:+.3%} {bytes:.3%}".format(**found[name]) for name in SIDES]
        t, c, p, d, m, v, zero, node, cards = (*row, 1)[:9]
        print(
            f"{t:3}{c:3}{p:3}{d:3} {m:3} {v:2} {zero:4} {node:4} {cards:5}"
            f" {1e3 * found['seconds']:9.3f} {found['idle']:6.1%}"
            f" {sent[0]:10.3f} {sent[1]:10.3f}   {off[0]}   {off[1]}",
            flush=True,
        )
    print(f"\nlargest difference: {worst:.3%} (at most {BOUND:.0%})\n")
    for name, step in beyond().items():
        off = {side: f"{value['seconds']:+.1%}" for side, value in compared(*step).items() if side in SIDES}
        print(f"not counted: {name}: replay {off['replay']}, formula {off['formula']} of the relay's time")
    print()
    print("replay                     ranks    actions   wall s   CPU s  peak MB")
    for which in ("405B", "million, 128 pipelines", "million, one pipeline"):
        command = [sys.executable, "-m", "benchmarks.simulation", which]
        one = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
        print(f"{which:24} {one['ranks']:7} {one['actions']:10} {one['wall']:8.2f} {one['cpu']:7.2f} {one['peak']:8}")
    return int(worst > BOUND)


if __name__ == "__main__":
    if sys.argv[1:]:
        print(json.dumps(timed(sys.argv[1])))
    else:
        raise SystemExit(main())
