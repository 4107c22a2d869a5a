"""Accelerators, links and nodes as data: `hardware.toml`, in which every figure has its source."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from labkit.relay.topology import Link, Topology, nodes

HERE = Path(__file__).parent


@dataclass(frozen=True)
class Machine:
    """Nodes of one kind. peak: FLOP/s of one accelerator in bfloat16, dense. memory: bytes of one; memory_rate:
    bytes/s. per_node: accelerators. inside: the link of two in one node. between: the link of two nodes, all cards of a
    node as one that any of its ranks may use alone (a card for each rank is slower); None where nothing was found."""

    name: str
    peak: float
    memory: float
    memory_rate: float
    per_node: int
    inside: Link | None
    between: Link | None

    @property
    def topology(self) -> Topology:
        """The topology for the relay, the replay and the formulas. Raises ValueError where a link is not known."""
        if self.inside is None or self.between is None:
            raise ValueError(f"no figures for the links of {self.name}")
        return nodes(self.per_node, self.inside, self.between)


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
    links = [_link(known["link"].get(node.get(place)), cards) for place, cards in (("inside", 1), ("between", 0))]
    if links[1] is not None:
        links[1] = _link(known["link"][node["between"]], node["cards"])
    return Machine(
        name, accelerator["peak"], accelerator["memory"], accelerator["memory_rate"], node["accelerators"], *links
    )


def _link(found: dict | None, cards: int) -> Link | None:
    """The link of `cards` parallel links used together: the same latency, `cards` times the rate; None for no link."""
    return found and Link(found["alpha"], 1 / (found["rate"] * max(1, cards)))
