"""The data sets of the course: MNIST and Fashion-MNIST as published, and the built-in digits; and,
for models of language, a text.

    images, labels = load("digits")                # 60,000 images, drawn on this machine once
    images, labels = load("mnist", train=False)    # 10,000 images, a local copy or downloaded once
    tokens = encode(text())                        # 75,353 characters of the course's own prose

Images are looked for, and kept, in one folder: the environment variable LABKIT_DATA, or else
~/.cache/labkit. A copy of MNIST may lie there as the four published IDX files (compressed or not)
in mnist/ or MNIST/raw/, or as Keras' mnist.npz; Fashion-MNIST likewise in fashion_mnist/,
FashionMNIST/raw/ or fashion_mnist.npz. A file that is already there is never overwritten.
"""

from __future__ import annotations

import contextlib
import gzip
import hashlib
import http.client
import os
import tempfile
import urllib.error
import urllib.request
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import filelock
import numpy as np

from labkit import digits

NAMES = ("digits", "mnist", "fashion_mnist")
CLASSES = {
    "digits": tuple("0123456789"),
    "mnist": tuple("0123456789"),
    "fashion_mnist": (
        "T-shirt",
        "trousers",
        "pullover",
        "dress",
        "coat",
        "sandal",
        "shirt",
        "sneaker",
        "bag",
        "ankle boot",
    ),
}

FILES = {
    True: ("train-images-idx3-ubyte", "train-labels-idx1-ubyte"),
    False: ("t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte"),
}
FOLDERS = {
    "mnist": ("mnist", "MNIST/raw", "MNIST"),
    "fashion_mnist": ("fashion_mnist", "FashionMNIST/raw", "FashionMNIST", "fashion-mnist"),
}
MIRRORS = {
    "mnist": (
        "https://ossci-datasets.s3.amazonaws.com/mnist/",
        "https://storage.googleapis.com/cvdf-datasets/mnist/",
    ),
    "fashion_mnist": (
        "https://raw.githubusercontent.com/zalandoresearch/fashion-mnist/master/data/fashion/",
        "http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/",
    ),
}
# MD5 as published by the authors of Fashion-MNIST and, for both, by torchvision
# (torchvision/datasets/mnist.py).
CHECKSUMS = {
    "mnist": {
        "train-images-idx3-ubyte.gz": "f68b3c2dcbeaaa9fbdd348bbdeb94873",
        "train-labels-idx1-ubyte.gz": "d53e105ee54ea40749a09fcbcd1e9432",
        "t10k-images-idx3-ubyte.gz": "9fb629c4189551a2d022fa330f9573f3",
        "t10k-labels-idx1-ubyte.gz": "ec29112dd5afa0611ce80d1b7f02629c",
    },
    "fashion_mnist": {
        "train-images-idx3-ubyte.gz": "8d4fb7e6c68d591d4c3dfef9ec88bf0d",
        "train-labels-idx1-ubyte.gz": "25c81989df183df01b3e8a0aad5dffbe",
        "t10k-images-idx3-ubyte.gz": "bef4ecab320f06d8554ea6380940ec79",
        "t10k-labels-idx1-ubyte.gz": "bb300cfdad3c16e7a12a480ee83cd310",
    },
}
# A model of language speaks in these: the end of a line and the 95 printable characters of ASCII.
# Token i is the i-th. 96 is divided by 2, 3, 4, 6 and 8 ranks.
CHARACTERS = "\n" + "".join(map(chr, range(32, 127)))
LARGEST_FILE = 64 * 2**20  # bytes; the largest published file has 26 MB
WAIT_FOR_OTHERS = 600  # seconds a rank waits for the one that draws or downloads


class DataError(Exception):
    """A data set that cannot be had: says what, where, and what to do."""


