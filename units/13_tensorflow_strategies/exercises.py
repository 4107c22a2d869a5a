"""Unit 13, TensorFlow's strategies: TF_CONFIG, gradients of replicas, a loss and a dataset for all of them, a port.

All but the first are judged in one process whose replicas are logical CPUs. Two workers' input is simulated: a stand-in
for MultiWorkerMirroredStrategy divides a dataset by the same operations of TensorFlow's that the strategy itself uses.
"""

from __future__ import annotations

import json
from collections import Counter

import numpy as np

from autograder.compare import difference
from autograder.exercise import ANYTHING, Finding, Mistake
from autograder.exercises.kinds import PlainExercise, refused
from autograder.exercises.readings.replicas import StrategyExercise
from autograder.exercises.source import harness_of
from autograder.values import full_precision


class TfConfig(PlainExercise):
    """TF_CONFIG"""

    signature = "tf_config(hosts: list[str], index: int) -> str"
    levels = {"one TF_CONFIG per worker": 1, "illegal arguments": 1}
    given = ("hosts", "indices")
    rank_at = 1
    harness = harness_of(__file__, "tf_config")
    mistakes = [
        Mistake("no_text", "The result is not a str. An environment variable holds text and nothing else.",
                "`json.dumps(...)`.", lambda t: ["no text"] * len(t.indices) if t.possible else None),
        Mistake("no_json", "This is Python's way to print a dict, with single quotes. TensorFlow reads JSON.",
                "`json.dumps(...)`, not `str(...)`.", lambda t: ["no JSON"] * len(t.indices) if t.possible else None),
        Mistake("own_host_only", "Every worker knows only itself: each would be a cluster of one and train alone.",
                "The cluster is the whole list, the same on every worker; only the task differs.",
                lambda t: t.all(cluster=lambda i: [t.hosts[i]])),
        Mistake("others_only", "A worker's own address is missing from the cluster.",
                "The cluster is the whole list, the same on every worker.",
                lambda t: t.all(cluster=lambda i: [h for h in t.hosts if h != t.hosts[i]])),
        Mistake("own_host_first", "Each worker has put itself first: they disagree about who is number 0.",
                "The same list in the same order everywhere; only `index` says which worker this is.",
                lambda t: t.all(cluster=lambda i: t.hosts[i:] + t.hosts[:i])),
        Mistake("sorted", "The hosts were sorted: index 0 is another worker than the caller meant.",
                "Leave the list as it is.", lambda t: t.all(cluster=lambda i: sorted(t.hosts))),
        Mistake("ports_lost", "The ports are missing: a worker would not know where to listen.",
                "host:port, as given.", lambda t: t.all(cluster=lambda i: [h.partition(":")[0] for h in t.hosts])),
        Mistake("index_as_text", "The index is text.", "It should be a number: `{'type': 'worker', 'index': index}`.",
                lambda t: t.all(index=str)),
        Mistake("always_zero", "Every worker says that it is number 0: they would wait for ever for the others.",
                "`'index': index`.", lambda t: t.all(index=lambda i: 0)),
        Mistake("counted_from_one", "The workers are counted from 1: there is no last one.",
                "`hosts[index]` is this worker.", lambda t: t.all(index=lambda i: i + 1)),
        Mistake("address_as_index", "The task holds the address where the number belongs.",
                "`'index': index`.", lambda t: t.all(index=lambda i: t.hosts[i])),
        Mistake("a_chief_of_its_own", "Worker 0 was called the chief. A cluster with a chief has it in a list of its "
                "own, apart from the workers; here all are workers, and number 0 does what a chief does.",
                "`'type': 'worker'` for everybody.", lambda t: t.all(kind=lambda i: "worker" if i else "chief")),
        Mistake("not_refused", "There is no such worker, or two workers have the same address, but no error was "
                "raised. A cluster that waits for a missing worker raises none either.",
                "`raise ValueError` for an index outside 0 ... len(hosts) - 1, and for an address that appears "
                "twice. Python accepts hosts[-1] without an error."),
        Mistake("refused", "This cluster is valid, but the function raised ValueError.", "",
                lambda t: ["ValueError"] * len(t.indices) if t.possible else None),
        Mistake("IndexError", "The list has no element with this index.",
                "First test 0 <= index < len(hosts), and raise ValueError."),
    ]  # fmt: skip

    def draw(self, rng):
        own, cannot = self.levels
        numbers = iter(rng.permutation(90) + 10)
        hosts = [f"node{n}:{20000 + int(rng.integers(9999))}" for _, n in zip(range(9), numbers, strict=False)]
        port = hosts[0].partition(":")[2]  # machines of a cluster listen at the same one
        three = sorted((f"{host.partition(':')[0]}:{port}" for host in hosts[:3]), reverse=True)
        many = sorted(hosts[3:7], reverse=True)
        yield own, {"hosts": three, "indices": [0, 1, 2]}, {"says": "3 workers"}
        yield own, {"hosts": hosts[7:8], "indices": [0]}, {"says": "1 worker"}
        yield own, {"hosts": ["localhost:12345", "localhost:12346"], "indices": [0, 1]}, {"says": "2 on one machine"}
        yield cannot, {"hosts": many, "indices": [4]}, {"says": "4 workers, index 4"}
        yield cannot, {"hosts": many, "indices": [-1]}, {"says": "4 workers, index -1"}
        yield cannot, {"hosts": [*three, three[0]], "indices": [1]}, {"says": "4 workers, two at the same address"}
        yield cannot, {"hosts": [*many, many[2]], "indices": [0]}, {"says": "5 workers, two at the same address"}
        begins = {"hosts": ["node1:1234", "node1:12345"], "indices": [0, 1]}  # one address begins with the other
        yield own, begins, {"says": "2 on one machine, ports 1234 and 12345"}
        twice = [many[0], many[1], many[1], many[2]]
        yield cannot, {"hosts": twice, "indices": [0]}, {"says": "4 workers, the second and the third the same"}

    @staticmethod
    def _text(hosts, index, kind="worker") -> str:
        return json.dumps({"cluster": {"worker": hosts}, "task": {"type": kind, "index": index}}, sort_keys=True)

    def right(self, hosts, indices):
        different = len(set(hosts)) == len(hosts)
        return [self._text(hosts, i) if different and 0 <= i < len(hosts) else "ValueError" for i in indices]

    def worked(self, case):
        """all: what every worker returns if its cluster, index and type are these."""
        t = super().worked(case)
        t.possible = "ValueError" not in t.right

        def everybody(cluster=lambda i: t.hosts, index=lambda i: i, kind=lambda i: "worker"):
            return [self._text(cluster(i), index(i), kind(i)) for i in t.indices] if t.possible else None

        t.all = everybody
        return t

    def read(self, answer, hosts, indices):
        possible = "ValueError" not in self.right(hosts, indices)
        said = isinstance(answer, list) and any(refused(one) for one in answer)
        if possible and '"chief"' in str(answer):
            return "a_chief_of_its_own"
        return None if possible or said else "not_refused"


