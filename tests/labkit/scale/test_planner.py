"""The search for the best mesh, held against trying everything, and what `labkit plan` prints."""

import json
import math
import re
import shlex
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from labkit import cli
from labkit.scale import Formats, Mesh, Model, Plan, machine, published
from labkit.scale.machine import hardware
from labkit.scale.mesh import every_mesh
from labkit.scale.model import RECOMPUTE
from labkit.scale.planner import (
    CHUNKS,
    EFFICIENCY,
    MICRO_BATCHES,
    OF_MIXTURES,
    PARTS,
    Wish,
    default_batch,
    default_tokens,
    energy,
    explanation,
    lower_bound,
    named_machine,
    named_model,
    named_models,
    search,
)
from labkit.scale.planner_text import Question, answer, as_text, parse_mesh

SMALL = Model(24, 2048, 16, 32000, 2048)
MIXTURE = Model(8, 1024, 8, 32000, 1024, experts=8, experts_per_token=2, expert_width=2048, dropout=False)
TIGHT = replace(machine("DGX-A100"), memory=6e9)  # so that not everything fits

USUAL = {"efficiency": EFFICIENCY, "flash": True, "ends": True}


def meshes(model, on, gpus):
    for mesh in every_mesh(gpus, on.topology.ranks_per_node):
        if not model.experts:
            yield mesh
        for experts in (1, 2, 4, 8) if model.experts else ():
            if mesh.data % experts == 0:
                yield replace(mesh, order=OF_MIXTURES, experts=experts)


def every_plan(model, on, gpus, batch):
    for mesh in meshes(model, on, gpus):
        for micro_batch in MICRO_BATCHES:
            for chunks in CHUNKS:
                for zero in (1, 2, 3):
                    for way in RECOMPUTE:
                        try:
                            plan = Plan(model, mesh, on, batch, micro_batch, chunks, zero, way, **USUAL)
                        except ValueError:
                            continue
                        if plan.fits:
                            yield plan


@pytest.mark.parametrize("on", [machine("DGX-A100"), TIGHT], ids=["roomy", "tight"])
def test_the_search_finds_what_trying_everything_finds(on):
    best: dict[Mesh, float] = {}
    for plan in every_plan(SMALL, on, 16, 64):
        best[plan.mesh] = min(best.get(plan.mesh, 1e9), plan.estimate().seconds)
    found = search(SMALL, on, Wish(16, 64, top=len(best), reserve=0))
    assert {choice.plan.mesh: choice.seconds for choice in found.choices} == best
    few = search(SMALL, on, Wish(16, 64, top=3, reserve=0))
    assert few.choices == found.choices[:3]
    assert [choice.seconds for choice in found.choices] == sorted(best.values())


def test_a_bound_is_below_what_a_step_takes():
    for plan in every_plan(SMALL, TIGHT, 16, 32):
        assert lower_bound(plan) <= plan.estimate().seconds * (1 + 1e-9)


def test_the_fullest_stage_is_the_fullest_of_all():
    for layers in (24, 30, 126):
        for pipeline, chunks in ((1, 1), (4, 1), (8, 1), (8, 2), (16, 1), (3, 8)):
            plan = Plan(replace(SMALL, layers=layers, tied=False), Mesh(2, 1, pipeline, 2), TIGHT, 96, 1, chunks)
            held = [plan.memory(stage).total for stage in range(pipeline)]
            assert held[plan.fullest] == max(held)


def test_all_meshes_of_16384_gpus():
    named = named_model("Llama 3 405B")
    found = search(named.model, machine("DGX-H100"), Wish(16384, default_batch(named)))
    assert len(found.choices) == 5 and found.tried > 500
    assert all(choice.plan.fits and choice.plan.mesh.size == 16384 for choice in found.choices)
    assert len({choice.plan.mesh for choice in found.choices}) == 5
    for choice in found.choices:
        assert sum(getattr(choice.estimate, part) for part in PARTS) == pytest.approx(choice.seconds)
        assert choice.estimate == choice.plan.estimate()


