"""The computation of one process for the homework's models: losses, gradients and whole runs, to compare a port with.
In the jail."""

from __future__ import annotations

import numpy as np


def replay(shapes: list, steps: list, run: dict | None = None) -> dict:
    """The results of one process: for the homework's models, the mean cross-entropy of minibatches and its gradient,
    and a whole run.

    shapes: of the model's variables, of `labkit.keras_models.mlp` with any widths or of `cnn`. steps: pairs or triples
    (weights as one vector, images as they came to the model, labels). Returns {"losses", "correct": how many are
    recognised, "gradients": vectors} and, if run is given, {"weights"} after a run: run holds "weights" at its start,
    "optimizer", "config", "rates", and "batches", for each step a list of (images, labels), one of each rank, whose
    mean gradients are averaged; "first": the weights of each rank at the first step. Raises ValueError for shapes that
    are none of the course's models.
    """
    import tensorflow as tf

    model = _model_of(tf, [tuple(shape) for shape in shapes])
    gradients_at = _gradients(tf, model)
    losses, correct, gradients = [], [], []
    for weights, x, y in steps:
        loss, right, gradient = gradients_at(weights, x, y)
        losses.append(float(loss))
        correct.append(int(right))
        gradients.append(np.concatenate([np.ravel(part) for part in gradient]))
    found = {"losses": losses, "correct": correct, "gradients": gradients}
    optimizer = _optimizer_of(tf, run)
    if optimizer is not None:
        found["weights"] = _weights_after(tf, model, optimizer, gradients_at, run)
    return found


def _gradients(tf, model):
    """f(weights as one vector or None: as they are, images, labels) -> (mean loss, how many are recognised,
    gradients)."""
    loss_function = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    variables = model.trainable_variables

    @tf.function(reduce_retracing=True)
    def gradient_of(x, y):
        with tf.GradientTape() as tape:
            logits = model(x, training=True)
            loss = loss_function(y, logits)
        correct = tf.reduce_sum(tf.cast(tf.argmax(logits, axis=1) == y, tf.int64))
        return loss, correct, tape.gradient(loss, variables)

    def at(weights, x, y):
        if weights is not None:
            _set(variables, weights)
        images = tf.constant(np.asarray(x, dtype=np.float32).reshape(-1, 28, 28, 1))
        return gradient_of(images, tf.constant(np.asarray(y, dtype=np.int64)))

    return at


def _weights_after(tf, model, optimizer, gradients_at, run: dict) -> np.ndarray:
    """The weights after a run, as one vector; run: as in `replay`."""
    variables, weights = model.trainable_variables, np.asarray(run["weights"])
    for k, (rate, batches) in enumerate(zip(run["rates"], run["batches"], strict=True)):
        starts = run["first"] if k == 0 else [weights] * len(batches)
        parts = [gradients_at(start, x, y)[2] for start, (x, y) in zip(starts, batches, strict=True)]
        _set(variables, weights)
        optimizer.learning_rate = rate
        mean = [tf.add_n(list(same)) / len(parts) for same in zip(*parts, strict=True)]
        optimizer.apply_gradients(zip(mean, variables, strict=True))
        weights = np.concatenate([np.ravel(variable.numpy()) for variable in variables])
    return weights


def _optimizer_of(tf, run: dict | None):
    """The optimizer of a run, or None where there is none that Keras can make from this description."""
    if run is None:
        return None
    kind = getattr(tf.keras.optimizers, run["optimizer"])
    try:
        return kind.from_config({**run["config"], "learning_rate": 0.0, "jit_compile": False})
    except (TypeError, ValueError):
        return None


def _set(variables, weights) -> None:
    where = 0
    for variable in variables:
        size = int(np.prod(variable.shape))
        variable.assign(np.asarray(weights[where : where + size]).reshape(variable.shape))
        where += size


def _model_of(tf, shapes: list[tuple]):
    """The course's model with variables of these shapes. Raises ValueError."""
    from labkit import keras_models

    if all(len(shape) <= 2 for shape in shapes) and len(shapes) >= 2 and shapes[-1:] == [(10,)]:
        hidden = [shape[0] for shape in shapes[1:-1:2]]
        if any(width > 4096 for width in hidden):
            raise ValueError("a model of enormous size")
        model = keras_models.mlp(hidden=hidden)
    else:
        model = keras_models.cnn()
    if [tuple(variable.shape) for variable in model.trainable_variables] != shapes:
        raise ValueError("not a model of the course")
    return model
