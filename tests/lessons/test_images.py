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
