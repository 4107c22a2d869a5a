"""Stanford Online Products: the published layout read, images prepared once, and a small look-alike
drawn on this machine.

    folder = draw(scratch)                                    # or the folder of the real data set
    entries = read_list(folder / "Ebay_train.txt")            # image_id, class_id, super_class_id,
    path prepare(folder, "train", into)                            # every photo opened and resized
    once, on one rank of a node images, labels = load("train", into)                      # uint8
    (n, 32, 32, 3) and int64 (n,), on every rank

The data set: 120,053 photos of 22,634 products from an auction site, in 12 super classes (H. Oh
Song, Y. Xiang, S. Jegelka, S. Savarese, "Deep Metric Learning via Lifted Structured Feature
Embedding", CVPR 2016). `Ebay_train.txt` lists 59,551 photos of 11,318 products, `Ebay_test.txt`
60,502 of the other 11,316: no product is in both, every super class is. So a network that is to
name what it sees learns the super class, the third column.

Whoever wants the real data unpacks Stanford_Online_Products.zip (2.9 GB,
https://cvgl.stanford.edu/projects/lifted_struct/).
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import math
import os
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from labkit.data import DataError

SUPER_CLASSES = (
    "bicycle",
    "cabinet",
    "chair",
    "coffee_maker",
    "fan",
    "kettle",
    "lamp",
    "mug",
    "sofa",
    "stapler",
    "table",
    "toaster",
)
HEADER = "image_id class_id super_class_id path"
LISTS = {"train": "Ebay_train.txt", "test": "Ebay_test.txt"}
SIDE = 32  # pixels of a prepared image
ABOUT = "about.json"  # written last: a folder of prepared images that holds it is whole


@dataclass(frozen=True)
class Entry:
    """A line of a list. class_id: the product. super_class_id: the kind of product, 1 to 12. path:
    below the data set's folder."""

    image_id: int
    class_id: int
    super_class_id: int
    path: str


# --------------------------------------------------------------------------------------------------
# the published format


def read_list(path: str | os.PathLike) -> list[Entry]:
    """The lines of `Ebay_train.txt` or `Ebay_test.txt`, in their order. Raises DataError with the
    line that is wrong."""
    path = Path(path)
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except OSError as error:
        raise DataError(
            f"{path} cannot be read ({error.strerror}). It belongs to the folder"
            " Stanford_Online_Products; `products.draw(folder)` makes "
            "a small look-alike."
        ) from error
    except UnicodeDecodeError as error:
        raise DataError(
            f"{path} is not a text file (byte {error.start} is no UTF-8). Unpack the data set"
            " again."
        ) from error
    if not lines or lines[0].split() != HEADER.split():
        raise DataError(
            f"{path}, line 1: expected the header {HEADER!r}, found"
            f" {lines[0][:80] if lines else 'an empty file'!r}."
        )
    return [
        _entry(path, number, line) for number, line in enumerate(lines[1:], start=2) if line.strip()
    ]


def _entry(path: Path, number: int, line: str) -> Entry:
    columns = line.split(maxsplit=3)
    if len(columns) != 4:
        raise DataError(
            f"{path}, line {number}: expected 4 columns ({HEADER}), found {len(columns)}:"
            f" {line[:80]!r}."
        )
    try:
        image_id, class_id, super_class_id = map(int, columns[:3])
    except ValueError:
        raise DataError(
            f"{path}, line {number}: the first three columns must be whole numbers: {line[:80]!r}."
        ) from None
    if not 1 <= super_class_id <= len(SUPER_CLASSES):
        raise DataError(
            f"{path}, line {number}: super_class_id {super_class_id}, expected 1 to"
            f" {len(SUPER_CLASSES)}."
        )
    place = columns[3].strip()
    if place.startswith("/") or ".." in place.split("/"):
        raise DataError(f"{path}, line {number}: {place!r} leads out of the data set's folder.")
    return Entry(image_id, class_id, super_class_id, place)


# --------------------------------------------------------------------------------------------------
# prepared once per node


