"""The machinery of unit 12: one set of pictures in three forms, archives that are broken, ranks as threads."""

import tarfile

import torch

from labkit.lessons import input_pipelines as given


def test_the_three_forms_hold_the_same_pictures(tmp_path):
    pictures = given.store(tmp_path, 5)
    files, archive, mapped = given.Files(tmp_path, 5), list(given.Archive(tmp_path)), given.Mapped(tmp_path)
    assert [name for name, _ in pictures] == [f"{k:05d}.jpg" for k in range(5)]
    assert len(files) == len(mapped) == len(archive) == 5
    for k in range(5):
        assert files[k].shape == (3, 64, 64) and torch.equal(files[k], mapped[k])
        assert any(torch.equal(files[k], one) for one in archive)
        assert torch.equal(given.decode(pictures[k][1]), files[k])
    with tarfile.open(tmp_path / "all.tar") as tar:
        assert sum(member.isfile() for member in tar) == 5


def test_three_archives_are_spoilt_and_the_others_as_they_were():
    archives = {f"shard-{k:02d}.tar": bytes([k]) * 50_000 for k in range(12)}
    broken = given.spoilt(archives)
    assert {name for name in archives if broken[name] != archives[name]} == {
        "shard-02.tar",
        "shard-05.tar",
        "shard-07.tar",
    }
    assert len(broken["shard-05.tar"]) == 40_000 and archives["shard-02.tar"][513] == 2


def test_an_accelerator_that_never_waits_is_busy():
    assert 0.2 < given.busy_share(range(4), 0.002) <= 1
    assert list(given.source([0.0, 0.0])) == [0, 1]
    assert len(given.Far(3, 0.0)) == 3 and given.Far(3, 0.0)[2] == 2 and given.rate([[1, 2], [3]]) > 0


def test_ranks_as_threads_do_three_things_in_every_step():
    lanes = given.run_ranks([iter(range(2)), iter(range(2))], 2, 0.001)
    kinds = ["waits for data", "busy", "waits for others"]
    assert [[kind for kind, _, _ in lane] for lane in lanes] == [kinds * 2] * 2
    assert all(a <= b for lane in lanes for _, a, b in lane)


def test_shares_in_words():
    lane = [("waits for data", 0.0, 1.0), ("busy", 1.0, 3.0), ("waits for others", 3.0, 4.0)]
    said = given.shares(lane, [5, 4, 1])
    assert said == "busy  50% ( 50%), waits for data  40% ( 25%), waits for others  10% ( 25%)"
