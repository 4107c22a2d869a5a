"""The harnesses of unit 07's exercises: functions that run around the student's (`autograder.exercises.source`)."""

import contextlib
import itertools

import horovod.tensorflow as hvd
import horovod.tensorflow.keras as hvd_keras
import horovod.torch as hvd_torch
import numpy as np
import tensorflow as tf
import torch


class Device:
    def __init__(self, device_type, number):
        self.device_type, self.number = device_type, number
        self.name = f"/physical_device:{device_type}:{number}"

    def __repr__(self):
        return f"PhysicalDevice(name={self.name!r}, device_type={self.device_type!r})"


class Config:
    def __init__(self, gpus):
        self.devices = [Device("CPU", 0), *(Device("GPU", k) for k in range(gpus))]
        self.visible = list(self.devices)
        self.growing = set()
        self.experimental = self

    def list_physical_devices(self, device_type=None):
        return [d for d in self.devices if device_type in (None, d.device_type)]

    def get_visible_devices(self, device_type=None):
        return [d for d in self.visible if device_type in (None, d.device_type)]

    list_logical_devices = get_visible_devices

    def set_visible_devices(self, devices, device_type=None):
        devices = list(devices) if isinstance(devices, (list, tuple)) else [devices]
        for device in devices:
            if device not in self.devices:
                raise ValueError(f"Unrecognized device: {device!r}")
            if device_type not in (None, device.device_type):
                raise ValueError(f"Unexpected device type {device.device_type}, expected {device_type}: {device!r}")
        self.visible = [d for d in self.visible if device_type not in (None, d.device_type)] + devices

    def set_memory_growth(self, device, enable):
        if device not in self.devices or device.device_type != "GPU":
            raise ValueError(f"Cannot set memory growth on {device!r}")
        (self.growing.add if enable else self.growing.discard)(device)

    def get_memory_growth(self, device):
        return device in self.growing

    def set_soft_device_placement(self, enabled):
        pass


class TensorFlow:
    def __init__(self, gpus):
        self.config = Config(gpus)

    def device(self, name):
        return contextlib.nullcontext()


class NotInitialised(ValueError):
    pass


class Horovod:
    def __init__(self, **numbers):
        self.initialised = False
        for name, number in numbers.items():
            setattr(self, name, lambda number=number: self.answer(number))

    def init(self, *arguments, **options):
        self.initialised = True

    def is_initialized(self):
        return self.initialised

    def answer(self, number):
        if not self.initialised:
            raise NotInitialised("Horovod has not been initialized; use hvd.init().")
        return number


def init_and_pin(f, places, gpus, order):
    # One process plays all ranks, in a drawn order: who counts the calls does not know a local rank.
    found = []
    for rank in order:
        local_rank, machine = places[rank]
        same = sum(place[1] == machine for place in places)
        machines = len({place[1] for place in places})
        tf = TensorFlow(gpus)
        hvd = Horovod(
            rank=rank, size=len(places), local_rank=local_rank, local_size=same, cross_rank=machine, cross_size=machines
        )
        try:
            f(tf, hvd)
        except (IndexError, NotInitialised) as error:
            found.append({"rank": rank, "raised": "IndexError" if isinstance(error, IndexError) else "ValueError"})
            continue
        seen = tf.config.get_visible_devices("GPU")
        found.append(
            {
                "rank": rank,
                "initialised": hvd.initialised,
                "GPUs it sees": [gpu.number for gpu in seen],
                "their memory grows": all(gpu in tf.config.growing for gpu in seen),
                "sees its processor": bool(tf.config.get_visible_devices("CPU")),
            }
        )
    return sorted(found, key=lambda one: one["rank"])


@tf.autograph.experimental.do_not_convert
def everything(*sample):
    return tf.constant(True)


