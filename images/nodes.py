"""Several nodes: what moves over which link when a model is trained, and the way of one message with and without
GPUDirect RDMA.
"""

from __future__ import annotations

from drawing import GREY, RANK_COLOURS, SMALL, TEXT, arrow, box, line, page, save_all, text, tint

GRADIENTS, IMAGES, CHECKPOINT = "#00664B", "#0B5A94", "#B34700"
COPY = "#B34700"
PCIE, NVLINK = tint(GREY, 0.6), tint("#0072B2", 0.55)


def way(ax, *points, **look):
    """A bent line that ends in an arrow."""
    line(ax, *points[:-1], zorder=5, **look)
    arrow(ax, points[-2], points[-1], zorder=5, mutation_scale=14, **{**look, "linestyle": "-"})


def node(ax, left, name):
    """Two GPUs joined by NVLink; PCIe; host memory, the node's own disk, and the network card at the bottom."""
    box(ax, left, 8, 330, 276, round=10, linewidth=1.6)
    text(ax, left + 165, 25, name, TEXT, fontweight="bold")
    for k in (0, 1):
        box(ax, left + 126 + 100 * k, 44, 84, 42, f"GPU {k}", RANK_COLOURS[0], size=SMALL)
        line(ax, (left + 168 + 100 * k, 86), (left + 168 + 100 * k, 130), linewidth=1.4, color=GREY)
    line(ax, (left + 210, 65), (left + 226, 65), linewidth=8, color=NVLINK, zorder=0)
    text(ax, left + 218, 97, "NVLink", SMALL - 2, color=GREY)
    box(ax, left + 14, 130, 302, 22, "PCIe", PCIE, size=SMALL, round=3)
    line(ax, (left + 60, 152), (left + 60, 180), linewidth=1.4, color=GREY)
    box(ax, left + 14, 180, 110, 46, "host memory", size=SMALL, round=3)
    box(ax, left + 14, 240, 110, 34, "own disk", tint(IMAGES, 0.85), size=SMALL, round=3)
    line(ax, (left + 268, 152), (left + 268, 236), linewidth=1.4, color=GREY)
    box(ax, left + 206, 236, 110, 38, "network card", tint(GREY, 0.8), size=SMALL, round=3)


def what_moves_where():
    ax = page(720, 470)
    for left, name in ((8, "node 0"), (382, "node 1")):
        node(ax, left, name)
        # images: disk, host memory, PCIe, both GPUs
        way(
            ax,
            (left + 40, 240),
            (left + 40, 236),
            (left + 40, 227),
            color=IMAGES,
            linewidth=2.6,
            linestyle=(0, (1.2, 1.2)),
        )
        look = {"color": IMAGES, "linewidth": 2.6, "linestyle": (0, (1.2, 1.2))}
        line(ax, (left + 40, 180), (left + 40, 117), (left + 155, 117), zorder=5, **look)
        way(ax, (left + 155, 117), (left + 155, 96), (left + 155, 87), **look)
        way(ax, (left + 155, 117), (left + 255, 117), (left + 255, 87), **look)
        # gradients inside the node
        arrow(
            ax, (left + 210, 65), (left + 226, 65), both=True, color=GRADIENTS, linewidth=3, zorder=6, mutation_scale=10
        )
        # gradients to the card
        arrow(ax, (left + 282, 87), (left + 282, 235), both=True, color=GRADIENTS, linewidth=3, zorder=5)
    box(ax, 130, 312, 460, 26, "InfiniBand or Ethernet", PCIE, size=SMALL, round=3)
    for x in (290, 664):
        target = min(x, 560)
        line(ax, (x, 275), (x, 297), (target, 296), (target, 312), linewidth=3, color=GRADIENTS, zorder=4)
    line(ax, (290, 325), (240, 325), linewidth=0, color=GREY)
    way(
        ax,
        (155, 44),
        (155, 36),
        (150, 36),
        (2, 36),
        (2, 325),
        (120, 325),
        (129, 325),
        color=CHECKPOINT,
        linewidth=2.2,
        linestyle=(0, (5, 2)),
    )
    box(ax, 276, 358, 168, 34, "common file system", tint(CHECKPOINT, 0.88), size=SMALL, round=3)
    way(ax, (360, 338), (360, 350), (360, 357), color=CHECKPOINT, linewidth=2.2, linestyle=(0, (5, 2)))
    legend = (
        (GRADIENTS, "-", 3.0, "gradients, every step: GPU to GPU, in the node and between nodes"),
        (IMAGES, (0, (1.2, 1.2)), 2.6, "images, every step: from the node's own disk, never over the network"),
        (CHECKPOINT, (0, (5, 2)), 2.2, "checkpoint, now and then: from rank 0 alone"),
    )
    for k, (colour, style, width, words) in enumerate(legend):
        line(ax, (90, 412 + 22 * k), (134, 412 + 22 * k), color=colour, linestyle=style, linewidth=width)
        text(ax, 146, 412 + 22 * k, words, SMALL, ha="left")
    return ax


