"""A mesh of three axes: its ranks as a block with the groups of one rank, its axes laid onto nodes in two ways, the
parts of a step's time, what each axis does to the memory of one GPU, and which gradients of a mesh belong together.
"""

from __future__ import annotations

from drawing import (
    ACTIVATIONS,
    ALL_REDUCE,
    BACKWARD,
    FAINT,
    FORWARD,
    GRADIENTS,
    GREEN,
    GREY,
    OPTIMIZER,
    ORANGE,
    PARAMETERS,
    RANK_COLOURS,
    SKY,
    SMALL,
    TEXT,
    arrow,
    box,
    cell,
    circle,
    line,
    page,
    save_all,
    text,
    tint,
)

SHAPE = (2, 2, 4)  # data, pipeline, tensor; the last one is the innermost
AXES = ("data", "pipeline", "tensor")
AXIS_COLOURS = (GREEN, ORANGE, SKY)
RANKS, PER_NODE = 16, 4
EDGE = "#C4C4C4"
MARKED = 6  # the rank whose groups are drawn


def coordinates(rank: int, shape: tuple[int, ...] = SHAPE) -> tuple[int, ...]:
    """The place of a rank on each axis; the last axis is the innermost."""
    found: tuple[int, ...] = ()
    for length in reversed(shape):
        rank, here = divmod(rank, length)
        found = (here, *found)
    return found


def groups(axis: int, shape: tuple[int, ...] = SHAPE) -> list[list[int]]:
    """The groups of ranks that differ in this axis and in nothing else, by their first rank."""
    found: dict[tuple[int, ...], list[int]] = {}
    for rank in range(RANKS):
        here = coordinates(rank, shape)
        found.setdefault(here[:axis] + here[axis + 1 :], []).append(rank)
    return list(found.values())


def place(rank: int) -> tuple[float, float]:
    """Tensor to the right, pipeline down, data to the back."""
    data, pipeline, tensor = coordinates(rank)
    return 116 + 108 * tensor + 62 * data, 112 + 118 * pipeline - 64 * data


def draw_groups(ax):
    """The edges of the block: thick where they join the groups of the marked rank."""
    for axis, colour in enumerate(AXIS_COLOURS):
        for members in groups(axis):
            marked = MARKED in members
            look = {"color": colour, "linewidth": 7, "zorder": 2} if marked else {"color": EDGE, "zorder": 1}
            line(ax, place(members[0]), place(members[-1]), **look)


def mesh_cube():
    ax = page(720, 304)
    draw_groups(ax)
    for rank in sorted(range(RANKS), key=lambda rank: -coordinates(rank)[0]):
        mine = [axis for axis in range(3) if any({rank, MARKED} <= set(members) for members in groups(axis))]
        fill = tint(AXIS_COLOURS[mine[0]], 0.4) if len(mine) == 1 else "white"
        circle(ax, *place(rank), 17, str(rank), fill, linewidth=3 if rank == MARKED else 1.2)
    text(ax, 278, 284, "tensor", TEXT)
    arrow(ax, (310, 284), (350, 284))
    text(ax, 86, 171, "pipeline", TEXT, ha="right")
    arrow(ax, (52, 184), (52, 218))
    text(ax, 112, 60, "data", TEXT, ha="right")
    arrow(ax, (120, 60), (142, 38))
    text(ax, 560, 84, f"rank {MARKED}", TEXT, ha="left", fontweight="bold")
    for axis in range(3):
        y = 116 + 50 * axis
        members = next(members for members in groups(axis) if MARKED in members)
        line(ax, (562, y), (562, y + 30), color=AXIS_COLOURS[axis], linewidth=7)
        text(ax, 576, y + 6, f"{AXES[axis]} {coordinates(MARKED)[axis]}", SMALL, ha="left")
        text(ax, 576, y + 25, "with " + ", ".join(str(r) for r in members if r != MARKED), SMALL, ha="left")
    return ax


# what is written above: the shape, and the place of (data, pipeline, tensor) in it
LAYOUTS = (("tensor innermost", (2, 2, 4), (0, 1, 2)), ("data innermost", (4, 2, 2), (2, 1, 0)))


def edges(members: list[int], axis: str) -> set[tuple[int, int]]:
    """The pairs of ranks that talk: neighbours in a ring for data and tensor, in a chain for the pipeline."""
    chain = set(zip(members, members[1:], strict=False))
    return chain if axis == "pipeline" else chain | {(members[0], members[-1])}


