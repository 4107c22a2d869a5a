"""Two nodes with four GPUs each: which way a message takes inside a node, and between nodes without and with GPUDirect
RDMA.
"""

from __future__ import annotations

from drawing import GREY, RANK_COLOURS, SMALL, TEXT, arrow, box, line, page, save_all, text, tint

BUFFERED = "#B34700"
DIRECT = "#00664B"
NVLINK, PCIE = tint("#0072B2", 0.55), tint(GREY, 0.6)
BUFFERED_LINE = {"color": BUFFERED, "linewidth": 2.2, "linestyle": (0, (4, 2))}
DIRECT_LINE = {"color": DIRECT, "linewidth": 3.0}


def draw_node(ax, left, name, network_right):
    """GPUs on top, joined by NVLink; a PCIe switch; host memory, and the network card on the side of the other node."""
    box(ax, left, 8, 316, 286, round=10, linewidth=1.6)
    text(ax, left + 158, 25, name, TEXT, fontweight="bold")
    box(ax, left + 12, 40, 292, 24, "NVLink", NVLINK, size=SMALL, round=3)
    box(ax, left + 12, 138, 292, 24, "PCIe", PCIE, size=SMALL, round=3)
    for gpu in range(4):
        x = left + 12 + gpu * 75
        line(ax, (x + 33, 64), (x + 33, 78), linewidth=5, color="#0072B2")
        line(ax, (x + 33, 118), (x + 33, 138), linewidth=1.4, color=GREY)
        box(ax, x, 78, 67, 40, f"GPU {gpu}", RANK_COLOURS[0], size=SMALL)
    card, host = (left + 229, left + 12) if network_right else (left + 12, left + 109)
    buffer, words = (host + 112, host + 10) if network_right else (host + 10, host + 96)
    line(ax, (card + 26, 162), (card + 26, 212), linewidth=1.4, color=GREY)
    line(ax, (buffer + 24, 162), (buffer + 24, 212), linewidth=1.4, color=GREY)
    box(ax, card, 212, 75, 70, "network\ncard", tint(GREY, 0.8), size=SMALL, round=3, zorder=3)
    box(ax, host, 212, 195, 70, round=3, zorder=3)
    text(ax, words, 247, "host\nmemory", SMALL, ha="left", zorder=4)
    box(ax, buffer, 226, 72, 42, "buffer", tint(BUFFERED, 0.8), size=SMALL, edgecolor=BUFFERED, round=3, zorder=4)


def path(ax, *points, **look):
    """A bent line that ends in an arrow."""
    line(ax, *points[:-1], zorder=5, **look)
    arrow(ax, points[-2], points[-1], zorder=5, mutation_scale=14, **{**look, "linestyle": "-"})


def nccl_rdma_topology():
    ax = page(720, 416)
    draw_node(ax, 8, "node A", network_right=True)
    draw_node(ax, 396, "node B", network_right=False)
    text(ax, 360, 198, "network", SMALL)

    # Without RDMA: GPU 3, buffer, card, card, buffer, GPU 0.
    path(ax, (255, 118), (255, 180), (168, 180), (168, 216), (168, 226), **BUFFERED_LINE)
    path(ax, (204, 262), (226, 262), (236, 262), **BUFFERED_LINE)
    path(ax, (312, 262), (396, 262), (407, 262), **BUFFERED_LINE)
    path(ax, (484, 262), (504, 262), (514, 262), **BUFFERED_LINE)
    path(ax, (551, 226), (551, 180), (465, 180), (465, 130), (465, 119), **BUFFERED_LINE)
    # With it: GPU 3, card, card, GPU 0.
    path(ax, (289, 118), (289, 201), (289, 211), **DIRECT_LINE)
    path(ax, (312, 230), (396, 230), (407, 230), **DIRECT_LINE)
    path(ax, (431, 212), (431, 129), (431, 119), **DIRECT_LINE)

    path(ax, (20, 318), (52, 318), (62, 318), **BUFFERED_LINE)
    text(
        ax, 74, 318, "without RDMA: through a buffer in host memory on both nodes, copied twice more", SMALL, ha="left"
    )
    path(ax, (20, 344), (52, 344), (62, 344), **DIRECT_LINE)
    text(ax, 74, 344, "GPUDirect RDMA: from GPU memory to the card and from the card to GPU memory", SMALL, ha="left")
    text(
        ax,
        360,
        386,
        "NCCL looks at these links once, at the start, and lays its rings and trees\n"
        "so that most bytes take NVLink and few cross the network.",
        SMALL,
    )
    return ax


FIGURES = {"nccl_rdma_topology": nccl_rdma_topology}

if __name__ == "__main__":
    save_all(FIGURES)