def shard_dataset(f, asked):
    hvd.init()
    reports, mine = [], []
    for k, (samples, local_batch_size) in enumerate(asked):
        pairs = k % 2 == 1  # as images with labels
        held = (np.zeros((len(samples), 2)), samples) if pairs else samples
        dataset = tf.data.Dataset.from_tensor_slices(held)
        if pairs:  # behind a filter TensorFlow does not know the length
            dataset = dataset.filter(everything)
        result = f(dataset, len(samples), local_batch_size)
        if not isinstance(result, (tuple, list)) or len(result) != 2:
            return result
        part, steps = result
        if not isinstance(part, tf.data.Dataset):
            return part
        batches, again = (list(itertools.islice(iter(part), 40)) for _ in range(2))
        if pairs:
            batches = [batch[1] for batch in batches]
        mine.append([int(i) for batch in batches for i in np.ravel(batch)])
        steps = steps.numpy() if hasattr(steps, "numpy") else steps
        sizes = [int(np.size(batch)) for batch in batches]
        reports.append({"steps": steps, "minibatches": sizes, "in the next epoch": len(again)})
    everybody = hvd.allgather_object(mine)
    for k, report in enumerate(reports):
        report["shares samples with"] = [
            rank for rank, drawn in enumerate(everybody) if rank != hvd.rank() and set(drawn[k]) & set(mine[k])
        ]
        report["samples it repeats"] = len(mine[k]) - len(set(mine[k]))
    return reports


def learning_rate(f, steps, base_rate, world_size, warmup_steps):
    rates = [f(step, base_rate, world_size, warmup_steps) for step in steps]
    return None if all(rate is None for rate in rates) else rates


# A Keras model with an offset that is no trainable weight.
class Offset(tf.keras.layers.Layer):
    def build(self, shape):
        self.offset = self.add_weight(name="offset", shape=(shape[-1],), trainable=False)

    def call(self, x, training=None):  # like dropout, it is another layer outside of training
        return (x if training else x / 2) + self.offset


def build(kernel, offset):
    model = tf.keras.Sequential([tf.keras.layers.Dense(kernel.shape[1], use_bias=False), Offset()])
    model.build((None, kernel.shape[0]))
    model.set_weights([kernel, offset])
    return model


# Calls `noted` whenever something is broadcast, by whichever name it is called.
def watch_broadcasts(noted):
    import horovod.tensorflow.functions as functions
    import horovod.tensorflow.mpi_ops as mpi_ops

    def watched(function):
        def called(*arguments, **options):
            noted()
            return function(*arguments, **options)

        return called

    functions._make_broadcast_group_fn = watched(functions._make_broadcast_group_fn)
    functions._make_inplace_broadcast_group_fn = watched(functions._make_inplace_broadcast_group_fn)
    mpi_ops.MPI_LIB.horovod_broadcast = watched(mpi_ops.MPI_LIB.horovod_broadcast)


def horovod_step(f, x, y, weights, offset, momentum, rate, first):
    hvd.init()
    squares = tf.keras.losses.MeanSquaredError()

    def loss_function(y, prediction):
        return squares(tf.stop_gradient(y), prediction)  # what stands for the labels learns nothing

    model = build(weights, offset)
    optimizer = tf.keras.optimizers.SGD(rate, momentum=0.9)
    if momentum is not None:
        another = build(weights, offset), tf.keras.optimizers.SGD(rate, momentum=0.9)
        another[1].build(another[0].trainable_variables)
        f(*another, loss_function, tf.constant(x[1]), tf.constant(y[1]), True)  # was trained before in this process
        optimizer.build(model.trainable_variables)
        optimizer.momentums[0].assign(momentum)
        optimizer.iterations.assign(1000 if momentum.any() else 0)  # the checkpoint is rank 0's
    losses, steps_with_a_broadcast = [], set()
    watch_broadcasts(lambda: steps_with_a_broadcast.add(len(losses)))
    for step in range(len(x)):
        losses.append(f(model, optimizer, loss_function, tf.constant(x[step]), tf.constant(y[step]), step == 0))
    if all(loss is None for loss in losses):
        return None
    losses = [loss.numpy() if hasattr(loss, "numpy") else loss for loss in losses[first:]]
    kernel, offset = model.get_weights()
    return {
        "weights": kernel.ravel(),
        "frozen": offset,
        "losses": losses,
        "broadcasts later": bool(steps_with_a_broadcast - {0}),
        "steps that the optimizer counts": int(optimizer.iterations),
    }


