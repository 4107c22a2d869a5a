"""The concept figures: what is committed is what the scripts draw, every figure has its alternative text, and what they
claim holds.
"""

from __future__ import annotations

import functools
import re
import runpy
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import numpy as np
import pytest

IMAGES = Path(__file__).resolve().parents[2] / "images"
SCRIPTS = sorted(path for path in IMAGES.glob("*.py") if path.name != "drawing.py")
ROWS = re.findall(
    r"^\| `(\w+)\.svg` \| `(\w+\.py)` \| (.+) \|$", (IMAGES / "README.md").read_text(encoding="utf-8"), re.MULTILINE
)
FIGURES = [(name, script) for name, script, _ in ROWS]


@functools.cache
def script(name: str) -> dict:
    sys.path.insert(0, str(IMAGES))
    try:
        return runpy.run_path(str(IMAGES / name), run_name="figures")
    finally:
        sys.path.remove(str(IMAGES))


def numbered(svg: str) -> str:
    """With ids counted: matplotlib makes them from what numpy prints, and that differs between the numpys of the
    course's Pythons.
    """
    seen: dict[str, str] = {}
    return re.sub(r"\b([a-z])[0-9a-f]{10}\b", lambda found: seen.setdefault(found[0], f"{found[1]}{len(seen)}"), svg)


@pytest.mark.parametrize(("name", "source"), FIGURES, ids=[name for name, _ in FIGURES])
def test_a_figure_is_what_its_script_draws(name, source, tmp_path):
    figures = script(source)["FIGURES"]
    drawn = sys.modules["drawing"].save(name, figures[name], tmp_path)
    assert numbered(drawn.read_text()) == numbered((IMAGES / drawn.name).read_text()), (
        f"stale: run python images/{source}"
    )


def test_every_figure_is_listed_and_every_listed_figure_exists():
    assert sorted(name for name, _ in FIGURES) == sorted(path.stem for path in IMAGES.glob("*.svg"))
    assert sorted((name, path.name) for path in SCRIPTS for name in script(path.name)["FIGURES"]) == sorted(FIGURES)


@pytest.mark.parametrize(("name", "text"), [(name, text) for name, _, text in ROWS])
def test_a_figure_carries_its_alternative_text_and_needs_nothing_else(name, text):
    assert 80 <= len(text) <= 500
    path = IMAGES / f"{name}.svg"
    root = ElementTree.parse(path).getroot()
    assert [element.text for element in root.iter("{http://www.w3.org/2000/svg}desc")] == [text]
    texts = list(root.iter("{http://www.w3.org/2000/svg}text"))
    assert texts and all("sans-serif" in element.attrib["style"] for element in texts), (
        "text with a font that every viewer has"
    )
    links = [value for e in root.iter() for key, value in e.attrib.items() if key.endswith("}href")]
    assert all(link.startswith("#") for link in links)
    assert path.stat().st_size < 100_000


def test_the_grids_of_the_collectives_follow_from_their_definitions():
    collectives = script("collectives.py")["COLLECTIVES"]
    ranks = range(4)
    data = [[f"{letter}{chunk}" for chunk in ranks] for letter in "ABCD"]
    assert len(collectives) == 8
    assert collectives["broadcast"][1] == [data[0]] * 4
    assert collectives["all_reduce"] == (data, [["Σ0", "Σ1", "Σ2", "Σ3"]] * 4)
    assert collectives["reduce"][1][0] == collectives["all_reduce"][1][0]
    assert [collectives["reduce_scatter"][1][rank][rank] for rank in ranks] == ["Σ0", "Σ1", "Σ2", "Σ3"]
    assert [collectives["scatter"][1][rank][rank] for rank in ranks] == data[0]
    assert collectives["all_gather"][1] == [list("ABCD")] * 4 and collectives["gather"][1][0] == list("ABCD")
    assert all(collectives["all_to_all"][1][i][j] == data[j][i] for i in ranks for j in ranks)


def test_the_ring_sums_in_three_steps_and_spreads_in_three_more():
    steps = script("ring_all_reduce.py")["steps"]()
    assert len(steps) == 7 and all(len(arrived) == 4 for _, _, arrived in steps[1:]), (
        "every rank receives one chunk per step"
    )
    everyone = {0, 1, 2, 3}
    complete = [sum(ranks == everyone for row in held for ranks in row) for _, held, _ in steps]
    assert complete == [0, 0, 0, 4, 8, 12, 16]
    _, scattered, _ = steps[3]
    assert all(sum(ranks == everyone for ranks in row) == 1 for row in scattered), (
        "after reduce-scatter each rank holds one sum"
    )


def test_the_traffic_in_the_comparison_adds_up():
    schemes = {name: sent for name, sent, _ in script("server_tree_ring.py")["SCHEMES"]}
    # A sum of p parts, spread to p ranks, moves at least 2 (p - 1) n bytes in all.
    assert all(sum(sent) == 6 for sent in schemes.values())
    assert [max(sent) for sent in schemes.values()] == [3, 2, 1.5]


