"""The settings that every check gets. It imports nothing: the command has no torch in its own process."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Setting:
    """device: "cuda" or "cpu". small: sizes for a test. peak: TFLOP/s in 16 bits from the command line; None: as in
    `devices.PEAKS`. seconds: how long this check may take. gpus: how many there are."""

    device: str
    small: bool = False
    peak: float | None = None
    seconds: float = 600.0
    gpus: int = 0