def prepare(
    folder: str | os.PathLike, split: str, into: str | os.PathLike, side: int = SIDE
) -> Path:
    """Open every photo of a list once, resize it, and keep all of them as one array in `into`, on a
    disk of this node.

    folder: the data set. split: "train" or "test". side: of the prepared images in pixels; a photo
    keeps its proportions and is centred on white. Nobody sees a half-written array: the folder gets
    its name when all is in it. Call it on one rank of a node, and let the others wait. Memory: one
    photo at a time. Returns the folder; one that is already there is left as it is. Raises
    DataError for a photo that is missing or damaged, with the line of the list.
    """
    folder, target = Path(folder), _place(split, into, side)
    if is_prepared(folder, split, into, side):
        return target
    if (target / ABOUT).exists():
        raise DataError(
            f"{target} holds the images of another data set than {folder}. Delete it, or give"
            " another folder."
        )
    entries = read_list(folder / LISTS[split])
    if not entries:
        raise DataError(f"{folder / LISTS[split]} lists no image.")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        _write_array(folder, split, target, side, entries)
    except OSError as error:
        raise DataError(
            f"{target} cannot be written ({error}). Give a folder on this node's own disk with"
            " room for it."
        ) from error
    return target


def _write_array(folder: Path, split: str, target: Path, side: int, entries: list[Entry]) -> None:
    with _whole_folder(target, ABOUT) as part:
        shape = (len(entries), side, side, 3)
        images = np.lib.format.open_memmap(
            part / "images.npy", mode="w+", dtype=np.uint8, shape=shape
        )
        for k, entry in enumerate(entries):
            images[k] = _prepared_image(
                folder / entry.path, f"{folder / LISTS[split]}, image_id {entry.image_id}", side
            )
        images.flush()
        np.save(
            part / "labels.npy",
            np.array([entry.super_class_id - 1 for entry in entries], dtype=np.int64),
        )
        about = {
            "images": len(entries),
            "side": side,
            "classes": SUPER_CLASSES,
            "list": _digest(folder, split),
        }
        (part / ABOUT).write_text(json.dumps(about))


def is_prepared(
    folder: str | os.PathLike, split: str, into: str | os.PathLike, side: int = SIDE
) -> bool:
    """True if `prepare` has come to its end for this split of this data set."""
    try:
        about = json.loads((_place(split, into, side) / ABOUT).read_text())
        return about["list"] == _digest(Path(folder), split)
    except (OSError, ValueError, KeyError, TypeError):
        return False


def _digest(folder: Path, split: str) -> str:
    return hashlib.sha256((folder / LISTS[split]).read_bytes()).hexdigest()


def load(split: str, into: str | os.PathLike, side: int = SIDE) -> tuple[np.ndarray, np.ndarray]:
    """The prepared images, uint8 of shape (n, side, side, 3), and their labels, int64 of shape (n,)
    from 0 to 11.

    The images are mapped, not read: ranks of a node that map the same file share one copy in its
    memory, and what is never looked at is never read. Raises DataError when they have not been
    prepared.
    """
    place = _place(split, into, side)
    if not (place / ABOUT).is_file():
        raise DataError(
            f"{place} is not there: call `products.prepare(folder, {split!r}, into)` on one rank"
            " of this node first."
        )
    try:
        images = np.load(place / "images.npy", mmap_mode="r", allow_pickle=False)
        labels = np.load(place / "labels.npy", allow_pickle=False)
    except (OSError, ValueError) as error:
        raise DataError(f"{place} is damaged ({error}). Delete it and prepare it again.") from error
    if (
        images.ndim != 4
        or images.shape[1:] != (side, side, 3)
        or images.dtype != np.uint8
        or labels.shape != (len(images),)
    ):
        raise DataError(
            f"{place} holds {images.dtype} of shape {images.shape} and {len(labels)} labels."
            " Delete it, prepare it again."
        )
    return images, labels


def _place(split: str, into: str | os.PathLike, side: int) -> Path:
    if split not in LISTS:
        raise DataError(f"There is no split {split!r}: choose one of {', '.join(LISTS)}.")
    return Path(into) / f"{split}-{side}"


@contextlib.contextmanager
def _whole_folder(target: Path, last: str) -> Iterator[Path]:
    """A new folder beside `target` that takes its name when the block is over; when it fails,
    nothing is left.

    last: a file that a whole folder holds. If another rank was faster, its folder stays.
    """
    part = Path(tempfile.mkdtemp(prefix=f".{target.name}-", dir=target.parent))
    try:
        yield part
        part.chmod(0o755)
        if target.exists() and not (target / last).is_file():
            shutil.rmtree(target)
        try:
            part.rename(target)
        except OSError:
            if not (target / last).is_file():
                raise
    finally:
        shutil.rmtree(part, ignore_errors=True)


