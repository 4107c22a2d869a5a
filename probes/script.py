"""Runs a whole training script in a rank and tells, while it runs, what it does: which images a step trains on, which
gradients are applied at which learning rate, what is broadcast and reduced, which files are written.

For the homework: the script is any program that trains one of the course's Keras models with TensorFlow and, perhaps,
Horovod. Nobody has to call anything of this module in it. The probe stands at four places that every such program
passes: the call of a model, the optimizer's update, Horovod's collectives, and the opening of a file. In compiled
graphs it adds operations that look and change nothing.

What is seen goes out as notes (`labkit.launch.rank_program.Printer.note`), so that it counts even if the script never
comes to its end:

    {"saw": "batch", "numbers": [...], "tape": bool}   a minibatch came to the model, under a tape or not; the images
    {"saw": "optimizer", "name", "config", "shapes"}   once, before the first update
    {"saw": "update", "rate": float}   gradients are about to be applied; gradients and variables, float32, with the
                                       share "came" of the gradients' numbers that Horovod has given back
    {"saw": "collective", "what", "size", "root", "float"}   a collective; small ones with what came in and went out,
                                       larger sums with norm and sum of what this rank "brought"
    {"saw": "options", ...}, {"saw": "outside", ...}   options of its command line, files it looked for elsewhere
    {"saw": "end", ...}                                how it ended, files written, the run log, what was printed

All of this happens in the process of the script, and could be forged by a script that knows about it.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
import threading
import time

import numpy as np

from probes.life import TEST, gpu_of, live, numbers, see_course_data, see_options

MOST_BATCHES = 20_000
_OTHERS = ("horovod_allgather", "horovod_reducescatter", "horovod_alltoall")
EVERY = 0.2  # s between two looks at what compiled graphs have left
SMALL = 8  # elements of a tensor whose values are noted


def run_script(name: str, source: str, arguments: list[str], data: dict, options: dict) -> str:
    """Run a script as `python name arguments...` would, in a folder of this rank's own, and note what it does.

    data: x_train, y_train, x_test, y_test; they become the file DATA in the arguments, in the format of Keras's
    mnist.npz. options: "spread": standard deviation of what is added to the variables of all ranks but rank 0 when they
    are made, 0 for nothing; "seed" of it; "arrays": how many updates are noted with all their arrays; "shared": all
    ranks get one and the same folder; "no_broadcast": Horovod's broadcasts give back what they got, without waiting for
    anybody; "init": Horovod is initialised beforehand; "gpus": that each machine is said to have, 0 for what it has.
    """
    rank = int(os.environ.get("HOROVOD_RANK", "0"))
    return live(Probe(sys.stdout.note, rank, options), name, source, arguments, data)


# -- what it looks at --------------------------------------------------------------------------------------------------


class Probe:
    """Stands in TensorFlow, Keras and Horovod. note: where to say what is seen, (meta, payload)."""

    def __init__(self, note, rank: int, options: dict):
        self._send, self.rank = note, rank
        self.spread, self.seed = float(options.get("spread", 0)), int(options.get("seed", 0))
        self.arrays, self.no_broadcast = int(options.get("arrays", 0)), bool(options.get("no_broadcast"))
        self.shared, self.init = bool(options.get("shared")), bool(options.get("init"))
        self.gpus, self._visible = int(options.get("gpus", 0)), os.environ.get("CUDA_VISIBLE_DEVICES", "")
        self.updates = self.batches = self.made = 0
        self.variables: list = []
        self._arrived: list[np.ndarray] = []  # what collectives have given back since the update before
        self._depth = threading.local()
        self._queue, self._lookers, self._lock = None, [], threading.RLock()

    def note(self, meta: dict, payload: bytes = b"") -> None:
        try:
            self._send(meta, payload)
        except OSError:  # nobody listens any more
            pass

    def install(self, data: dict) -> None:
        import tensorflow as tf

        self.tf = tf
        self._see_data(data)
        self._keep_datasets_awake()
        self._see_layers()
        self._see_updates()
        self._see_collectives()
        self._see_options()
        if self.gpus:
            self._see_devices()

    def initialise(self) -> None:
        """Initialise Horovod in the script's place, where that was asked for."""
        if self.init:
            importlib.import_module("horovod.tensorflow").init()

    def _run(self, look, inputs) -> None:
        """Have `look` called with the values of `inputs`: now, or each time that the graph which is being made comes to
        this place.

        A graph puts them into a queue, which is emptied from outside. (With a function of Python's as a part of the
        graph, a program that has allowed TensorFlow one thread only stands still now and then.)
        """
        tf = self.tf
        if tf.executing_eagerly():
            with self._lock:
                self._empty_queue()
                look(*(value.numpy() if hasattr(value, "numpy") else np.asarray(value) for value in inputs))
            return
        with tf.init_scope():
            if self._queue is None:
                self._queue = tf.queue.FIFOQueue(1 << 20, [tf.int32, tf.string])
                threading.Thread(target=self._keep_emptying, daemon=True).start()
        self._lookers.append(look)
        values = [tf.io.serialize_tensor(tf.stop_gradient(value)) for value in inputs]
        self._queue.enqueue((tf.constant(len(self._lookers) - 1), tf.stack(values)))

    def _empty_queue(self) -> None:
        if self._queue is None:
            return
        with self._lock, self.tf.init_scope():
            for _ in range(int(self._queue.size())):
                place, values = self._queue.dequeue()
                self._lookers[int(place)](
                    *(self.tf.io.parse_tensor(value, _kind_of(value)).numpy() for value in values.numpy())
                )

    def _keep_emptying(self) -> None:
        while True:
            time.sleep(EVERY)
            try:
                self._empty_queue()
            except Exception:  # the program is ending
                return

    # the data, wherever the script takes it from
    def _see_data(self, data: dict) -> None:
        see_course_data(data)

        def load_data(*arguments, **named):
            return (data["x_train"].copy(), data["y_train"].copy()), (data["x_test"].copy(), data["y_test"].copy())

        for name in ("mnist", "fashion_mnist"):
            getattr(self.tf.keras.datasets, name).load_data = load_data

    def _keep_datasets_awake(self) -> None:
        """Without the thread by which tf.data tunes itself: at the end of a dataset it may sleep for seconds before it
        hears of it, and nobody can tell that from ranks that wait for each other."""
        tf, iterate = self.tf, self.tf.data.Dataset.__iter__

        def untuned(dataset):
            options = tf.data.Options()
            options.autotune.enabled = False
            return iterate(dataset.with_options(options))

        tf.data.Dataset.__iter__ = untuned

    # minibatches, and the variables that layers make
    def _see_layers(self) -> None:
        from tensorflow.python import pywrap_tfe

        layer = self.tf.keras.layers.Layer
        call, add_weight, probe = layer.__call__, layer.add_weight, self

        def seen(x, tape) -> None:
            found = numbers(x)
            probe.batches += 1
            if found is None or probe.batches > MOST_BATCHES:
                return
            whole = bool(tape) and found[0] < TEST and probe.updates < probe.arrays
            payload = np.ascontiguousarray(x, dtype=np.float32).tobytes() if whole else b""
            probe.note({"saw": "batch", "numbers": found, "tape": bool(tape)}, payload)

        def watched(self, *arguments, **named):
            depth = getattr(probe._depth, "value", 0)
            x = arguments[0] if arguments else named.get("inputs")
            if depth == 0 and probe._is_batch(x):
                tape = not pywrap_tfe.TFE_Py_TapeSetIsEmpty()
                probe._run(seen, [probe.tf.convert_to_tensor(x), probe.tf.constant(tape)])
            probe._depth.value = depth + 1
            try:
                return call(self, *arguments, **named)
            finally:
                probe._depth.value = depth

        def apart(self, *arguments, **named):
            variable = add_weight(self, *arguments, **named)
            probe._move(variable)
            return variable

        watched.__wrapped__, apart.__wrapped__ = call, add_weight
        layer.__call__ = watched
        layer.add_weight = apart

    def _is_batch(self, x) -> bool:
        if isinstance(x, np.ndarray):
            return x.dtype.kind in "fiu" and x.ndim > 1 and x.size == len(x) * 784
        if not self.tf.is_tensor(x) or self.tf.keras.backend.is_keras_tensor(x) or not hasattr(x, "dtype"):
            return False
        return x.dtype.is_floating or x.dtype.is_integer

    def _move(self, variable) -> None:
        """Every rank but rank 0 starts somewhere else, whatever the seeds are, and without using up random numbers."""
        if (
            not self.spread
            or not self.rank
            or not getattr(variable, "trainable", False)
            or not variable.dtype.is_floating
        ):
            return
        random = np.random.default_rng([self.seed, self.rank, self.made])
        self.made += 1
        with self.tf.init_scope():
            try:
                variable.assign_add(random.normal(0, self.spread, variable.shape).astype(variable.dtype.as_numpy_dtype))
            except (ValueError, self.tf.errors.OpError):
                pass  # made in a graph that has not begun to run

    # updates
    def _see_updates(self) -> None:
        probe = self
        optimizer = self.tf.keras.optimizers.Optimizer
        inner = optimizer._internal_apply_gradients

        def internal(self, grads_and_vars):
            grads_and_vars = list(grads_and_vars)
            probe._update(self, self.learning_rate, grads_and_vars)
            return inner(self, grads_and_vars)

        optimizer._internal_apply_gradients = internal
        legacy = self.tf.keras.optimizers.legacy.Optimizer
        outer = legacy.apply_gradients

        def apply_gradients(self, grads_and_vars, *arguments, **named):
            grads_and_vars = list(grads_and_vars)
            with probe.tf.init_scope():
                self._create_all_weights([variable for gradient, variable in grads_and_vars if gradient is not None])
            probe._update(self, self._decayed_lr("float32"), grads_and_vars)
            return outer(self, grads_and_vars, *arguments, **named)

        legacy.apply_gradients = apply_gradients

    def _update(self, optimizer, rate, grads_and_vars) -> None:
        tf = self.tf
        pairs = [(gradient, variable) for gradient, variable in grads_and_vars if gradient is not None]
        if not pairs:
            return
        if not self.variables:
            shapes = [list(variable.shape) for _, variable in pairs]
            self.note({"saw": "optimizer", **_about(optimizer), "shapes": shapes})
        self.variables = [variable for _, variable in pairs]

        def seen(rate, *arrays) -> None:
            self.updates += 1
            payload, about = b"", {"saw": "update", "rate": float(rate), "initialised": _initialised()}
            if self.updates <= self.arrays:
                payload = b"".join(np.ascontiguousarray(array, dtype=np.float32).tobytes() for array in arrays)
                about["came"] = _share_that_came(self._arrived, arrays[: len(pairs)])
            self._arrived = []
            self.note(about, payload)

        gradients = [tf.convert_to_tensor(gradient) for gradient, _ in pairs]
        self._run(
            seen, [tf.cast(rate, tf.float64), *gradients, *(tf.convert_to_tensor(variable) for _, variable in pairs)]
        )

    # collectives
    def _see_collectives(self) -> None:
        import horovod.tensorflow  # noqa: F401
        from horovod.tensorflow import mpi_ops

        library = mpi_ops.MPI_LIB
        for name in ("horovod_allreduce", "horovod_broadcast", *_OTHERS):
            setattr(library, name, self._watched(getattr(library, name), name.removeprefix("horovod_")))
        for name in ("horovod_grouped_allreduce", "horovod_broadcast_inplace_resource"):
            if hasattr(library, name):
                setattr(library, name, self._watched_group(getattr(library, name), name.removeprefix("horovod_")))

    def _watched(self, operation, what: str):
        tf = self.tf

        def collective(tensor, *arguments, **named):
            tensor = tf.convert_to_tensor(tensor)
            about = {
                "saw": "collective",
                "what": what,
                "root": named.get("root_rank"),
                "float": tensor.dtype.is_floating,
            }
            if what == "broadcast" and self.no_broadcast:
                self._run(lambda value: self.note({**about, "size": int(np.size(value))}), [tensor])
                return tf.identity(tensor)
            if what == "broadcast":  # before it: it may never come to its end
                self._run(lambda value: self.note({**about, "size": int(np.size(value))}), [tensor])
            result = operation(tensor, *arguments, **named)
            if what == "allreduce":
                self._run(lambda before, after: self.note({**about, **_values(before, after)}), [tensor, result])
            elif what != "broadcast":
                self._run(lambda value: self.note({**about, "size": int(np.size(value))}), [tensor])
            if tensor.dtype.is_floating:
                self._run(self._keep, [result[0] if isinstance(result, (list, tuple)) else result])
            return result

        return collective

    def _watched_group(self, operation, what: str):
        tf = self.tf

        def collective(tensors, *arguments, **named):
            size = sum(
                int(np.prod(variable.shape))
                for variable in named.get("variables", tensors)
                if variable.shape.is_fully_defined()
            )
            meta = {
                "saw": "collective",
                "what": what.split("_")[-1] if "allreduce" in what else "broadcast",
                "float": True,
            }
            meta |= {"root": named.get("root_rank"), "size": size}
            if what.startswith("broadcast"):
                meta["size"] = len(tensors)  # handles have no shape
            self._run(lambda _: self.note(meta), [tf.constant(0)])
            if what.startswith("broadcast") and self.no_broadcast:
                return tf.no_op() if not tf.executing_eagerly() else None
            results = operation(tensors, *arguments, **named)
            if "allreduce" in what:
                self._run(lambda *values: [self._keep(value) for value in values], list(results))
            return results

        return collective

    def _keep(self, value) -> None:
        """Keep what a collective has given back, and the sum of its pieces, should it have gathered some."""
        values = np.ravel(value).astype(np.float32)
        if self.updates < self.arrays and values.size > SMALL and values.dtype.kind == "f":
            self._arrived.append(values)
            size = _sizes()["size"]
            if size > 1 and values.size % size == 0:
                self._arrived.append(values.reshape(size, -1).sum(axis=0))

    # the GPU
    def _see_devices(self) -> None:
        """Pretend that this machine has GPUs, and end the script where it has chosen one of them."""
        config = self.tf.config
        gpus = [config.PhysicalDevice(f"/physical_device:GPU:{k}", "GPU") for k in range(self.gpus)]
        listed, visible = config.list_physical_devices, config.set_visible_devices

        def list_physical_devices(device_type=None):
            return ([] if device_type == "GPU" else listed(device_type)) + gpus * (device_type in ("GPU", None))

        def set_visible_devices(devices, device_type=None):
            devices = [devices] if isinstance(devices, config.PhysicalDevice) else list(devices or [])
            chosen = [gpus.index(device) for device in devices if device in gpus]
            if not chosen:
                return visible(devices, device_type)
            self.note({"saw": "device", "index": gpu_of(chosen[0]) if len(chosen) == 1 else -1})
            raise SystemExit(0)

        for part in (config, config.experimental):
            part.list_physical_devices, part.set_visible_devices = list_physical_devices, set_visible_devices
        config.experimental.set_memory_growth = lambda *_, **__: None

    # the command line, and what the compiler is asked for
    def _see_options(self) -> None:
        see_options(self.note)
        function = self.tf.function

        def interpreted(func=None, *arguments, **named):
            named.pop("jit_compile", None)  # XLA has no place for somebody who looks
            named.pop("experimental_compile", None)
            return function(func, *arguments, **named)

        self.tf.function = interpreted

    # the end
    def end(self, how: str, files: list[str], log: str | None) -> None:
        final = b""
        visible = os.environ.get("CUDA_VISIBLE_DEVICES", "")
        if self.gpus and how == "returned" and visible != self._visible:
            self.note({"saw": "device", "index": -1 if "," in visible else gpu_of(0)})
        try:
            self._empty_queue()
            final = b"".join(np.ascontiguousarray(v.numpy(), dtype=np.float32).tobytes() for v in self.variables)
        except Exception:  # variables of a graph, or of a model that is gone
            pass
        meta = {"saw": "end", "how": how, "files": [name[:200] for name in files], "log": log, **_sizes()}
        self.note(meta, final if self.arrays else b"")


