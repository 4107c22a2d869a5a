"""Horovod's timeline files: read as they really are, torn ends too, and drawn.

recordings/horovod_timeline.json was written by Horovod 0.28.1 over MPI on 2 ranks: three steps with four gradients at
once (rank 1 came 20 ms late to the first), then twice four gradients one by one, then a broadcast.
"""

from pathlib import Path

import matplotlib
import pytest

from labkit import horovod_timeline
from labkit.horovod_timeline import Phase

matplotlib.use("agg")

RECORDING = Path(__file__).parents[1] / "recordings" / "horovod_timeline.json"
LAYERS = ["layer0.weight", "layer0.bias", "layer1.weight", "layer1.bias"]


@pytest.fixture(scope="module")
def phases():
    return horovod_timeline.read(RECORDING)


def of_layers(phases):
    return [phase for phase in phases if "layer" in phase.tensor]


@pytest.mark.parametrize("end", ["]", ",]", ",\n]\n", ",", ""])
def test_every_end_that_horovod_leaves(end, phases, tmp_path):
    text = RECORDING.read_text()
    assert text.endswith("}]")
    path = tmp_path / "timeline.json"
    path.write_text(text[:-1] + end)
    assert horovod_timeline.read(path) == phases


def test_phases_in_order_with_their_tensor_and_size(phases):
    assert phases == sorted(phases, key=lambda phase: phase.start)
    assert all(phase.end is not None and phase.end >= phase.start for phase in phases)
    sizes = {horovod_timeline.short_name(phase.tensor): phase.nbytes for phase in of_layers(phases)}
    assert sizes == {"layer0.weight": 4000, "layer0.bias": 400, "layer1.weight": 4000, "layer1.bias": 40}
    broadcast = [phase for phase in phases if phase.tensor == "broadcast.start"]
    assert [phase.name for phase in broadcast] == ["NEGOTIATE_BROADCAST", "BROADCAST", "MPI_BCAST"]
    assert [phase.nbytes for phase in broadcast] == [None] * 3  # Horovod does not say


def test_parts_of_an_operation_lie_inside_of_it(phases):
    for outer in (phase for phase in phases if phase.name == "ALLREDUCE"):
        parts = [
            p
            for p in phases
            if p.tensor == outer.tensor and p.inside == "ALLREDUCE" and outer.start <= p.start <= outer.end
        ]
        assert parts and all(part.end <= outer.end for part in parts)
        assert sum(part.is_transfer for part in parts) == 1


def test_a_late_rank_is_seen_in_the_first_negotiation_only(phases):
    first, second, third = (step[0] for step in horovod_timeline.steps(of_layers(phases)))
    assert sorted(first.ready) == [0, 1]
    assert 0.015 < first.ready[1] - first.ready[0] < 0.025
    assert second.ready == third.ready == {}


def test_steps(phases):
    steps = horovod_timeline.steps(of_layers(phases))
    assert len(steps) == 3
    for step in steps:
        negotiated = [horovod_timeline.short_name(phase.tensor) for phase in step if phase.is_negotiation]
        assert negotiated == LAYERS
    assert horovod_timeline.steps([]) == []


def test_a_step_that_is_there_in_part_is_left_out(phases):
    layers = of_layers(phases)
    assert len(horovod_timeline.steps(layers[3:])) == 2  # three negotiations of the first step are missing
    last = max(i for i, phase in enumerate(layers) if phase.is_transfer)
    assert len(horovod_timeline.steps(layers[:last])) == 2


def test_fused_tensors_are_one_transfer(phases):
    assert [len(fused) for fused in horovod_timeline.transfers(phases)] == [4, 4, 4] + 8 * [1] + [1]
    fused = horovod_timeline.transfers(phases)[0]
    assert sorted(horovod_timeline.short_name(phase.tensor) for phase in fused) == sorted(LAYERS)


