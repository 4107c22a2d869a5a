"""TensorFlow's strategies: what is made in a scope and what runs in every replica; the loss of uneven replicas; and
beside Horovod, who holds what and who puts the gradients together.
"""

from __future__ import annotations

from drawing import (
    ALL_REDUCE,
    FAINT,
    GRADIENTS,
    GREY,
    INK,
    MESSAGE,
    PARAMETERS,
    SMALL,
    TEXT,
    arrow,
    box,
    cell,
    line,
    page,
    save_all,
    text,
    tint,
)

BATCH = 32  # what the program names as its batch
# title, how it starts, processes, replicas of each, whether the batch is that of all replicas, what is done with
# gradients
WAYS = (
    ("MirroredStrategy", "you start one process", 1, 4, True, "added"),
    ("MultiWorkerMirrored", "TF_CONFIG for each process", 2, 2, True, "added"),
    ("Horovod", "mpiexec starts 4 ranks", 4, 1, False, "averaged"),
)


def samples_of_each(way) -> int:
    """The number of samples that a replica, or rank, gets in a step."""
    _, _, processes, replicas, of_all, _ = way
    return BATCH // (processes * replicas) if of_all else BATCH


def replica(ax, left, top, width, samples):
    """A copy of the model, the samples that it gets and its gradient."""
    cell(ax, left, top, width, 28, str(samples), tint(GREY, 0.85), size=TEXT)
    box(ax, left, top + 40, width, 42, "P", PARAMETERS)
    cell(ax, left, top + 94, width, 28, "G", GRADIENTS, size=TEXT)
    for y in (28, 82):
        arrow(ax, (left + width / 2, top + y), (left + width / 2, top + y + 12), mutation_scale=8, linewidth=1.2)


def who_holds_what():
    ax = page(720, 372)
    for k, way in enumerate(WAYS):
        draw_way(ax, 10 + 240 * k, way)
        if k:
            line(ax, (240 * k, 10), (240 * k, 326), color=FAINT)
    for x, fill, said in (
        (20, tint(GREY, 0.85), "samples of a step"),
        (206, PARAMETERS, "P: whole model"),
        (386, GRADIENTS, "G: gradient"),
        (542, "white", "frame: a process"),
    ):
        cell(ax, x, 342, 24, 20, "", fill)
        text(ax, x + 32, 352, said, SMALL, ha="left")
    return ax


def draw_way(ax, left, way):
    title, starts, processes, replicas, of_all, done = way
    text(ax, left + 110, 18, title, TEXT, fontweight="bold")
    text(ax, left + 110, 40, starts, SMALL)
    whose = f"batch {BATCH} of all together" if of_all else f"batch {BATCH} of each rank"
    text(ax, left + 110, 64, whose, SMALL, color=MESSAGE)
    gap = 8
    wide = (220 - gap * (processes - 1)) / processes
    for p in range(processes):
        x = left + p * (wide + gap)
        box(ax, x, 84, wide, 146, round=6, linewidth=1.5)
        each = (wide - 8 - 6 * (replicas - 1)) / replicas
        for r in range(replicas):
            middle = x + 4 + r * (each + 6)
            replica(ax, middle + (each - 40) / 2, 96, 40, samples_of_each(way))
            arrow(ax, (middle + each / 2, 218), (middle + each / 2, 256), both=True, color=MESSAGE, mutation_scale=9)
    box(ax, left, 258, 220, 44, f"all-reduce:\ngradients are {done}", ALL_REDUCE, size=SMALL)
    text(ax, left + 110, 316, divide(done), SMALL)


def divide(done: str) -> str:
    return "you divide by the whole batch" if done == "added" else "you divide by your own batch"


def scope_and_run():
    ax = page(720, 352)
    for top, height, name, said in (
        (12, 118, "strategy.scope()", "cross-replica\ncontext"),
        (142, 198, "strategy.run(f)", "replica\ncontext"),
    ):
        box(ax, 8, top, 704, height, fill=tint(GREY, 0.92), edgecolor="none", round=8, zorder=0)
        text(ax, 20, top + 26, name, SMALL, ha="left", fontweight="bold")
        text(ax, 20, top + 62, said, SMALL, ha="left")
    wide, columns = 118, [160 + 138 * k for k in range(4)]
    box(ax, 160, 22, 532, 34, "w = tf.Variable(...), written once", "white")
    for k, x in enumerate(columns):
        middle = x + wide / 2
        arrow(ax, (middle, 56), (middle, 78))
        box(ax, x, 80, wide, 40, f"w on CPU:{k}", PARAMETERS)
        arrow(ax, (middle, 120), (middle, 174))
        box(ax, x, 176, wide, 60, f"replica {k}\nf(its share)", "white")
        arrow(ax, (middle, 236), (middle, 284), both=True, color=MESSAGE)
        cell(ax, middle - 17, 246, 34, 26, "G", GRADIENTS, size=TEXT, zorder=3)
    box(ax, 160, 286, 532, 42, "context.all_reduce: the same sum in every replica", ALL_REDUCE)
    return ax


LOSSES = ((1, 1, 1, 1), (6,))  # of each replica's samples
# name of the way, divisor of a replica with n samples; the last one is right
LOSS_WAYS = (
    ("tf.reduce_mean", lambda n: n),
    ("default", lambda n: n * len(LOSSES)),
    ("global_batch_size=5", lambda n: sum(map(len, LOSSES))),
)


def uneven_replicas():
    ax = page(720, 268)
    lefts, wide = (196, 452), (190, 130)
    for k, (left, losses) in enumerate(zip(lefts, LOSSES, strict=True)):
        middle = left + wide[k] / 2
        text(ax, middle, 18, f"replica {k}", TEXT, fontweight="bold")
        start = middle - 17 * len(losses)
        for i, loss in enumerate(losses):
            cell(ax, start + 34 * i, 34, 34, 32, str(loss), tint(GREY, 0.85), size=TEXT)
    text(ax, 12, 50, "losses", TEXT, ha="left")
    text(ax, 656, 50, "sum", TEXT, fontweight="bold")
    for row, (name, divisor) in enumerate(LOSS_WAYS):
        top, right = 84 + 60 * row, row == len(LOSS_WAYS) - 1
        text(ax, 12, top + 22, name, TEXT, ha="left", fontweight="bold" if right else "normal")
        for left, width, losses in zip(lefts, wide, LOSSES, strict=True):
            said = f"{sum(losses)} / {divisor(len(losses))} = {sum(losses) / divisor(len(losses)):.3g}"
            box(ax, left, top, width, 44, said, ALL_REDUCE if right else "white")
        text(ax, 419, top + 22, "+", TEXT + 3)
        total = sum(sum(losses) / divisor(len(losses)) for losses in LOSSES)
        text(ax, 610, top + 22, "=", TEXT + 3)
        text(ax, 656, top + 22, f"{total:.3g}", TEXT + 3, fontweight="bold", color=INK if right else MESSAGE)
    return ax


FIGURES = {"scope_and_run": scope_and_run, "uneven_replicas": uneven_replicas, "who_holds_what": who_holds_what}

if __name__ == "__main__":
    save_all(FIGURES)
