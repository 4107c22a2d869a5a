"""One step of data-parallel training, the weight of an image in two kinds of mean, and many all-reduces against one."""

from __future__ import annotations

from drawing import (
    ALL_REDUCE,
    BACKWARD,
    FORWARD,
    GRADIENTS,
    GREY,
    OPTIMIZER,
    PARAMETERS,
    RANK_COLOURS,
    SMALL,
    TEXT,
    arrow,
    box,
    cell,
    line,
    page,
    save_all,
    text,
)

from labkit.scaling import ring_all_reduce_time

WEIGHT, OWN_GRADIENTS = 2.0, (0.9, 0.2, 0.4)  # one weight; the learning rate is 1
SHARES = ("✓✗✗✓✗✓", "✗✓✓", "✓")  # what each rank got right
# the course's MLP: weight and bias of its three layers
PARAMETER_NUMBERS = {"W1": 784 * 128, "b1": 128, "W2": 128 * 64, "b2": 64, "W3": 64 * 10, "b3": 10}
RANKS, ALPHA, BETA = 4, 5e-6, 1e-10  # 5 µs a message, 10 GB/s


def step_values() -> tuple[float, float]:
    """The mean gradient and the weight after the step."""
    mean = sum(OWN_GRADIENTS) / len(OWN_GRADIENTS)
    return mean, WEIGHT - mean


def image_weights() -> tuple[list[float], list[float]]:
    """The weight of each image, in the mean of the ranks' means and in the mean over all images."""
    images = sum(len(share) for share in SHARES)
    return [1 / len(SHARES) / len(share) for share in SHARES for _ in share], [1 / images] * images


def calls(sizes: list[int]) -> list[tuple[float, float]]:
    """Seconds of latencies and of bytes in each ring all-reduce, for tensors of so many float32 numbers."""
    latency = ring_all_reduce_time(RANKS, 0, ALPHA, BETA)
    return [(latency, ring_all_reduce_time(RANKS, 4 * size, ALPHA, BETA) - latency) for size in sizes]


def draw_rank(ax, y, rank):
    mean, after = step_values()
    height, middle = 44, y + 22
    text(ax, 10, middle, f"rank {rank}", TEXT, ha="left", fontweight="bold")
    cell(ax, 76, y, 56, height, f"{rank}, {rank + 3}", RANK_COLOURS[rank], size=TEXT)
    cell(ax, 146, y, 50, height, f"{WEIGHT}", PARAMETERS, size=TEXT)
    cell(ax, 212, y, 36, height, "F", FORWARD, size=TEXT)
    cell(ax, 248, y, 66, height, "B", BACKWARD, size=TEXT)
    cell(ax, 338, y, 56, height, f"{OWN_GRADIENTS[rank]}", GRADIENTS, size=TEXT)
    cell(ax, 498, y, 56, height, f"{mean}", GRADIENTS, size=TEXT)
    cell(ax, 578, y, 54, height, "step", OPTIMIZER, size=TEXT)
    cell(ax, 656, y, 50, height, f"{after}", PARAMETERS, size=TEXT)
    for start, end in ((196, 211), (314, 337), (394, 417), (474, 497), (554, 577), (632, 655)):
        arrow(ax, (start, middle), (end, middle), mutation_scale=10)


def data_parallel_step():
    ax = page(720, 286)
    for x, heading in (
        (104, "images"),
        (171, "weight"),
        (366, "own\ngradient"),
        (526, "mean\ngradient"),
        (681, "weight"),
    ):
        text(ax, x, 26, heading, SMALL + 1)
    text(ax, 263, 26, "forward,\nbackward", SMALL + 1)
    box(ax, 418, 52, 56, 188, "", ALL_REDUCE)
    text(ax, 446, 146, "all-reduce", TEXT, rotation=90, zorder=3)
    for rank in range(3):
        draw_rank(ax, 56 + rank * 68, rank)
    for x, says in ((171, "equal"), (366, "different"), (526, "equal"), (681, "equal")):
        text(ax, x, 262, says, TEXT, fontweight="bold")
    return ax


def draw_bar(ax, y, title, weights):
    """All images side by side, as wide as they count; what was right is coloured. Its share of the bar on the right."""
    left, width = 20, 600
    text(ax, left, y - 17, title, TEXT, ha="left")
    marks = [(mark, RANK_COLOURS[rank]) for rank, share in enumerate(SHARES) for mark in share]
    right = sum(weight for weight, (mark, _) in zip(weights, marks, strict=True) if mark == "✓")
    for weight, (mark, colour) in zip(weights, marks, strict=True):
        cell(ax, left, y, weight * width, 40, mark, colour if mark == "✓" else "white", size=TEXT)
        left += weight * width
    text(ax, 708, y + 20, f"{100 * right:.0f} %", TEXT + 3, ha="right", fontweight="bold")


def mean_of_means():
    ax = page(720, 322)
    left = 92
    for rank, share in enumerate(SHARES):
        for i, mark in enumerate(share):
            fill = RANK_COLOURS[rank] if mark == "✓" else "white"
            cell(ax, left + i * 36, 40, 36, 34, mark, fill, size=TEXT)
        middle = left + 18 * len(share)
        text(ax, middle, 24, f"rank {rank}", TEXT, fontweight="bold")
        text(ax, middle, 92, f"{share.count('✓')} of {len(share)}", SMALL + 1)
        left += 36 * len(share) + 74
    by_rank, by_image = image_weights()
    draw_bar(ax, 152, "mean of means: every rank counts 1/3", by_rank)
    draw_bar(ax, 246, "sum first, then divide once: every image counts 1/10", by_image)
    text(ax, 20, 306, "✓ right   ✗ wrong   width: how much an image counts", SMALL, ha="left", color=GREY)
    return ax


def draw_calls(ax, y, groups, scale=2.4):
    """One bar for each all-reduce, on a time axis that begins at x = 60; its gradients above it."""
    left = 60
    for names in groups:
        latency, moving = (scale * 1e6 * t for t in calls([sum(PARAMETER_NUMBERS[n] for n in names)])[0])
        for i, name in enumerate(names):
            cell(ax, left + i * 34, y - 42, 34, 26, name, GRADIENTS, size=SMALL + 1)
        cell(ax, left, y, latency, 34, "latency", "white", size=SMALL)
        cell(ax, left + latency, y, moving, 34, "bytes" if moving > 60 else "", ALL_REDUCE, size=SMALL)
        left += latency + moving
    return left


def one_flat_buffer():
    ax = page(720, 304)
    names = list(PARAMETER_NUMBERS)
    for y, title, groups in (
        (86, "one all-reduce for each gradient", [[n] for n in names]),
        (216, "one buffer", [names]),
    ):
        text(ax, 60, y - 62, title, TEXT, ha="left", fontweight="bold")
        end = draw_calls(ax, y, groups)
        text(ax, end + 8, y + 17, f"{(end - 60) / 2.4:.0f} µs", TEXT, ha="left", fontweight="bold")
    line(ax, (60, 270), (672, 270))
    for t in range(0, 251, 50):
        line(ax, (60 + 2.4 * t, 266), (60 + 2.4 * t, 274))
        text(ax, 60 + 2.4 * t, 288, f"{t} µs" if t == 250 else f"{t}", SMALL)
    return ax


FIGURES = {
    "data_parallel_step": data_parallel_step,
    "mean_of_means": mean_of_means,
    "one_flat_buffer": one_flat_buffer,
}

if __name__ == "__main__":
    save_all(FIGURES)
