"""Stanford Online Products: the published layout, what is wrong with a copy, images prepared whole or not at all, and
the look-alike.
"""

from __future__ import annotations

import json

import numpy as np
import pytest
from PIL import Image

from labkit import products
from labkit.data import DataError

REAL = """image_id class_id super_class_id path
1 1 1 bicycle_final/111085122871_0.JPG
2 1 1 bicycle_final/111085122871_1.JPG
59551 11318 12 toaster_final/390900000000_3.JPG
"""


@pytest.fixture(scope="module")
def look_alike(tmp_path_factory):
    return products.draw(tmp_path_factory.mktemp("products"), products=(2, 1), photos=2)


def test_the_lines_of_the_published_list_are_read_as_they_are(tmp_path):
    (tmp_path / "Ebay_train.txt").write_text(REAL + "\n")
    entries = products.read_list(tmp_path / "Ebay_train.txt")
    assert entries[0] == products.Entry(1, 1, 1, "bicycle_final/111085122871_0.JPG")
    assert entries[-1] == products.Entry(59551, 11318, 12, "toaster_final/390900000000_3.JPG")
    assert len(entries) == 3


@pytest.mark.parametrize(
    "text, says",
    [
        ("", "line 1: expected the header"),
        ("1 1 1 bicycle_final/1_0.JPG\n", "line 1: expected the header"),
        (REAL + "4 2 1\n", "line 5: expected 4 columns .*found 3"),
        (REAL + "4 two 1 bicycle_final/1_0.JPG\n", "line 5: the first three columns must be whole numbers"),
        (REAL + "4 2 13 bicycle_final/1_0.JPG\n", "line 5: super_class_id 13, expected 1 to 12"),
        (REAL + "4 2 1 ../../etc/passwd\n", "line 5: .* leads out of the data set's folder"),
        (REAL + "4 2 1 /etc/passwd\n", "line 5: .* leads out of the data set's folder"),
    ],
)
def test_a_wrong_list_is_told_with_its_line(tmp_path, text, says):
    (tmp_path / "Ebay_train.txt").write_text(text)
    with pytest.raises(DataError, match=says):
        products.read_list(tmp_path / "Ebay_train.txt")


def test_a_missing_data_set_says_what_to_do(tmp_path):
    with pytest.raises(DataError, match=r"Ebay_train.txt cannot be read .*products.draw\(folder\)"):
        products.prepare(tmp_path, "train", tmp_path / "into")
    with pytest.raises(DataError, match="call `products.prepare"):
        products.load("train", tmp_path)
    with pytest.raises(DataError, match="no split 'val': choose one of train, test"):
        products.load("val", tmp_path)
    assert not (tmp_path / "into").exists() or not list((tmp_path / "into").iterdir())


def test_the_look_alike_has_the_real_layout(look_alike):
    train, test = (products.read_list(look_alike / name) for name in ("Ebay_train.txt", "Ebay_test.txt"))
    assert look_alike.name == "Stanford_Online_Products"
    assert [entry.image_id for entry in [*train, *test]] == list(range(1, 12 * 3 * 2 + 1))
    assert not {entry.class_id for entry in train} & {entry.class_id for entry in test}, "no product is in both lists"
    for entries in (train, test):
        assert {entry.super_class_id for entry in entries} == set(range(1, 13))
        for entry in entries:
            folder, name = entry.path.split("/")
            assert folder == f"{products.SUPER_CLASSES[entry.super_class_id - 1]}_final"
            assert name.endswith(".JPG") and (look_alike / entry.path).is_file()
    sizes = {Image.open(look_alike / entry.path).size for entry in train}
    assert len(sizes) > 10, "photos have many sizes"


def test_the_same_seed_draws_the_same_photos(look_alike, tmp_path):
    again = products.draw(tmp_path, products=(2, 1), photos=2)
    for name in ("Ebay_train.txt", "chair_final", "Ebay_test.txt"):
        one, other = look_alike / name, again / name
        if one.is_dir():
            assert {p.name: p.read_bytes() for p in one.iterdir()} == {p.name: p.read_bytes() for p in other.iterdir()}
        else:
            assert one.read_text() == other.read_text()
    assert [p.name for p in tmp_path.iterdir()] == ["Stanford_Online_Products"]