# --- numbers in the drawings of units 04 to 20, held against the course's own functions and against PyTorch ------------


def test_the_bars_of_zero_are_those_of_the_papers_table():
    """Bytes for each parameter with Adam in mixed precision, on four ranks."""
    bytes_per_parameter = script("sharding.py")["bytes_per_parameter"]
    assert [bytes_per_parameter(stage) for stage in range(4)] == [16, 7, 5.5, 4]


def test_drawn_pipelines_have_the_bubble_of_the_formula():
    for name, ran in script("pipelines.py")["schedules"]().items():
        p, actions = len(ran.orders), [action for order in ran.orders for action in order]
        slots = len({action for action in actions if action[0] == "F"})  # micro-batches, by chunks if there are some
        split = any(action[0] == "W" for action in actions)
        idle = (p - 1) / ((3 if split else 1) * slots + p - 1)
        assert np.allclose(ran.bubble, idle), name


def test_drawn_shares_are_those_of_pytorchs_sampler():
    from torch.utils.data import DistributedSampler

    figures = script("sampler_shares.py")
    order = figures["padded"](10, 4)
    assert [order[rank::4] for rank in range(4)] == [
        list(DistributedSampler(range(10), 4, rank, shuffle=False)) for rank in range(4)
    ]
    for epoch, drawn in enumerate(figures["ORDERS"]):
        sampler = DistributedSampler(range(12), 1, 0, seed=0)
        sampler.set_epoch(epoch)
        assert list(sampler) == list(drawn)


def test_drawn_buckets_groups_and_formats_are_right():
    import torch

    sizes = script("ddp_steps.py")["SIZES"]
    assert [sum(sizes[layer] for layer in bucket) for bucket in script("ddp_steps.py")["buckets"]()] == [1, 4, 6, 1]
    mesh = np.arange(16).reshape(script("meshes.py")["SHAPE"])
    for axis in range(3):
        want = np.moveaxis(mesh, axis, -1).reshape(-1, mesh.shape[axis]).tolist()
        assert sorted(script("meshes.py")["groups"](axis)) == sorted(want)
    for drawn in script("precision.py")["FORMATS"]:
        info = torch.finfo(getattr(torch, drawn.name))
        assert info.bits == 1 + drawn.exponent + drawn.digits and info.eps == 2.0**-drawn.digits


def test_drawn_darts_and_messages_add_up():
    darts, messages = script("pi_samples.py"), script("messages.py")
    fair, shared = darts["SHARES"]["fair"], darts["SHARES"].values()
    assert [sum(shares) for shares in shared] == [8, 10, 10, 10] and max(fair) - min(fair) == 1
    assert all(inside <= share for inside, share in zip(darts["INSIDE"], fair, strict=True))
    assert 4 * sum(darts["INSIDE"]) / darts["DARTS"] == 3.2
    longest = {ranks: max(map(len, darts["turns"](ranks, 2, 8))) for ranks in (1, 2, 4)}
    assert longest == {1: 8, 2: 4, 4: 4}
    seconds = messages["message_seconds"]
    assert [round(messages["LATENCY"] / seconds(size), 2) for size in (1, 8, 32)] == [0.83, 0.38, 0.14]
    assert round(seconds(8, 8) / seconds(8), 1) == 3.7


def test_drawn_orders_take_what_is_written_and_two_ranks_stand_still():
    from labkit.schedules import StandStill, replay

    puzzles = script("puzzles.py")
    three, five, eight = (puzzles["one_f_one_b"](m) for m in (3, 5, 8))
    assert three.elapsed == 18 and five.alive[1] == 3
    assert (eight.starts[3][0], eight.ends[3][-1], eight.elapsed) == (3, 27, 33) and eight.busy[3] == 24
    orders = [[(word[0], int(word[1])) for word in words] for words in puzzles["STUCK"]]
    with pytest.raises(StandStill, match="B0"):
        replay([[*orders[0], ("B", 1), ("B", 2)], [*orders[1], ("B", 1), ("B", 2)]], 2, 3)


def test_drawn_statistics_add_up():
    large, faults = script("large_batches.py"), script("faults.py")
    rows = [row for shard in large["ROWS"] for row in shard]
    n, mean, squares = (np.array(part) for part in zip(*map(large["moments"], large["ROWS"]), strict=True))
    within, between = squares.sum(), (n * np.nan_to_num(np.array(mean, float) - np.mean(rows)) ** 2).sum()
    assert (within + between) / len(rows) == pytest.approx(np.var(rows))
    times = faults["TIMES"]
    (_, _, far), (_, _, near) = faults["limits"]()
    assert near < max(times) < far
    assert faults["young"]() == pytest.approx(np.sqrt(2 * 60 * 3 * 3600))
