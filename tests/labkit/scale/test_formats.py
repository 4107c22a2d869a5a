"""Formats of 8 and 4 bits: as the peak of a product, and as the bytes of a message."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from labkit.scale import planner, planner_text
from labkit.scale.machine import hardware, machine
from labkit.scale.mesh import Mesh
from labkit.scale.plan import Formats, Plan

LLAMA = planner.named_model("Llama 3 70B").model
H100, GB300 = machine("DGX-H100"), machine("GB300-NVL72")
PLAN = Plan(LLAMA, Mesh(tensor=8, pipeline=4, data=2), H100, 64, efficiency=0.5, flash=True)


def test_peaks_are_those_of_the_table():
    """TFLOP/s of NVIDIA's table of peak theoretical throughput; None: no product of that format."""
    printed = {"GB300": (2450, 4900, 14700), "GB200": (2450, 4900, 9800), "B200": (2250, 4500, 9000)}
    for name, peaks in printed.items():
        entry = hardware()["accelerator"][name]
        assert tuple(entry[key] / 1e12 for key in ("peak", "peak_8", "peak_4")) == peaks
    assert H100.peak_of(8) == 1979e12 and H100.peak_4 is None
    assert GB300.peak_of(16) == GB300.peak == 2450e12 and GB300.peak_of(4) == 14700e12


def test_what_no_source_gives_is_refused():
    with pytest.raises(ValueError, match=r"DGX-A100 has no peak for products of 8 bits; it has one for 16$"):
        machine("DGX-A100").peak_of(8)
    with pytest.raises(ValueError, match="products of 4 bits; it has one for 16 and 8"):
        replace(PLAN, formats=Formats(product=4))
    for formats in ({"product": 12}, {"message": 4}):
        with pytest.raises(ValueError, match="16, 8 or 4; messages of"):
            Formats(**formats)


@pytest.mark.parametrize("recompute", ["none", "selective", "full"])
@pytest.mark.parametrize("on, bits", [(H100, 8), (GB300, 8), (GB300, 4)])
def test_only_the_products_of_weights_are_faster(on, bits, recompute):
    """A token's products of weights in a layer: 2 FLOPs forward, 4 backward, 2 more where they are done again, for each
    of its weights; attention at the peak of 16 bits as before."""
    plain = replace(PLAN, machine=on, recompute=recompute)
    fast = replace(plain, formats=Formats(product=bits))
    saved = (1 / on.peak - 1 / on.peak_of(bits)) / (0.5 * 8) * plain.tokens_at_once * LLAMA.matrices
    again = 2 if recompute == "full" else 0
    assert plain.step().forward - fast.step().forward == pytest.approx(2 * saved, rel=1e-9)
    assert plain.step().backward - fast.step().backward == pytest.approx((4 + again) * saved, rel=1e-9)
    assert fast.step().head == plain.step().head
    assert fast.memory() == plain.memory()


def test_messages_of_one_byte_are_half_as_long():
    step, small = PLAN.step(), replace(PLAN, formats=Formats(message=8)).step()
    for bytes_of in ("tensor_bytes", "hop_bytes", "context_bytes", "weight_bytes"):
        assert getattr(step, bytes_of) == 2 * getattr(small, bytes_of), bytes_of
    assert step.gradient_bytes == small.gradient_bytes  # their own option
    assert (step.forward, step.backward) == (small.forward, small.backward)


def test_utilisation_is_a_share_of_the_peak_in_use():
    fast = replace(PLAN, formats=Formats(product=8))
    assert fast.utilisation(1.0) == pytest.approx(PLAN.utilisation(1.0) * H100.peak / 1979e12, rel=1e-12)


def test_the_planner_asks_for_them_and_says_so():
    question = planner_text.Question("llama3 70b", "DGX-H100", 64, batch=64, top=1)
    plain, fast = (planner_text.answer(one) for one in (question, replace(question, bits=8, message_bits=8)))
    assert "TFLOP/s" not in planner_text.as_text(plain)
    said = "computing at 50% of the peak of 1,979 TFLOP/s, products of 8 bits, messages of 8 bits, flash attention"
    assert said in planner_text.as_text(fast)
    assert fast.found.choices[0].seconds < 0.75 * plain.found.choices[0].seconds
    told = json.loads(planner_text.as_json(fast))
    assert (told["bits"], told["message_bits"]) == (8, 8)
    with pytest.raises(ValueError, match="has no peak"):
        planner_text.answer(replace(question, machine="DGX-A100", bits=8))
