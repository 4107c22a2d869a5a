"""What a layer keeps, tensor by tensor, beside published formulas; mixtures of experts."""

from dataclasses import replace

import pytest

from labkit.scale import Mesh, Model, Plan, layer_activations, machine, states, traffic
from labkit.scale.memory import all_to_all_bytes, end_activations, kept_tensors, stage_parameters
from labkit.scale.planner import named_models

GPT = Model(96, 12288, 96, 51200, 2048)
LLAMAS = {name: named_models()[name].model for name in ("Llama 3 8B", "Llama 3 70B", "Llama 3 405B")}


def times_the_width(model, **more):
    return layer_activations(model, 1, **more) / model.width


@pytest.mark.parametrize("shape", [(96, 12288, 96), (24, 2304, 24), (128, 25600, 160)])
@pytest.mark.parametrize("tensor", [1, 2, 8])
def test_gpt_keeps_what_korthikanti_et_al_count(shape, tensor):
    """Table 2 of arXiv 2205.05198, with s b h = 1."""
    model = Model(*shape, 51200, 2048)
    looking = 5 * model.heads * 2048 / model.width
    for ways, expected in (
        ({}, (34 + looking) / tensor),
        ({"sequence_parallel": False}, 10 + 24 / tensor + looking / tensor),
        ({"recompute": "selective"}, 34 / tensor),
        ({"recompute": "selective", "sequence_parallel": False}, 10 + 24 / tensor),
        ({"recompute": "full"}, 2 / tensor),
        ({"recompute": "full", "sequence_parallel": False}, 2),
    ):
        assert times_the_width(model, tensor=tensor, **ways) == pytest.approx(expected, rel=1e-12)


def test_without_dropout_there_are_no_masks_and_one_copy_of_the_scores():
    dry, scores = replace(GPT, dropout=False), GPT.heads * 2048 / GPT.width
    assert times_the_width(dry, recompute="selective") == 32
    assert times_the_width(dry) == 32 + 2 * scores
    assert times_the_width(GPT) == 34 + 5 * scores


def test_where_nothing_is_said_of_dropout_a_layer_keeps_what_gpt_s_does():
    untold = replace(LLAMAS["Llama 3 405B"], dropout=None)
    assert times_the_width(untold) == 34 + 5 * 128 * 8192 / 16384
    assert times_the_width(replace(untold, dropout=True), recompute="selective") == 31.75 + 2
    assert kept_tensors(GPT) == kept_tensors(replace(GPT, dropout=True))


def test_flash_attention_keeps_a_number_for_each_token_and_head():
    for model in (replace(GPT, dropout=True), *LLAMAS.values()):
        heads = 4 * model.heads / model.width
        selective = times_the_width(model, recompute="selective")
        assert times_the_width(model, flash=True) == pytest.approx(selective + heads)
        assert times_the_width(model, flash=True, recompute="selective") == selective
        long = layer_activations(model, 1, flash=True, sequence=1 << 17)
        assert long == layer_activations(model, 1, flash=True)  # whatever the sequence's length


def test_llama_s_layers_by_hand():
    """In units of s b h: norms' inputs 2 + 2, inputs of the matrices behind them 2 + 2, queries 2, keys and values
    2 x 2 x kv / a, input of the output matrix 2; of SwiGLU 3 x 2 f / h."""
    for name, kv, f in (("Llama 3 8B", 8 / 32, 3.5), ("Llama 3 70B", 8 / 64, 3.5), ("Llama 3 405B", 8 / 128, 3.25)):
        assert times_the_width(LLAMAS[name], recompute="selective") == 12 + 4 * kv + 6 * f
    by_name = {one.name: one.bytes for one in kept_tensors(LLAMAS["Llama 3 405B"], flash=True)}
    assert by_name["keys"] == by_name["values"] == 2 * 8 * 128
    assert by_name["gate"] == by_name["what is gated"] == by_name["input of the last matrix"] == 2 * 53248


def megatron_layer(model):
    """Bytes of a layer and token by Megatron-LM's calculator: NVIDIA/Megatron-LM at 00caa53,
    megatron/training/theoretical_memory_usage.py, compute_activation_memory: h (18 + 4 f / h), which looks neither at
    SwiGLU nor at groups of queries, and counts dropouts."""
    return 18 * model.width + 4 * model.ffn


def megatron_stage(model, tokens, tensor, pipeline, micro_batches, chunks=1):
    """The whole first stage by the same calculator: also 8 bytes for the number of a token, the embedding's dropout, and,
    where there is one stage, 4 s b h (1 + V / h)."""
    found = model.layers * megatron_layer(model) + (8 + model.width) * pipeline
    if chunks > 1:
        found *= 1 + (pipeline - 1) / (pipeline * chunks)
    elif pipeline > 1:
        found *= min(1, micro_batches / pipeline)
    if pipeline == 1:
        found += 4 * (model.width + model.vocabulary)
    return tokens * found / tensor


