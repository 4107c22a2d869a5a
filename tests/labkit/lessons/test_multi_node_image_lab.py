"""The machinery of unit 09: scripts on ranks and their last words, photos of each kind, pages of one file."""

import pytest
from machine import needs

from labkit import products
from labkit.lessons import multi_node_image_lab as image_lab

SMAPS = """\
7f00-7f10 r--s 00000000 00:1f 12  /tmp/train-32/images.npy
Rss:                 100 kB
Pss:                  25 kB
Private_Clean:         1 kB
7f10-7f20 r--s 00000000 00:1f 13  /tmp/test-32/images.npy
Rss:                   7 kB
7f20-7f30 r--s 00001000 00:1f 12  /tmp/train-32/images.npy
Rss:                   4 kB
Pss:                   4 kB
VmFlags: rd mr mw
"""


def test_pages_of_one_file_are_added_up(tmp_path):
    path = tmp_path / "smaps"
    path.write_text(SMAPS)
    assert image_lab.pages_in_memory("train-32/images.npy", path) == (104, 29)
    assert image_lab.pages_in_memory("labels.npy", path) == (0, 0)


def test_two_photos_of_each_kind(tmp_path):
    data = products.draw(tmp_path, products=(2, 1), photos=1)
    first, last = image_lab.two_of_each_kind(products.read_list(data / "Ebay_train.txt"), data)
    assert len(first) == len(last) == len(products.SUPER_CLASSES) and not any(name for name, _ in last)
    assert any(one.tobytes() != other.tobytes() for (_, one), (_, other) in zip(first, last, strict=True))


def test_a_script_says_what_it_printed_or_its_last_words(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "works.py").write_text("import sys\nprint(sys.argv[1:])")
    (tmp_path / "fails.py").write_text("raise SystemExit('no disk')")
    assert image_lab.run_script("works.py", 1, ["--epochs", 2]) == "['--epochs', '2']\n"
    with pytest.raises(RuntimeError, match=r"fails.py ended with status 1:\nno disk"):
        image_lab.run_script("fails.py", 1, [])


def test_the_fastest_call_counts(monkeypatch):
    moments = iter([0, 3, 10, 11, 20, 25])
    monkeypatch.setattr(image_lab.time, "perf_counter", lambda: next(moments))
    assert image_lab.fastest_seconds(lambda: None, repeats=3) == 1


@needs("tensorflow")
def test_values_kept_are_those_of_layers_with_weights_and_of_relus():
    from tensorflow.keras import Sequential, layers

    model = Sequential([layers.Input((8, 8, 3)), layers.Conv2D(4, 3), layers.ReLU(), layers.MaxPool2D()])
    assert image_lab.kept_values(model, side=8) == 2 * 6 * 6 * 4
