"""Orders of a pipeline's work, replayed without a model: how long they take, what is alive, where they stand still."""

from labkit.schedules.replay import Replay, StandStill, replay

__all__ = ["Replay", "StandStill", "replay"]