def test_llama_s_own_mesh_for_long_sequences_is_among_the_best_three():
    """arXiv 2407.21783, table 4: 131,072 tokens on 16,384 GPUs."""
    named, llama = named_model("Llama 3 405B"), Mesh(8, 16, 16, 8)
    wish = Wish(16384, default_batch(named, 1 << 17), 1 << 17, 16, top=3)
    assert llama in [choice.plan.mesh for choice in search(named.model, machine("Grand-Teton"), wish).choices]


def test_with_the_usual_efficiency_llama_s_rows_come_out_within_a_tenth():
    known = published()["llama"]
    model = named_model("llama 3 405b").model
    for row in known["rows"]:
        row = dict(zip(known["columns"], row, strict=True))
        mesh = Mesh(row["tensor"], row["context"], row["pipeline"], row["data"])
        batch = row["data"] * row["batch_per_data"]
        plan = Plan(model, mesh, machine("Grand-Teton"), batch, chunks=8, sequence=row["sequence"],
                    efficiency=EFFICIENCY)  # fmt: skip
        assert 100 * plan.utilisation(plan.estimate().seconds) == pytest.approx(row["percent"], rel=0.1)


# --- names ------------------------------------------------------------------------------------------------------------


def test_every_model_has_its_source():
    assert all(re.search(r"arXiv \d{4}\.\d{5}|/", named.source) for named in named_models().values())


def test_a_mixture_of_experts_is_dealt_out_to_neighbours():
    found = run("mixtral-8x7b", "--machine", "DGX-H100", "--gpus", "64", "--json")
    told = json.loads(found.output)
    assert found.exit_code == 0 and len(told["plans"]) == 5
    for plan in told["plans"]:
        assert (plan["seconds"]["experts"] > 0) == (plan["mesh"]["experts"] > 1)
        assert sum(plan["seconds"][part] for part in PARTS) == pytest.approx(plan["seconds"]["seconds"])
    table = run("mixtral-8x7b", "--machine", "DGX-H100", "--gpus", "64", "--mesh", "tensor=1,experts=8", "--explain")
    assert "ranks for experts" in table.output and "There is no second mesh" in table.output
    assert re.search(r"^1 +1 +1 +64 +8 ", table.output, re.M)
    refused = run("mixtral-8x7b", "--machine", "DGX-H100", "--gpus", "64", "--mesh", "tensor=1,experts=16")
    assert refused.exit_code == 2 and "8 experts do not come out even on 16 ranks" in refused.output


def test_the_best_of_a_mixture_is_the_best_of_all():
    on = replace(TIGHT, memory=3e9, domain=4, cards=4)
    found = search(MIXTURE, on, Wish(8, 16, top=3, reserve=0))
    every, seconds = list(every_plan(MIXTURE, on, 8, 16)), {}
    for plan in every:
        taken, mesh = plan.estimate().seconds, replace(plan.mesh, experts=1)
        assert lower_bound(plan) <= taken * (1 + 1e-9)
        seconds[mesh] = min(taken, seconds.get(mesh, math.inf))
    assert [choice.seconds for choice in found.choices] == sorted(seconds.values())[:3]
    assert max(plan.mesh.experts for plan in every) == 8 and found.choices[0].plan.mesh.order == OF_MIXTURES


def test_capacity_is_computed_and_sent():
    plan = Plan(MIXTURE, Mesh(data=8, experts=4), TIGHT, 32)
    full = replace(plan, capacity=1.5)
    assert full.step().expert_bytes == 1.5 * plan.step().expert_bytes
    experts = 2 * MIXTURE.feed_forward(MIXTURE.expert_width) / 2
    more = (full.step().forward - plan.step().forward) / plan.step().forward
    assert more == pytest.approx(2 * experts * 3 / MIXTURE.layer_flops())
    with pytest.raises(ValueError, match="at least 1"):
        replace(plan, capacity=0.5)