def crossings(shape: tuple[int, ...], order: tuple[int, ...]) -> dict[str, tuple[int, int]]:
    """For each axis how many pairs of ranks that talk are inside a node and between two."""
    found = {}
    for name, axis in zip(AXES, order, strict=True):
        pairs = [pair for members in groups(axis, shape) for pair in edges(members, name)]
        inside = sum(a // PER_NODE == b // PER_NODE for a, b in pairs)
        found[name] = (inside, len(pairs) - inside)
    return found


def draw_layout(ax, left, title, shape, order):
    width, height, row = 54, 32, 56
    text(ax, left + 150, 18, title, TEXT, fontweight="bold")
    names = [AXES[order.index(axis)] for axis in range(3)]
    text(ax, left + 150, 40, "(" + ", ".join(names) + f") = {shape}", SMALL, color=GREY)
    tensor = groups(order[2], shape)
    for rank in range(RANKS):
        node, column = divmod(rank, PER_NODE)
        number = next(k for k, members in enumerate(tensor) if rank in members)
        x, y = left + 70 + column * (width + 8), 66 + node * row
        if not column:
            box(ax, left + 62, y - 7, 4 * width + 40, height + 14, edgecolor=GREY, linestyle=(0, (5, 3)))
            text(ax, left + 2, y + height / 2, f"node {node}", SMALL, ha="left")
        cell(ax, x, y, width, height, f"{rank} {'ABCD'[number]}", RANK_COLOURS[number], zorder=3)
    text(ax, left + 2, 306, "pairs of ranks that talk", SMALL, ha="left", color=GREY)
    for k, (name, (inside, between)) in enumerate(crossings(shape, order).items()):
        y = 334 + 24 * k
        text(ax, left + 2, y, name, SMALL, ha="left")
        for x, count, word in ((136, inside, "inside"), (232, between, "between")):
            text(ax, left + x, y, f"{count} {word}", SMALL, fontweight="bold" if count else "normal")


def axes_on_nodes():
    ax = page(720, 398)
    for left, layout in zip((10, 386), LAYOUTS, strict=True):
        draw_layout(ax, left, *layout)
    line(ax, (360, 8), (360, 390), color=FAINT)
    return ax


SLOT = tint(GREY, 0.8)
STAGES, MICRO_BATCHES, LAYERS = 4, 6, 2  # of the drawing of a step


def slot() -> list[tuple[str, int]]:
    """The parts of a slot and their lengths: a layer's attention and its MLP, each followed by an all-reduce."""
    forward = [("F", 33), ("A", 17)] * 2 * LAYERS
    backward = [("B", 66), ("A", 17)] * 2 * LAYERS
    return forward + backward


def brace(ax, left, right, y, label, above=False):
    """A bracket, below what it joins or above it, and a label."""
    out = -1 if above else 1
    line(ax, (left, y - 5 * out), (left, y), (right, y), (right, y - 5 * out), color=GREY)
    text(ax, (left + right) / 2, y + 14 * out, label, SMALL)


def step_parts():
    ax = page(720, 296)
    unit, left, top, height = 52, 14, 74, 36
    work = left + (STAGES - 1) * unit
    end = work + MICRO_BATCHES * unit
    text(ax, left, 18, f"a step: p = {STAGES} stages, m = {MICRO_BATCHES}, v = 1", TEXT, ha="left", fontweight="bold")
    for k in range(STAGES - 1):
        cell(ax, left + k * unit, top, unit, height, "wait", linestyle=(0, (3, 3)))
    for k in range(MICRO_BATCHES):
        cell(ax, work + k * unit, top, unit, height, f"slot {k + 1}", SLOT)
    cell(ax, end, top, 92, height, "outputs", "white")
    cell(ax, end + 92, top, 132, height, "all-reduce", ALL_REDUCE)
    for x0, x1, label in (
        (left, work, "p − 1 slots"),
        (work, end, "m v slots"),
        (end, end + 92, "m times"),
        (end + 92, end + 224, "gradients, once"),
    ):
        brace(ax, x0 + 3, x1 - 3, top - 12, label, above=True)
    draw_slot(ax, left, 166, height)
    for x0, x1 in ((work, left), (work + unit, left + 692)):
        line(ax, (x0, top + height), (x1, 166), color=GREY, linestyle=(0, (3, 3)), zorder=0)
    text(ax, 300, 142, f"a slot: {LAYERS} layers", TEXT, fontweight="bold")
    text(ax, left, 276, "F, B: attention or MLP of a layer, forward or backward", SMALL, ha="left")
    text(ax, 706, 276, "A: all-reduce", SMALL, ha="right")
    return ax


def draw_slot(ax, left, top, height):
    """The parts of a slot, and below them the layers."""
    colours = {"F": FORWARD, "B": BACKWARD, "A": ALL_REDUCE}
    scale = 692 / sum(length for _, length in slot())
    x, begun = left, left
    layers = [*range(1, LAYERS + 1), *range(LAYERS, 0, -1)]
    for k, (name, length) in enumerate(slot(), 1):
        cell(ax, x, top, length * scale, height, name, colours[name])
        x += length * scale
        if k % 4 == 0:
            brace(ax, begun + 3, x - 3, top + height + 12, f"layer {layers[k // 4 - 1]}")
            begun = x


MODEL = {"parameters": 2.0, "gradients": 4.0, "optimizer": 12.0}  # bytes for each parameter
ONE_MICRO_BATCH = 8.0  # the activations of one, drawn in the same unit
PART_COLOURS = (PARAMETERS, GRADIENTS, OPTIMIZER, ACTIVATIONS)


def memory(data: int, pipeline: int, tensor: int, stage: int) -> dict[str, float]:
    """The memory of a GPU of this stage, with ZeRO 1 and 1F1B and at least as many micro-batches as stages."""
    held = {part: size / pipeline / tensor for part, size in MODEL.items()}
    held["optimizer"] /= data
    held["activations"] = ONE_MICRO_BATCH / pipeline / tensor * (pipeline - stage)
    return held


BARS = (
    ("one GPU", "", (1, 1, 1, 0)),
    ("tensor 2", "", (1, 1, 2, 0)),
    ("and pipeline 2", "first stage", (1, 2, 2, 0)),
    ("", "last stage", (1, 2, 2, 1)),
    ("and data 4, ZeRO 1", "first stage", (4, 2, 2, 0)),
    ("", "last stage", (4, 2, 2, 1)),
)


def memory_by_axis():
    ax = page(720, 306)
    scale, left = 17, 268
    for k, (name, stage, at) in enumerate(BARS):
        y, x = 16 + 40 * k, left
        text(ax, 10, y + 14, name, TEXT, ha="left", fontweight="bold")
        text(ax, left - 8, y + 14, stage, SMALL, ha="right")
        for (part, size), colour in zip(memory(*at).items(), PART_COLOURS, strict=True):
            letter = part[0].upper() if size * scale > 12 else ""
            cell(ax, x, y, size * scale, 28, letter, colour)
            x += size * scale
    x = 10
    for part, colour in zip((*MODEL, "activations"), PART_COLOURS, strict=True):
        cell(ax, x, 276, 18, 16, "", colour)
        text(ax, x + 26, 284, f"{part[0].upper()}: {part}", SMALL, ha="left")
        x += 170
    return ax


def gradients_of(rank: int) -> tuple[str, str, str]:
    """The gradients of a rank of a mesh of two by two by two; the same name means the same parameters of the model."""
    _, stage, tensor = coordinates(rank, (2, 2, 2))
    return f"E{tensor}", f"M{stage}{tensor}", f"N{stage}"


def draw_gradients(ax, x, y, rank):
    box(ax, x, y, 134, 82, round=8, linewidth=1.5)
    text(ax, x + 67, y + 18, f"rank {rank}", TEXT, fontweight="bold")
    for k, name in enumerate(gradients_of(rank)):
        cell(ax, x + 7 + 40 * k, y + 36, 40, 34, name, GRADIENTS, size=TEXT)


def one_gradient():
    ax = page(720, 336)
    for data in range(2):
        left = 34 + 366 * data
        text(ax, left + 155, 18, f"data {data}", TEXT, fontweight="bold")
        box(ax, left, 32, 310, 232, round=10, edgecolor=GREY, linestyle=(0, (5, 3)))
        for stage in range(2):
            text(ax, left + 75 + 160 * stage, 46, f"stage {stage}", SMALL)
        for tensor in range(2):
            y = 60 + 104 * tensor
            for stage in range(2):
                draw_gradients(ax, left + 8 + 160 * stage, y, 4 * data + 2 * stage + tensor)
            arrow(ax, (left + 143, y + 41), (left + 167, y + 41), both=True, mutation_scale=9)
            if not data:
                text(ax, 18, y + 41, f"tensor {tensor}", SMALL, rotation=90)
    arrow(ax, (346, 148), (398, 148), both=True, linewidth=3.4, mutation_scale=17)
    text(ax, 34, 288, "thick arrow: all are averaged over data", SMALL, ha="left")
    text(ax, 710, 288, "thin arrow: E alone is added", SMALL, ha="right")
    text(ax, 34, 316, "E: embedding, tied", SMALL, ha="left")
    text(ax, 371, 316, "M: the other matrices", SMALL)
    text(ax, 710, 316, "N: layer norms, replicated", SMALL, ha="right")
    return ax


FIGURES = {
    "mesh_cube": mesh_cube,
    "axes_on_nodes": axes_on_nodes,
    "memory_by_axis": memory_by_axis,
    "step_parts": step_parts,
    "one_gradient": one_gradient,
}

if __name__ == "__main__":
    save_all(FIGURES)