def machine(ax, left, top, gpu_left, buffers, name):
    """GPU memory, host memory with or without buffers, network card, side by side."""
    width = 344
    box(ax, left, top, width, 132, round=8, linewidth=1.4)
    text(ax, left + width / 2, top + 15, name, SMALL, fontweight="bold")
    gpu, card = (left + 10, left + 264) if gpu_left else (left + 264, left + 10)
    box(ax, gpu, top + 40, 70, 70, "GPU\nmemory", RANK_COLOURS[0], size=SMALL, round=3, zorder=3)
    box(ax, card, top + 40, 70, 70, "network\ncard", tint(GREY, 0.8), size=SMALL, round=3, zorder=3)
    box(
        ax,
        left + 92,
        top + 32,
        160,
        60 if buffers else 42,
        "" if buffers else "host memory",
        size=SMALL,
        round=3,
        zorder=2,
    )
    if buffers:
        text(ax, left + 172, top + 42, "host memory", SMALL - 1)
        first, second = ("driver's\nbuffer", "card's\nbuffer") if gpu_left else ("card's\nbuffer", "driver's\nbuffer")
        for x, words in ((left + 98, first), (left + 176, second)):
            box(ax, x, top + 52, 70, 36, words, tint(COPY, 0.8), size=SMALL - 1, edgecolor=COPY, round=3, zorder=3)
    return top + 70 if buffers else top + 96


def gpudirect_rdma():
    ax = page(720, 372)
    text(ax, 8, 14, "without GPUDirect RDMA: copied in host memory on both nodes", SMALL, ha="left", fontweight="bold")
    for left, gpu_left, name in ((8, True, "node A"), (368, False, "node B")):
        y = machine(ax, left, 30, gpu_left, True, name)
    look = {"color": COPY, "linewidth": 2.4, "zorder": 6, "mutation_scale": 12}
    for start, end in ((88, 106), (176, 184), (254, 272), (342, 378), (448, 466), (536, 544), (614, 632)):
        arrow(ax, (start, y), (end, y), **look)
    text(ax, 8, 190, "with GPUDirect RDMA: the cards read and write GPU memory", SMALL, ha="left", fontweight="bold")
    for left, gpu_left, name in ((8, True, "node A"), (368, False, "node B")):
        y = machine(ax, left, 206, gpu_left, False, name)
    look["color"] = GRADIENTS
    for start, end in ((88, 272), (342, 378), (448, 632)):
        arrow(ax, (start, y), (end, y), linewidth=3, **{k: v for k, v in look.items() if k != "linewidth"})
    text(ax, 360, 358, "Over PCIe inside each node, over InfiniBand or Ethernet between the cards.", SMALL)
    return ax


FIGURES = {"what_moves_where": what_moves_where, "gpudirect_rdma": gpudirect_rdma}

if __name__ == "__main__":
    save_all(FIGURES)
