"""The second homework's training: settings, the sequential run, bytes counted, logs written and read, plans."""

from __future__ import annotations

import json
import math

import pytest
import torch
from torch.nn.functional import cross_entropy

from labkit import simulation
from labkit.meshrun import TASKS, Alive, Log, MeshRunError, Settings, on_the_wire, read, sequential
from labkit.meshrun.counting import axis_of
from labkit.scale import Mesh, young_daly

SMALL = Settings(layers=2, width=8, heads=2, context=6, batch=4, micro_batches=2, clip=0.5, seed=3)


def test_the_same_settings_give_the_same_training():
    torch.manual_seed(1)
    first = SMALL.model()
    torch.manual_seed(2)
    again = SMALL.model()
    assert all(torch.equal(a, b) for a, b in zip(first.parameters(), again.parameters(), strict=True))
    assert torch.initial_seed() == 2, "the caller's generator is left alone"
    (x, y), (x2, _) = SMALL.minibatch(5), SMALL.minibatch(5)
    assert x.shape == (4, 6) and torch.equal(x, x2) and torch.equal(x[:, 1:], y[:, :-1])
    assert not torch.equal(x, SMALL.minibatch(6)[0])


def test_the_sequential_run_is_torchs_adam_with_a_clipped_norm():
    model = SMALL.model()
    optimizer = torch.optim.Adam(model.parameters(), SMALL.rate)
    found = sequential(SMALL, 3)
    for k in range(3):
        x, y = SMALL.minibatch(k)
        optimizer.zero_grad()
        loss = cross_entropy(model(x).flatten(0, 1), y.flatten())
        loss.backward()
        norm = torch.stack([p.grad.norm() for p in model.parameters()]).norm()
        for parameter in model.parameters():
            parameter.grad *= min(1.0, SMALL.clip / norm.item())
        optimizer.step()
        assert found.steps[k] == pytest.approx((loss.item(), norm.item()), rel=1e-12)
    for name, parameter in model.named_parameters():
        assert torch.allclose(found.weights[name], parameter, rtol=1e-9, atol=1e-12), name


def test_bytes_alive_are_those_of_what_was_made_and_is_still_there():
    told = []
    with Alive(told.append) as alive:
        a = torch.zeros(1000, dtype=torch.float64)
        view = a.view(10, 100)[2:]
        b = a + 1
        assert alive.now() == 16_000
        del b
        assert (alive.now(), alive.peak) == (8_000, 16_000)
        a += 1
        assert alive.now() == 8_000, "written in place"
        del a
        assert alive.now() == 8_000, "a view keeps its storage"
        alive.forget_peak()
        assert alive.peak == 8_000 and view.numel() == 800
    assert told[-1] == 16_000


def test_activations_that_a_backward_pass_has_used_are_gone():
    model = SMALL.model()
    x, y = SMALL.minibatch(0)
    with Alive() as alive:
        loss = cross_entropy(model(x).flatten(0, 1), y.flatten())
        forward = alive.now()
        loss.backward()
        weights = sum(p.numel() for p in model.parameters()) * 8
        assert weights <= alive.now() <= weights + 200 and forward > 0


@pytest.mark.parametrize(
    ("kind", "times"), [("all_reduce", 1.5), ("reduce_scatter", 0.75), ("all_gather", 3.0), ("send", 1.0)]
)
def test_bytes_on_the_wire(kind, times):
    assert on_the_wire(kind, 800, 4) == 800 * times


def test_axes_of_groups():
    mesh = Mesh(tensor=2, context=2, pipeline=2, data=2)
    for axis in ("tensor", "context", "pipeline", "data"):
        assert {axis_of(mesh, group) for group in mesh.groups(axis)} == {axis}
    assert axis_of(mesh, mesh.groups("data", "context")[0]) == "data"
    assert axis_of(mesh, range(16)) == axis_of(mesh, mesh.groups("tensor", "data")[0]) == "world"


# -- logs --------------------------------------------------------------------------------------------------------------


@pytest.fixture
def written(tmp_path):
    program = tmp_path / "mesh_training.py"
    program.write_text("print()\n")
    (tmp_path / "nonce.txt").write_text("a code\n")
    with Log(tmp_path / "run.jsonl", Mesh(), SMALL, program=program) as log:
        for k in range(5):
            kept = torch.zeros(100 * (k + 1), dtype=torch.float64)
            log.step(4.0 - k, math.inf if k == 3 else 1.0)
        assert kept.numel() == 500
    return tmp_path / "run.jsonl"