def test_deepseek_s_own_layout():
    """arXiv 2412.19437, section 3.2.1: with experts on 8 nodes "approximately 1:1" of computing and communication;
    3.7 days for each trillion tokens, with what is hidden there."""
    named, on = named_model("DeepSeek-V3"), machine("H800")
    plan = Plan(named.model, Mesh(pipeline=16, data=128, order=OF_MIXTURES, experts=64), on, named.batch, flash=True,
                recompute="selective", efficiency=EFFICIENCY)  # fmt: skip
    for bits in (16, 8):
        found = replace(plan, formats=Formats(bits)).estimate()
        assert 0.75 < found.computing / found.experts < 1.35
    eight = replace(plan, formats=Formats(8, 8))
    found = eight.estimate()
    days = 1e12 / eight.tokens / 86400
    assert days * (found.computing + found.waiting) < published()["deepseek"]["days_per_trillion_tokens"]
    assert days * found.seconds > published()["deepseek"]["days_per_trillion_tokens"]


def test_names_may_be_spelled_anyhow_and_wrong_ones_are_told_the_nearest():
    assert named_model("llama3-405b") is named_model("Llama 3 405B")
    assert named_machine("dgx h100") == machine("DGX-H100")
    with pytest.raises(ValueError, match="no model is called 'lama-3-70'; did you mean Llama 3 70B or"):
        named_model("lama-3-70")
    with pytest.raises(ValueError, match="no machine is called 'DGX-H10'; did you mean DGX-H100 or"):
        named_machine("DGX-H10")
    with pytest.raises(ValueError, match="no machine is called 'zzz'; there are DGX-A100, "):
        named_machine("zzz")


def test_what_is_not_said_is_what_is_published_or_the_rule():
    named = named_model("Llama 3 405B")
    assert default_batch(named) == 2048 and default_batch(named, 131072) == 128
    assert default_batch(named_model("Llama 3 8B")) * 8192 == 1 << 22
    assert default_batch(named_model("Llama 3 8B"), 100) == 41920
    assert default_tokens(named.model) == 20 * named.model.parameters


def test_energy():
    """Llama 3.1's model card: 30.84 million GPU hours of 700 W are 21.6 GWh."""
    assert energy(16384, 700, 30.84e6 / 16384 / 24, 1.0) == pytest.approx(21.588e6)
    assert energy(1, 400, 10, 1.1) == pytest.approx(400 * 1.1 * 240 / 1000)
    powers = [one for one in hardware()["accelerator"].values() if "power" in one]
    assert powers and all(100 < one["power"] < 3000 and "Power: " in one["source"] for one in powers)


# --- what cannot be ---------------------------------------------------------------------------------------------------


def test_what_cannot_be_is_refused_with_the_reason():
    for wish, words in (
        (Wish(16, 64, mesh=Mesh(tensor=8)), "a mesh of 8 ranks for 16 GPUs"),
        (Wish(24, 64, mesh=Mesh(tensor=3, data=8)), "16 heads and 24 layers on"),
        (Wish(7, 64, reserve=0), None),
        (Wish(8191, 64), "none of 2 meshes of 8,191 GPUs comes out even; of the first: 64 sequences"),
        (Wish(0, 64), "each is at least 1"),
        (Wish(8, 64, top=0), "each is at least 1"),
        (Wish(1 << 21, 64), "2,097,152 GPUs: at most 1,048,576"),
        (Wish(8, 64, efficiency=2.0), "^efficiency 2.0: a share of the peak"),
    ):
        if words is None:  # seven stages are possible
            assert [c.plan.mesh for c in search(SMALL, TIGHT, wish).choices] == [Mesh(pipeline=7)]
            continue
        with pytest.raises(ValueError, match=words):
            search(SMALL, TIGHT, wish)


def test_a_mesh_as_it_is_written():
    assert parse_mesh("tensor=8,pipeline=16", 1024) == Mesh(tensor=8, pipeline=16, data=8)
    assert parse_mesh("data=4, tensor=2", 99) == Mesh(tensor=2, data=4)
    for text, words in (
        ("tensor=3", "3 ranks of one replica do not go into 64 GPUs"),
        ("tensor", "a mesh is written"),
        ("expert=2", "a mesh is written"),
        ("tensor=2,tensor=4", "a mesh is written"),
        ("tensor=0", "at least one rank"),
    ):
        with pytest.raises(ValueError, match=words):
            parse_mesh(text, 64)


