"""Unit 16: what tensor parallelism sends, counted on the course's transformer."""

import pytest

from autograder.answers import sources
from autograder.judging.judge import chunks_of_file
from labkit.interconnect.topology import flat
from labkit.launch import launcher

UNIT = "16_tensor_parallel"
pytestmark = pytest.mark.usefixtures("warm")

STEP = """
def step(n, d, h):
    p = dist.get_world_size()
    torch.manual_seed(1)
    shapes = ((n, d), (h // p, d), (h // p,), (d, h // p), (d,))
    tp_mlp(*(torch.randn(s, dtype=torch.float64, requires_grad=True) for s in shapes)).sum().backward()
"""


@pytest.mark.parametrize("p", [2, 4])
@pytest.mark.parametrize("inside", [16, 64])
def test_n_d_numbers_each_way_whatever_the_width_inside(p, inside):
    n, d = 6, 8
    source = sources(UNIT, "tp_mlp")["right_f_and_g"] + STEP
    chunks = chunks_of_file(source, "step", "step.py")
    jobs = launcher.make_jobs(chunks, "step", [(n, d, inside)] * p)
    outcome = launcher.shared().run(jobs, topology=flat())[0]
    for rank in outcome.ranks:
        assert (tuple(rank.collectives), rank.sends) == (("all_reduce", "all_reduce"), 0)
        assert rank.collective_bytes == 2 * n * d * 8
    assert sum(outcome.link_bytes.values()) == pytest.approx(2 * 2 * (p - 1) * n * d * 8, rel=1e-12)


@pytest.mark.parametrize("p", [2, 4])
def test_tokens_divided_outside_cost_no_byte_more_but_the_bias(p):
    n, d, inside = 8, 6, 12
    source = sources(UNIT, "sequence_parallel_mlp")["right_gather_scatter"]
    source += STEP.replace("tp_mlp", "sequence_parallel_mlp")
    chunks = chunks_of_file(source, "step", "step.py")
    jobs = launcher.make_jobs(chunks, "step", [(n // p, d, inside)] * p)
    outcome = launcher.shared().run(jobs, topology=flat())[0]
    assert sum(outcome.link_bytes.values()) == pytest.approx(2 * (p - 1) * (2 * n * d + d) * 8, rel=1e-12)
