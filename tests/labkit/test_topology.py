"""The drawing of a network: every rank stands in its node, and what is written is readable."""

from __future__ import annotations

import io
import xml.etree.ElementTree as ElementTree

import pytest

from labkit import timeline
from labkit.diagram.render import render_svg
from labkit.diagram.topology import layout_topology
from labkit.diagram.words import width_of

INSIDE, BETWEEN = "inside: 1 µs, 300 GB/s", "between: 5 µs, 10 GB/s"


def network(nodes: int, ranks: int) -> list[list[int]]:
    return [list(range(k * ranks, (k + 1) * ranks)) for k in range(nodes)]


SHAPES = {
    "two nodes": network(2, 4),
    "one node": network(1, 4),
    "flat": network(4, 1),
    "flat, many": network(16, 1),
    "flat, too many": network(4096, 1),
    "many nodes": network(8, 4),
    "too many nodes": network(64, 8),
    "a large node": network(1, 64),
    "large nodes": network(4, 64),
    "a single rank": [[0]],
    "unequal": [[0, 1, 2], [3], [5, 4]],
}


def box(polygon) -> tuple[float, float, float, float]:
    xs, ys = zip(*polygon.points, strict=True)
    return min(xs), min(ys), max(xs), max(ys)


def label_box(label) -> tuple[float, float, float, float]:
    width = width_of(label.text, label.size)
    left = label.x - {"start": 0, "middle": width / 2, "end": width}[label.anchor]
    return left, label.y - label.size / 2, left + width, label.y + label.size / 2


def within(inner, outer) -> bool:
    return outer[0] <= inner[0] and outer[1] <= inner[1] and inner[2] <= outer[2] and inner[3] <= outer[3]


def apart(boxes) -> bool:
    boxes = list(boxes)
    return not any(
        a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3] for k, a in enumerate(boxes) for b in boxes[k + 1 :]
    )


def polygons(diagram, role):
    return [shape for shape in diagram.of(role) if hasattr(shape, "points")]


def labels(diagram, role):
    return [shape for shape in diagram.of(role) if hasattr(shape, "text")]


@pytest.mark.parametrize("name", SHAPES)
def test_ranks_lie_in_their_nodes_and_nothing_covers_anything(name):
    nodes = SHAPES[name]
    diagram = layout_topology(nodes, INSIDE, BETWEEN)
    ranks, boxes = [box(p) for p in polygons(diagram, "rank")], [box(p) for p in polygons(diagram, "node")]
    page = (0, 0, diagram.width, diagram.height)
    assert apart(ranks) and apart(boxes) and apart(box(p) for p in polygons(diagram, "card"))
    assert all(within(b, page) for b in [*boxes, *(label_box(s) for s in diagram.shapes if hasattr(s, "text"))])
    for label, place in zip(labels(diagram, "rank"), ranks, strict=True):
        assert within(label_box(label), place), "its number fits"
    drawn = [sorted(int(label.text) for label in labels(diagram, "rank") if within(label_box(label), b)) for b in boxes]
    whole = [sorted(node) for node in nodes]
    if diagram.shown == diagram.total == sum(map(len, nodes)):
        assert drawn == whole and not diagram.of("note") and not diagram.of("gap")
    else:
        assert all(any(set(some) <= set(node) for node in whole) for some in drawn), "no rank in another's node"
        assert labels(diagram, "note")[0].text.startswith("shown: ") and diagram.of("gap")


@pytest.mark.parametrize(
    ("name", "whole"),
    [
        ("two nodes", True),
        ("flat, many", True),
        ("many nodes", True),
        ("too many nodes", False),
        ("a large node", False),
    ],
)
def test_what_fits_is_drawn_as_a_whole(name, whole):
    diagram = layout_topology(SHAPES[name], INSIDE, BETWEEN)
    assert (diagram.shown == diagram.total) == whole


