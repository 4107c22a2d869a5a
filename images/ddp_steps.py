"""DistributedDataParallel: buckets, the overlap of backward pass and all-reduce, no_sync, and a checkpoint."""

from __future__ import annotations

from drawing import (
    ALL_REDUCE,
    BACKWARD,
    FAINT,
    FORWARD,
    GRADIENTS,
    GREY,
    OPTIMIZER,
    PARAMETERS,
    RANK_COLOURS,
    SMALL,
    TEXT,
    VERMILLION,
    arrow,
    box,
    cell,
    line,
    page,
    save_all,
    text,
)

SIZES = (1, 3, 3, 2, 2, 1)  # MB of gradients of layers 0 to 5
FIRST_CAP, CAP = 1, 4  # MB
# units of time: forward pass, backward pass of one layer, optimizer step, latency and megabyte of an all-reduce
FORWARD_TIME, LAYER_TIME, STEP_TIME, LATENCY, PER_MB = 3.0, 1.0, 0.8, 0.3, 0.25
MICRO_BATCHES = 4

Bars = list[tuple[float, float, str]]  # start, end, what


def buckets() -> list[list[int]]:
    """The layers in each bucket, in the order in which they go in."""
    filled: list[list[int]] = [[]]
    for layer in reversed(range(len(SIZES))):
        cap = CAP if len(filled) > 1 else FIRST_CAP
        if filled[-1] and sum(SIZES[k] for k in filled[-1]) >= cap:
            filled.append([])
        filled[-1].append(layer)
    return filled


def step(groups: list[list[int]]) -> tuple[Bars, Bars]:
    """One training step whose gradients are sent in these groups, each as soon as it is there and the network is free:
    what is computed and what is on the network.
    """
    compute = [(0.0, FORWARD_TIME, "F")]
    ready = {}
    for layer in reversed(range(len(SIZES))):
        start = compute[-1][1]
        compute.append((start, start + LAYER_TIME, f"B{layer}"))
        ready[layer] = start + LAYER_TIME
    network: Bars = []
    for group in groups:
        start = max(ready[group[-1]], network[-1][1] if network else 0.0)
        network.append((start, start + LATENCY + PER_MB * sum(SIZES[k] for k in group), ", ".join(map(str, group))))
    end = network[-1][1]
    return [*compute, (end, end + STEP_TIME, "step")], network


def micro_steps(every_time: bool) -> tuple[Bars, Bars]:
    """One step over four micro-batches: forward 1, backward 2, an all-reduce of 1.8 that begins in the backward pass,
    of each micro-batch or only of the last one.
    """
    compute, network, now = [], [], 0.0
    for k in range(MICRO_BATCHES):
        compute += [(now, now + 1, f"F{k}"), (now + 1, now + 3, f"B{k}")]
        now += 3
        if every_time or k == MICRO_BATCHES - 1:
            network.append((now - 1.2, now + 0.6, "all-reduce"))
            now += 0.6
    return [*compute, (now, now + 0.8, "step")], network


COLOURS = {"F": FORWARD, "B": BACKWARD, "s": OPTIMIZER}


def draw_lanes(ax, left, top, scale, compute, network, height=34):
    """Compute above, network below, on one time axis that begins at x = left."""
    for name, y, bars in (("compute", top, compute), ("network", top + height + 14, network)):
        text(ax, left - 10, y + height / 2, name, SMALL + 1, ha="right")
        line(ax, (left, y + height), (708, y + height), color=FAINT)
        for start, end, what in bars:
            fill = ALL_REDUCE if name == "network" else COLOURS[what[0]]
            cell(ax, left + scale * start, y, scale * (end - start), height, what, fill, size=SMALL)


def ddp_overlap():
    ax = page(720, 316)
    left, scale = 84, 47
    everything = [list(reversed(range(len(SIZES))))]
    for top, title, groups in (
        (40, "one all-reduce after the backward pass", everything),
        (196, "DDP: a bucket is sent as soon as it is full", buckets()),
    ):
        compute, network = step(groups)
        if len(network) == 1:
            network = [(*network[0][:2], "all-reduce 5 to 0")]
        text(ax, left, top - 20, title, TEXT, ha="left", fontweight="bold")
        draw_lanes(ax, left, top, scale, compute, network)
        for group, (start, _, _) in zip(groups, network, strict=True):
            ready = left + scale * (FORWARD_TIME + LAYER_TIME * (len(SIZES) - group[-1]))
            arrow(ax, (ready, top + 34), (left + scale * start, top + 48), mutation_scale=8, zorder=4)
    backward_end = left + scale * (FORWARD_TIME + LAYER_TIME * len(SIZES))
    line(ax, (backward_end, 30), (backward_end, 288), color=GREY, linestyle=":", zorder=0.5)
    text(ax, backward_end, 302, "end of the backward pass", SMALL, color=GREY)
    return ax