def test_a_file_that_breaks_off_gives_what_is_there(phases, tmp_path):
    text = RECORDING.read_text()
    whole = {(phase.tensor, phase.name, phase.start, phase.end) for phase in phases}
    torn = tmp_path / "torn.json"
    counts = []
    for length in range(1, len(text), 211):
        torn.write_text(text[:length])
        found = horovod_timeline.read(torn)
        assert {(p.tensor, p.name, p.start, p.end) for p in found if p.end is not None} <= whole
        counts.append(len(found))
    assert counts == sorted(counts) and counts[0] == 0 and counts[-1] > 70


def test_a_tensor_that_waits_for_a_rank_for_ever(tmp_path):
    text = RECORDING.read_text()
    stuck = tmp_path / "stuck.json"
    stuck.write_text(text[: text.index('{"ph": "X", "name": "1"')])
    found = horovod_timeline.read(stuck)
    assert {phase.name for phase in found} == {"NEGOTIATE_ALLREDUCE"}
    assert all(phase.end is None and list(phase.ready) == [0] for phase in found)
    assert horovod_timeline.steps(found) == []
    ax = horovod_timeline.draw(found).axes[0]
    assert ax.get_title() == f"{len(found)} tensors in 0 transfers"


@pytest.mark.parametrize("text", ["", "no timeline", '{"traceEvents": []}'])
def test_what_is_no_timeline_is_refused(text, tmp_path):
    path = tmp_path / "other.txt"
    path.write_text(text)
    with pytest.raises(ValueError, match="no Horovod timeline"):
        horovod_timeline.read(path)


@pytest.mark.parametrize(
    "name, short",
    [
        ("allreduce.layer0.weight", "layer0.weight"),
        ("allreduce.noname.7", "7"),
        (
            "DistributedGradientTape_Allreduce/cond/then/_0/cond/HorovodAllreduce_gradient_tape_mlp_dense_MatMul_0",
            "mlp_dense_MatMul",
        ),
        ("HorovodBroadcast_dense_kernel_0", "dense_kernel"),
        ("gradient", "gradient"),
    ],
)
def test_short_names(name, short):
    assert horovod_timeline.short_name(name) == short


def test_drawing_has_a_lane_per_tensor_and_a_frame_around_what_is_fused(phases):
    step = horovod_timeline.steps(of_layers(phases))[1]
    ax = horovod_timeline.draw(step, title="one step").axes[0]
    assert ax.get_title() == "one step: 4 tensors in 1 transfer"
    assert [label.get_text() for label in ax.get_yticklabels()] == [
        "layer0.weight  4000 B",
        "layer0.bias  400 B",
        "layer1.weight  4000 B",
        "layer1.bias  40 B",
    ]
    bars = sum(len(container) for container in ax.containers)
    assert bars == sum(phase.name != "ALLREDUCE" for phase in step)
    frames = [patch for patch in ax.patches if not patch.get_fill()]
    assert len(frames) == 1 and frames[0].get_height() > 3.5
    matplotlib.pyplot.close(ax.figure)


def test_one_by_one_there_is_no_frame(phases):
    single = [phase for phase in phases if "single" in phase.tensor]
    ax = horovod_timeline.draw(horovod_timeline.steps(single)[0]).axes[0]
    assert ax.get_title() == "4 tensors in 4 transfers"
    assert not [patch for patch in ax.patches if not patch.get_fill()]
    # Both ranks were ready at the same time: one label for both.
    assert [text.get_text() for text in ax.texts] == ["0,1"] * 4
    matplotlib.pyplot.close(ax.figure)


def test_more_tensors_than_lanes():
    many = [Phase(f"t{i}", "MPI_ALLREDUCE", i * 1e-3, i * 1e-3 + 5e-4, "ALLREDUCE") for i in range(30)]
    ax = horovod_timeline.draw(many).axes[0]
    assert ax.get_title() == "30 tensors in 30 transfers, the first 24 tensors are shown"
    assert len(ax.get_yticks()) == 24
    matplotlib.pyplot.close(ax.figure)
