"""Accelerators, links and domains as data: `hardware.toml`, in which every figure has its source."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from labkit.interconnect.topology import Link, Topology, nodes

HERE = Path(__file__).parent


@dataclass(frozen=True)
class Machine:
    """Domains of one kind. peak: FLOP/s of one accelerator in bfloat16, dense; peak_8, peak_4: of products of 8-bit and
    4-bit floating-point numbers, None where nothing was found. memory: bytes of one; memory_rate: bytes/s. domain: the
    accelerators that fast links join, a node of the topology. inside: the link of two in one domain. between: the link
    of two domains, from one card to another; None where nothing was found. cards: of a domain, dealt out to its
    accelerators in their order."""

    name: str
    peak: float
    memory: float
    memory_rate: float
    domain: int
    inside: Link | None
    between: Link | None
    cards: int = 1
    peak_8: float | None = None
    peak_4: float | None = None

    def peak_of(self, bits: int) -> float:
        """FLOP/s of one accelerator for products of numbers of so many bits. Raises ValueError for want of a figure."""
        known = {16: self.peak, 8: self.peak_8, 4: self.peak_4}
        found = known.get(bits)
        if found is None:
            there = " and ".join(str(one) for one, peak in known.items() if peak is not None)
            raise ValueError(f"{self.name} has no peak for products of {bits} bits; it has one for {there}")
        return found

    @property
    def topology(self) -> Topology:
        """The topology for the relay, the replay and the formulas. Raises ValueError where a link is not known."""
        if self.inside is None or self.between is None:
            raise ValueError(f"no figures for the links of {self.name}")
        return nodes(self.domain, self.inside, self.between, self.cards)


@cache
def hardware() -> dict:
    """`hardware.toml` as it stands: accelerators, links and nodes, each with `source`."""
    return tomllib.loads((HERE / "hardware.toml").read_text(encoding="utf-8"))


@cache
def published() -> dict:
    """`published.toml` as it stands: tables of papers, each with `source`."""
    return tomllib.loads((HERE / "published.toml").read_text(encoding="utf-8"))


def machine(name: str) -> Machine:
    """The node of that name. Raises ValueError for one that the file does not have."""
    known = hardware()
    if name not in known["node"]:
        raise ValueError(f"no node is called {name!r}; there are {', '.join(known['node'])}")
    node = known["node"][name]
    accelerator = known["accelerator"][node["accelerator"]]
    inside, between = (_link(known["link"].get(node.get(place))) for place in ("inside", "between"))
    figures = (accelerator[figure] for figure in ("peak", "memory", "memory_rate"))
    small = (accelerator.get(figure) for figure in ("peak_8", "peak_4"))
    return Machine(name, *figures, node["domain"], inside, between, node.get("cards", 1), *small)


def _link(found: dict | None) -> Link | None:
    """The link of an entry; None for no link."""
    return found and Link(found["alpha"], 1 / found["rate"])