def finish_epoch(f, asked, epochs):
    hvd.init()
    saved, metrics = 0, []

    def save():
        nonlocal saved
        saved += 1

    for loss, accuracy, count in epochs:
        found = f(save, loss, accuracy, count)
        if not isinstance(found, dict):
            return found if asked == "metrics" or found is not None else {"checkpoints written": saved}
        metrics.append({name: getattr(value, "numpy", lambda value=value: value)() for name, value in found.items()})
    return metrics if asked == "metrics" else {"checkpoints written": saved}


class Reader(tf.keras.callbacks.Callback):
    def __init__(self):
        super().__init__()
        self.losses = []

    def on_epoch_end(self, epoch, logs=None):
        self.losses.append(float(logs["loss"]))


class Watch(tf.keras.callbacks.Callback):
    def __init__(self):
        super().__init__()
        self.rates = []

    def on_train_batch_begin(self, batch, logs=None):
        self.rates.append(float(self.model.optimizer.learning_rate.numpy()))


def keras_callbacks(f, asked, x, y, weights, offset, scaled_rate, warmup_epochs, epochs):
    hvd_keras.init()
    steps, samples = x.shape[0] // epochs, x.shape[1]
    x, y = (array[:steps].reshape(-1, array.shape[-1]) for array in (x, y))
    model = build(weights, offset)
    optimizer = hvd_keras.DistributedOptimizer(tf.keras.optimizers.SGD(scaled_rate, momentum=0.9))
    model.compile(optimizer=optimizer, loss="mse", run_eagerly=True)
    plateau, checkpoint, watch = Reader(), Reader(), Watch()
    earlier = f(scaled_rate, warmup_epochs, Reader(), Reader())
    callbacks = f(scaled_rate, warmup_epochs, plateau, checkpoint)
    if not isinstance(callbacks, (list, tuple)):
        return callbacks
    if callbacks is earlier:
        return "the list of an earlier call"
    if any(one is other and hasattr(one, "broadcast_done") for one in earlier or [] for other in callbacks):
        return "the broadcast of an earlier call"
    try:
        model.fit(x, y, batch_size=samples, epochs=epochs, shuffle=False, verbose=0, callbacks=[*callbacks, watch])
    except AttributeError:
        if any(getattr(callback, "momentum_correction", False) for callback in callbacks):
            return "LearningRateWarmupCallback raised AttributeError"
        raise
    if asked == "losses":
        return {"losses plateau saw": plateau.losses, "losses checkpoint saw": checkpoint.losses}
    kernel, offset = model.get_weights()
    return {"learning rates": watch.rates, "weights": kernel.ravel(), "frozen": offset}


# A linear model of two parameters, where it has more outputs than one.
class Linear(torch.nn.Module):
    def __init__(self, weights):
        super().__init__()
        blocks = np.split(weights, [1], axis=1) if weights.shape[1] > 1 else [weights]
        self.parts = torch.nn.ParameterList(torch.from_numpy(block.T.copy()) for block in blocks)

    def forward(self, x):
        return torch.cat([x @ part.T for part in self.parts], dim=1)


def train_torch(f, x, y, weights, saved, rate):
    hvd_torch.init()

    def made(start, momentum=0.9):
        model = Linear(start)
        return model, torch.optim.SGD(model.parameters(), lr=rate, momentum=momentum)

    def held(model):
        return torch.cat([part.detach() for part in model.parts]).numpy().T.ravel()

    model, optimizer = made(weights)
    checkpoint = None
    if saved is not None:
        other, resumed = made(weights)
        for parameter, part in zip(other.parts, Linear(-saved / rate).parts, strict=True):
            resumed.state[parameter]["momentum_buffer"] = part.detach().clone()
        checkpoint = resumed.state_dict()
    batches = [(torch.from_numpy(x[step]), torch.from_numpy(y[step])) for step in range(len(x))]

    def loss_function(prediction, y):
        return torch.nn.functional.mse_loss(prediction, y.detach())  # what stands for the labels learns nothing

    another = made(weights + 1, 0.8)
    f(*another, None, loss_function, batches[:2])  # trained before in this process
    f(model, optimizer, checkpoint, loss_function, batches)
    return {"weights": held(model), "in the call before": held(another[0])}
