"""docs/which_parallelism.md: its program prints what stands below it, and its numbers follow from the machine's."""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path

from labkit.scale import machine

TEXT = (Path(__file__).resolve().parents[1] / "docs" / "which_parallelism.md").read_text(encoding="utf-8")


def test_the_table_is_what_the_program_prints():
    (program,), (printed,) = (
        re.findall(r"```python\n(.*?)```", TEXT, re.S),
        re.findall(r"```text\n(.*?)```", TEXT, re.S),
    )
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        exec(program, {})
    assert said.getvalue().strip() == printed.strip()


def test_the_bounds_follow_from_the_machine():
    nodes = machine("DGX-H100")
    inside, card = 1 / nodes.inside.beta, 1 / nodes.between.beta
    for bandwidth, tokens, share in ((inside, "2,200", "28 %"), (card, "19,800", "250 %")):
        assert f"{round(nodes.peak / bandwidth, -2):,.0f}" == tokens and tokens in TEXT
        assert f"{7 * nodes.peak / (4.5 * 12_288 * bandwidth):.0%}".replace("%", " %") == share and share in TEXT