def _kind_of(serialised: bytes):
    """The type of a serialised tensor: the first field of a TensorProto."""
    import tensorflow as tf
    from tensorflow.core.framework import tensor_pb2

    return tf.as_dtype(tensor_pb2.TensorProto.FromString(serialised).dtype)


def _share_that_came(arrived: list[np.ndarray], gradients) -> float:
    """The share of the gradients' numbers that collectives have given back, but for a divisor: of ranks, or of
    images."""
    known = np.sort(np.concatenate([np.zeros(0, np.float32), *arrived]))
    wanted = np.concatenate([np.ravel(gradient) for gradient in gradients]).astype(np.float32)
    wanted = wanted[wanted != 0]
    if not known.size or not wanted.size:
        return 0.0 if wanted.size else 1.0
    size, shares = _sizes()["size"], []
    for n in {1, size, 8, 8 * size}:
        after = np.searchsorted(known, wanted * n).clip(0, known.size - 1)
        away = np.minimum(np.abs(known[after] - wanted * n), np.abs(known[(after - 1).clip(0)] - wanted * n))
        shares.append(float(np.mean(away <= 1e-6 * np.abs(wanted * n))))
    return max(shares)


def _values(before, after) -> dict:
    size = int(np.size(before))
    if size > SMALL:
        values = np.ravel(before).astype(np.float64)
        return {"size": size, "brought": _finite([np.linalg.norm(values), values.sum()])}
    return {"size": size, "in": _finite(before), "out": _finite(after)}


