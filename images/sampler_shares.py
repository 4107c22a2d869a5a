"""Samples and the ranks that get them: strided shares with padding, an accuracy with and without it, one shuffled order
on every rank, and two ways to share out minibatches.
"""

from __future__ import annotations

from drawing import (
    FAINT,
    GREY,
    MESSAGE,
    RANK_COLOURS,
    SMALL,
    TEXT,
    VERMILLION,
    arrow,
    cell,
    line,
    page,
    save_all,
    text,
    tint,
)

MINIBATCHES = ("white", tint(GREY, 0.78), tint(GREY, 0.5))  # cells of the first, second, third minibatch
# torch.randperm(12, generator=g) after g.manual_seed(seed + epoch), with seed 0: epoch 0 and epoch 1
ORDERS = ((8, 0, 5, 9, 7, 4, 2, 10, 3, 1, 11, 6), (1, 4, 6, 8, 11, 0, 5, 3, 2, 9, 10, 7))


def padded(n: int, ranks: int) -> list[int]:
    """The order 0 ... n - 1, extended from its own beginning to a multiple of the ranks."""
    return [i % n for i in range(n + -n % ranks)]


def deal_then_cut(n: int, batch_size: int, ranks: int) -> list[list[list[int]]]:
    """The samples of each rank in each step if the order is dealt out first: result[rank][step] is a list of ids."""
    local = -(-batch_size // ranks)
    shares = [padded(n, ranks)[rank::ranks] for rank in range(ranks)]
    return [[share[i : i + local] for i in range(0, len(share), local)] for share in shares]


def cut_then_deal(n: int, batch_size: int, ranks: int) -> list[list[list[int]]]:
    """The same when the order is cut into minibatches first."""
    minibatches = [list(range(n))[i : i + batch_size] for i in range(0, n, batch_size)]
    return [[minibatch[rank::ranks] for minibatch in minibatches] for rank in range(ranks)]


def padded_shares():
    ax = page(720, 312)
    n, ranks, width, height, gap = 10, 4, 47, 30, 18
    order = padded(n, ranks)
    text(ax, 12, 61, "order", ha="left")
    for i, sample in enumerate(order):
        step, rank = divmod(i, ranks)
        left = 84 + i * width + step * gap
        again = {"linestyle": "--", "linewidth": 2.2} if i >= n else {}
        cell(ax, left, 46, width, height, str(sample), RANK_COLOURS[rank], size=TEXT, **again)
        middle, top = 84 + (4 * step + 2) * width + step * gap, 128 + rank * 34
        cell(ax, middle - 33, top, 66, height, str(sample), RANK_COLOURS[rank], size=TEXT, **again)
        if rank == 0:
            arrow(ax, (middle, 82), (middle, 118))
    for rank in range(ranks):
        text(ax, 12, 143 + rank * 34, f"rank {rank}", ha="left", fontweight="bold")
    x = 84 + 8 * width + 1.5 * gap
    line(ax, (x, 22), (x, 262), color=VERMILLION, linestyle="--", linewidth=1.8)
    text(ax, 84 + 11 * width + 2 * gap, 24, "padding", TEXT)
    text(ax, x, 290, "drop_last=True cuts here", SMALL + 1, color="#B34700")
    text(ax, 84, 24, f"{n} samples, dealt out one by one", TEXT, ha="left")
    return ax


MARKS = "✗✗✓✓✓✓✓✓✗✓"  # which of ten samples are predicted right


def padded_evaluation():
    """An evaluation of ten samples on four ranks, by shares with padding: right ones and all, with and without it."""
    ax = page(720, 268)
    n, ranks, width, height = len(MARKS), 4, 66, 34
    order = padded(n, ranks)
    columns = {"with padding": (412, len(order)), "without padding": (598, n)}
    text(ax, 90, 22, "sample: right ✓ or wrong ✗", TEXT, ha="left")
    for rank, colour in enumerate(RANK_COLOURS):
        top, places = 42 + 44 * rank, range(rank, len(order), ranks)
        text(ax, 12, top + height / 2, f"rank {rank}", ha="left", fontweight="bold")
        for k, place in enumerate(places):
            look = {"linestyle": "--", "linewidth": 2.2} if place >= n else {}
            said = f"{order[place]} {MARKS[order[place]]}"
            cell(ax, 90 + 74 * k, top, width, height, said, "white" if look else colour, size=TEXT, **look)
        for x, upto in columns.values():
            kept = [MARKS[order[place]] for place in places if place < upto]
            text(ax, x, top + height / 2, f"{kept.count('✓')} of {len(kept)}", TEXT)
    line(ax, (12, 222), (708, 222), color=FAINT)
    text(ax, 12, 246, "sums over the ranks", TEXT, ha="left", fontweight="bold")
    for name, (x, upto) in columns.items():
        right = sum(MARKS[sample] == "✓" for sample in order[:upto])
        look = {"color": MESSAGE} if upto > n else {}
        text(ax, x, 22, name, TEXT, fontweight="bold")
        text(ax, x, 246, f"{right} / {upto} = {right / upto:.0%}", TEXT, fontweight="bold", **look)
    return ax


def shuffle_by_epoch():
    ax = page(720, 330)
    width, height = 42, 27
    for epoch, order in enumerate(ORDERS):
        top = 16 + 164 * epoch
        text(ax, 12, top + 46, f"epoch {epoch}", TEXT + 1, ha="left", fontweight="bold")
        text(ax, 12, top + 70, f"seed + epoch = {epoch}", SMALL, ha="left")
        for rank, colour in enumerate(RANK_COLOURS):
            y = top + rank * 35
            text(ax, 196, y + height / 2, f"rank {rank}", SMALL + 1, ha="right")
            for i, sample in enumerate(order):
                own = i % len(RANK_COLOURS) == rank
                look = {"zorder": 3, "linewidth": 1.6} if own else {"edgecolor": FAINT, "color": GREY}
                cell(ax, 206 + i * width, y, width, height, str(sample), colour if own else "white", size=TEXT, **look)
    line(ax, (12, 167), (708, 167), color=FAINT)
    return ax


def draw_steps(ax, left, top, title, shares, wrong=()):
    """The ids of each rank in each step; those in `wrong` get a thick frame."""
    width, height = 33, 28
    text(ax, left + 157, top - 40, title, TEXT, fontweight="bold")
    for rank, row in enumerate(shares):
        for step, samples in enumerate(row):
            x = left + step * (3 * width + 9)
            if rank == 0:
                text(ax, x + 1.5 * width, top - 14, f"step {step}", SMALL)
            for i, sample in enumerate(samples):
                look = {"edgecolor": VERMILLION, "linewidth": 2.8, "zorder": 3} if sample in wrong else {}
                fill = MINIBATCHES[sample // 8]
                cell(ax, x + i * width, top + rank * 36, width, height, str(sample), fill, **look)


def two_ways_to_share():
    ax = page(720, 300)
    n, batch_size, ranks = 24, 8, 3
    for sample in range(n):
        left = 58 + sample * 26 + sample // batch_size * 9
        cell(ax, left, 34, 26, 28, str(sample), MINIBATCHES[sample // batch_size])
        if sample % batch_size == 0:
            text(ax, left + 104, 18, f"minibatch {sample // batch_size}", SMALL)
    text(ax, 50, 48, "order", SMALL, ha="right")
    dealt = deal_then_cut(n, batch_size, ranks)
    wrong = {s for row in dealt for step, samples in enumerate(row) for s in samples if s // batch_size != step}
    draw_steps(ax, 58, 150, "deal, then cut", dealt, wrong)
    draw_steps(ax, 394, 150, "cut, then deal", cut_then_deal(n, batch_size, ranks))
    for rank in range(ranks):
        text(ax, 50, 164 + rank * 36, f"rank {rank}", SMALL, ha="right")
    cell(ax, 58, 266, 22, 22, "", "white", edgecolor=VERMILLION, linewidth=2.8)
    text(ax, 90, 277, "belongs to another minibatch", SMALL, ha="left")
    text(ax, 394, 277, "every step holds exactly one minibatch", SMALL, ha="left")
    return ax


FIGURES = {
    "padded_evaluation": padded_evaluation,
    "padded_shares": padded_shares,
    "shuffle_by_epoch": shuffle_by_epoch,
    "two_ways_to_share": two_ways_to_share,
}

if __name__ == "__main__":
    save_all(FIGURES)
