"""Horovod for TensorFlow starts quicker in ranks that do not live long."""

from __future__ import annotations

import sys


def trace_without_autograph() -> None:
    """Keeps AutoGraph from translating Horovod's own functions, which do not need it, once Horovod for TensorFlow is
    imported.

    Horovod wraps its averaging and its broadcasts in `tf.function`. When a rank first uses them, AutoGraph translates
    them and all that they call, which takes longer than a lesson's training. What is computed stays the same. May be
    called any number of times.
    """
    framework = sys.modules.get("horovod.tensorflow")
    functions = sys.modules.get("horovod.tensorflow.functions")
    if framework is None or functions is None or framework._make_subgraph is _make_subgraph:
        return
    functions._make_subgraph = framework._make_subgraph = _make_subgraph


def _make_subgraph(function):
    import tensorflow as tf

    return tf.function(function, autograph=False)