def _finite(values) -> list[float]:
    return [float(x) if np.isfinite(x) else 0.0 for x in np.ravel(values)]


def _about(optimizer) -> dict:
    """The name of the optimizer's class, Horovod's wrapper taken off, and the numbers of its configuration."""
    import tensorflow as tf

    known = (tf.keras.optimizers.Optimizer, tf.keras.optimizers.legacy.Optimizer)
    names = [
        kind.__name__
        for kind in type(optimizer).__mro__
        if issubclass(kind, known) and "horovod" not in kind.__module__
    ]
    try:
        with tf.init_scope():  # it reads variables
            config = optimizer.get_config()
    except Exception:
        config = {}
    plain = {
        str(k): v for k, v in config.items() if isinstance(v, (int, float, bool, type(None))) and k != "learning_rate"
    }
    return {
        "name": names[0] if names else type(optimizer).__name__,
        "config": json.loads(json.dumps(plain, default=str)),
    }


def _initialised() -> bool:
    from horovod.tensorflow import mpi_ops

    return bool(mpi_ops.is_initialized())


def _sizes() -> dict:
    from horovod.tensorflow import mpi_ops

    if not _initialised():
        return {"initialised": False, "size": 0}
    return {"initialised": True, "size": int(mpi_ops.size()), "rank": int(mpi_ops.rank())}
