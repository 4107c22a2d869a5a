"""Communication hidden behind computing: relay, replay and formula agree on it, and it is what the sources say."""

import json
import random
from dataclasses import replace

import pytest
from typer.testing import CliRunner

from benchmarks.simulation import HIDDEN, compared, hidden_step_of, largest, step_of
from labkit import cli
from labkit.scale import (
    Mesh,
    Model,
    Overlap,
    Plan,
    Step,
    Trouble,
    estimate,
    flat,
    machine,
    order_1f1b,
    order_eager_1f1b,
    replay_step,
    run_step,
)
from labkit.scale.machine import Machine
from labkit.scale.mesh import every_mesh
from labkit.scale.model import RECOMPUTE
from labkit.scale.overlap import USUAL
from labkit.scale.planner import CHUNKS, EFFICIENCY, MICRO_BATCHES, Wish, search
from labkit.scale.planner_text import parse_overlap
from labkit.scale.uses import pieces

FIXED = [one for one in HIDDEN if one[0][0] * one[0][1] * one[0][2] * one[0][3] <= 16]
MESHES = [(1, 1, 4), (2, 1, 4), (4, 1, 2), (1, 2, 4), (2, 2, 2), (1, 4, 2), (8, 1, 2)]


def drawn(seed: int) -> tuple:
    """A step that hides something, its network and order: of links of each kind, and layers of any size."""
    draw = random.Random(seed)
    tensor, pipeline, data = draw.choice(MESHES)
    chunks = draw.choice((1, 1, 2)) if pipeline > 1 else 1
    per_node = max(2, tensor) * draw.choice((1, 2))
    row = (tensor, 1, pipeline, data, pipeline * draw.choice((1, 2, 3)), chunks, draw.randrange(4), per_node, per_node)
    step, network, _ = step_of(*row)
    layers = draw.choice((2, 3, 4))
    gradients, weights = (data * layers * draw.choice((1000, 4000, 16000)) for _ in range(2))
    hidden = Overlap(
        draw.choice((1, 2, 4)) * gradients // layers // 2, draw.choice((1, 2)), draw.choice((1, 2, 4)), seed % 2 == 0
    )
    step = replace(step, layers=layers, gradient_bytes=gradients, weight_bytes=weights, overlap=hidden)
    return replace(step, tensor_bytes=draw.choice((1 << 13, 1 << 15, 1 << 17))), network, step.usual_order


def test_there_are_many_settings():
    assert len({repr(one) for one in FIXED}) >= 20
    assert {one[0][6] for one in FIXED} == {0, 1, 2, 3}


@pytest.mark.parametrize("one", FIXED, ids=lambda one: "x".join(map(str, one[0])))
def test_relay_replay_and_formula_agree_on_what_is_hidden(one):
    step, network, order = hidden_step_of(*one)
    found = compared(step, network, order)
    assert largest(found) < 0.01
    assert estimate(step, network).seconds < 0.9999 * estimate(replace(step, overlap=Overlap()), network).seconds
    assert sum(estimate(step, network).hidden.values()) > 0


@pytest.mark.parametrize("seed", range(10))
def test_they_agree_on_what_is_drawn(seed):
    step, network, order = drawn(seed)
    found = compared(step, network, order)
    assert largest(found) < 0.01
    assert max(found[side]["bytes"] for side in ("replay", "formula")) < 1e-12


# --- what is hidden ---------------------------------------------------------------------------------------------------

ALONE = Step(Mesh(data=4), 2, layers=4, gradient_bytes=1 << 18, weight_bytes=1 << 18)
NETWORK = flat(2e-6, 4e-9)


def test_of_gradients_the_last_bucket_is_in_the_open():
    """Li et al. 2020, figure 4: each bucket but the last goes behind the rest of the backward pass."""
    hidden = replace(ALONE, overlap=Overlap(gradients=1 << 16))
    bucket = NETWORK.collective("all_reduce", range(4)).seconds(1 << 16)
    assert bucket < ALONE.backward
    found = estimate(hidden, NETWORK)
    assert found.data == pytest.approx(bucket)
    assert found.hidden["data"] == pytest.approx(3 * bucket)
    assert run_step(hidden, NETWORK, order_1f1b).elapsed == pytest.approx(found.seconds)