def test_links_carry_their_texts_where_there_are_such_links():
    two = layout_topology(network(2, 4), INSIDE, BETWEEN)
    assert [label.text for label in labels(two, "inside")] == [INSIDE] * 2
    assert [label.text for label in labels(two, "between")] == [BETWEEN]
    assert len(polygons(two, "card")) == 2
    one = layout_topology(network(1, 4), INSIDE, BETWEEN)
    assert labels(one, "inside") and not one.of("between") and not one.of("card")
    flat = layout_topology(network(4, 1), INSIDE, BETWEEN)
    assert labels(flat, "between") and not flat.of("inside") and len(polygons(flat, "card")) == 4


def test_a_text_that_does_not_fit_is_parted_at_a_comma_or_stands_in_a_legend():
    four = layout_topology(network(4, 4), INSIDE, BETWEEN)
    assert [label.text for label in labels(four, "inside")] == ["inside: 1 µs,", "300 GB/s"] * 4
    for label in labels(four, "inside"):
        assert any(within(label_box(label), box(link)) for link in polygons(four, "inside"))
    eight = layout_topology(network(8, 4), INSIDE, BETWEEN)
    assert [label.text for label in labels(eight, "inside")] == [INSIDE] and polygons(eight, "legend")


def test_every_rank_is_joined_to_the_link_of_its_node_and_no_line_passes_through_another():
    for nodes in (network(2, 8), network(4, 8), network(8, 4)):
        diagram = layout_topology(nodes, INSIDE, BETWEEN)
        lines = diagram.of("link")
        for rank in map(box, polygons(diagram, "rank")):
            middle = (rank[0] + rank[2]) / 2
            own = [line for line in lines if abs(line.x1 - middle) < 1e-6 and abs(line.y1 - rank[3]) < 1e-6]
            assert len(own) == 1
            assert not any(rank[0] < line.x1 < rank[2] and line.y1 < rank[1] and line.y2 > rank[3] for line in lines)


def test_the_description_says_it_in_words():
    assert layout_topology(network(2, 4), INSIDE, BETWEEN).description == (
        "2 nodes of 4 ranks, 8 ranks in all. Node 0: ranks 0 to 3. Node 1: ranks 4 to 7. "
        f"The link inside a node says: {INSIDE}. The network between nodes says: {BETWEEN}."
    )
    assert layout_topology(network(1, 2), INSIDE, "").description == (
        f"Node 0: ranks 0, 1. The link inside a node says: {INSIDE}."
    )
    assert "And 48 more nodes." in layout_topology(network(64, 1), "", BETWEEN).description


@pytest.mark.parametrize(
    ("nodes", "says"),
    [
        ([], "a network without nodes"),
        ([[0], []], "node 1 has no ranks"),
        ([[0, 1], [1]], "rank 1 stands in nodes 0 and 1"),
        ([[2, 2]], "rank 2 stands twice in node 0"),
    ],
)
def test_what_is_no_network_is_an_error(nodes, says):
    with pytest.raises(ValueError, match=says):
        timeline.draw_topology(nodes, INSIDE, BETWEEN)


def test_it_becomes_a_figure_and_an_svg():
    from matplotlib.figure import Figure

    figure = Figure(figsize=(4, 3))
    assert timeline.draw_topology(network(2, 2), INSIDE, BETWEEN, ax=figure.add_subplot()) is figure
    diagram = layout_topology(network(2, 2), "<b>&", "x" * 500)
    (ax,) = timeline.draw_topology(network(2, 2), "<b>&", "x" * 500).axes
    drawn = [artist.get_gid() for artist in ax.get_children()]
    root = ElementTree.fromstring(render_svg(diagram))
    classes = [element.get("class") for element in root.iter()]
    for role in ("node", "rank", "inside", "between", "card", "link"):
        assert drawn.count(role) == classes.count(role) == len(diagram.of(role)) > 0
    assert all(label_box(label)[2] <= diagram.width for label in labels(diagram, "between"))
    figure.savefig(io.BytesIO(), format="png", dpi=40)
