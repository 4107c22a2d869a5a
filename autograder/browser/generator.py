"""numpy's random generator in pure Python: the values of cases are the same in a browser as everywhere else.

SeedSequence is M. O'Neill's seed_seq, PCG64 her generator of 128 bits (XSL-RR output), and whole numbers come by D.
Lemire's method: the algorithms of numpy.random, bit for bit, as far as the cases of playable exercises draw.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any

from autograder.browser.arrays import Array, asarray

M32, M64, M128 = (1 << 32) - 1, (1 << 64) - 1, (1 << 128) - 1
MULTIPLIER = 0x2360ED051FC65DA44385DF649FCCF645


def _hashed(constant: int, factor: int) -> Iterator:
    """A generator that takes a word of 32 bits and gives it back mixed up, with other constants each time."""
    word = yield 0
    while True:
        word ^= constant
        constant = constant * factor & M32
        word = word * constant & M32
        word = yield word ^ word >> 16


def _mixed(x: int, y: int) -> int:
    found = (0xCA01F9DD * x - 0x4973F715 * y) & M32
    return found ^ found >> 16


def seeded(entropy: Sequence[int]) -> list[int]:
    """Four words of 64 bits from words of 32 bits, as numpy's SeedSequence gives them."""
    mix = _hashed(0x43B0D7E5, 0x931E8875)
    next(mix)
    pool = [mix.send(word) for word in [*entropy, 0, 0, 0, 0][:4]]
    for source, target in itertools.product(range(4), range(4)):
        if source != target:
            pool[target] = _mixed(pool[target], mix.send(pool[source]))
    for word in entropy[4:]:
        pool = [_mixed(own, mix.send(word)) for own in pool]
    draw = _hashed(0x8B51F9DD, 0x58F38DED)
    next(draw)
    words = [draw.send(word) for word in pool + pool]
    return [low | high << 32 for low, high in zip(words[::2], words[1::2], strict=True)]


class Generator:
    """Draws as `numpy.random.default_rng` does from the same words of 32 bits."""

    def __init__(self, entropy: Any):
        words = seeded([int(word) for word in getattr(entropy, "flat", entropy)])
        self._step = ((words[2] << 64 | words[3]) << 1 | 1) & M128
        self._state = (self._step + (words[0] << 64 | words[1])) & M128
        self._state = (self._state * MULTIPLIER + self._step) & M128
        self._half: int | None = None

    def _word(self) -> int:
        """The next 64 bits."""
        self._state = (self._state * MULTIPLIER + self._step) & M128
        word, turn = (self._state >> 64 ^ self._state) & M64, self._state >> 122
        return (word >> turn | word << (-turn & 63)) & M64

    def _half_word(self) -> int:
        """The next 32 bits: the lower half of 64, and then the upper one."""
        if self._half is not None:
            half, self._half = self._half, None
            return half
        word = self._word()
        self._half = word >> 32
        return word & M32

    def _below(self, span: int) -> int:
        """A whole number below `span`."""
        bits, draw = (32, self._half_word) if span <= M32 + 1 else (64, self._word)
        if span == 1:
            return 0
        found = draw() * span
        while found & (1 << bits) - 1 < (1 << bits) % span:
            found = draw() * span
        return found >> bits

    def _at_most(self, largest: int) -> int:
        """A whole number up to `largest`, below 2**32, by throwing away what is larger: so numpy shuffles."""
        mask = (1 << largest.bit_length()) - 1
        while (found := self._half_word() & mask) > largest:
            pass
        return found

    def _several(self, draw: Any, size: Any) -> Any:
        if size is None:
            return draw()
        return asarray([draw() for _ in range(size)])

    def integers(self, low: int, high: int | None = None, size: int | None = None) -> Any:
        low, high = (0, int(low)) if high is None else (int(low), int(high))
        if low >= high:
            raise ValueError("low >= high")
        return self._several(lambda: low + self._below(high - low), size)

    def random(self, size: int | None = None) -> Any:
        return self._several(lambda: (self._word() >> 11) * 2.0**-53, size)

    def uniform(self, low: float = 0.0, high: float = 1.0, size: int | None = None) -> Any:
        return self._several(lambda: low + (high - low) * ((self._word() >> 11) * 2.0**-53), size)

    def permutation(self, values: Any) -> Array:
        """`values`, or the numbers below it, in another order."""
        mixed = list(range(values)) if isinstance(values, int) else list(asarray(values).flat)
        for k in range(len(mixed) - 1, 0, -1):
            other = self._at_most(k)
            mixed[k], mixed[other] = mixed[other], mixed[k]
        return asarray(mixed)