@pytest.mark.parametrize("name", ["tokens", "sequence", "batch", "pue", "reserve"])
def test_numbers_that_cannot_be(name):
    for value in (-1, float("nan"), float("inf")):
        with pytest.raises(ValueError, match=f"{name} {value:g}: a number that is not negative"):
            answer(Question("llama-3-8b", "DGX-H100", 8, **{name: value}))


def test_where_nothing_fits_the_least_is_said():
    said = as_text(answer(Question("llama-3-70b", "DGX-H100", 8)))
    assert re.search(
        r"Nothing fits\. The least memory takes tensor 8, .* GB on a rank of stage 0, where there are 80, less 5\.4 for buffers\.",
        said,
    )


# --- the command ------------------------------------------------------------------------------------------------------


def run(*arguments):
    return CliRunner().invoke(cli.app, ["plan", *arguments])


def test_the_runner_up_s_longer_part_is_named():
    found = search(SMALL, TIGHT, Wish(32, 64, reserve=0))
    best, second = found.choices[:2]
    said = explanation(found)
    more = second.seconds - best.seconds
    assert (
        said.count(". ") == 1
        and said.endswith(".")
        and f"takes {more:.3g} s ({more / best.seconds:.1%}) longer" in said
    )
    alone = search(SMALL, TIGHT, Wish(32, 64, mesh=best.plan.mesh, reserve=0))
    assert explanation(alone) == "There is no second mesh that fits."


def test_json_has_the_table_s_numbers():
    asked = ("llama-3-8b", "--machine", "DGX-H100", "--gpus", "64", "--top", "2")
    table, found = run(*asked).output, json.loads(run(*asked, "--json", "--explain").output)
    assert len(found["plans"]) == 2 and found["tokens"] == 20 * found["parameters"]
    for plan in found["plans"]:
        assert sum(plan["seconds"][part] for part in PARTS) == pytest.approx(plan["seconds"]["seconds"])
        assert plan["memory"]["total"] <= 80e9 - 5.4e9
        assert f"{plan['mfu']:.1%}" in table and f"{plan['days']:.1f}" in table
        hours = plan["days"] * 24 * 64 * 0.7 * 1.1
        assert plan["kilowatt_hours"] == pytest.approx(hours)
    assert "The runner-up" in found["explanation"]


def test_a_machine_of_which_no_power_is_known():
    said = run("llama-3-8b", "--machine", "H800", "--gpus", "64", "--top", "1")
    assert said.exit_code == 0 and "No energy: no source says what a GPU of H800 takes." in said.output


def test_the_command_s_status_says_how_it_went():
    assert run("llama-3-70b", "--machine", "DGX-H100", "--gpus", "8").exit_code == 1
    refused = run("lama", "--machine", "DGX-H100", "--gpus", "8")
    assert refused.exit_code == 2 and "labkit plan: no model is called 'lama'" in refused.output


def test_the_page_on_plans_shows_what_the_command_prints():
    text = (Path(__file__).resolve().parents[3] / "docs" / "plan.md").read_text(encoding="utf-8")
    (command,), (printed,) = (
        re.findall(r"```\n(labkit plan .*)\n```", text),
        re.findall(r"```text\n(.*?)```", text, re.S),
    )
    said = CliRunner().invoke(cli.app, shlex.split(command)[1:])
    assert said.exit_code == 0 and said.output.strip() == printed.strip()


def test_what_is_kept_for_buffers_no_plan_takes():
    roomy = search(SMALL, TIGHT, Wish(16, 64, reserve=0))
    limit = max(choice.memory.total for choice in roomy.choices)
    less = search(SMALL, TIGHT, Wish(16, 64, reserve=TIGHT.memory - limit + 1))
    assert all(choice.memory.total < limit for choice in less.choices)
    assert less.choices[0].seconds >= roomy.choices[0].seconds
