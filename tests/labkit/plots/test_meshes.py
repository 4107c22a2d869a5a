"""Figures of a mesh: groups on nodes, a step without its messages."""

from types import SimpleNamespace

import matplotlib.pyplot as plt
import pytest

from labkit.plots import meshes
from labkit.watch.events import Event


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


def test_ranks_lie_on_their_nodes_in_the_colour_of_their_group():
    meshes.groups({"data": [[0, 2], [1, 3]], "tensor": [[0, 1], [2, 3]]}, per_node=2)
    data, tensor = plt.gcf().axes
    colours = [[patch.get_facecolor() for patch in ax.patches] for ax in (data, tensor)]
    assert [len(set(found)) for found in colours] == [2, 2]
    assert [text.get_text() for text in data.texts] == ["0", "2", "1", "3"]
    assert [label.get_text() for label in tensor.get_yticklabels()] == ["node 0", "node 1"]
    assert tensor.get_title(loc="left") == "groups of tensor"


def test_more_groups_than_colours_are_refused():
    with pytest.raises(IndexError):
        meshes.groups({"data": [[rank] for rank in range(9)]}, per_node=3)


def test_a_step_is_drawn_without_its_messages():
    events = [Event(0, "compute", 0.0, 0.0, 0.1), Event(0, "send", 0.1, 0.1, 0.2, peer=1)]
    events += [Event(rank, "all_reduce", 0.2, 0.2, 0.3) for rank in (0, 1)]
    one, other = (
        meshes.step(SimpleNamespace(events=chosen), 2, "a step") for chosen in (events, events[:1] + events[2:])
    )
    assert len(one.axes[0].patches) == len(other.axes[0].patches)