def test_what_does_not_fit_behind_a_layer_is_in_the_open():
    step = replace(ALONE, gradient_bytes=1 << 22, overlap=Overlap(gradients=1 << 20))
    bucket = NETWORK.collective("all_reduce", range(4)).seconds(1 << 20)
    assert estimate(step, NETWORK).data == pytest.approx(4 * bucket - 3 * step.backward)


def test_of_gathers_ahead_the_first_is_in_the_open():
    step = replace(ALONE, zero=3, overlap=Overlap(gradients=1 << 16, gathers=1))
    gather = NETWORK.collective("all_gather", range(4)).seconds(1 << 14)
    scatter = NETWORK.collective("reduce_scatter", range(4)).seconds(1 << 16)
    assert gather < step.forward and gather + scatter < step.backward
    assert estimate(step, NETWORK).data == pytest.approx(gather + scatter)
    slow = flat(2e-6, 4e-8)  # and now nothing fits: the network is never idle but at the ends
    found = replay_step(step, slow, order_1f1b).seconds
    each = [
        slow.collective(kind, range(4)).seconds(n) for kind, n in (("all_gather", 1 << 14), ("reduce_scatter", 1 << 16))
    ]
    assert 2 * 4 * (2 * each[0] + each[1]) <= found <= estimate(replace(step, overlap=Overlap()), slow).seconds


def test_of_a_layer_in_parts_the_last_part_is_in_the_open():
    step = Step(Mesh(tensor=4), 1, tensor_bytes=1 << 16, overlap=Overlap(tensor=4))
    part = 2 * NETWORK.collective("all_reduce", range(4)).seconds(1 << 14)
    assert part < step.forward / 4
    assert estimate(step, NETWORK).tensor == pytest.approx(2 * part)


@pytest.mark.parametrize("p", [2, 3, 8])
@pytest.mark.parametrize("m", [1, 3, 8, 17])
def test_eager_1f1b_waits_for_the_first_and_last_messages_alone(p, m):
    step = Step(Mesh(pipeline=p), m, forward=1.0, backward=2.0, hop_bytes=1, overlap=Overlap(messages=True))
    found = replay_step(step, flat(0.1, 0), step.usual_order)
    assert found.seconds == pytest.approx(3 * (m + p - 1) + 0.2 * (p - 1))
    for stage in range(p):
        alive = most = 0
        for what, _ in order_eager_1f1b(stage, p, m):
            alive += 1 if what == "F" else -1
            most = max(most, alive)
        assert most == min(m, 2 * (p - 1 - stage) + 1)


def test_eager_1f1b_keeps_more_activations():
    model = Model(24, 2048, 16, 32000, 2048)
    plan = Plan(model, Mesh(pipeline=4, data=2), machine("DGX-H100"), 32)
    eager = replace(plan, overlap=Overlap(messages=True))
    assert [eager.memory(s).activations / plan.memory(s).activations for s in range(4)] == pytest.approx(
        [7 / 4, 5 / 3, 3 / 2, 1]
    )


def test_a_message_waits_for_the_card_that_a_bucket_holds():
    step, network, order = hidden_step_of((1, 1, 2, 4, 4, 1, 2, 2, 2), 20, 19, Overlap(gradients=1))
    found = [side(step, network, order) for side in (run_step, replay_step)]
    assert estimate(step, network).seconds == pytest.approx(found[0].elapsed, rel=1e-3)
    assert found[1].seconds == pytest.approx(found[0].elapsed, rel=1e-3)


def test_slow_links_slow_down_what_is_hidden_too():
    step = replace(ALONE, overlap=Overlap(gradients=1 << 16))
    calm = replay_step(step, NETWORK, order_1f1b).seconds
    assert replay_step(step, NETWORK, order_1f1b, Trouble(slow_links=1)).seconds > 1.01 * calm


def test_as_it_stands_nothing_is_hidden():
    found = estimate(ALONE, NETWORK)
    assert Step(Mesh(), 1).overlap == Overlap() and found.hidden == {}