def test_a_log_is_read_as_it_was_written(written):
    run = read(written)
    assert (run.mesh, run.settings, run.nonce, run.complete) == (Mesh(), SMALL, "a code", True)
    assert run.losses == [4.0, 3.0, 2.0, 1.0, 0.0] and math.isnan(run.norms[3])
    assert len(run.step_seconds) == 5 and len(run.timed) == 3 and run.seconds > 0
    assert run.tokens_per_second == pytest.approx(24 / run.seconds)
    assert run.held == [1600] and run.peaks == [2400], "the second step's: the old one is there until the new one is"
    assert run.stage_peaks() == [2400] and run.axis_bytes["data"] == 0 and run.name == "d1 t1 p1"
    assert len(run.source_sha256) == 64


def test_what_was_changed_or_cut_is_said(written):
    lines = written.read_text().splitlines()
    written.write_text("\n".join(lines[:-1]) + "\n")
    assert any("did not come to its end" in one for one in read(written).problems)
    written.write_text("\n".join(lines).replace('"loss": 3.0', '"loss": 2.5'))
    run = read(written)
    assert run.altered == [3] and not run.complete
    written.write_text("\n".join(lines[:3] + lines[4:]))
    assert any("cannot be read" in one for one in read(written).problems)


def test_a_run_that_failed_leaves_no_end(tmp_path):
    with pytest.raises(ZeroDivisionError), Log(tmp_path / "run.jsonl", Mesh(), SMALL) as log:
        log.step(1.0, 1.0)
        log.step(1 / 0, 1.0)
    assert not read(tmp_path / "run.jsonl").complete
    with Log(None, Mesh(), SMALL) as log:
        log.step(1.0, 1.0)
    assert len(list(tmp_path.iterdir())) == 1 and log.seconds > 0


def test_settings_of_any_kind_are_no_log(written):
    first, *rest = written.read_text().splitlines()
    record = json.loads(first)
    for change in ({"mesh": {}}, {"settings": {"layers": -1}}, {"format": 2}, {"hosts": 5}, {"hardware": None}):
        written.write_text("\n".join([json.dumps(record | change), *rest]))
        with pytest.raises(MeshRunError):
            read(written)


# -- plans -------------------------------------------------------------------------------------------------------------


def test_plans_are_priced_or_refused():
    task = TASKS[1024]
    plan = task.plan(data=8, tensor=8, pipeline=16, recompute="full")
    assert plan.fits and plan.estimate().seconds > 0 and 174e9 < task.model.parameters < 176e9
    assert 404e9 < TASKS[16384].model.parameters < 407e9
    for wrong in ({"data": 8, "tensor": 8, "pipeline": 8}, {"data": 8, "tensor": 8, "pipeline": 16, "zero": 4}):
        with pytest.raises(ValueError):
            task.plan(**wrong)


def test_a_checkpoint_interval_loses_least_where_young_and_daly_say():
    for gpus, task in TASKS.items():
        best = young_daly(task.save, task.mtbf)
        assert task.least_lost == pytest.approx(task.lost(best))
        assert task.lost(1.3 * best) > task.least_lost < task.lost(best / 1.3)
        assert task.mtbf == pytest.approx(54 * 86400 / 419 * 16384 / gpus)


def messages():
    import torch
    import torch.distributed as dist

    from labkit.meshrun import Traffic
    from labkit.scale import Mesh

    peer, x, y = 1 - dist.get_rank(), torch.ones(8, dtype=torch.float64), torch.zeros(8, dtype=torch.float64)
    found, before = [], dist.isend
    with Traffic(Mesh(pipeline=2)) as traffic:
        for work in dist.batch_isend_irecv([dist.P2POp(dist.isend, x, peer), dist.P2POp(dist.irecv, y, peer)]):
            work.wait()
        found.append(traffic.bytes["pipeline"])
        work = dist.isend(tensor=x, dst=peer)
        dist.recv(y, src=peer)
        work.wait()
        found.append(traffic.bytes["pipeline"])
        dist.send(x, peer) if peer else dist.recv(y, peer)
        found.append(traffic.bytes["pipeline"])
    return found, dist.isend is before


def test_messages_are_counted_once_in_a_batch_too(warm):
    outcome = simulation.run(messages, 2)
    assert [rank.value for rank in outcome.ranks] == [([64, 128, 192], True), ([64, 128, 128], True)], outcome.hang