def load(name: str, train: bool = True, n: int | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Images and labels of a data set.

    name: "digits" (built in), "mnist" or "fashion_mnist". train: the training images (60,000) or
    the test images (10,000). n: only the first n of them. Returns images, uint8, shape (n, 28, 28),
    0 is paper and 255 ink; and labels, int64, shape (n,). Raises DataError when there is no intact
    copy and none can be downloaded, or when n is more than there are.
    """
    if name not in NAMES:
        raise DataError(f"There is no data set {name!r}: choose one of {', '.join(NAMES)}.")
    if n is not None and n < 1:
        raise DataError(f"n = {n}: ask for at least one image, or for all of them with n=None.")
    images, labels = _load_digits(train, n) if name == "digits" else _load_published(name, train)
    if n is not None and n > len(images):
        raise DataError(
            f"n = {n}, but {name} has {len(images)} {'training' if train else 'test'} images."
        )
    return np.array(images[:n], dtype=np.uint8), np.array(labels[:n], dtype=np.int64)


def directory() -> Path:
    """The folder in which data sets are looked for and kept: LABKIT_DATA, or else labkit in the
    user's cache.
    """
    if os.environ.get("LABKIT_DATA"):
        return Path(os.environ["LABKIT_DATA"]).expanduser()
    return Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "labkit"


def is_here(name: str) -> bool:
    """True if `load` needs no download for this data set."""
    return name == "digits" or all(_find(name, train) is not None for train in (True, False))


# --------------------------------------------------------------------------------------------- text


def text() -> str:
    """Prose from the units of this course, one paragraph per line: 75,353 characters, 74 different
    ones, all in CHARACTERS.

    From the Markdown cells of units 00 to 09, without headings, tables, formulas and code. Licence:
    CC BY 4.0, as for all text of the course (LICENSE-text). It stays as it is when the units
    change, so that what was trained on it can be compared.
    """
    return Path(__file__).with_name("prose.txt").read_text(encoding="ascii")


def encode(text: str) -> np.ndarray:
    """The tokens of a text: for each character its number in CHARACTERS, int64, shape (n,). Raises
    DataError for a character that is not there.
    """
    numbers = {character: number for number, character in enumerate(CHARACTERS)}
    try:
        return np.array([numbers[character] for character in text], dtype=np.int64)
    except KeyError as error:
        raise DataError(
            f"There is no token for {error.args[0]!r}: a text may hold printable ASCII and ends of "
            "lines."
        ) from error


def decode(tokens: Iterable[int]) -> str:
    """The text of these tokens, an array of one dimension or a list: what `encode` undoes."""
    return "".join(CHARACTERS[int(token)] for token in tokens)


def windows(
    tokens: np.ndarray, batch: int, context: int, random: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """A minibatch for a model of language: `batch` pieces of `context` tokens from random places,
    and for each place the token that comes next. Both int64, shape (batch, context).

    random: where it stands decides which pieces, so ranks with equal generators draw the same
    minibatch, of which each takes its rows. Raises DataError where the tokens do not suffice.
    """
    if len(tokens) <= context:
        raise DataError(
            f"{len(tokens)} tokens hold no piece of {context} and the token that comes next."
        )
    places = random.integers(len(tokens) - context, size=(batch, 1)) + np.arange(context)
    return tokens[places], tokens[places + 1]


# ---------------------------------------------------------------------------------- built-in digits


def _load_digits(train: bool, n: int | None) -> tuple[np.ndarray, np.ndarray]:
    split = "train" if train else "test"
    blocks = -(-min(n or digits.IMAGES[split], digits.IMAGES[split]) // digits.BLOCK)
    parts = [_digits_block(split, block) for block in range(blocks)]
    return np.concatenate([images for images, _ in parts]), np.concatenate(
        [labels for _, labels in parts]
    )


def _digits_block(split: str, block: int) -> tuple[np.ndarray, np.ndarray]:
    """A block of the digits from the cache; drawn first, by one rank while the others wait, where
    it is not there yet.
    """
    path = directory() / f"digits-{digits.VERSION}" / f"{split}-{block:02}.npz"
    if not path.exists():
        try:
            with _alone(path.parent):
                if not path.exists():
                    images, labels = digits.draw_block(split, block)
                    _write_whole(path, lambda file: np.savez(file, images=images, labels=labels))
        except OSError:
            # A folder that cannot be written to, or a full disk, costs a few seconds each time, no
            # more.
            return digits.draw_block(split, block)
    arrays = _read_npz(path, ("images", "labels"))
    return _validated(path, path, *arrays)


# -------------------------------------------------------------------------- MNIST and Fashion-MNIST


def _load_published(name: str, train: bool) -> tuple[np.ndarray, np.ndarray]:
    found = _find(name, train)
    if found is None:
        wanted = [f"{stem}.gz" for stem in FILES[train]]
        download(
            directory() / name, {file: CHECKSUMS[name][file] for file in wanted}, MIRRORS[name]
        )
        found = _find(name, train)
    if len(found) == 1:
        part = "train" if train else "test"
        images, labels = _read_npz(found[0], (f"x_{part}", f"y_{part}"))
    else:
        images, labels = read_idx(found[0]), read_idx(found[1])
    return _validated(found[0], found[-1], images, labels)


def _find(name: str, train: bool) -> tuple[Path, ...] | None:
    """The files of a split: images and labels in IDX format, or one npz file; None where they are
    not complete.
    """
    folders = [directory() / folder for folder in FOLDERS[name]]
    for folder in folders:
        # Unpacked, some archives have train-images.idx3-ubyte.
        spellings = [
            [stem + end for end in ("", ".gz")] + [stem.replace("-idx", ".idx")]
            for stem in FILES[train]
        ]
        pair = [
            next((folder / file for file in files if (folder / file).is_file()), None)
            for files in spellings
        ]
        if all(pair):
            return tuple(pair)
    npz = [folder / f"{name}.npz" for folder in (directory(), *folders)]
    return next(((path,) for path in npz if path.is_file()), None)


def read_idx(path: Path) -> np.ndarray:
    """An array of bytes in the IDX format of MNIST, gzip-compressed or not: uint8, of the shape its
    header tells.

    Format: two zero bytes, 8 for unsigned bytes, the number of dimensions, each size as a
    big-endian 32-bit number, the data (Y. LeCun, C. Cortes, C. Burges, "The MNIST database of
    handwritten digits").
    """
    try:
        data = path.read_bytes()
        if data[:2] == b"\x1f\x8b":
            data = gzip.decompress(data)
    except (OSError, EOFError, zlib.error) as error:
        raise _broken(path, f"it cannot be unpacked ({error})") from error
    if len(data) < 4 or data[:3] != b"\0\0\x08" or not 1 <= data[3] <= 4:
        raise _broken(
            path,
            f"it does not begin like an IDX file of bytes (found {data[:4].hex(' ') or 'nothing'})",
        )
    header = 4 + 4 * data[3]
    shape = np.frombuffer(data[4:header], dtype=">u4") if len(data) >= header else ()
    expected = int(np.prod(shape, dtype=object))
    if len(data) - header != expected:
        raise _broken(
            path,
            f"its header announces {expected:,} bytes of data and {max(0, len(data) - header):,} "
            "follow",
        )
    return np.frombuffer(data, dtype=np.uint8, offset=header).reshape([int(size) for size in shape])


def _read_npz(path: Path, names: Sequence[str]) -> list[np.ndarray]:
    try:
        with np.load(path, allow_pickle=False) as file:
            return [file[name] for name in names]
    except KeyError as error:
        raise _broken(path, f"an array is missing ({error.args[0]})") from error
    except (OSError, ValueError, EOFError, zipfile.BadZipFile, zlib.error) as error:
        raise _broken(path, f"it is not an intact npz file ({error})") from error


def _validated(
    images_path: Path, labels_path: Path, images: np.ndarray, labels: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The arrays, when they are what a data set of this family consists of."""
    if (
        images.ndim != 3
        or images.shape[1:] != (digits.SIDE, digits.SIDE)
        or images.dtype != np.uint8
    ):
        raise _broken(
            images_path,
            f"expected bytes of shape (n, 28, 28), found {images.dtype} of shape {images.shape}",
        )
    if labels.shape != (len(images),):
        raise _broken(
            labels_path,
            f"expected {len(images):,} labels, one per image, found shape {labels.shape}",
        )
    if len(labels) == 0 or labels.dtype.kind not in "iu" or labels.min() < 0 or labels.max() > 9:
        raise _broken(labels_path, "the labels are not numbers from 0 to 9")
    return images, labels


def _broken(path: Path, why: str) -> DataError:
    return DataError(
        f"{path} is not usable: {why}. It was left as it is; delete it, or put an intact copy "
        "there, and try again."
    )


# ----------------------------------------------------------------------------------------- download


def download(
    folder: Path, checksums: Mapping[str, str], mirrors: Sequence[str], timeout: float = 20
) -> None:
    """Fetch the files that are missing in `folder`.

    checksums: MD5 of each file by its name. mirrors: addresses to try in turn, each ending in "/".
    timeout: seconds without an answer. Of several ranks one downloads and the others wait. A file
    appears under its name only when it is complete and its checksum is right. Raises DataError when
    no mirror has it.
    """
    try:
        with _alone(folder):
            for file, checksum in checksums.items():
                if not (folder / file).exists():
                    _download_one(folder / file, checksum, mirrors, timeout)
    except OSError as error:
        raise DataError(
            f"{folder} cannot be written to ({error}). Set LABKIT_DATA to a folder of yours and "
            "try again."
        ) from error


def _download_one(path: Path, checksum: str, mirrors: Sequence[str], timeout: float) -> None:
    reasons = []
    for mirror in mirrors:
        print(f"Downloading {mirror}{path.name}", flush=True)
        try:
            with urllib.request.urlopen(mirror + path.name, timeout=timeout) as answer:
                content = answer.read(LARGEST_FILE)
        except (urllib.error.URLError, http.client.HTTPException, OSError) as error:
            reasons.append(f"{mirror}{path.name}: {getattr(error, 'reason', error)}")
            continue
        found = hashlib.md5(content, usedforsecurity=False).hexdigest()
        if found == checksum:
            _write_whole(path, lambda file, content=content: file.write(content))
            return
        reasons.append(
            f"{mirror}{path.name}: {len(content):,} bytes with MD5 {found}, expected {checksum}"
        )
    raise DataError(
        f"{path.name} could not be downloaded:\n  "
        + "\n  ".join(reasons)
        + f"\nCopy the file to {path.parent} from a machine that has "
        'it, set LABKIT_DATA to a folder with a copy, or use the built-in data: load("digits").'
    )


# ---------------------------------------------------------------------------------- files and ranks


@contextlib.contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Holds the folder's lock: only one of the ranks that use this folder is inside at a time."""
    folder.mkdir(parents=True, exist_ok=True)
    lock = folder / ".lock"
    try:
        with filelock.FileLock(lock, timeout=WAIT_FOR_OTHERS):
            yield
    except filelock.Timeout as error:
        raise DataError(
            f"Another process has held {lock} for {WAIT_FOR_OTHERS} s. If none is at work, delete "
            "it and try again."
        ) from error


def _write_whole(path: Path, write: Callable) -> None:
    """Writes a file under another name and renames it, so that others see all of it or nothing."""
    descriptor, name = tempfile.mkstemp(prefix=f".{path.name}-", dir=path.parent)
    try:
        with os.fdopen(descriptor, "wb") as file:
            write(file)
        os.chmod(name, 0o644)
        os.replace(name, path)
    except BaseException:
        os.unlink(name)
        raise
