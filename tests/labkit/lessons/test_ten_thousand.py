"""The machinery of unit 20: rows of published tables as models, plans and meshes."""

import pytest

from labkit.lessons import ten_thousand
from labkit.scale import Mesh, every_mesh


def the_145_billion():
    return next(row for row in ten_thousand.megatron_rows() if row["billions"] == 145.6)


def test_a_row_of_the_table_is_a_model_on_a_mesh():
    row = the_145_billion()
    model = ten_thousand.gpt_of(row)
    assert len(ten_thousand.megatron_rows()) == 10 and round(model.parameters / 1e9, 1) == 145.6
    sizes = ten_thousand.as_dict(model)
    assert list(sizes) == ["layers", "width", "heads", "vocabulary", "sequence"]
    assert (sizes["layers"], sizes["width"]) == (row["layers"], row["width"])
    mesh = ten_thousand.their_mesh(row)
    assert mesh in every_mesh(row["ranks"], tensor_at_most=8) and ten_thousand.priced(row, mesh).fits


def test_the_seconds_of_a_shape_are_those_of_its_plan():
    row = the_145_billion()
    mesh = ten_thousand.their_mesh(row)
    seconds = ten_thousand.seconds_of(row)
    assert mesh == Mesh(mesh.tensor, 1, mesh.pipeline, mesh.data)
    found = seconds((mesh.data, mesh.pipeline, mesh.tensor), row["batch"] // mesh.data)
    assert found == ten_thousand.priced(row, mesh).estimate().seconds
    assert seconds((mesh.data, mesh.pipeline, mesh.tensor), 2 * row["batch"] // mesh.data) > found


def test_palm_and_llama(capsys):
    palm = ten_thousand.palm_model()
    assert sorted(palm) == ["layers", "parameters", "sequence", "width"]
    assert round(palm["parameters"] / 1e9, 2) == 540.36
    ten_thousand.print_llama()
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 6 and lines[0].startswith("  8192 GPUs, 16 x 2^20 tokens a step, 32 micro-batches: 43.5%")
    assert lines[-1] == "printed: 0.930"


def test_plans_for_a_budget_are_those_of_the_planner():
    plan, other = ten_thousand.plans_for(["Llama 3 8B"], [64, 128])
    assert (plan["gpus"], other["gpus"]) == (64, 128) and plan["seconds"] > other["seconds"]
    tensor, pipeline, data = plan["mesh"]
    assert tensor * pipeline * data == 64 and plan["tokens"] == 512 * 8192
    rate = 6 * plan["parameters"] * plan["tokens"] / plan["seconds"]
    assert plan["utilisation"] == pytest.approx(rate / (64 * 989.4e12))
    line = ten_thousand.plan_line(plan, 1000, ten_thousand.laws()["Hoffmann"])
    assert line.startswith("Llama 3 8B") and "loss 2." in line


def test_two_sides_of_three_calculations():
    for row in ten_thousand.rows_of("selective"):
        once, by_equation = ten_thousand.hardware_shares(row)
        assert once < row["hardware_percent"] - 0.4 and abs(by_equation - row["hardware_percent"]) < 0.15
    plan, printed = ten_thousand.cookbook()
    held = plan.memory(0)
    assert 7.5 < printed["gradients"] * 2**30 / held.gradients < 8
    assert abs(printed["activations"] * 2**30 / held.activations - 2) < 0.001
