"""Computing and memory in the space-time diagram: a pipeline can be read from it."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree

import pytest

from labkit import palette, timeline
from labkit.diagram import layout, places, shapes, words
from labkit.watch.events import Event

MS, HOP, MB = 1e-3, 2e-5, 10**6


def order(rank: int, stages: int, batches: int) -> list[tuple[str, int]]:
    """What a stage computes under 1F1B, forward (F) and backward (B), by micro-batch."""
    warm = min(batches, stages - 1 - rank)
    actions = [("F", k) for k in range(warm)]
    for k in range(batches - warm):
        actions += [("F", warm + k), ("B", k)]
    return actions + [("B", k) for k in range(batches - warm, batches)]


def pipeline(stages: int, batches: int) -> tuple[list[Event], list[list[tuple[float, float]]]]:
    """1F1B with sends that do not block: its events, and the memory of each rank (1 MB, and 1 MB per micro-batch that
    is alive)."""
    todo = [order(rank, stages, batches) for rank in range(stages)]
    clock, sent, events = [0.0] * stages, {}, []
    memory = [[(0.0, MB)] for _ in range(stages)]
    while any(todo):
        for rank in range(stages):
            while todo[rank]:
                what, k = todo[rank][0]
                source = rank - 1 if what == "F" else rank + 1
                if 0 <= source < stages:
                    if (what, k, source) not in sent:
                        break
                    posted, match = sent[what, k, source], len(events)
                    started = max(posted, clock[rank])
                    ends = {"started": started, "ended": started + HOP, "nbytes": 4096, "tag": k, "match": match}
                    events.append(Event(rank, "recv", clock[rank], peer=source, **ends))
                    events.append(Event(source, "send", posted, peer=rank, **ends))
                    clock[rank] = started + HOP
                start, clock[rank] = clock[rank], clock[rank] + (MS if what == "F" else 2 * MS)
                events.append(Event(rank, "compute", start, start, clock[rank], label=f"{what}{k}"))
                more = MB if what == "F" else -MB
                memory[rank].append((start if what == "F" else clock[rank], memory[rank][-1][1] + more))
                sent[what, k, rank] = clock[rank]
                todo[rank].pop(0)
    return events, memory


def alone(world_size: int = 2, label: str = "") -> list[Event]:
    """Ranks that compute for 1, 2, ... ms and then reduce."""
    events = []
    for rank in range(world_size):
        events.append(Event(rank, "compute", 0.0, 0.0, (rank + 1) * MS, label=label))
        events.append(Event(rank, "all_reduce", (rank + 1) * MS, world_size * MS, (world_size + 1) * MS, nbytes=64))
    return events


def box(polygon) -> tuple[float, float, float, float]:
    xs, ys = zip(*polygon.points, strict=True)
    return min(xs), min(ys), max(xs), max(ys)


def legend(diagram) -> list[str]:
    return [shape.text for shape in diagram.of("legend") if hasattr(shape, "text")]


def apart(boxes) -> bool:
    """Whether no two boxes (left, top, right, bottom) cover each other."""
    ordered = sorted(boxes)
    for k, (_, top, right, bottom) in enumerate(ordered):
        for other in ordered[k + 1 :]:
            if other[0] >= right - 0.1:
                break
            if other[1] < bottom - 0.1 and top < other[3] - 0.1:
                return False
    return True


def label_box(label) -> tuple[float, float, float, float]:
    width = words.width_of(label.text, label.size)
    left = label.x - {"start": 0, "middle": width / 2, "end": width}[label.anchor]
    return left, label.y - label.size / 2, left + width, label.y + label.size / 2


def test_computing_is_a_solid_block_with_its_label_in_a_colour_of_its_own():
    events, _ = pipeline(4, 8)
    diagram = layout.layout(events)
    blocks = diagram.of("computing")
    assert len(blocks) == 4 * 16 and not any(block.hatch for block in blocks)
    others = {shape.fill for role in ("moving", "waiting", "band") for shape in diagram.of(role)}
    assert {block.fill for block in blocks} == {shapes.PARTS["F"], shapes.PARTS["B"]} and others.isdisjoint(
        block.fill for block in blocks
    )
    assert sorted(label.text for label in diagram.of("computed")) == sorted(e.label for e in events if e.label)
    assert len({label.size for label in diagram.of("computed")}) == 1
    for label in diagram.of("computed"):
        left, top, right, bottom = label_box(label)
        assert any(b[0] <= left and right <= b[2] and b[1] <= top and bottom <= b[3] for b in map(box, blocks))


def test_forward_and_backward_differ_in_lightness_too():
    """Who sees no colours tells them apart."""

    def lightness(colour):
        red, green, blue = (int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5))
        return 0.2126 * red + 0.7152 * green + 0.0722 * blue

    values = [lightness(shapes.colour_of("compute", label)) for label in ("F1", "W1", "B1")]
    assert values[0] > values[1] + 0.1 > values[2] + 0.2
    assert shapes.colour_of("compute") == shapes.colour_of("compute", "step 3") == palette.tint(palette.PURPLE, 0.35)


def test_the_legend_and_the_description_name_computing():
    events, _ = pipeline(4, 8)
    assert "computing (F, B)" in legend(layout.layout(events))
    assert legend(layout.layout(alone())) == ["computing", "waiting", "bytes move", "collective"]
    assert "Computing: 24 ms in 16 blocks (8 F, 8 B) on every rank." in timeline.describe(events)
    assert "Computing: rank 0: 1 ms in 1 block; rank 1: 2 ms in 1 block." in timeline.describe(alone())
    assert timeline.describe(alone()).startswith("2 ranks, 0 messages (0 B), 1 collective, 3 ms.")


def test_a_rank_that_computes_alone_is_part_of_no_collective():
    """Computing of different ranks is not matched, and joined by no band."""
    events = [Event(r, "compute", 0.0, None, MS) for r in range(3)]
    assert [(e.match, e.started) for e in words.matched(events)] == [(None, 0.0)] * 3
    diagram = layout.layout(events)
    assert not diagram.of("band") and not diagram.of("waiting") and not diagram.of("note")
    assert legend(diagram) == ["computing"]


def test_computing_and_communication_one_after_the_other_share_a_row():
    diagram = layout.layout(alone())
    tops = {box(shape)[1] for role in ("computing", "moving", "waiting") for shape in diagram.of(role)}
    assert len(tops) == 2, "one row in each of the two lanes"


def test_computing_has_the_first_row_where_communication_runs_beside_it():
    events, _ = pipeline(4, 8)
    diagram = layout.layout(events)
    rows = sorted({box(block)[1::2] for block in diagram.of("computing")})
    assert len(rows) == 4, "always the same row of its lane, whatever runs beside it"
    for block in diagram.of("moving") + diagram.of("waiting"):
        lane = max(k for k, (top, _) in enumerate(rows) if top <= box(block)[1])
        assert box(block)[1] >= rows[lane][1] - 0.1, "below the computing of its lane"
    assert apart(map(box, diagram.of("computing")))


def test_an_overlap_of_rounding_is_none():
    ends = [0.1 * k * MS for k in range(1, 100)]
    events = [Event(0, "compute", end - 0.1 * MS, end - 0.1 * MS, end) for end in ends]
    assert any(later.posted < event.ended for event, later in zip(events, events[1:], strict=False))
    diagram = layout.layout(events)
    assert len({box(block)[1::2] for block in diagram.of("computing")}) == 1
    events += [Event(1, "recv", 0.0, ends[-1], ends[-1], peer=0), Event(0, "send", ends[-1] - 1e-17, None, ends[-1])]
    assert len({box(block)[1::2] for block in layout.layout(events).of("computing")}) == 1


@pytest.mark.parametrize(("stages", "batches"), [(4, 8), (4, 16), (4, 32), (16, 32), (64, 16)])
def test_a_pipeline_is_drawn_as_a_whole(stages, batches):
    events, memory = pipeline(stages, batches)
    diagram = layout.layout(events, memory=memory)
    assert diagram.shown == diagram.total and not diagram.of("note")
    assert len(diagram.of("computing")) == 2 * stages * batches
    assert len(diagram.of("message")) == 2 * (stages - 1) * batches
    assert not diagram.of("bytes"), "hundreds of equal numbers would hide the rest"
    assert "message (4096 B)" in legend(diagram)
    for role in ("rank", "peak", "computed"):
        assert apart(map(label_box, diagram.of(role)))
    for shape in diagram.shapes:
        points = shape.points if hasattr(shape, "points") else []
        assert all(0 <= x <= diagram.width and 0 <= y <= diagram.height for x, y in points)


def test_labels_are_dropped_where_they_do_not_fit():
    events, _ = pipeline(4, 32)
    assert not layout.layout(events).of("computed")
    assert len(layout.layout(alone(4, "a block with a name that fits")).of("computed")) == 3
    assert [label.text for label in layout.layout(alone(1, "x" * 99)).of("computed")] == ["x" * 23 + "…"]


def test_few_messages_beside_computing_carry_their_bytes():
    events, _ = pipeline(2, 2)
    diagram = layout.layout(events)
    assert {label.text for label in diagram.of("bytes")} == {"4096 B"} and "message" in legend(diagram)


def test_many_blocks_and_many_messages_beside_few_are_cut():
    blocks = [Event(0, "compute", k * MS, k * MS, (k + 1) * MS) for k in range(1000)]
    assert layout.layout(blocks).shown == places.OPERATIONS_BESIDE_COMPUTING
    flood = [Event(0, "send", k * MS, k * MS, (k + 1) * MS, peer=1, match=k) for k in range(1000)]
    assert layout.layout([blocks[0], *flood]).shown == places.OPERATIONS_PER_RANK + places.OPERATIONS_PER_BLOCK
    many = [Event(r, "compute", k * MS, k * MS, (k + 1) * MS) for r in range(64) for k in range(1000)]
    assert layout.layout(many).shown <= places.OPERATIONS


def test_a_rank_that_never_finished_computing_waits_for_nobody():
    diagram = layout.layout([Event(0, "compute", 0.0, 0.0, None), Event(1, "recv", 0.0, None, None, peer=0)])
    assert [label.text for label in diagram.of("stuck")] == ["never finished", "waits for rank 0"]
    assert len(diagram.of("computing")[0].points) > 4, "torn off at the edge"


def test_a_long_legend_goes_on_in_a_second_row():
    events, memory = pipeline(4, 8)
    events += [Event(r, "barrier", 0.04, None, None) for r in range(3)]
    diagram = layout.layout(events, memory=memory)
    rows = {shape.y for shape in diagram.of("legend") if hasattr(shape, "text")}
    assert len(rows) == 2 and max(rows) + 6 < diagram.height
    assert all(label_box(shape)[2] <= diagram.width for shape in diagram.of("legend") if hasattr(shape, "text"))


# --- memory -----------------------------------------------------------------------------------------------------------


def test_below_each_lane_lies_its_memory_on_one_scale_with_its_peak():
    events, memory = pipeline(4, 8)
    diagram = layout.layout(events, memory=memory)
    heights = [bottom - top for _, top, _, bottom in map(box, diagram.of("memory"))]
    assert [height / heights[0] for height in heights] == pytest.approx([1, 4 / 5, 3 / 5, 2 / 5])
    assert [label.text for label in diagram.of("peak")] == ["peak 5 MB", "peak 4 MB", "peak 3 MB", "peak 2 MB"]
    bottoms = [lane.y1 for lane in diagram.of("lane")]
    for rank, curve in enumerate(diagram.of("memory")):
        _, top, _, bottom = box(curve)
        assert bottoms[rank] < top and (rank == 3 or bottom < bottoms[rank + 1])
    assert "memory" in legend(diagram)
    assert "Peak of memory: rank 0: 5 MB; rank 1: 4 MB; rank 2: 3 MB; rank 3: 2 MB." in diagram.description
    assert diagram.description == timeline.describe(events, 4, memory)


def test_memory_covers_no_block():
    events, memory = pipeline(16, 8)
    diagram = layout.layout(events, memory=memory)
    blocks = [shape for role in ("computing", "moving", "waiting") for shape in diagram.of(role)]
    edges = sorted((box(curve)[1], box(curve)[3]) for curve in diagram.of("memory"))
    for _, top, _, bottom in map(box, blocks):
        assert not any(top < below and above < bottom for above, below in edges)


def test_lanes_grow_for_memory_only():
    events, memory = pipeline(4, 8)
    heights = [layout.layout(events, memory=given).height for given in (None, memory)]
    without, with_curve = (layout.layout(events, memory=given).of("computing")[0] for given in (None, memory))
    assert heights[1] > heights[0] + 4 * 15
    assert box(without)[3] - box(without)[1] == pytest.approx(box(with_curve)[3] - box(with_curve)[1])


def test_a_step_begins_at_its_time_and_lasts_until_the_next():
    events = [Event(0, "compute", 0.0, 0.0, 10 * MS)]
    diagram = layout.layout(events, memory=[[(0.0, 100), (5 * MS, 200), (8 * MS, 0)]])
    (curve,), (axis,) = diagram.of("memory"), diagram.of("axis")
    left, top, _, bottom = box(curve)

    def height(share):
        x = axis.x1 + share * (axis.x2 - axis.x1)
        before = [y for at, y in curve.points[1:-1] if at <= x]
        return (bottom - before[-1]) / (bottom - top)

    assert left == axis.x1
    assert [height(share) for share in (0.2, 0.45, 0.55, 0.78, 0.85)] == pytest.approx([0.5, 0.5, 1.0, 1.0, 0.0])


def test_what_was_held_for_an_instant_is_drawn_and_counts():
    events = [Event(0, "compute", 0.0, 0.0, 10 * MS)]
    points = [(0.0, 100), (5 * MS, 900), (5 * MS, 100)]
    diagram = layout.layout(events, memory=[points])
    assert [label.text for label in diagram.of("peak")] == ["peak 900 B"]
    (curve,) = diagram.of("memory")
    assert len({y for _, y in curve.points}) == 3, "the ground, the level and the peak"


def test_a_hundred_thousand_steps_make_no_large_picture():
    points = [(k * 1e-7, k % 1000) for k in range(100_000)]
    assert len(timeline.svg([Event(0, "compute", 0.0, 0.0, 10 * MS)], memory=[points])) < 60_000


@pytest.mark.parametrize(
    ("nbytes", "says"), [(0, "0 B"), (512, "512 B"), (65536, "65.5 kB"), (2.5e6, "2.5 MB"), (8e10, "80 GB")]
)
def test_the_peak_has_a_unit_that_suits_it(nbytes, says):
    events = [Event(0, "compute", 0.0, 0.0, MS)]
    diagram = layout.layout(events, memory=[[(0.0, nbytes)]])
    assert [label.text for label in diagram.of("peak")] == [f"peak {says}"]
    assert label_box(diagram.of("peak")[0])[2] <= diagram.width


def test_a_rank_without_a_count_has_no_curve_and_memory_alone_is_drawn():
    events, memory = pipeline(4, 8)
    diagram = layout.layout(events, memory=[None, *memory[1:]])
    assert len(diagram.of("memory")) == len(diagram.of("peak")) == 3
    assert "Peak of memory: rank 1: 4 MB; rank 2: 3 MB; rank 3: 2 MB." in diagram.description
    only = layout.layout([], memory=memory)
    assert len(only.of("lane")) == len(only.of("memory")) == 4 and legend(only) == ["memory"]


def test_what_happens_to_memory_after_the_last_operation_is_in_the_picture():
    diagram = layout.layout([Event(0, "compute", 0.0, 0.0, MS)], memory=[[(0.0, 100), (2 * MS, 300)]])
    assert diagram.of("tick")[-1].text == "2"


@pytest.mark.parametrize(
    ("memory", "says"),
    [
        ([[(0.0, 1)]], "memory of 1 rank beside 2 lanes"),
        ([[(0.0, 1)], [(0.0, -1)]], "memory of rank 1: -1 bytes at 0 s"),
        ([[(float("nan"), 1)], []], "memory of rank 0: 1 bytes at nan s"),
    ],
)
def test_memory_that_does_not_fit_is_an_error(memory, says):
    with pytest.raises(ValueError, match=says):
        timeline.svg(alone(), 2, memory=memory)


def test_svg_and_figure_show_the_same():
    events, memory = pipeline(4, 8)
    diagram = layout.layout(events, memory=memory)
    text = timeline.svg(events, memory=memory, title="1F1B")
    classes = [element.get("class") for element in ElementTree.fromstring(text).iter()]
    (ax,) = timeline.draw(events, memory=memory, title="1F1B").axes
    drawn = [artist.get_gid() for artist in ax.get_children()]
    for role in ("computing", "computed", "memory", "peak", "moving", "waiting", "message"):
        assert classes.count(role) == drawn.count(role) == len(diagram.of(role)) > 0


def test_narrow_gathers_and_reduce_scatters_beside_computing_have_a_letter_that_the_legend_explains():
    events = []
    for rank in range(2):
        times = {"posted": 4 * MS, "started": 4 * MS, "ended": 4.1 * MS, "nbytes": 64}
        events.append(Event(rank, "compute", 0.0, 0.0, 4 * MS, label="B0"))
        events += [Event(rank, "reduce_scatter_single", **times, match=0)]
        events += [Event(rank, "all_gather_into_tensor", 0.0, 0.0, 0.1 * MS, nbytes=64, match=1)]
    drawn = layout.layout(events, 2)
    assert [label.text for label in drawn.of("operation")].count("G") == 2
    assert [label.text for label in drawn.of("operation")].count("R") == 2
    legend = [shape.text for shape in drawn.of("legend") if isinstance(shape, shapes.Label)]
    assert "collective (G all-gather, R reduce-scatter)" in legend
    assert "collective" in [s.text for s in layout.layout(alone(), 2).of("legend") if isinstance(s, shapes.Label)]
