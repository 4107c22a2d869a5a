"""Messages between ranks: blocking send and receive on timelines, the tensor of a request, latency and bytes, eager
and rendezvous, and rings of ranks that wait for each other.
"""

from __future__ import annotations

import math

from drawing import (
    FAINT,
    GREY,
    INK,
    MESSAGE,
    RANK_COLOURS,
    SMALL,
    TEXT,
    VERMILLION,
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
from matplotlib.axes import Axes

LATENCY, PER_KB = 5.0, 1.0  # units of time: of a message, and of each kilobyte in it
LANE = 34


def lane(ax: Axes, y: float, name: str, left: float, right: float) -> None:
    """The timeline of a rank, from left to right."""
    text(ax, left - 10, y + LANE / 2, name, TEXT, ha="right", fontweight="bold")
    line(ax, (left, y + LANE / 2), (right, y + LANE / 2), color=FAINT, linewidth=2, zorder=0)


def call(ax: Axes, x: float, y: float, width: float, content: str, rank: int, waits: float = 0) -> None:
    """A call as a block of a timeline, its first `waits` pixels hatched: there it only waits."""
    cell(ax, x, y, width, LANE, "", RANK_COLOURS[rank])
    if waits:
        cell(ax, x, y, waits, LANE, "", "white", edgecolor=tint(GREY, 0.3), hatch="////", linewidth=0)
        cell(ax, x, y, width, LANE, "", "none")
    look = {"bbox": {"facecolor": "white", "edgecolor": "none", "pad": 2}} if waits else {}
    text(ax, x + (waits or width) / 2, y + LANE / 2, content, SMALL + 1, zorder=4, **look)


def send_and_recv() -> Axes:
    ax = page(720, 344)
    for y, title, sends, receives in (
        (0, "rank 1 is early: recv waits", 330, 150),
        (172, "rank 0 is early: send may wait", 150, 330),
    ):
        text(ax, 86, y + 16, title, TEXT, ha="left", fontweight="bold")
        lane(ax, y + 36, "rank 0", 86, 708)
        lane(ax, y + 106, "rank 1", 86, 708)
        late = max(sends, receives)
        end = late + 130
        call(ax, sends, y + 36, end - sends, "send(x, dst=1)", 0, late - sends)
        call(ax, receives, y + 106, end - receives, "recv(x, src=0)", 1, late - receives)
        arrow(ax, (late + 30, y + 71), (end - 14, y + 105), color=MESSAGE, linewidth=2.4, zorder=6)
        text(ax, end + 14, y + 88, "both are there: x travels", SMALL + 1, ha="left", color=MESSAGE)
    text(ax, 694, 164, "time →", SMALL, ha="right", color=GREY)
    text(ax, 694, 334, "time →", SMALL, ha="right", color=GREY)
    cell(ax, 86, 323, 26, 20, "", edgecolor=tint(GREY, 0.3), hatch="////", linewidth=0)
    text(ax, 120, 333, "waits", SMALL + 1, ha="left")
    return ax


def request_and_wait() -> Axes:
    ax = page(720, 262)
    rows = (("rank 0", "isend", "do not write to x", 0), ("rank 1", "irecv", "do not read x, do not write to it", 1))
    for (name, starts, rule, rank), y in zip(rows, (44, 140), strict=True):
        lane(ax, y, name, 86, 708)
        begin = 130 + 34 * rank
        call(ax, begin, y, 64, starts, rank)
        call(ax, 520, y, 66, "wait()", rank)
        text(ax, (begin + 584) / 2, y + 54, rule, SMALL + 1, color=MESSAGE)
        line(ax, (begin + 64, y + 40), (begin + 64, y + 68), color=MESSAGE)
        line(ax, (586, y + 40), (586, y + 68), color=MESSAGE)
        text(ax, (begin + 584) / 2, y + LANE / 2, "something better to do", SMALL,
             bbox={"facecolor": "white", "edgecolor": "none", "pad": 2})  # fmt: skip
        text(ax, 650, y + 54, "x is yours", SMALL + 1)
    text(ax, 386, 18, "x is on its way: from the start to the end of wait()", TEXT, fontweight="bold")
    text(ax, 694, 244, "time →", SMALL, ha="right", color=GREY)
    text(ax, 86, 244, "starting the message takes no time; only wait() may wait", SMALL + 1, ha="left")
    return ax


def message_seconds(kilobytes: float, messages: int = 1) -> float:
    """The time of so many equal messages, one after the other, that hold so many kilobytes together."""
    return messages * LATENCY + kilobytes * PER_KB


def message_cost() -> Axes:
    ax = page(720, 280)
    unit, left = 11.0, 150
    rows = ((1, 1, "1 kB"), (8, 1, "8 kB"), (32, 1, "32 kB"), (8, 8, "8 times 1 kB"))
    for row, (kilobytes, messages, name) in enumerate(rows):
        y = 14 + 48 * row + 16 * (messages > 1)
        text(ax, left - 10, y + 16, name, TEXT, ha="right", fontweight="bold")
        x = left
        for _ in range(messages):
            cell(ax, x, y, LATENCY * unit, 32, "α", tint(VERMILLION, 0.45), size=TEXT)
            width = kilobytes / messages * PER_KB * unit
            label = f"β · {kilobytes // messages} kB" if width > 70 else ""
            cell(ax, x + LATENCY * unit, y, width, 32, label, RANK_COLOURS[0])
            x += LATENCY * unit + width
        if messages == 1:
            share = LATENCY / message_seconds(kilobytes)
            text(ax, x + 10, y + 16, f"latency: {share:.0%} of it", SMALL + 1, ha="left")
    longer = message_seconds(8, 8) / message_seconds(8)
    text(ax, left, 226, f"{longer:.1f} times as long as one message of 8 kB", SMALL + 1, ha="left", color=MESSAGE)
    cell(ax, left, 248, 22, 20, "", tint(VERMILLION, 0.45))
    text(ax, left + 30, 258, "α: for the message", SMALL + 1, ha="left")
    cell(ax, left + 210, 248, 22, 20, "", RANK_COLOURS[0])
    text(ax, left + 240, 258, "β: for each of its bytes", SMALL + 1, ha="left")
    return ax


def eager_and_rendezvous() -> Axes:
    ax = page(720, 352)
    text(ax, 86, 16, "small: eager", TEXT, ha="left", fontweight="bold")
    lane(ax, 36, "rank 0", 86, 708)
    lane(ax, 106, "rank 1", 86, 708)
    call(ax, 130, 36, 60, "send", 0)
    call(ax, 430, 106, 60, "recv", 1)
    arrow(ax, (176, 71), (212, 111), color=MESSAGE, linewidth=2.4, zorder=6)
    box(ax, 214, 106, 186, LANE, "a buffer keeps it", tint(MESSAGE, 0.85), edgecolor=MESSAGE, size=SMALL + 1)
    arrow(ax, (401, 123), (429, 123), color=MESSAGE, linewidth=2.4, zorder=6)
    text(ax, 204, 53, "send is over: rank 0 goes on", SMALL + 1, ha="left",
         bbox={"facecolor": "white", "edgecolor": "none", "pad": 2})  # fmt: skip
    line(ax, (12, 166), (708, 166), color=FAINT)
    text(ax, 86, 188, "large: rendezvous", TEXT, ha="left", fontweight="bold")
    lane(ax, 208, "rank 0", 86, 708)
    lane(ax, 290, "rank 1", 86, 708)
    call(ax, 130, 208, 490, "send waits until somebody receives", 0, 330)
    call(ax, 430, 290, 190, "recv", 1)
    arrow(ax, (140, 243), (176, 289), color=GREY, zorder=6)
    text(ax, 184, 270, "“I have 4 MB for you”", SMALL + 1, ha="left", color=GREY)
    arrow(ax, (436, 289), (462, 243), color=GREY, zorder=6)
    text(ax, 442, 270, "“here”", SMALL + 1, ha="right", color=GREY)
    arrow(ax, (500, 243), (606, 289), color=MESSAGE, linewidth=2.4, zorder=6)
    text(ax, 586, 262, "the bytes", SMALL + 1, ha="left", color=MESSAGE)
    text(ax, 694, 341, "time →", SMALL, ha="right", color=GREY)
    return ax


def ring(ax: Axes, middle: tuple[float, float], does: tuple[str, ...], waits: bool) -> None:
    """Four ranks in a circle, each with what it does first; arrows are messages, or who waits for whom."""
    x, y = middle
    radius, size = 82, 27
    places = [(x + radius * math.sin(a), y - radius * math.cos(a)) for a in (math.pi / 2 * k for k in range(4))]
    for k, (a, b) in enumerate(places):
        c, d = places[(k + 1) % 4]
        near = 0.30
        moves = waits or does[k].startswith("send")
        look = {"color": VERMILLION if waits else MESSAGE, "linewidth": 2.2, "linestyle": "-" if moves else (0, (3, 3))}
        arrow(ax, (a + near * (c - a), b + near * (d - b)), (c - near * (c - a), d - near * (d - b)), **look)
        circle(ax, a, b, size, f"{k}", RANK_COLOURS[k])
    for (a, b), says, (dx, ha) in zip(
        places, does, ((34, "left"), (0, "center"), (34, "left"), (0, "center")), strict=True
    ):
        text(ax, a + dx, b + (0 if dx else 42), says, SMALL + 1, ha=ha)


def ring_of_waits() -> Axes:
    ax = page(720, 330)
    text(ax, 180, 18, "all send first", TEXT, fontweight="bold")
    ring(ax, (180, 160), ("send", "send", "send", "send"), True)
    text(ax, 180, 292, "each send waits for the recv\nof the next rank: no rank gets there", SMALL + 1, color=MESSAGE)
    text(ax, 540, 18, "even ranks send, odd ranks receive", TEXT, fontweight="bold")
    ring(ax, (540, 160), ("send", "recv", "send", "recv"), False)
    text(ax, 540, 292, "first 0 to 1 and 2 to 3,\nthen (dashed) 1 to 2 and 3 to 0", SMALL + 1, color=INK)
    line(ax, (360, 30), (360, 310), color=FAINT)
    return ax


FIGURES = {
    "send_and_recv": send_and_recv,
    "request_and_wait": request_and_wait,
    "message_cost": message_cost,
    "eager_and_rendezvous": eager_and_rendezvous,
    "ring_of_waits": ring_of_waits,
}

if __name__ == "__main__":
    save_all(FIGURES)
