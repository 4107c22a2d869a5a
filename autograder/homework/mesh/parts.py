"""The parts of a checkpoint, whatever they are made of: weights in them found by their values, and scaled.

A script that goes on from them trains with these weights; one that has the whole training in itself does not notice.
Which weights, and by how much, the key draws: whoever looks at some of them alone does not know.
"""

from __future__ import annotations

import io
import zipfile
import zlib
from dataclasses import dataclass, field, replace

import numpy as np

from autograder.homework.mesh import sizes
from labkit.meshrun import Settings

SAME = 2e-13  # how near a number of the parts is to a weight
FACTORS = (0.75, 0.8, 1.25, 1.3)
MATRICES = ("attention.q", "attention.k", "attention.v", "attention.out", "mlp.up", "mlp.down")


def drawn(seed: bytes, settings: Settings) -> tuple[list[str], float]:
    """The names of the weights that are scaled, one of a block and one of the ends of the model, and the factor."""
    random = np.random.default_rng(list(seed))
    block, ends = int(random.integers(settings.layers)) + 1, ("embedding.tokens", "embedding.places", "head")
    names = [f"block{block}.{random.choice(MATRICES)}.weight", f"{random.choice(ends)}.weight"]
    return names, float(random.choice(FACTORS))


@dataclass
class Scaling:
    """weights: numbers of the sequential training when the parts were made. losses: of its further steps with these
    numbers times a factor.

    everywhere: the parts had not all of the weights as they are, so that all of their numbers were scaled.
    """

    weights: np.ndarray
    losses: np.ndarray
    factor: float
    everywhere: bool = False
    _seen: np.ndarray = field(init=False)

    def __post_init__(self):
        self.weights = np.sort(self.weights)
        self._seen = np.zeros(len(self.weights), bool)

    def of(self, parts: list) -> list:
        """The parts with the weights scaled."""
        found = self._scaled(parts)
        if self._seen.all():
            return found
        self.everywhere = True
        return self._scaled(parts)

    def _scaled(self, part):
        if isinstance(part, dict):
            return {name: self._scaled(one) for name, one in part.items()}
        if isinstance(part, list | tuple):
            return type(part)(self._scaled(one) for one in part)
        if isinstance(part, float):
            return float(self._numbers(np.array([part]))[0])
        if isinstance(part, bytes):
            return self._file(part)
        if isinstance(part, np.ndarray):
            return self._array(part)
        values = getattr(part, "values", None)
        return replace(part, values=self._array(values)) if isinstance(values, np.ndarray) else part

    def _array(self, values: np.ndarray) -> np.ndarray:
        if values.dtype == np.uint8:
            return np.frombuffer(self._file(values.tobytes()), np.uint8).reshape(values.shape)
        return self._numbers(values) if values.dtype == np.float64 else values

    def _numbers(self, values: np.ndarray) -> np.ndarray:
        places = self._places(values)
        self._seen[places[places >= 0]] = True
        return values * np.where((places >= 0) | self.everywhere, self.factor, 1.0)

    def _places(self, values: np.ndarray) -> np.ndarray:
        """The place of each number among those of the weights, -1 where it is none of them."""
        after = np.searchsorted(self.weights, values - SAME).clip(0, len(self.weights) - 1)
        return np.where(np.abs(self.weights[after] - values) <= SAME, after, -1)

    def _file(self, data: bytes) -> bytes:
        """A file in memory with the weights in it scaled, at whatever byte they begin."""
        altered = bytearray(data)
        for start in range(sizes.FLOAT):
            numbers = np.nan_to_num(np.frombuffer(data, np.float64, max(0, len(data) - start) // sizes.FLOAT, start))
            places = self._places(numbers)
            self._seen[places[places >= 0]] = True
            for k in np.flatnonzero(places >= 0):
                at = start + sizes.FLOAT * int(k)
                altered[at : at + sizes.FLOAT] = (numbers[k] * self.factor).tobytes()
        if altered != data and zipfile.is_zipfile(io.BytesIO(altered)):
            _resealed(altered)
        return bytes(altered)


def _resealed(data: bytearray) -> None:
    """Makes the checksums of a zip archive, as torch.save and numpy.savez write it, those of what is in it."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        members, place = archive.infolist(), archive.start_dir
    for member in members:
        local = member.header_offset
        begin = local + 30 + sum(int.from_bytes(data[local + at : local + at + 2], "little") for at in (26, 28))
        end = begin + member.compress_size
        if member.compress_type == zipfile.ZIP_STORED:
            seal = zlib.crc32(data[begin:end]).to_bytes(4, "little")
            behind = end + 4 * (data[end : end + 4] == b"PK\x07\x08")
            for at in (local + 14, place + 16, *((behind,) if member.flag_bits & 8 else ())):
                data[at : at + 4] = seal
        place += 46 + sum(int.from_bytes(data[place + at : place + at + 2], "little") for at in (28, 30, 32))


__all__ = ["Scaling", "drawn"]