def _prepared_image(path: Path, where: str, side: int) -> np.ndarray:
    """A photo of any size as uint8 (side, side, 3)."""
    from PIL import Image, UnidentifiedImageError

    try:
        with Image.open(path) as photo:
            photo.draft("RGB", (2 * side, 2 * side))  # a JPEG is unpacked no larger than needed
            photo = photo.convert("RGB")
            photo.thumbnail((side, side), Image.Resampling.BILINEAR)
    except FileNotFoundError:
        raise DataError(f"{where}: {path} is missing. Unpack the data set again.") from None
    except (UnidentifiedImageError, OSError, SyntaxError) as error:
        raise DataError(
            f"{where}: {path} is no intact image ({error}). Unpack the data set again."
        ) from error
    square = Image.new("RGB", (side, side), "white")
    square.paste(photo, ((side - photo.width) // 2, (side - photo.height) // 2))
    return np.asarray(square)


# --------------------------------------------------------------------------------------------------
# a look-alike


def draw(
    folder: str | os.PathLike, products: Sequence[int] = (12, 4), photos: int = 5, seed: int = 0
) -> Path:
    """Draw a small data set with the layout of the real one below `folder`; returns its folder,
    Stanford_Online_Products.

    products: of each super class, in the training and in the test list. photos: of each product.
    The drawings are simple, but not too simple: a product has its own colours and proportions, a
    photo its own place, size, turn, light, background and noise, and as in the real data no product
    of the test list is in the training list. The same seed draws the same photos. A folder that is
    there is kept.
    """
    target = Path(folder) / "Stanford_Online_Products"
    if (target / LISTS["test"]).is_file():
        return target
    target.parent.mkdir(parents=True, exist_ok=True)
    chance = np.random.default_rng([seed, 2016])
    with _whole_folder(target, LISTS["test"]) as part:
        for name in SUPER_CLASSES:
            (part / f"{name}_final").mkdir()
        image_id = class_id = 0
        for split, count in zip(LISTS, products, strict=True):
            rows = [HEADER]
            for number, name in enumerate(SUPER_CLASSES, start=1):
                for _ in range(count):
                    class_id += 1
                    item, look = (
                        int(chance.integers(110_000_000_000, 400_000_000_000)),
                        _Product(chance),
                    )
                    for photo in range(photos):
                        image_id += 1
                        path = f"{name}_final/{item}_{photo}.JPG"
                        _photo(name, look, chance).save(part / path, "JPEG", quality=85)
                        rows.append(f"{image_id} {class_id} {number} {path}")
            (part / LISTS[split]).write_text("\n".join(rows) + "\n", encoding="utf-8")
    return target


class _Product:
    """The shape, colours and proportions that all photos of one product share."""

    def __init__(self, chance: np.random.Generator):
        self.colours = [tuple(int(c) for c in chance.integers(20, 190, 3)) for _ in range(3)]
        self.wide, self.tall = chance.uniform(0.75, 1.0, 2)
        self.detail = float(chance.uniform(0, 1))


class _Pen:
    """Draws in a square from -1 to 1, the product's proportions applied. Points are (x, y), y
    downwards."""

    def __init__(self, image, look: _Product, size: float):
        from PIL import ImageDraw

        self.to, self.look, self.middle, self.size = (
            ImageDraw.Draw(image),
            look,
            image.width / 2,
            size,
        )

    def at(self, x: float, y: float) -> tuple[float, float]:
        return (
            self.middle + self.size * self.look.wide * x,
            self.middle + self.size * self.look.tall * y,
        )

    def thick(self, part: float) -> int:
        return max(1, round(self.size * part))

    def line(self, *points, colour: int = 0, width: float = 0.1) -> None:
        self.to.line(
            [self.at(*p) for p in points],
            self.look.colours[colour],
            self.thick(width),
            joint="curve",
        )

    def box(self, x0, y0, x1, y1, colour: int = 0) -> None:
        self.to.rectangle([*self.at(x0, y0), *self.at(x1, y1)], self.look.colours[colour])

    def shape(self, *points, colour: int = 0) -> None:
        self.to.polygon([self.at(*p) for p in points], self.look.colours[colour])

    def disc(self, x, y, radius, colour: int = 0) -> None:
        (x, y), r = self.at(x, y), self.size * radius
        self.to.ellipse([x - r, y - r, x + r, y + r], self.look.colours[colour])

    def ring(self, x, y, radius, colour: int = 0, width: float = 0.1) -> None:
        (x, y), r = self.at(x, y), self.size * radius
        self.to.ellipse(
            [x - r, y - r, x + r, y + r], outline=self.look.colours[colour], width=self.thick(width)
        )


def _photo(name: str, look: _Product, chance: np.random.Generator):
    """One photo of a product: a PIL image, 80 to 120 pixels wide and high."""
    from PIL import Image

    side = 120
    paper = tuple(int(c) for c in chance.integers(200, 256, 3))
    image = Image.new("RGB", (side, side), paper)
    _DRAWINGS[name](_Pen(image, look, side * float(chance.uniform(0.30, 0.42))), look)
    turn, shift = float(chance.uniform(-12, 12)), tuple(int(s) for s in chance.integers(-10, 11, 2))
    image = image.rotate(turn, Image.Resampling.BILINEAR, translate=shift, fillcolor=paper)
    if chance.random() < 0.5:
        image = image.transpose(Image.Transpose.FLIP_LEFT_RIGHT)
    light = float(chance.uniform(0.75, 1.1))
    pixels = np.asarray(image, dtype=np.float32) * light + chance.normal(
        0, 10, (side, side, 1)
    ).astype(np.float32)
    left, upper = (int(c) for c in chance.integers(0, 12, 2))  # photos have many sizes and formats
    right, lower = (side - int(c) for c in chance.integers(0, 12, 2))
    return Image.fromarray(np.clip(pixels, 0, 255).astype(np.uint8)).crop(
        (left, upper, right, lower)
    )


def _bicycle(pen: _Pen, look: _Product) -> None:
    for x in (-0.6, 0.6):
        pen.ring(x, 0.4, 0.38, 1, 0.07)
    pen.line((-0.6, 0.4), (-0.25, -0.3), (0.4, -0.3), (0.0, 0.4), (-0.6, 0.4), width=0.08)
    pen.line((-0.25, -0.3), (0.0, 0.4), width=0.08)
    pen.line((0.6, 0.4), (0.38, -0.55), (0.62, -0.6), width=0.08)
    pen.line((-0.42, -0.5), (-0.12, -0.5), colour=2, width=0.1)


def _cabinet(pen: _Pen, look: _Product) -> None:
    pen.box(-0.7, -0.95, 0.7, 0.95)
    for row in range(2 + round(2 * look.detail)):
        y = -0.85 + 1.75 * row / (2 + round(2 * look.detail))
        pen.box(-0.6, y, -0.05, y + 0.35, 1)
        pen.box(0.05, y, 0.6, y + 0.35, 1)
        pen.disc(-0.12, y + 0.17, 0.05, 2)
        pen.disc(0.12, y + 0.17, 0.05, 2)


def _chair(pen: _Pen, look: _Product) -> None:
    pen.line((-0.45, -0.95), (-0.45, 0.95), width=0.12)
    for y in (-0.85, -0.6, -0.35):
        pen.line((-0.45, y), (-0.3 + 0.1 * look.detail, y), colour=1, width=0.12)
    pen.box(-0.5, 0.05, 0.55, 0.22, 1)
    pen.line((0.48, 0.2), (0.48, 0.95), width=0.12)


def _coffee_maker(pen: _Pen, look: _Product) -> None:
    pen.box(-0.65, -0.9, -0.2, 0.9)
    pen.box(-0.65, -0.9, 0.6, -0.5)
    pen.box(-0.65, 0.72, 0.65, 0.9)
    pen.shape((-0.05, -0.2), (0.45, -0.2), (0.55, 0.65), (-0.15, 0.65), colour=1)
    pen.line((0.5, -0.1), (0.75, 0.0), (0.75, 0.4), (0.55, 0.45), colour=2, width=0.08)


def _fan(pen: _Pen, look: _Product) -> None:
    pen.ring(0, -0.3, 0.62, 0, 0.06)
    for k in range(3 + round(2 * look.detail)):
        angle = 2 * math.pi * k / (3 + round(2 * look.detail)) + look.detail
        pen.line(
            (0, -0.3), (0.5 * math.cos(angle), -0.3 + 0.5 * math.sin(angle)), colour=1, width=0.16
        )
    pen.disc(0, -0.3, 0.12, 2)
    pen.line((0, 0.3), (0, 0.85), width=0.1)
    pen.line((-0.4, 0.9), (0.4, 0.9), width=0.14)


def _kettle(pen: _Pen, look: _Product) -> None:
    pen.shape((-0.45, -0.35), (0.4, -0.35), (0.65, 0.8), (-0.65, 0.8))
    pen.shape((-0.5, 0.0), (-1.0, -0.35), (-0.9, -0.45), (-0.42, -0.2), colour=0)
    pen.line((-0.35, -0.4), (-0.25, -0.85), (0.3, -0.85), (0.38, -0.4), colour=1, width=0.1)
    pen.disc(0, -0.42, 0.1, 2)


def _lamp(pen: _Pen, look: _Product) -> None:
    top = 0.2 + 0.15 * look.detail
    pen.shape((-top, -0.95), (top, -0.95), (0.6, -0.15), (-0.6, -0.15), colour=1)
    pen.line((0, -0.15), (0, 0.85), width=0.09)
    pen.line((-0.35, 0.88), (0.35, 0.88), width=0.13)


def _mug(pen: _Pen, look: _Product) -> None:
    pen.ring(0.5, 0.05, 0.36, 0, 0.13)
    pen.box(-0.65, -0.6, 0.45, 0.7)
    pen.box(-0.65, -0.1, 0.45, 0.1 + 0.2 * look.detail, 1)


def _sofa(pen: _Pen, look: _Product) -> None:
    pen.box(-0.85, -0.45, 0.85, 0.2)
    pen.box(-1.0, -0.1, -0.75, 0.6, 1)
    pen.box(0.75, -0.1, 1.0, 0.6, 1)
    pen.box(-0.75, 0.1, 0.75, 0.5, 1)
    pen.line((0, -0.4), (0, 0.5), colour=2, width=0.05)
    for x in (-0.85, 0.85):
        pen.line((x, 0.55), (x, 0.75), colour=2, width=0.1)


def _stapler(pen: _Pen, look: _Product) -> None:
    pen.shape(
        (-0.95, -0.05 - 0.3 * look.detail),
        (-0.85, -0.3 - 0.3 * look.detail),
        (0.9, 0.0),
        (0.9, 0.3),
    )
    pen.shape((-0.95, 0.3), (0.95, 0.3), (0.95, 0.48), (-0.95, 0.48), colour=1)
    pen.disc(0.8, 0.2, 0.15, 2)


def _table(pen: _Pen, look: _Product) -> None:
    pen.shape((-0.7, -0.4), (0.7, -0.4), (1.0, -0.1), (-1.0, -0.1))
    pen.box(-1.0, -0.1, 1.0, 0.02, 1)
    for x in (-0.9, 0.9):
        pen.line((x, 0.0), (x, 0.8), colour=1, width=0.12)
    for x in (-0.55, 0.55):
        pen.line((x, 0.0), (x, 0.5 + 0.1 * look.detail), colour=1, width=0.09)


def _toaster(pen: _Pen, look: _Product) -> None:
    for x in (-0.45, 0.1):
        pen.box(x, -0.85, x + 0.35, -0.2, 2)
    pen.box(-0.8, -0.4, 0.8, 0.65)
    pen.box(0.8, -0.15, 0.95, 0.0, 1)
    pen.disc(0.5, 0.35, 0.12, 1)
    for x in (-0.6, 0.6):
        pen.box(x - 0.1, 0.65, x + 0.1, 0.78, 1)


_DRAWINGS = dict(
    zip(
        SUPER_CLASSES,
        (
            _bicycle,
            _cabinet,
            _chair,
            _coffee_maker,
            _fan,
            _kettle,
            _lamp,
            _mug,
            _sofa,
            _stapler,
            _table,
            _toaster,
        ),
        strict=True,
    )
)
