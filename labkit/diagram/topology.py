"""A network as a drawing: nodes as boxes with their ranks, what links these inside a node, and what links the nodes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from labkit.diagram.shapes import COLLECTIVE, SMALL, WIDTH, Diagram, Label, Line, Polygon
from labkit.diagram.words import count, numbers, short, width_of
from labkit.palette import GREY, INK, ORANGE, tint

RANK_HEIGHT, CARD_WIDTH, CARD_HEIGHT = 24, 32, 18  # pixels
TITLE, STUB, NETWORK = 22, 24, 26  # heights of a node's name, of the line from a card to the network, and of that
MARGIN = 12
ROOM = WIDTH - 2 * MARGIN
MOST_TEXT = 84  # characters on a link
RANKS_OF_A_NODE = (16, 8)  # more are left out in the middle: with less room, more of them
INSIDE, OUTSIDE = COLLECTIVE, tint(ORANGE, 0.45)


@dataclass(frozen=True)
class _Plan:
    """The part of the network that is drawn, and its size."""

    columns: int  # ranks side by side
    rows: int  # of ranks, 1 or 2
    rank: int = 34  # pixels: the width of a rank, the gap to the next, the padding of a node, the gap to the next
    gap: int = 10
    padding: int = 12
    apart: int = 14
    shared: bool = False  # whether any node has more than one rank
    linked: bool = False  # whether there is a network between nodes
    nodes: tuple[tuple[int, list[int | None]] | None, ...] = ()  # number and ranks; None: here some were left out
    width: float = 0.0  # of a node
    inside: tuple[str, ...] = ()  # lines of text on the link inside a node; none where the text does not fit there

    @property
    def least(self) -> float:
        """The width that the ranks of a node need; the upper one of two rows is moved by half a rank, so that its links
        pass between the lower ones."""
        step = self.rank + self.gap
        return self.columns * step - self.gap + 2 * self.padding + step / 2 * (self.rows - 1)

    @property
    def link_height(self) -> float:
        return 10 + 14 * max(1, len(self.inside))

    @property
    def node_height(self) -> float:
        ranks = self.rows * (RANK_HEIGHT + 10) + (self.link_height if self.shared else -10)
        name = TITLE if self.shared and self.linked else 0
        return self.padding + name + ranks + (CARD_HEIGHT / 2 + 8 if self.linked else self.padding)

    @property
    def total_width(self) -> float:
        return len(self.nodes) * (self.width + self.apart) - self.apart


def layout_topology(nodes: Sequence[Sequence[int]], inside: str, between: str) -> Diagram:
    """A box per node with its ranks, the link between them, and below all nodes the network that their cards reach.

    nodes: the ranks of each; one node of all ranks has no network, nodes of one rank each have no links inside. inside,
    between: what is written on these links. Many nodes, or many ranks of one, are left out in the middle, and the
    picture says so. Raises ValueError where there is no node, a node is empty, or a rank stands in two.
    """
    nodes = [list(ranks) for ranks in nodes]
    _check(nodes)
    plan = _plan(nodes, short(inside, MOST_TEXT))
    shapes, bottom = _nodes(plan)
    if plan.linked:
        shapes += _network(plan, short(between, MOST_TEXT), bottom)
        bottom += STUB + NETWORK
    notes = _left_out(nodes, plan)
    if plan.shared and not plan.inside:
        shapes.append(Polygon("legend", _box(MARGIN, bottom + 9, 24, 12), INSIDE, INK))
        shapes.append(Label("inside", MARGIN + 32, bottom + 15, short(inside, MOST_TEXT)))
        bottom += 24
    if notes:
        shapes.append(Label("note", WIDTH / 2, bottom + 14, notes, SMALL, "middle", GREY))
        bottom += 22
    shown = sum(rank is not None for node in plan.nodes if node for rank in node[1])
    total = sum(map(len, nodes))
    text = _describe(nodes, short(inside, MOST_TEXT), short(between, MOST_TEXT))
    return Diagram(WIDTH, bottom + MARGIN, tuple(shapes), "Topology of the network", text, "", shown, total)


def _check(nodes: list[list[int]]) -> None:
    if not nodes:
        raise ValueError("a network without nodes")
    at: dict[int, int] = {}
    for number, ranks in enumerate(nodes):
        if not ranks:
            raise ValueError(f"node {number} has no ranks")
        for rank in ranks:
            if rank in at:
                where = f"twice in node {number}" if at[rank] == number else f"in nodes {at[rank]} and {number}"
                raise ValueError(f"rank {rank} stands {where}")
            at[rank] = number


def _plan(nodes: list[list[int]], inside: str) -> _Plan:
    """The widest arrangement that fits side by side: with less room, ranks in two rows, then smaller ones, then fewer
    nodes."""
    most = max(map(len, nodes))
    plans = [plan for limit in RANKS_OF_A_NODE for plan in _choices(min(limit, most))]
    plan = next((plan for plan in plans if plan.least <= _share(plan, len(nodes))), plans[-1])
    fit = max(3, int((ROOM + plan.apart) / (plan.least + plan.apart)))
    shown = [(number, _with_gap(ranks, plan.columns * plan.rows)) for number, ranks in enumerate(nodes)]
    kept = shown if fit >= len(shown) else [*shown[: fit - 2], None, shown[-1]]
    wish = width_of(inside, SMALL) + 2 * plan.padding + 12 if most > 1 else 0
    width = max(plan.least, min(_share(plan, len(kept)), wish))
    lines = _lines(inside, width - 2 * plan.padding - 6) if most > 1 else ()
    linked = len(nodes) > 1
    return replace(plan, shared=most > 1, linked=linked, nodes=tuple(kept), width=width, inside=lines)


def _choices(ranks: int) -> list[_Plan]:
    """Arrangements of the ranks of a node, the widest first."""
    columns, rows = ((ranks + 1) // 2, 2) if ranks > 2 else (ranks, 1)
    narrow = [_Plan(columns, rows), _Plan(columns, rows, rank=24, gap=4, padding=6, apart=8)]
    return ([_Plan(ranks, 1)] if ranks <= 8 else []) + narrow


def _share(plan: _Plan, nodes: int) -> float:
    """The width that each of so many nodes can have."""
    return (ROOM + plan.apart) / nodes - plan.apart


def _lines(text: str, room: float) -> tuple[str, ...]:
    """The text in one line, or in two that part at a comma; none where it does not fit."""
    if width_of(text, SMALL) <= room:
        return (text,)
    cuts = [k + 1 for k, character in enumerate(text) if character == ","]
    choices = [(text[:cut], text[cut:].strip()) for cut in cuts]
    fits = [lines for lines in choices if all(width_of(line, SMALL) <= room for line in lines)]
    return min(fits, key=lambda lines: max(map(len, lines)), default=())


def _with_gap(ranks: list[int], most: int) -> list[int | None]:
    return list(ranks) if len(ranks) <= most else [*ranks[: most - 2], None, ranks[-1]]


def _nodes(plan: _Plan) -> tuple[list[Polygon | Line | Label], float]:
    """The nodes side by side, in the middle of the page; and where they end."""
    x = (WIDTH - plan.total_width) / 2
    bottom = MARGIN + plan.node_height
    shapes: list[Polygon | Line | Label] = []
    for node in plan.nodes:
        if node is None:
            shapes.append(Label("gap", x + plan.width / 2, (MARGIN + bottom) / 2, "…", 2 * SMALL, "middle", GREY))
        else:
            shapes += _node(plan, *node, x, bottom)
        x += plan.width + plan.apart
    return shapes, bottom + (CARD_HEIGHT / 2 if plan.linked else 0)


def _node(plan: _Plan, number: int, ranks: list[int | None], x: float, bottom: float) -> list[Polygon | Line | Label]:
    middle, y = x + plan.width / 2, MARGIN + plan.padding
    box = _box(x, MARGIN, plan.width, bottom - MARGIN)
    shapes: list[Polygon | Line | Label] = [Polygon("node", box, "#F6F6F6", GREY)]
    if plan.shared and plan.linked:
        shapes.append(Label("name", middle, y + 5, f"node {number}", SMALL + 1, "middle", bold=True))
        y += TITLE
    if plan.shared:
        shapes += _ranks_and_link(plan, ranks, x, y)
        y += plan.rows * (RANK_HEIGHT + 10) + plan.link_height
    else:
        shapes += _rank(plan, ranks[0], middle, y)
        y += RANK_HEIGHT
    if plan.linked:
        card = bottom - CARD_HEIGHT / 2
        shapes.append(Line("link", middle, y, middle, card, INK, 1.3))
        shapes.append(Polygon("card", _box(middle - CARD_WIDTH / 2, card, CARD_WIDTH, CARD_HEIGHT), OUTSIDE, INK))
        shapes.append(Label("card", middle, bottom, "card", SMALL - 1, "middle"))
        shapes.append(Line("link", middle, card + CARD_HEIGHT, middle, card + CARD_HEIGHT + STUB, INK, 1.3))
    return shapes


def _ranks_and_link(plan: _Plan, ranks: list[int | None], x: float, y: float) -> list[Polygon | Line | Label]:
    """The ranks of a node in rows from `y` on, and below them the link that joins them."""
    step, link = plan.rank + plan.gap, y + plan.rows * (RANK_HEIGHT + 10)
    used = min(plan.columns, len(ranks)) * step - plan.gap + step / 2 * (plan.rows - 1)
    left = x + (plan.width - used) / 2 + plan.rank / 2
    shapes: list[Polygon | Line | Label] = []
    for k, rank in enumerate(ranks):
        row, column = divmod(k, plan.columns)
        center = left + column * step + (step / 2 if row < plan.rows - 1 else 0)
        top = y + row * (RANK_HEIGHT + 10)
        if rank is not None:
            shapes.append(Line("link", center, top + RANK_HEIGHT, center, link, INK, 1.3))
        shapes += _rank(plan, rank, center, top)
    box = _box(x + plan.padding, link, plan.width - 2 * plan.padding, plan.link_height)
    shapes.append(Polygon("inside", box, INSIDE, INK))
    for k, line in enumerate(plan.inside):
        shapes.append(Label("inside", x + plan.width / 2, link + 12 + 14 * k, line, SMALL, "middle"))
    return shapes


def _rank(plan: _Plan, rank: int | None, center: float, top: float) -> list[Polygon | Label]:
    y = top + RANK_HEIGHT / 2
    if rank is None:
        return [Label("gap", center, y, "…", SMALL + 1, "middle", GREY)]
    size = min(SMALL + 1, (plan.rank - 3) / width_of(str(rank), 1))
    box = _box(center - plan.rank / 2, top, plan.rank, RANK_HEIGHT)
    return [Polygon("rank", box, "#FFFFFF", INK), Label("rank", center, y, str(rank), size, "middle")]


def _network(plan: _Plan, between: str, top: float) -> list[Polygon | Label]:
    """The network below the cards, which end at `top`."""
    width = min(ROOM, max(plan.total_width, width_of(between, SMALL + 1) + 24))
    return [
        Polygon("between", _box((WIDTH - width) / 2, top + STUB, width, NETWORK), OUTSIDE, INK),
        Label("between", WIDTH / 2, top + STUB + NETWORK / 2, between, SMALL + 1, "middle"),
    ]


def _box(x: float, y: float, width: float, height: float) -> tuple[tuple[float, float], ...]:
    return ((x, y), (x + width, y), (x + width, y + height), (x, y + height))


def _left_out(nodes: list[list[int]], plan: _Plan) -> str:
    """A sentence on what the picture leaves out, or ""."""
    parts = []
    if None in plan.nodes:
        parts.append(f"{len(plan.nodes) - 1} of {len(nodes)} nodes")
    shown = max(sum(rank is not None for rank in node[1]) for node in plan.nodes if node)
    if shown < max(map(len, nodes)):
        parts.append(f"{shown} of {max(map(len, nodes))} ranks of a node")
    return "shown: " + ", ".join(parts) if parts else ""


def _describe(nodes: list[list[int]], inside: str, between: str) -> str:
    sizes = sorted({len(ranks) for ranks in nodes})
    ranks = sum(map(len, nodes))
    each = f" of {count(sizes[0], 'rank')}" if len(sizes) == 1 else ""
    parts = [f"{count(len(nodes), 'node')}{each}, {count(ranks, 'rank')} in all." if len(nodes) > 1 else ""]
    parts += [f"Node {number}: {numbers(of_node)}." for number, of_node in enumerate(nodes[:16])]
    parts += [f"And {count(len(nodes) - 16, 'more node')}."] if len(nodes) > 16 else []
    parts += [f"The link inside a node says: {inside}."] if sizes[-1] > 1 else []
    parts += [f"The network between nodes says: {between}."] if len(nodes) > 1 else []
    return " ".join(part for part in parts if part)