def test_bytes_come_out_even():
    assert pieces(10, 3) == [3, 3, 4] and pieces(10, 3, 4) == [0, 4, 6] and pieces(0, 2) == [0, 0]
    step = replace(ALONE, overlap=Overlap(gradients=100_000))
    assert [step.layers_in_a_bucket(n) for n in (1, 4, 8)] == [1, 2, 4]
    assert [step.buckets_of(n) for n in (0, 100_000, 100_001)] == [1, 1, 2]


def test_options_that_cannot_be():
    for values in ({"gradients": 0}, {"gathers": -1}, {"tensor": 0}):
        with pytest.raises(ValueError, match="at least"):
            Overlap(**values)
    orders = [[("F", 0), ("B", 0), ("W", 0)]]
    with pytest.raises(ValueError, match="backward passes in two parts"):
        replay_step(Step(Mesh(data=2), 1, overlap=Overlap(gradients=1)), NETWORK, orders)


# --- plans ------------------------------------------------------------------------------------------------------------


def test_an_overlap_as_it_is_written():
    assert parse_overlap("") == Overlap() and parse_overlap("usual") == USUAL
    assert parse_overlap("gradients=1, tensor=4,messages=1") == Overlap(10**6, 0, 4, True)
    for text in ("all", "gradients", "gathers=x", "tensor=2,tensor=2", "links=1"):
        with pytest.raises(ValueError, match="an overlap is written usual"):
            parse_overlap(text)


def test_the_search_finds_what_trying_everything_finds_with_overlap():
    model, on = Model(8, 2048, 16, 32000, 2048), machine("DGX-A100")
    best = {}
    for plan in every_plan(model, on, 16, 32, Overlap(USUAL.gradients, 1, 2, True)):
        best[plan.mesh] = min(best.get(plan.mesh, 1e9), plan.estimate().seconds)
    found = search(model, on, Wish(16, 32, top=len(best), reserve=0, overlap=Overlap(USUAL.gradients, 1, 2, True)))
    assert {choice.plan.mesh: choice.seconds for choice in found.choices} == pytest.approx(best)


def every_plan(model: Model, on: Machine, gpus: int, batch: int, overlap: Overlap):
    for mesh in every_mesh(gpus, 8):
        for micro_batch in MICRO_BATCHES:
            for chunks in CHUNKS if mesh.pipeline > 1 else (1,):
                for zero in (1, 2, 3):
                    for way in RECOMPUTE:
                        more = {"efficiency": EFFICIENCY, "flash": True, "ends": True, "overlap": overlap}
                        try:
                            plan = Plan(model, mesh, on, batch, micro_batch, chunks, zero, way, **more)
                        except ValueError:
                            continue
                        if plan.fits:
                            yield plan


def test_the_command_prints_what_is_hidden_and_what_is_not():
    asked = ("plan", "llama-3-8b", "--machine", "DGX-H100", "--gpus", "64", "--top", "2")
    table = CliRunner().invoke(cli.app, [*asked, "--overlap", "usual"]).output
    found = json.loads(CliRunner().invoke(cli.app, [*asked, "--overlap", "usual", "--json"]).output)
    plain = json.loads(CliRunner().invoke(cli.app, [*asked, "--json"]).output)
    assert "Behind computing: gradients in buckets of 160 MB, gathers 1 layer ahead" in table
    for plan in found["plans"]:
        assert f"{plan['seconds']['data']:.2f} + {plan['hidden']['data']:.2f}" in table
    assert found["plans"][0]["seconds"]["seconds"] < plain["plans"][0]["seconds"]["seconds"]
    assert all(set(plan["hidden"].values()) == {0.0} for plan in plain["plans"])
    refused = CliRunner().invoke(cli.app, [*asked, "--overlap", "all"])
    assert refused.exit_code == 2 and "an overlap is written usual" in refused.output


def test_a_step_of_many_ranks_that_hides_is_replayed():
    plan = Plan(Model(32, 4096, 32, 32000, 4096), Mesh(8, 1, 4, 32), machine("DGX-H100"), 256, efficiency=0.5,
                overlap=USUAL)  # fmt: skip
    step, network = plan.step(), plan.machine.topology
    found = replay_step(step, network, step.usual_order)
    assert found.seconds == pytest.approx(estimate(step, network).seconds, rel=0.02)  # its last stage has the output
    assert found.bytes == estimate(step, network).bytes
