"""The figure of a plan, and its sliders."""

import builtins
import io

import numpy as np
import pytest
from PIL import Image

from labkit.scale import Mesh, Model, Plan, explore, machine

GPT = Model(8, 1024, 8, 32000, 1024)


def test_the_models_are_those_of_the_tables():
    found = explore.models()
    assert len(found) == 11
    assert found["GPT 145.6 B"].parameters == pytest.approx(145.6e9, rel=1e-3)
    assert found["Llama 3 405 B"].parameters == pytest.approx(405e9, rel=3e-3)


@pytest.mark.parametrize("chunks", [1, 2])
def test_the_figure_shows_each_stage_and_each_part(chunks):
    plan = Plan(GPT, Mesh(2, 2, 4, 2), machine("DGX-H100"), 16, chunks=chunks)
    memory, time, pipeline = explore.draw(plan).axes
    heights = np.zeros(4)
    for bars in memory.containers:
        heights += [bar.get_height() for bar in bars]
    assert heights * 1e9 == pytest.approx([plan.memory(stage).total for stage in range(4)])
    widths = [bar.get_width() for bars in time.containers for bar in bars]
    assert sum(widths) == pytest.approx(plan.estimate().seconds)
    (blocks,) = pipeline.collections
    assert len(blocks.get_paths()) == 2 * 8 * 4 * chunks


def test_sliders_draw_again_and_say_what_does_not_come_out_even():
    page = explore.sliders(model="GPT 1.7 B", gpus=16, tensor=2, pipeline=2, micro_batches=8)
    _, line, picture = page.children
    assert "data 4 x pipeline 2 x context 1 x tensor 2 = 16 GPUs" in line.value
    before = np.asarray(Image.open(io.BytesIO(picture.value)))
    assert before.std() > 10 and picture.layout.visibility == "visible"
    controls = {c.description: c for column in page.children[0].children for c in column.children}
    controls["tensor"].value = 4
    assert "data 2" in line.value and not np.array_equal(before, np.asarray(Image.open(io.BytesIO(picture.value))))
    controls["tensor"].value = 16
    assert "do not go into 16 GPUs" in line.value and picture.layout.visibility == "hidden"
    controls["tensor"].value, controls["pipeline"].value = 1, 16
    assert "= 16 GPUs" in line.value and picture.layout.visibility == "visible"


def test_without_ipywidgets_there_is_a_sentence(monkeypatch, capsys):
    real = builtins.__import__

    def without(name, *rest, **more):
        if name == "ipywidgets":
            raise ImportError(name)
        return real(name, *rest, **more)

    monkeypatch.setattr(builtins, "__import__", without)
    assert explore.sliders() is None
    assert "explore.draw(plan)" in capsys.readouterr().out