@pytest.mark.parametrize("tensor, pipeline, batch", [(8, 1, 4), (8, 8, 64), (4, 16, 16), (8, 4, 2)])
def test_gpt_s_stage_is_megatron_s_calculator_s(tensor, pipeline, batch):
    plan = Plan(GPT, Mesh(tensor, 1, pipeline), machine("DGX-A100"), batch, recompute="selective", ends=True)
    numbers = 8 * 2048 * min(pipeline, batch) / tensor  # of tokens: here nothing is kept for them
    theirs = megatron_stage(GPT, 2048, tensor, pipeline, batch)
    assert plan.memory(0).activations + numbers == pytest.approx(theirs, rel=1e-12)


def test_interleaving_costs_what_megatron_s_calculator_says():
    plan = Plan(GPT, Mesh(8, 1, 8), machine("DGX-A100"), 64, chunks=4, recompute="selective", ends=True)
    assert plan.memory(0).activations == pytest.approx(megatron_stage(GPT, 2048, 8, 8, 64, 4), rel=0.001)


def test_llama_beside_megatron_s_calculator():
    """Three differences, one by one, and nothing else: the calculator leaves out the third tensor of SwiGLU, has two
    dropouts, and as many keys and values as queries. They cancel in part: 2.4 % for 405B, 6.25 % for 8B."""
    for name, more in (("Llama 3 8B", 0.0625), ("Llama 3 70B", 0.047), ("Llama 3 405B", 0.0242)):
        model = LLAMAS[name]
        ours, theirs = layer_activations(model, 1, recompute="selective"), megatron_layer(model)
        keys = model.kv_heads * model.head_width
        assert ours - theirs == 2 * model.ffn - 2 * model.width - 4 * (model.width - keys)
        assert ours / theirs - 1 == pytest.approx(more, abs=0.0005)


def test_what_a_stage_keeps_besides_its_layers():
    assert end_activations(GPT, 2048, 8, 4, False) == 4 * 2048 * 12288 / 8
    assert end_activations(replace(GPT, dropout=False), 2048, 8, 4, False) == 0
    assert end_activations(GPT, 2048, 8, 0, True) == 4 * 2048 * 12288 * (1 + 51200 / 12288) / 8
    plain = Plan(GPT, Mesh(8, 1, 4), machine("DGX-A100"), 8)
    whole = replace(plain, ends=True)
    more = [whole.memory(stage).activations - plain.memory(stage).activations for stage in range(4)]
    assert more == pytest.approx([4 * 2048 * 12288 / 8, 0, 0, 4 * 2048 * (12288 + 51200) / 8])


def test_llama_s_first_and_last_stage_have_a_layer_less():
    """Llama 3 took a layer each from the first and the last stage: arXiv 2407.21783, section 3.3.2."""
    plan = Plan(LLAMAS["Llama 3 405B"], Mesh(8, 1, 16, 128), machine("Grand-Teton"), 2048, chunks=8)
    assert plan.step().layers_of == (0, *(1,) * 126, 0)


def test_gradients_of_two_or_four_bytes():
    mesh, on = Mesh(8, 1, 8, 16), machine("DGX-A100")
    four, two = (Plan(GPT, mesh, on, 64, gradient_bytes=n, zero=0) for n in (4, 2))
    held = stage_parameters(GPT, mesh, 3)
    for plan, each in ((four, 18), (two, 16)):
        found = plan.memory(3)
        assert found.parameters + found.gradients + found.optimizer == pytest.approx(each * held)
    assert four.step().gradient_bytes == 2 * two.step().gradient_bytes
    assert two.estimate().data < four.estimate().data
    with pytest.raises(ValueError, match="gradients of 3 bytes: 2 or 4"):
        replace(four, gradient_bytes=3)


def test_flash_attention_computes_the_scores_once_more():
    plain = Plan(GPT, Mesh(), machine("DGX-A100"), 4)
    flash = replace(plain, flash=True)
    scores = GPT.heads * GPT.head_width * 2 * 2048 * 2048
    assert (flash.step().backward - plain.step().backward) * 312e12 == pytest.approx(scores)
    assert flash.step().forward == plain.step().forward


# --- mixtures of experts ----------------------------------------------------------------------------------------------

MIXTRAL, DEEPSEEK = (named_models()[name].model for name in ("Mixtral 8x7B", "DeepSeek-V3"))