def ddp_buckets():
    ax = page(720, 252)
    left, scale = 60, 50
    starts = [left + scale * sum(SIZES[:layer]) for layer in range(len(SIZES))]
    text(ax, left, 20, "layers in the order of the forward pass, with MB of gradients", SMALL + 1, ha="left")
    for layer, size in enumerate(SIZES):
        middle = starts[layer] + scale * size / 2
        text(ax, middle, 52, f"{layer}", TEXT, fontweight="bold")
        cell(ax, starts[layer], 68, scale * size, 36, f"{size}", GRADIENTS, size=TEXT)
    arrow(ax, (660, 128), (60, 128), color=GREY)
    text(ax, 360, 128, " backward pass: the last layer is ready first ", SMALL + 1, backgroundcolor="white", zorder=3)
    for number, group in enumerate(buckets()):
        held = sum(SIZES[k] for k in group)
        first, last = starts[group[-1]] + 3, starts[group[0]] + scale * SIZES[group[0]] - 3
        line(ax, (first, 152), (first, 162), (last, 162), (last, 152), linewidth=1.8)
        cap = CAP if number else FIRST_CAP
        text(ax, (first + last) / 2, 194, f"bucket {number}\n{held} of {cap} MB", SMALL + 1)
        says = "full" if held == cap else "full, over the cap" if held > cap else "the rest"
        text(ax, (first + last) / 2, 230, says, SMALL)
    return ax


def no_sync():
    ax = page(720, 366)
    left, scale = 84, 41
    for top, title, every_time in ((44, "averaging after every micro-batch", True), (232, "", False)):
        compute, network = micro_steps(every_time)
        text(ax, left, top - 22, title, TEXT, ha="left", fontweight="bold")
        draw_lanes(ax, left, top, scale, compute, network, height=30)
        text(ax, left - 10, top + 105, ".grad", SMALL + 1, ha="right")
        for k in range(MICRO_BATCHES):
            averaged = every_time or k == MICRO_BATCHES - 1
            start = left + scale * compute[2 * k][0]
            end = left + scale * compute[2 * k + 2][0]
            which = "0" if k == 0 else f"0 to {k}"
            look = {} if averaged else {"linestyle": "--"}
            fill = GRADIENTS if averaged else "white"
            words = f"{'mean' if averaged else 'own'}, {which}"
            cell(ax, start + 2, top + 92, end - start - 4, 26, words, fill, size=SMALL, **look)
    end = left + 3 * 3 * scale
    line(ax, (left, 222), (left, 214), (end - 3, 214), (end - 3, 222), linewidth=1.8)
    text(ax, (left + end) / 2, 200, "with ddp.no_sync():", TEXT, fontweight="bold")
    return ax


def checkpoint_contents():
    ax = page(720, 254)
    rows = (
        ("parameters, buffers", "P", PARAMETERS, "yes, from rank 0"),
        ("optimizer state", "O", OPTIMIZER, "yes, from rank 0"),
        ("epoch", "e", "white", "yes, from rank 0"),
        ("random generators", "R", None, "of every rank, if used"),
        ("gradients", "G", GRADIENTS, "no, computed again"),
    )
    for rank in range(4):
        text(ax, 222 + rank * 79, 22, f"rank {rank}", TEXT, fontweight="bold")
    text(ax, 522, 22, "in the file?", TEXT, ha="left", fontweight="bold")
    for i, (name, letter, fill, saved) in enumerate(rows):
        y = 44 + i * 42
        text(ax, 12, y + 15, name, TEXT, ha="left")
        for rank in range(4):
            content = letter if fill else f"{letter}{rank}"
            cell(ax, 190 + rank * 79, y, 64, 30, content, fill or RANK_COLOURS[rank], size=TEXT)
        text(ax, 522, y + 15, saved, TEXT, ha="left")
    box(ax, 183, 38, 78, 126, "", "none", edgecolor=VERMILLION, linewidth=2.6, zorder=4)
    return ax


def checkpoint_write():
    ax = page(720, 228)
    left, saved, replaced, barrier = 150, 420, 530, 556
    for y, name in ((20, "rank 0"), (74, "ranks 1, 2, 3"), (152, "checkpoint.pt")):
        text(ax, left - 14, y + 18, name, SMALL + 1, ha="right", fontweight="bold")
    cell(ax, left, 20, saved - left, 36, "torch.save to a second file", "white", size=TEXT)
    cell(ax, saved, 20, replaced - saved, 36, "os.replace", "white", size=TEXT)
    cell(ax, left, 74, barrier - left - 8, 36, "wait", "white", size=TEXT, linestyle="--", edgecolor=GREY)
    box(ax, barrier - 6, 12, 12, 106, "", GREY, edgecolor=GREY, round=3)
    for y in (38, 92):
        arrow(ax, (barrier + 8, y), (barrier + 42, y))
        text(ax, barrier + 50, y, "go on", SMALL + 1, ha="left")
    text(ax, barrier - 4, 133, "barrier", SMALL + 1, ha="left")
    cell(ax, left, 152, replaced - left, 36, "the old checkpoint, whole", FAINT, size=TEXT)
    cell(ax, replaced, 152, 708 - replaced, 36, "the new one, whole", FAINT, size=TEXT)
    line(ax, (replaced, 56), (replaced, 152), linestyle=":", color=GREY)
    arrow(ax, (left, 210), (708, 210), color=GREY)
    text(ax, left - 14, 210, "time", SMALL, ha="right", color=GREY)
    return ax


FIGURES = {
    "ddp_overlap": ddp_overlap,
    "ddp_buckets": ddp_buckets,
    "no_sync": no_sync,
    "checkpoint_contents": checkpoint_contents,
    "checkpoint_write": checkpoint_write,
}

if __name__ == "__main__":
    save_all(FIGURES)