def test_prepared_images_are_those_of_the_list_in_its_order(look_alike, tmp_path):
    place = products.prepare(look_alike, "train", tmp_path, side=20)
    images, labels = products.load("train", tmp_path, side=20)
    entries = products.read_list(look_alike / "Ebay_train.txt")
    assert images.shape == (48, 20, 20, 3) and images.dtype == np.uint8 and labels.dtype == np.int64
    assert labels.tolist() == [entry.super_class_id - 1 for entry in entries]
    assert isinstance(images, np.memmap), "the ranks of a node share one copy"
    for k in (0, 17, 47):
        photo = Image.open(look_alike / entries[k].path).convert("RGB")
        mean = np.asarray(photo).mean((0, 1)), images[k][2:-2, 2:-2].mean((0, 1))
        assert np.abs(mean[0] - mean[1]).max() < 25, "the same photo, smaller"
    assert products.prepare(look_alike, "train", tmp_path, side=20) == place
    assert products.is_prepared(look_alike, "train", tmp_path, side=20)
    assert not products.is_prepared(look_alike, "train", tmp_path, side=32)


def test_proportions_are_kept_and_the_rest_is_white(tmp_path):
    folder = tmp_path / "Stanford_Online_Products"
    (folder / "mug_final").mkdir(parents=True)
    Image.new("RGB", (200, 50), (10, 20, 30)).save(folder / "mug_final" / "1_0.JPG")
    (folder / "Ebay_train.txt").write_text(f"{products.HEADER}\n1 1 8 mug_final/1_0.JPG\n")
    products.prepare(folder, "train", tmp_path / "into", side=16)
    images, labels = products.load("train", tmp_path / "into", side=16)
    assert labels.tolist() == [7]
    assert (images[0, :6] == 255).all() and (images[0, 10:] == 255).all()
    assert np.abs(images[0, 6:10].astype(int) - (10, 20, 30)).max() < 6


@pytest.mark.parametrize(
    "content, says", [(None, "is missing"), (b"no photo", "no intact image"), (b"\xff\xd8\xff\xe0", "no intact")]
)
def test_a_damaged_photo_is_named_and_nothing_half_made_stays(tmp_path, content, says):
    folder = tmp_path / "Stanford_Online_Products"
    (folder / "fan_final").mkdir(parents=True)
    if content is not None:
        (folder / "fan_final" / "7_0.JPG").write_bytes(content)
    (folder / "Ebay_test.txt").write_text(f"{products.HEADER}\n60502 22634 5 fan_final/7_0.JPG\n")
    with pytest.raises(DataError, match=f"image_id 60502: .*7_0.JPG {says}|image_id 60502: .*{says}"):
        products.prepare(folder, "test", tmp_path / "into")
    assert list((tmp_path / "into").iterdir()) == []
    assert not products.is_prepared(folder, "test", tmp_path / "into")


def test_another_data_set_in_the_same_place_is_refused(look_alike, tmp_path):
    products.prepare(look_alike, "test", tmp_path)
    other = products.draw(tmp_path / "other", products=(1, 1), photos=1, seed=1)
    assert not products.is_prepared(other, "test", tmp_path)
    with pytest.raises(DataError, match="holds the images of another data set"):
        products.prepare(other, "test", tmp_path)


def test_what_an_interrupted_run_has_left_is_replaced_and_damage_is_noticed(look_alike, tmp_path):
    (tmp_path / "test-32").mkdir()
    (tmp_path / "test-32" / "images.npy").write_bytes(b"half")
    with pytest.raises(DataError, match="is not there"):
        products.load("test", tmp_path)
    products.prepare(look_alike, "test", tmp_path)
    assert len(products.load("test", tmp_path)[0]) == 24
    np.save(tmp_path / "test-32" / "labels.npy", np.arange(3))
    with pytest.raises(DataError, match="Delete it"):
        products.load("test", tmp_path)
    assert json.loads((tmp_path / "test-32" / "about.json").read_text())["classes"] == list(products.SUPER_CLASSES)


def test_the_slower_of_two_writers_leaves_the_faster_ones_folder(look_alike, tmp_path, monkeypatch):
    """Two ranks that prepare the same images by mistake: both come to their end, and one whole array is there."""
    original = products._prepared_image
    beaten = []

    def overtaken(*arguments):
        if not beaten:
            beaten.append(True)
            products.prepare(look_alike, "test", tmp_path)
        return original(*arguments)

    monkeypatch.setattr(products, "_prepared_image", overtaken)
    products.prepare(look_alike, "test", tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["test-32"]
    assert len(products.load("test", tmp_path)[0]) == 24
