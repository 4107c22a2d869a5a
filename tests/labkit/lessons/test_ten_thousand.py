"""The machinery of unit 20: rows of published tables as models, plans and meshes."""

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
    assert len(lines) == 3 and lines[0].startswith("  8192 GPUs, 16 x 2^20 tokens a step, 32 micro-batches: 43.5%")