def test_mixtral_s_parameters():
    """arXiv 2401.04088 says 47B and 13B; with another digit 46.7 and 12.9."""
    assert round(MIXTRAL.parameters / 1e9, 1) == 46.7
    assert round(MIXTRAL.active_parameters / 1e9, 1) == 12.9


def test_deepseek_v3_s_parameters():
    """arXiv 2412.19437: 671B, 37B of them for a token. deepseek-ai/DeepSeek-V3, README_WEIGHTS.md: 36.6B with the output
    and without the embedding."""
    assert round(DEEPSEEK.parameters / 1e9) == 671
    assert round((DEEPSEEK.active_parameters - DEEPSEEK.embedding) / 1e9, 1) == 36.6
    assert DEEPSEEK.embedding / 1e9 == pytest.approx(0.9, abs=0.05)


def test_a_token_computes_with_the_experts_that_it_takes():
    looking = 12 * 4096 * 128 * 128
    outside = 6 * DEEPSEEK.embedding + 6 * DEEPSEEK.layers * 2 * DEEPSEEK.width  # norms
    expected = 6 * DEEPSEEK.active_parameters - outside + DEEPSEEK.layers * looking
    assert DEEPSEEK.flops() == pytest.approx(expected, rel=1e-12)
    dense = Model(32, 4096, 32, 32000, 32768, 8, 2 * 14336, gated=True, tied=False, biases=False)
    router = 6 * 32 * 4096 * 8
    assert MIXTRAL.flops() == dense.flops() + router  # two experts are a layer of twice the width


def test_a_dense_model_is_what_it_was():
    assert GPT.active_parameters == GPT.parameters and GPT.routed == 0
    assert GPT.per_layer == 12 * 12288**2 + 13 * 12288


def test_experts_dealt_out_to_ranks():
    """With 64 replicas and ZeRO-1 the optimizer's state of each parameter lies once on the replicas that hold it."""
    mesh, on = Mesh(pipeline=16, data=64), machine("H800")
    alone, dealt = (Plan(DEEPSEEK, replace(mesh, experts=n), on, 1024, recompute="full") for n in (1, 64))
    routed, whole = 256 * 3 * 7168 * 2048 * 4, DEEPSEEK.per_layer * 4  # of four layers
    assert alone.memory(5).parameters == 2 * whole
    found = dealt.memory(5)
    assert found.parameters == 2 * (whole - routed + routed / 64)
    expected = states(whole - routed, 64, 1).total + states(routed / 64, 1, 1).total
    assert found.total - found.activations == pytest.approx(expected)
    assert not alone.fits and dealt.fits


def test_what_a_mixture_keeps():
    by_name = {one.name: one.bytes for one in kept_tensors(DEEPSEEK, flash=True)}
    assert by_name["gate"] == 2 * 9 * 2048
    assert by_name["copies of the tokens for their experts"] == 2 * 8 * 7168


def test_the_all_to_all_of_a_layer():
    """Counted by hand for 4 ranks with 2 of 8 experts each and 1,000 tokens: of 2,000 copies 1,500 leave the rank, as
    8,192 bytes each, four times: to the experts and back, forward and backward."""
    assert all_to_all_bytes(MIXTRAL, 1000, 4) == 4 * 1500 * 8192
    step = Plan(replace(MIXTRAL, sequence=1000), Mesh(data=4, experts=4), machine("DGX-H100"), 4).step()
    sent = traffic(replace(step, layers=1, micro_batches=1), machine("DGX-H100").topology)["experts"]
    assert sent == {"inside": 4 * all_to_all_bytes(MIXTRAL, 1000, 4)}  # of four ranks
    assert all_to_all_bytes(MIXTRAL, 1000, 1) == all_to_all_bytes(GPT, 1000, 4) == 0


def test_mixtures_that_cannot_be():
    with pytest.raises(ValueError, match="8 experts: say experts_per_token"):
        Model(8, 1024, 8, 32000, 1024, experts=8)
    with pytest.raises(ValueError, match="at most as many"):
        Model(8, 1024, 8, 32000, 1024, experts=2, experts_per_token=4, expert_width=64)
    with pytest.raises(ValueError, match="go with experts"):
        Model(8, 1024, 8, 32000, 1024, shared_experts=1)
    with pytest.raises(ValueError, match="256 experts do not come out even on 3 ranks"):
        Plan(DEEPSEEK, Mesh(pipeline=16, data=48, experts=3), machine("H800"), 960)
    with pytest.raises(ValueError, match="experts on 128 of 64 replicas"):
        Mesh(pipeline=16, data=64, experts=128)
