"""Coordinates, ranks and groups of a mesh."""

import numpy as np
import pytest

from labkit.scale import Mesh, every_mesh


@pytest.mark.parametrize(
    "order", [("tensor", "context", "pipeline", "data"), ("data", "pipeline", "tensor", "context")]
)
def test_coordinates_and_ranks_are_each_other_s_inverse(order):
    mesh = Mesh(2, 3, 4, 5, order)
    assert mesh.size == 120
    assert [mesh.rank(**mesh.coordinates(r)) for r in range(120)] == list(range(120))
    for r in range(120):
        at = mesh.coordinates(r)
        assert mesh.ranks[at["pipeline"], at["data"], at["context"], at["tensor"]] == r


def test_tensor_ranks_are_neighbours_and_data_ranks_far_apart():
    mesh = Mesh(tensor=2, pipeline=2, data=2)
    assert mesh.groups("tensor") == [[0, 1], [2, 3], [4, 5], [6, 7]]
    assert mesh.groups("pipeline") == [[0, 2], [1, 3], [4, 6], [5, 7]]
    assert mesh.groups("data") == [[0, 4], [1, 5], [2, 6], [3, 7]]
    turned = Mesh(tensor=2, pipeline=2, data=2, order=("data", "context", "pipeline", "tensor"))
    assert turned.groups("data") == [[0, 1], [2, 3], [4, 5], [6, 7]]
    assert turned.groups("tensor") == [[0, 4], [1, 5], [2, 6], [3, 7]]


@pytest.mark.parametrize("axes", [("tensor",), ("context",), ("pipeline",), ("data",), ("data", "context")])
def test_every_rank_is_in_one_group_along_an_axis(axes):
    mesh = Mesh(2, 3, 2, 4)
    groups = mesh.groups(*axes)
    assert sorted(np.concatenate(groups)) == list(range(mesh.size))
    for group in groups:
        others = {tuple(n for axis, n in mesh.coordinates(r).items() if axis not in axes) for r in group}
        assert len(others) == 1
        assert len(group) == np.prod([getattr(mesh, axis) for axis in axes])


def test_what_is_no_mesh_is_refused():
    with pytest.raises(ValueError, match="at least one"):
        Mesh(tensor=0)
    with pytest.raises(ValueError, match="name each"):
        Mesh(order=("tensor",))
    with pytest.raises(ValueError, match="rank 8 of 8"):
        Mesh(data=8).coordinates(8)
    with pytest.raises(ValueError, match="data 8 of 8"):
        Mesh(data=8).rank(data=8)
    with pytest.raises(ValueError, match="no axis"):
        Mesh(data=8).rank(expert=0)
    with pytest.raises(ValueError, match="name some"):
        Mesh(data=8).groups("expert")


def test_every_mesh_of_sixteen_ranks():
    found = list(every_mesh(16, tensor_at_most=4, context_at_most=2))
    assert len(set(found)) == len(found) == 5 + 4 + 3 + 4 + 3 + 2
    assert all(mesh.size == 16 and mesh.tensor <= 4 and mesh.context <= 2 for mesh in found)
