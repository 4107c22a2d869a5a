"""Real MPI ranks in a notebook: `from labkit import ranks; ranks.start(4)`, then `%%ranks` at the top of a cell.

`labkit.ranks.magic` says what a cell can ask for. Importing this package gives the notebook its `%%ranks`.
"""

from labkit.ranks.magic import CellOutcome, Interrupted, events, pull, slots, start, stop, timeline

__all__ = ["CellOutcome", "Interrupted", "events", "pull", "slots", "start", "stop", "timeline"]