class MirroredGradients(StrategyExercise):
    """Gradients of the replicas"""

    signature = "mirrored_gradients(strategy, model, x, y) -> list"
    levels = {"equal shares": 1, "unequal shares": 2}
    given = ("replicas", "x", "y", "weights", "offset")
    parts = ("gradients", "alike on all replicas", "samples of each replica")
    harness = harness_of(__file__, "mirrored_gradients")
    mistakes = [
        Mistake("not_reduced", "This is the gradient of one replica's samples: nothing was added up.",
                "`tf.distribute.get_replica_context().all_reduce('sum', gradients)` within the replica, or "
                "`strategy.reduce('sum', gradients, axis=None)` outside of it."),
        Mistake("mean_per_replica", "Each replica took the mean over its own samples, and the means were added: "
                "the gradient is as many times too long as there are replicas.",
                "Divide each replica's sum by the number of all samples, then add."),
        Mistake("mean_of_means", "The replicas' means were averaged: a sample on a replica with few samples counts "
                "more than one on a replica with many.",
                "Divide each replica's sum by the number of all samples, then add."),
        Mistake("divided_again", "The replicas' gradients were shares already, and were averaged instead of added: "
                "the gradient is as many times too short as there are replicas.",
                "Shares are added: 'sum', not 'mean'."),
        Mistake("not_divided", "This is the gradient of the sum over the samples, not of their mean.",
                "Divide by the number of all samples."),
        Mistake("outputs_added", "A sample's squared errors were added up over its outputs: its loss is their mean.",
                "`tf.reduce_mean((model(x) - y)**2, axis=-1)`, then the sum over the samples by their number."),
        Mistake("sample_counts_twice", "A sample passed through the model on two replicas, and both count it.",
                "A replica without samples needs none: its part of the gradient is 0."),
        Mistake("outside_the_replicas", "The numbers are right, but no replica was at work: the model was called "
                "outside of `strategy.run`.", "Call the model in a function that `strategy.run` runs."),
        Mistake("all_on_every_replica", "Every replica worked through all samples: together they are no faster than "
                "one replica.", "Give each replica its own part of x and y."),
        Mistake("ValueError", "TensorFlow raised an error. Most likely a loss of `tf.keras.losses` should take a mean "
                "within a replica, but cannot know over which samples.",
                "`reduction=tf.keras.losses.Reduction.NONE` leaves the losses of the samples to you."),
        Mistake("samples_twice", "The numbers are right, but samples passed through the model more than once.",
                "Call the model once in each replica, under the tape."),
        Mistake("unequal_work", "The numbers are right, but one replica had more than its share while others waited.",
                "With n samples on p replicas none needs more than ceil(n / p)."),
    ]  # fmt: skip

    def cases(self, rng):
        made = []
        equal, unequal = self.levels
        for level, replicas, n in ((equal, 2, 6), (equal, 1, 3), (unequal, 4, 6), (unequal, 3, 2)):
            known = {
                "replicas": replicas,
                "x": full_precision(rng, -1, 1, (n, 3)),
                "y": full_precision(rng, 1, 2, (n, 5)),  # as many outputs as there are neither replicas nor samples
            }
            known |= {"weights": full_precision(rng, -1, 1, (3, 5)), "offset": full_precision(rng, -1, 1, (5,))}
            made.append(self.case(level, known, f"{n} samples, {replicas} replica{'s' * (replicas > 1)}"))
        return made

    @staticmethod
    def _gradients(t, rows, divisor) -> list[np.ndarray]:
        """The gradient of the sum of the per-sample losses of these rows, divided."""
        error = t.x[rows] @ t.weights + t.offset - t.y[rows]
        scale = 2 / (t.y.shape[1] * divisor)
        return [scale * t.x[rows].T @ error, scale * error.sum(0)]

    def expected(self, case):
        t, n = self.worked(case), len(case.known["x"])
        gradients = self._gradients(t, list(range(n)), n)
        return [{"gradients": gradients, "alike on all replicas": True, "samples of each replica": ANYTHING}]

    def read(self, t, report, right):
        n, p = len(t.x), t.replicas
        seen = {int(where): rows for where, rows in report["samples of each replica"].items()}
        rows = [seen.get(k, []) for k in range(p)]
        if p > 1 and all(sorted(one) == list(range(n)) for one in rows):
            return "all_on_every_replica"
        if right:
            if not any(rows):
                return "outside_the_replicas"
            passes = Counter(sample for one in seen.values() for sample in one if sample >= 0)
            if max(passes.values(), default=0) > 1:
                return Finding("samples_twice", f"{sum(passes.values())} passes for {n} samples.")
            most = max(map(len, rows))
            return Finding("unequal_work", f"{most} of {n} samples on one replica.") if most > -(-n // p) else None
        found = report["gradients"]
        sums = [self._gradients(t, one, 1) for one in rows]
        total = [sum(parts) for parts in zip(*sums, strict=True)]
        candidates = [("divided_again", [g / n / p for g in total]), ("not_divided", total)]
        candidates.append(("outputs_added", [g * t.y.shape[1] / n for g in total]))
        for of_nothing in (np.nan, 1):  # what a replica without samples finds: no number, or it has taken care
            means = [self._gradients(t, one, len(one) or of_nothing) for one in rows]
            added = [sum(parts) for parts in zip(*means, strict=True)]
            candidates += [("mean_per_replica", added), ("mean_of_means", [g / p for g in added])]
        for one in rows:
            candidates += [("not_reduced", self._gradients(t, one, k or 1)) for k in (1, len(one), n)]
        if len(set(sum(rows, []))) < sum(map(len, rows)):
            candidates.append(("sample_counts_twice", [g / n for g in total]))
        names = (name for name, one in candidates if difference(one, found, None, None) is None)
        return next(names, None if report["alike on all replicas"] else "not_reduced")


class GlobalLoss(StrategyExercise):
    """A loss that adds up"""

    signature = "global_loss(per_example, penalty, global_batch: int) -> tf.Tensor"
    levels = {"equal minibatches": 1, "unequal minibatches, one of them empty": 2}
    given = ("shares", "penalty")
    parts = ("sum of the replicas' losses", "gradient by each sample's loss", "gradient by the penalty")
    harness = harness_of(__file__, "global_loss")
    mistakes = [
        Mistake("mean_per_replica", "Each replica took the mean over its own samples: together they are as many "
                "times too large as there are replicas, or not a number where one of them has no samples.",
                "Divide each replica's sum by global_batch: `tf.nn.compute_average_loss(per_example, "
                "global_batch_size=global_batch)`.", lambda t: t.loss(lambda n: 1 / n if n else np.nan)),
        Mistake("mean_of_means", "Each replica's mean was divided by the number of replicas: where they hold unequal "
                "numbers of samples, a sample on a replica with few samples counts more.",
                "Divide each replica's sum by global_batch.",
                lambda t: t.loss(lambda n: 1 / n / t.p if n else 0)),
        Mistake("sum_over_samples", "The losses were added up and not divided.",
                "Divide by global_batch.", lambda t: t.loss(lambda n: 1)),
        Mistake("divided_by_replicas", "The loss was also divided by the number of replicas, but global_batch "
                "already counts the samples of all replicas.", "Divide by global_batch alone.",
                lambda t: t.loss(lambda n: 1 / t.n / t.p)),
        Mistake("whole_loss_on_every_replica", "Every replica returned the loss of all replicas, and the strategy "
                "adds these up again.",
                "Each returns its own part; do not communicate here.",
                lambda t: t.loss(lambda n: t.p / t.n, t.p)),
        Mistake("penalty_of_every_replica", "Every replica added the whole penalty: it counts as many times as there "
                "are replicas.", "Each replica adds its part: `tf.nn.scale_regularization_loss(penalty)`, which "
                "divides by `num_replicas_in_sync`.", lambda t: t.loss(lambda n: 1 / t.n, t.p)),
        Mistake("counts_devices", "The penalty was divided by the number of devices of the machine: a strategy may use "
                "only some of them.",
                "`tf.distribute.get_strategy().num_replicas_in_sync`.",
                lambda t: t.loss(lambda n: 1 / t.n, t.p / (t.p + 1))),
        Mistake("penalty_forgotten", "The penalty is missing.",
                "Add `tf.nn.scale_regularization_loss(penalty)`.", lambda t: t.loss(lambda n: 1 / t.n, 0)),
        Mistake("penalty_divided_by_batch", "The penalty was divided by the number of samples, perhaps with the sum "
                "of the losses: with more samples it gets weaker.",
                "It depends on the model alone: divide it by the number of replicas, so that it counts once.",
                lambda t: t.loss(lambda n: 1 / t.n, t.p / t.n)),
        Mistake("no_penalty_without_samples", "A replica without samples returned 0: its part of the penalty is "
                "missing.",
                "Each replica adds its part of the penalty, however many samples it has.",
                lambda t: t.loss(lambda n: 1 / t.n, sum(len(share) > 0 for share in t.shares) / t.p)),
    ]  # fmt: skip

    def cases(self, rng):
        made = []
        equal, unequal = self.levels
        for level, counts in ((equal, (3, 3)), (equal, (4,)), (unequal, (4, 1, 0)), (unequal, (0, 3))):
            shares = [full_precision(rng, 1, 2, (n,)) for n in counts]
            known = {"shares": shares, "penalty": full_precision(rng, 1, 2, ())}
            replicas = f"{len(counts)} replica{'s' * (len(counts) > 1)}"
            made.append(self.case(level, known, f"{', '.join(map(str, counts))} samples on {replicas}"))
        return made

    def worked(self, case):
        """loss(weight, penalties): what comes of it if a replica with n samples multiplies their sum by weight(n) and
        the penalties of all replicas add up to so many of them."""
        t = super().worked(case)
        t.p, t.n = len(t.shares), sum(map(len, t.shares))

        def loss(weight, penalties=1.0):
            parts = [weight(len(share)) * share.sum() for share in t.shares]
            by_sample = np.concatenate([np.full(len(share), weight(len(share))) for share in t.shares])
            total = np.asarray(sum(parts) + penalties * t.penalty)  # arrays, so that float64 is asked for
            return dict(zip(self.parts, (total, by_sample, np.asarray(float(penalties))), strict=True))

        t.loss = loss
        return t

    def expected(self, case):
        t = self.worked(case)
        return [t.loss(lambda n: 1 / t.n)]

    def read(self, t, report, right):
        """A mean over no samples that was caught is 0."""
        caught = t.loss(lambda n: 1 / n if n else 0)
        return "mean_per_replica" if not right and difference(caught, report, None, None) is None else None


class Distribute(StrategyExercise):
    """Every sample once"""

    signature = "distribute(dataset: tf.data.Dataset, strategy, batch: int)"
    levels = {"one worker": 1, "several workers": 2}
    given = ("samples", "batch", "workers", "replicas")
    may_lose = {
        "int64": "numbers that only say which sample is which",
        "integers of both widths": "numbers that only say which sample is which",
    }
    parts = (
        "distributed",
        "samples nobody saw",
        "samples seen again",
        "largest minibatch",
        "steps",
        "steps that a worker lacks",
    )
    harness = harness_of(__file__, "distribute")
    mistakes = [
        Mistake("not_distributed", "The dataset was not given to the strategy: every replica would get the whole "
                "minibatch.", "Return what `strategy.experimental_distribute_dataset(...)` returns, or "
                "`strategy.distribute_datasets_from_function(...)`."),
        Mistake("drops_remainder", "Samples that do not fill a step of all replicas are never seen.",
                "`batch(..., drop_remainder=False)`: the last step may be smaller."),
        Mistake("pieces_of_one_size", "Every worker got a piece of the same size, and the samples left over went to "
                "no worker.", "`dataset.shard(workers, k)` gives some workers one sample more than others."),
        Mistake("sharded_twice", "Samples are lost: you took each worker's part, and then the strategy took that "
                "worker's part of the part.",
                "Let the strategy shard, or do it yourself and switch its sharding off: "
                "`AutoShardPolicy.OFF`."),
        Mistake("auto_shard_off", "Every worker goes through all samples: they are not divided.",
                "`AutoShardPolicy.DATA` (which AUTO becomes where there are no files), or divide them yourself by "
                "`context.num_input_pipelines` and `context.input_pipeline_id`."),
        Mistake("other_orders", "Some samples are seen twice and others never: the workers do not go through the same "
                "dataset, as after a shuffle, which differs between workers.",
                "All workers must deal from the same order: shuffle only a worker's own samples, or shuffle all with "
                "a seed."),
        Mistake("samples_again", "Some samples are seen more than once.", "An epoch goes through all samples once."),
        Mistake("batch_is_local", "The minibatch of a replica holds too few samples: the strategy has divided `batch` "
                "samples among all replicas.",
                "A dataset for `experimental_distribute_dataset` is batched for all replicas together: "
                "`batch * strategy.num_replicas_in_sync`."),
        Mistake("batch_too_large", "The minibatch of a replica holds too many samples.",
                "`experimental_distribute_dataset` needs minibatches for all replicas together, "
                "`distribute_datasets_from_function` those of one replica."),
        Mistake("rest_to_one_worker", "One worker makes too many steps: it got all samples that were left over.",
                "`dataset.shard(workers, k)` gives some workers one sample more than others."),
        Mistake("blocks_rounded_up", "The last worker makes fewer steps than the others by more than one: they took "
                "blocks whose size was rounded up, and it got what was left.",
                "`dataset.shard(workers, k)`: then the workers' shares differ by at most one sample."),
        Mistake("NotFoundError", "The dataset should be divided by files, but it is not read from files.",
                "`AutoShardPolicy.DATA` divides by samples."),
    ]  # fmt: skip

    def cases(self, rng):
        one, several = self.levels
        made = []
        for level, n, batch, workers, replicas in (
            (one, 23, 3, 1, 3),
            (one, 7, 3, 1, 1),
            (several, 23, 3, 2, 2),
            (several, 22, 3, 3, 1),
            (several, 3, 2, 2, 2),  # fewer than a step of all replicas
            (several, 10, 1, 4, 1),  # the rest is several steps; blocks rounded up leave the last one too few
        ):
            known = {
                "samples": rng.permutation(900)[:n] + 100,
                "batch": batch,
                "workers": workers,
                "replicas": replicas,
            }
            devices = f"{workers} worker{'s' * (workers > 1)} of {replicas} replica{'s' * (replicas > 1)}"
            says = f"{n} samples, batch = {batch}, {devices}"
            made.append(self.case(level, known, says))
        return made

    def expected(self, case):
        t = self.worked(case)
        together = t.batch * t.workers * t.replicas
        steps, largest = -(-len(t.samples) // together), t.batch
        if len(t.samples) < together:  # the only step is not full, and they may share it evenly
            largest = ANYTHING
        return [dict(zip(self.parts, (True, 0, 0, largest, steps, 0), strict=True))]

    def read(self, t, report, right):
        if right:
            return None
        if not report["distributed"]:
            return "not_distributed"
        missing, again = report["samples nobody saw"], report["samples seen again"]
        n, together = len(t.samples), t.batch * t.workers * t.replicas
        if missing and again:
            return "other_orders"
        if missing:
            dropped = n % together, sum(len(range(k, n, t.workers)) % t.batch for k in range(t.workers))
            name = "drops_remainder" if missing in dropped else "pieces_of_one_size"
            name = name if missing in (*dropped, n % t.workers) else "sharded_twice"
            return Finding(name, f"{missing} of {n} samples are never seen.")
        if again:
            name = "auto_shard_off" if again == n * (t.workers - 1) else "samples_again"
            return Finding(name, f"{again} samples too many in an epoch.")
        largest = report["largest minibatch"]
        if largest != t.batch:
            name = "batch_is_local" if largest < t.batch else "batch_too_large"
            return Finding(name, f"The largest minibatch of a replica holds {largest} samples.")
        if (steps := report["steps"]) > -(-n // together):
            return Finding("rest_to_one_worker", f"A worker makes {steps} steps; {-(-n // together)} would do.")
        return "blocks_rounded_up" if report["steps that a worker lacks"] else None


class Port(StrategyExercise):
    """From Horovod to a strategy"""

    signature = "port(strategy, index: int, build_model, x, y, local_batch: int, rate: float, epochs: int, save)"
    levels = {"the same training": 2, "one checkpoint": 1}
    given = ("replicas", "index", "x", "y", "weights", "local_batch", "rate", "epochs")
    parts = ("made under the strategy", "replicas at work", "samples in order", "weights", "policies", "saved to")
    harness = harness_of(__file__, "port")
    mistakes = [
        Mistake("ValueError", "TensorFlow raised an error: a model, an optimizer or a metric was made outside of "
                "`strategy.scope()` and used inside, or the other way round.",
                "`with strategy.scope():` around build_model and compile."),
        Mistake("model_outside_scope", "The model was made outside of `strategy.scope()`: its variables exist once "
                "and not on every replica, and training goes on as if there were no strategy.",
                "`with strategy.scope():` around build_model and compile."),
        Mistake("one_replica_only", "The model was made under the strategy, but not every replica was at work.",
                "`model.fit`, or `strategy.run` in a loop of your own."),
        Mistake("unscaled", "The learning rate is that of one replica.",
                "As with Horovod: rate * strategy.num_replicas_in_sync.",
                lambda t: {"weights": t.train(t.rate, t.together)}),
        Mistake("scaled_twice", "Every step is as many times too long as there are replicas: the learning rate was "
                "multiplied twice, or the gradients of each replica's own mean were added.",
                "rate * strategy.num_replicas_in_sync, and in a loop of your own each loss divided by the samples of "
                "all replicas.",
                lambda t: {"weights": t.train(t.rate * t.replicas**2, t.together)}),
        Mistake("batch_is_local", "Each step took local_batch samples in all: Keras's minibatch under a strategy is "
                "that of all replicas together.",
                "local_batch * strategy.num_replicas_in_sync.",
                lambda t: {"weights": t.train(t.rate * t.replicas, t.local_batch)}),
        Mistake("shuffled", "Keras has shuffled the samples; the Horovod program does not.",
                "Give `fit` a dataset in minibatches, or `shuffle=False`."),
        Mistake("sharded_by_hand", "Each worker took its share of the samples, and the strategy has divided that share "
                "once more: most samples were never seen.",
                "Give the strategy, or `fit`, all samples: it divides them.",
                lambda t: {"weights": t.train(t.rate * t.replicas, t.together, x=t.x[t.index :: t.replicas],
                                              y=t.y[t.index :: t.replicas])} if t.replicas > 1 else None),
        Mistake("one_epoch", "Only one epoch was trained.", "`epochs=epochs`.",
                lambda t: {"weights": t.train(t.rate * t.replicas, t.together, 1)}),
        Mistake("evaluation_mode", "The model was called as in an evaluation: dropout and batch normalisation, for "
                "example, are other functions there. `fit` calls it as in training.", "`model(x, training=True)`.",
                lambda t: {"weights": t.train(t.rate * t.replicas, t.together, x=t.x / 2)}),
        Mistake("all_to_the_same_file", "A worker that is not the chief wrote to the chief's checkpoint: several "
                "processes write the same file.",
                "Worker 0 saves to 'checkpoint', every other worker to a path of its own.",
                lambda t: {"saved to": "the checkpoint"} if t.index else None),
        Mistake("only_the_chief_saves", "This worker did not save, as with Horovod. In a strategy saving may be a "
                "collective: variables that are added up when they are read need all workers, and the chief would "
                "wait forever.",
                "All workers call save; all but worker 0 with a path of their own.",
                lambda t: {"saved to": "nothing"} if t.index else None),
        Mistake("not_saved", "The checkpoint was not written.", "Worker 0 saves to 'checkpoint'.",
                lambda t: {"saved to": "nothing"} if t.index == 0 else None),
        Mistake("chief_elsewhere", "Worker 0 saved to another path, where the checkpoint will not be found.",
                "Worker 0 saves to 'checkpoint'.",
                lambda t: {"saved to": "a place of its own"} if t.index == 0 else None),
        Mistake("saves_weights", "`save` got something else than a Keras model: it writes the model that you built.",
                "`save(model, path)`, not `save(model.get_weights(), path)`.",
                lambda t: {"saved to": ("a place of its own" if t.index else "the checkpoint") + ", not the model"}),
        Mistake("trained_by_the_chief", "Worker 0 trained, this worker did not: with several workers, the chief would "
                "wait forever for the others' gradients.", "Every worker calls `fit`."),
        Mistake("saved_each_epoch", "The model was saved after each epoch, and not at all where there are none.",
                "Save once, after the last epoch."),
        Mistake("one_place_for_the_others", "All workers but the chief save to the same place: with three of them, two "
                "processes write the same file.", "A path with the worker's index in it.",
                lambda t: {"saved to": "the same place as another worker"} if t.index else None),
        Mistake("saved_too_early", "The model was saved before the training had ended.", "Save after the last epoch.",
                lambda t: {"saved to": "the checkpoint, before the last step"} if t.index == 0 else None),
        Mistake("auto_shard_off", "The policy of the dataset is OFF: on several machines every worker would go through "
                "all samples.", "Leave it to the strategy: AUTO becomes DATA where there are no files."),
    ]  # fmt: skip

    def cases(self, rng):
        same, one = self.levels
        made = []
        for level, index, replicas, epochs in ((same, 1, 2, 2), (same, 0, 1, 1), (one, 1, 3, 0)):
            n = 4 * replicas if replicas > 1 else 8
            known = {"replicas": replicas, "index": index, "epochs": epochs, "local_batch": 2, "rate": 0.0625}
            known |= {"x": full_precision(rng, -1, 1, (n, 3)), "y": full_precision(rng, 1, 2, (n, 2))}
            known["weights"] = full_precision(rng, -1, 1, (3, 2))
            says = f"worker {index}, {replicas} replica{'s' * (replicas > 1)}, {n} samples, local_batch = 2"
            says += f", {epochs} epoch{'s' * (epochs != 1)}"
            made.append(self.case(level, known, says))
        return made

    def worked(self, case):
        """together: samples in a step of all replicas. train: the weights that come of so many epochs with x and y."""
        t = super().worked(case)
        t.together = t.local_batch * t.replicas

        def train(rate, batch, epochs=t.epochs, x=t.x, y=t.y):
            weights = t.weights
            for first in list(range(0, len(x), batch)) * epochs:
                own, labels = x[first : first + batch], y[first : first + batch]
                weights = weights - rate * 2 / labels.size * own.T @ (own @ weights - labels)
            return weights

        t.train = train
        return t

    def expected(self, case):
        t = self.worked(case)
        weights = t.train(t.rate * t.replicas, t.together)
        saved = "a place of its own" if t.index else "the checkpoint"
        if t.index and t.epochs:  # the other level asks where this worker saves
            saved = ANYTHING
        at_work = t.replicas if t.epochs else ANYTHING
        return [dict(zip(self.parts, (True, at_work, True, weights, "fine", saved), strict=True))]

    def read(self, t, report, right):
        saves = report["saved to"].split(" and ")
        if t.epochs > 1 and len(saves) == t.epochs and saves[0].endswith("before the last step"):
            return "saved_each_epoch"
        if right:
            return None
        if not report["made under the strategy"]:
            return "model_outside_scope"
        if t.epochs and report["replicas at work"] < t.replicas:
            untrained = np.array_equal(report["weights"], t.weights)
            return "trained_by_the_chief" if t.index and untrained else "one_replica_only"
        if report["policies"] == "OFF":
            return "auto_shard_off"
        return None if report["samples in order"] else "shuffled"
