"""Unit 09, multi-node image lab: a list of images, data made once per node, minibatches of unequal shares, a restart,
memory, traffic.

The exercises on Horovod run on two stand-in nodes: four forked ranks whose local ranks are 0, 1, 0, 1. What has
happened before what is read from the collectives that each rank has finished, not from a clock: Horovod finishes none
before all ranks have begun it.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from math import isclose

import numpy as np

from autograder.exercise import Case, Finding, Mistake, Run
from autograder.exercises.kinds import PlainExercise, ReportExercise, as_floats, on_ranks
from autograder.exercises.readings.contributions import returned
from autograder.exercises.readings.shares import SharesExercise
from autograder.exercises.source import harness_of

UNIT = "09_multi_node_image_lab"
close = partial(isclose, rel_tol=1e-9)  # every right way to compute in float64 agrees to far more
HEADER = "image_id class_id super_class_id path"
FOLDERS = (
    "bicycle",
    "cabinet",
    "chair",
    "coffee_maker",
    "fan",
    "kettle",
    "lamp",
    "mug",
    "sofa",
    "stapler",
    "table",
    "toaster",
)
LABELS = {
    "int64": "labels only mark which sample is which",
    "integers of both widths": "labels only mark which sample is which",
}


class ReadProducts(PlainExercise):
    """The list of images"""

    signature = (
        "read_products(text: str, classes: list[int] | None = None) -> tuple[list[str], list | np.ndarray, list[int]]"
    )
    levels = {"paths": 1, "labels": 1, "the test list": 1}
    given = ("text", "classes", "asked")
    harness = harness_of(__file__, "read_products")
    mistakes = [
        Mistake("header_counted", "The first line was taken for an image. It names the columns.",
                "Leave it out: `text.splitlines()[1:]`.", lambda t: ["path", *t.right] if t.asked == "paths" else None),
        Mistake("ValueError", "Something could not be read as it was expected: the header has words where the other "
                "lines have numbers, and the text may end with empty lines.",
                "Leave out the first line and the empty ones."),
        Mistake("IndexError", "A line has fewer columns than expected. The text may end with empty lines.",
                "Leave out the empty lines."),
        Mistake("last_line_lost", "The last image is missing. Not every text ends with a line break.",
                "`text.splitlines()` copes with both.", lambda t: t.answer(t.rows[:-1])),
        Mistake("by_folder", "The labels follow the folders' names. The list says which kind a photo shows; a folder "
                "may be called anything.",
                "The kind of product is the third column, super_class_id.",
                lambda t: None if t.classes else t.answer(label=lambda row, _: t.folders.index(row[3].split("/")[0]))),
        Mistake("range_of_ids", "All ids from the smallest to the largest got a label. Those that are not in the list "
                "would be outputs that nothing trains.",
                "The ids that occur, and no others: `sorted(set(ids))`.",
                lambda t: None if t.classes else t.answer(classes=list(range(min(t.ids), max(t.ids) + 1)))),
        Mistake("given_sorted", "The classes that were given were sorted. Their order says which label means what: it "
                "is that of the training.",
                "Use `classes` as it is, if it is given: `classes.index(super_class_id)`.",
                lambda t: t.answer(classes=sorted(t.classes)) if t.classes else None),
        Mistake("sorted_by_id", "The images were sorted by their image_id. The list has an order of its own.",
                "Keep the order of the lines: labels and paths belong together line by line.",
                lambda t: t.answer(sorted(t.rows))),
        Mistake("twice_in_the_list", "An image that is in the list twice came back once, as happens where its path is "
                "the key of a dictionary.",
                "One path and one label for each line.",
                lambda t: t.answer(list({row[3]: row for row in t.rows}.values()))),
        Mistake("sorted_paths", "The images are in another order than in the list.",
                "Keep the order: labels and paths belong together line by line.", lambda t: t.answer(order=sorted)),
        Mistake("folder_missing", "The folder was cut off the paths.",
                "The fourth column as it is: folder/name.JPG.",
                lambda t: t.answer(order=lambda paths: [path.split("/")[1] for path in paths])),
        Mistake("classes_renumbered", "The list of classes was numbered anew. Whoever reads the test list next could "
                "not tell which kind is which label.",
                "Return the super_class_ids themselves, in the order of their labels.",
                lambda t: t.answer(label=lambda row, _: t.known.index(row[2]), classes=range(len(t.known)))),
        Mistake("own_classes", "The test list got labels of its own. A kind that is missing there shifts all labels "
                "behind it, and the network is right where you count it wrong.",
                "If `classes` is given, use it: labels mean what they meant in training.",
                lambda t: t.answer(classes=t.ids) if t.classes else None),
        Mistake("raw_ids", "These are the super_class_ids as they stand in the file. A network with k outputs wants "
                "labels from 0 to k - 1.",
                "A label is the place of its id in `classes`: `classes.index(super_class_id)`.",
                lambda t: t.answer(label=lambda row, _: row[2])),
        Mistake("minus_one", "1 was taken off every id. That works when all ids from 1 to k occur; here some are "
                "missing, and labels would run past the last output.",
                "A label is the place of its id in `classes`.", lambda t: t.answer(label=lambda row, _: row[2] - 1)),
        Mistake("labels_shifted", "The labels begin with 1.",
                "A network counts its outputs from 0.",
                lambda t: t.answer(label=lambda row, classes: classes.index(row[2]) + 1)),
        Mistake("labels_in_a_byte", "The labels went through uint8, which ends at 255: the next one became 0.",
                "Python's integers, or an array of int64.",
                lambda t: t.answer(label=lambda row, classes: classes.index(row[2]) % 256)),
        Mistake("order_of_appearance", "The labels were given in the order in which the ids appear. Another list, or a "
                "shuffled one, would get other labels.",
                "Sort the ids first: `sorted(set(ids))`.",
                lambda t: t.answer(classes=list(dict.fromkeys(row[2] for row in t.rows)))),
        Mistake("sorted_as_text", "The ids were sorted as text, where '10' comes before '2'.",
                "Make numbers of them before you sort.", lambda t: t.answer(classes=sorted(t.known, key=str))),
        Mistake("products_for_classes", "These labels come from class_id, the product. Each product has a handful of "
                "photos, and those of the test list never occur in the training list: nothing could be learned that "
                "way.",
                "The kind of product is the third column, super_class_id.",
                lambda t: t.answer(label=lambda row, products: products.index(row[1]), classes=t.products)),
        Mistake("float_labels", "The labels have the right values, but are no integers.",
                "`int(...)`, or an array with an integer dtype: they are indices."),
    ]  # fmt: skip

    def draw(self, rng):
        paths, labels, test = self.levels
        many = list(range(300, 0, -1))
        for level, ids, n, end, says, *odd in (
            (paths, (1, 2, 3), 7, "\n", "7 images"),
            (paths, (4, 5), 5, "", "5 images, no line break at the end"),
            (paths, (6, 9), 6, "\n\n\n", "6 images, empty lines at the end"),
            (labels, (3, 4, 5, 6), 9, "\n", "super classes 3, 4, 5 and 6"),
            (labels, (11, 2, 10, 6), 12, "\n", "super classes 2, 6, 10 and 11"),
            (test, (8, 3, 12), 8, "\n", "classes 12, 7, 3 and 8; none of 7 in the list"),
            (paths, (7,), 1, "\n", "1 image"),
            (paths, (7, 8), 6, "\n", "6 images, not all of them .JPG", {1: ".png", 4: ".jpg"}),
            (labels, (40, 2, 7), 6, "\n", "super classes 2, 7 and 40"),
            (test, (1, 44, 45), 8, "\n", "300 classes, images of the last and of two others"),
        ):
            rows = self._rows(rng, ids, n, *odd)
            text = "\n".join([HEADER, *(" ".join(map(str, row)) for row in rows)]) + end
            given = many if 45 in ids else [12, 7, 3, 8]
            known = {"text": text, "classes": given if level == test else None}
            yield level, {**known, "asked": "paths" if level == paths else "all", "rows": rows}, {"says": says}

    @staticmethod
    def _rows(rng, ids, n, ends=None) -> list[tuple[int, int, int, str]]:
        """The list's lines: the ids in no order (the first to appear is the first of `ids`), two photos of most
        products.

        The image_ids are in no order either, no folder's name stands where its id does in the alphabet, and one image
        is there twice. ends: how the names of some images end, if not in .JPG.
        """
        first, product = int(rng.integers(1, 60_000)), int(rng.integers(100, 11_000))
        order = [ids[k // 2 % len(ids)] for k in range(n)]
        rows = []
        for k, super_class in enumerate(order):
            name = f"{rng.integers(110_000_000_000, 391_000_000_000)}_{k % 2}{(ends or {}).get(k, '.JPG')}"
            image, folder = first + (n - 2 - k) % n, FOLDERS[-super_class % len(FOLDERS)]
            rows.append((image, product + 3 * (k // 2), super_class, f"{folder}_final/{name}"))
        if n > 3:
            rows[3] = (rows[3][0], *rows[0][1:])
        return rows

    @staticmethod
    def _answer(rows, asked, classes, label=lambda row, classes: classes.index(row[2]), order=list):
        """The answer to a list with these lines, with label(row, classes) for each of them. order: what is done to the
        paths alone."""
        paths = order([row[3] for row in rows])
        if asked == "paths":
            return paths
        return paths, [label(row, classes) for row in rows], [float(one) for one in classes]

    def right(self, text, classes, asked, rows):
        return self._answer(rows, asked, classes or sorted({row[2] for row in rows}))

    def worked(self, case):
        t = super().worked(case)
        t.ids, t.products = (sorted({row[column] for row in t.rows}) for column in (2, 1))
        t.folders = sorted({row[3].split("/")[0] for row in t.rows})
        t.known = t.classes or t.ids

        def answer(rows=t.rows, classes=t.known, **how):
            return self._answer(rows, t.asked, classes, **how)

        t.answer = answer
        return t

    def facts(self, case: Case, run: Run):
        """The labels alone, where the list of classes hides what they are; and lines that are too many."""
        t, value = self.worked(case), run.ranks[0].value
        if t.asked == "paths" or not isinstance(value, (tuple, list)) or len(value) != 3:
            return None
        paths, labels = map(list, value[:2])
        if paths[:1] == ["path"]:
            return "header_counted"
        if labels == t.right[1]:
            return "float_labels" if any(isinstance(label, float) for label in labels) else None
        ids, found = [row[2] for row in t.rows], []
        if labels == [row[1] for row in t.rows]:
            return "products_for_classes"
        if t.classes:  # looked up in a list that is not sorted, as if it were; or in what of it is there
            present = [one for one in t.classes if one in ids]
            found = [
                ("given_sorted", np.searchsorted(t.classes, ids).tolist()),
                ("own_classes", list(map(present.index, ids))),
            ]
        found += [(name, answer[0][1]) for name, answer in self.misconceptions(case).items() if answer]
        return next((name for name, one in found if one == labels), None)


# -- on Horovod: two nodes ---------------------------------------------------------------------------------------------


IN_TIME, TOO_EARLY, NEVER_MADE, NOT_READ = (
    "when they were there",
    "before they were there",
    "though nobody made them",
    "not at all",
)


class PreparedImages(ReportExercise):
    """Made once on every node"""

    signature = "prepared_images(hvd, is_ready, prepare, load)"
    runtime = "horovod"
    inputs = "free"
    levels = {"two nodes": 1, "one node": 1, "a node that already has the images": 1}
    may_lose = LABELS
    parts = ("made the images", "read them", "returned")
    harness = harness_of(__file__, "prepared_images")
    mistakes = [
        Mistake("by_rank", "Rank 0 alone made the images, on the disk of its own node. The other nodes have none.",
                "One rank of every node: `if hvd.local_rank() == 0`.",
                lambda t: t.reports(lambda local_rank, node, ready: local_rank == node == 0 and not ready)),
        Mistake("every_rank", "Every rank made the images: the ranks of a node do the same work side by side and write "
                "the same files.",
                "One rank of every node is enough: `if hvd.local_rank() == 0`.",
                lambda t: t.reports(lambda local_rank, node, ready: not ready)),
        Mistake("whole_node",
                "All ranks of the first node made the images and none on the others: the number of the node was asked.",
                "`hvd.cross_rank()` is the node's number, `hvd.local_rank()` the rank's number in it.",
                lambda t: t.reports(lambda local_rank, node, ready: node == 0 and not ready)),
        Mistake("all_but_the_first",
                "Every rank of a node but the first made the images: the condition is the wrong way round.",
                "`if hvd.local_rank() == 0`.",
                lambda t: t.reports(lambda local_rank, node, ready: local_rank != 0 and not ready)),
        Mistake("made_again",
                "The images were made again on a node that had them. On the whole data set that costs hours.",
                "Ask `is_ready()` on the rank that would make them.",
                lambda t: t.reports(lambda local_rank, node, ready: local_rank == 0)),
        Mistake("rank_modulo", "The rank was taken modulo the number of ranks on its own node. Where another node "
                "has more or fewer ranks, the remainder 0 is not the node's first rank.",
                "`if hvd.local_rank() == 0`: Horovod knows which ranks share a node.",
                lambda t: t.reports(lambda local_rank, node, ready: t.modulo(local_rank, node) == 0 and not ready)),
        Mistake("read_too_early", "Some ranks read the images while another one may still be making them: they find no "
                "file, or half of one.",
                "All ranks meet after `prepare` and before `load`: every collective is such a meeting, for example "
                "`hvd.allreduce(tf.constant(0.0))`.", lambda t: t.reports(meets=False)),
        Mistake("sent_over_network", "The images were read on one rank and sent to the others. All of the data crosses "
                "the network then, and a node's own disk is not used.",
                "Every rank calls `load()`: the ranks of a node read the same file, which stays in that node's memory "
                "once.", lambda t: [{}, *[{"read them": NOT_READ}] * (t.p - 1)]),
        Mistake("not_returned", "The images were read but not returned.",
                "`return load()`.", lambda t: {"returned": None}),
        Mistake("mismatched_collective", "Some ranks wait in a collective that the others skip: on their node the "
                "images were ready, so they took another way.",
                "Only `prepare` depends on the rank and on the node. The meeting is for all ranks: take it out of "
                "every `if`."),
        Mistake("AttributeError", "Something has not the attribute it was asked for. If that is `barrier`: only "
                "PyTorch's Horovod has one. If it is `dtype`: `hvd.allreduce` takes tensors.",
                "Any collective makes ranks wait for each other: `hvd.allreduce(tf.constant(0.0))`."),
    ]  # fmt: skip

    def cases(self, rng):
        two, one, already = self.levels
        found = []
        for level, p, per_node, ready, says in (
            (two, 5, 3, (False, False), "3 ranks on node 0, 2 on node 1"),
            (one, 3, 3, (False,), "3 ranks on one node"),
            (already, 4, 2, (False, True), "2 ranks on each of 2 nodes; node 1 has the images"),
            (already, 3, 2, (True, False), "2 ranks on node 0, which has the images, 1 on node 1"),
            (one, 2, 2, (False,), "2 ranks on one node; load() returns a tuple, images and labels"),
        ):
            images = [rng.integers(0, 256, 4) for _ in ready]
            known = {"per_node": per_node, "ready": np.repeat(ready, per_node)[:p].tolist()}
            known["images"] = list(np.repeat(images, per_node, axis=0)[:p])
            if "tuple" in says:
                known["images"] = [(one, one[:2] % 12) for one in known["images"]]
            found.append(on_ranks(level, p, "ready[r] images[r]", known, says, ranks_per_node=per_node))
        return found

    @staticmethod
    def _reports(t, makes=lambda local_rank, node, ready: local_rank == 0 and not ready, meets=True) -> list[dict]:
        """makes(local_rank, node, ready): whether a rank calls prepare. meets: whether the ranks meet before they
        read."""
        places = [divmod(r, t.per_node) for r in range(t.p)]
        made = [makes(local_rank, node, t.ready[r]) for r, (node, local_rank) in enumerate(places)]
        here = [any(made[q] for q in range(t.p) if places[q][0] == node) for node, _ in places]
        in_time = [t.ready[r] or made[r] or (here[r] and meets) for r in range(t.p)]
        read = [IN_TIME if in_time[r] else TOO_EARLY if here[r] else NEVER_MADE for r in range(t.p)]
        return [{"made the images": int(made[r]), "read them": read[r], "returned": t.images[r]} for r in range(t.p)]

    def worked(self, case):
        t = super().worked(case)
        t.reports = partial(self._reports, t)
        t.modulo = lambda local_rank, node: (node * t.per_node + local_rank) % min(t.per_node, t.p - node * t.per_node)
        return t

    def expected(self, case):
        return self.worked(case).reports()

    def facts(self, case: Case, run: Run):
        """The mistake of reading the images too early, or not at all."""
        read = [one["read them"] for one in returned(run)]
        if TOO_EARLY in read:
            return Finding(
                "read_too_early", f"Rank {', '.join(str(r) for r, how in enumerate(read) if how == TOO_EARLY)}."
            )
        return "sent_over_network" if NOT_READ in read else None


class EpochBatches(SharesExercise):
    """Minibatches of unequal shares"""

    signature = (
        "epoch_batches(dataset: tf.data.Dataset, n: int, local_batch_size: int, seed: int) -> (minibatches, steps)"
    )
    levels = {"shares of equal size": 1, "shares of unequal size": 2}
    may_lose = LABELS
    harness = harness_of(__file__, "epoch_batches")
    mistakes = [
        *SharesExercise.steps_mistakes,
        Mistake("rounded_down", "The last images of an epoch are never reached: the number of steps was rounded down.",
                "Round up: -(-n // (local_batch_size * hvd.size())). The stream goes on, so the last minibatch is "
                "full all the same."),
        Mistake("minibatch_of_all", "The minibatches do not hold local_batch_size images.",
                "local_batch_size is one rank's part of a step."),
        Mistake("stream_ends", "The minibatches come to an end. A rank with a smaller share has none left while the "
                "others still wait for its gradients.",
                "`.repeat()`: then the number of steps ends an epoch, the same on every rank."),
        Mistake("short_minibatches", "Some minibatches are not full: they were cut at the end of a pass over the "
                "share. Their images count for more in the mean.",
                "Repeat first, then batch: a minibatch may reach into the next pass."),
        Mistake("overlap", "Some images are on two ranks, and others on none: the ranks shuffled the whole list, each "
                "in its own way, and then took shares.",
                "Shard first, then shuffle: `dataset.shard(...).shuffle(...)`."),
        Mistake("images_left_out", "Some images are never seen in an epoch.",
                "Repeat before you batch, and do not drop what is left over at the end of a pass."),
        Mistake("not_shuffled", "The images come in the order of the list, which is sorted by class: a minibatch holds "
                "one or two kinds of product.",
                "`.shuffle(n, seed=seed)` behind `shard`: a buffer as large as the share mixes all of it."),
        Mistake("unequal_shares", "The shares differ by more than one image: the last rank took all that is left over. "
                "Its images are seen less often than the others'.",
                "`dataset.shard(hvd.size(), hvd.rank())` deals out one by one."),
        Mistake("passes_mixed", "An image comes again before all others of the share have been there: the passes are "
                "mixed with each other.",
                "Shuffle first, then repeat: `.shuffle(...).repeat()`."),
        Mistake("one_order", "Every pass over the share has the same order: the minibatches are mixed once and then "
                "always the same.",
                "`shuffle` mixes anew in each pass, unless it is told `reshuffle_each_iteration=False`; `repeat` "
                "comes behind it."),
        Mistake("small_buffer", "The images are not fully mixed: the buffer holds a part of them, and what is far "
                "behind in the list cannot come to the front.",
                "`.shuffle(n, seed=seed)`: a buffer as large as the share mixes all of it."),
        Mistake("seed_ignored",
                "The seed does not decide the order: the same seed gave another order, or another seed the same one.",
                "`.shuffle(n, seed=seed)`."),
    ]  # fmt: skip

    def cases(self, rng):
        equal, unequal = self.levels
        cases = []
        for level, p, sizes in (
            (equal, 4, ((64, 4), (48, 6))),
            (unequal, 3, ((50, 4), (41, 5), (8, 2))),  # in shares of 3 a buffer shows that lacks room for one image
            (unequal, 4, ((45, 3), (402, 30))),
            (equal, 2, ((960, 60),)),  # larger shares than some buffers
            (unequal, 2, ((121, 6), (48, 8))),  # a quotient just above a whole number, and an odd one
        ):
            case = self.case(rng, level, p, sizes, f"{p} ranks, 2 on a node; ", np.sort)
            seed = int(rng.integers(1, 1000)) if level == unequal else 0  # a seed like any other
            cases.append(replace(case, arguments=(case.known["asked"], seed)))
        return cases

    def right_steps(self, n, batch, p):
        return -(-n // (batch * p))

    def expected(self, case):
        def report(n, batch):
            steps = self.right_steps(n, batch, case.world_size)
            rest = {"shares samples with": [], "images nobody sees": 0, "also": "", "order of the list": False}
            return {"steps": steps, "minibatches of two epochs": [batch] * (2 * steps), **rest}

        return [[report(n, batch) for n, batch in case.known["sizes"]]] * case.world_size

    def alike(self, reports, case):
        """True if all ranks drew the same images: then nobody sees what one of them leaves out in its steps."""
        seen = [batch * self.right_steps(n, batch, case.world_size) for n, batch in case.known["sizes"]]
        left_out = [max(0, n - own) for (n, _), own in zip(case.known["sizes"], seen, strict=True)]
        return left_out == [one[0]["images nobody sees"] for one in reports]

    def broken(self, reports, n, batch, right):
        for rank, report in enumerate(reports):
            sizes = report["minibatches of two epochs"]
            which = f"rank {rank} has minibatches of {', '.join(map(str, sorted(set(sizes))))}."
            if sizes and max(sizes) != batch:
                yield "minibatch_of_all", which
            if len(sizes) < 2 * right:
                yield "stream_ends", f"rank {rank} has {len(sizes)} minibatches for 2 epochs of {right} steps."
            if set(sizes) != {batch}:
                yield "short_minibatches", which
        yield from self.sharing(reports)
        unseen, also = reports[0]["images nobody sees"], reports[0]["also"]
        if unseen and also != "passes_mixed":
            yield "images_left_out", f"{unseen} of {n}."

    def facts(self, case: Case, run: Run):
        """The shares first, then the order in which they come."""
        if found := super().facts(case, run):
            return found
        mine = returned(run)[0]
        if any(report["order of the list"] for report in mine):
            return "not_shuffled"
        return next((report["also"] for report in mine if report["also"]), None)


class GoOn(ReportExercise):
    """Resuming from a checkpoint"""

    signature = "go_on(model, optimizer, read_checkpoint) -> int"
    runtime = "horovod"
    inputs = "free"
    any_type = "the epoch may stay the tensor that rank 0 has sent"
    levels = {"a fresh start": 1, "a checkpoint that only rank 0 can read": 2}
    may_lose = {"float32 promoted": "what is compared are the variables of a model, whose type TensorFlow keeps"}
    parts = (("weights", "not trainable"), ("steps", "momentum"), "first epoch")
    harness = harness_of(__file__, "go_on")
    mistakes = [
        Mistake("no_broadcast", "Every rank goes on with a model of its own.",
                "Broadcast rank 0's variables to all ranks, whether there was a checkpoint or not.",
                lambda t: t.others_keep("weights", "not trainable", "steps", "momentum") if t.saved else t.own),
        Mistake("broadcast_first", "The broadcast came before the checkpoint was read: all ranks were equal for a "
                "moment, then rank 0 went elsewhere.",
                "Read first, broadcast then.", lambda t: [{}, *[t.own[0]] * (t.p - 1)]),
        Mistake("trainable_only", "Only the trainable variables were broadcast. A batch normalisation holds moving "
                "averages besides them.",
                "`model.variables`, not `model.trainable_variables`.", lambda t: t.others_keep("not trainable")),
        Mistake("mean_start", "The ranks' weights were averaged.",
                "Broadcast rank 0's; average gradients only.",
                lambda t: {n: np.mean([own[n] for own in t.own], axis=0) for n in ("weights", "not trainable")}),
        Mistake("optimizer_not_restored",
                "The optimizer begins anew: its momentum and its count of steps are part of the checkpoint.",
                "`for variable, value in zip(optimizer.variables, checkpoint['optimizer']): variable.assign(value)`.",
                lambda t: {name: t.own[0][name] for name in ("steps", "momentum")}),
        Mistake("steps_not_broadcast", "The optimizer's count of steps is rank 0's own: only the momentum was "
                "broadcast. Adam corrects by that count.",
                "Broadcast all of `optimizer.variables`.", lambda t: t.others_keep("steps")),
        Mistake("steps_not_restored", "The optimizer's count of steps was not taken from the checkpoint.",
                "All of `optimizer.variables` are in it, in their order: `iterations` too.",
                lambda t: {"steps": t.own[0]["steps"]}),
        Mistake("steps_through_float32", "The optimizer's count of steps is slightly off: it went through float32, "
                "which does not hold every integer above 2**24.",
                "Send each variable in its own type, as `hvd.broadcast_variables` does.",
                lambda t: t.saved and [{}, *[{"steps": int(np.float32(t.right["steps"]))}] * (t.p - 1)] or None),
        Mistake("optimizer_not_broadcast", "The ranks have different optimizers, rank 0 perhaps that of the "
                "checkpoint: equal gradients will move them differently.",
                "Broadcast the variables of both, model and optimizer.", lambda t: t.others_keep("steps", "momentum")),
        Mistake("epoch_not_told", "Rank 0 goes on with a later epoch, the others begin with epoch 0: they make more "
                "steps, and wait for rank 0 in the end.",
                "The number has to travel, too: `hvd.broadcast_object(epochs, root_rank=0)`.",
                lambda t: t.others_keep("first epoch")),
        Mistake("epoch_too_many",
                "One epoch is skipped. `epochs` counts those that are finished, and the first one has number 0.",
                "After 3 finished epochs (0, 1 and 2) the next one is number 3.",
                lambda t: {"first epoch": t.epoch + 1}),
        Mistake("epoch_forgotten", "The weights come from the checkpoint, but the epochs are counted from 0 again.",
                'Return checkpoint["epochs"] on all ranks.', lambda t: {"first epoch": 0}),
        Mistake("epoch_averaged",
                "The number of the epoch was averaged over the ranks, and the others have none to add.",
                "Send it: `hvd.broadcast_object(epochs, root_rank=0)`.", lambda t: {"first epoch": t.epoch // t.p}),
        Mistake("NotAnInt", "The number of the epoch is a float: `range` and `model.fit(initial_epoch=...)` refuse it.",
                "Return an int: `int(...)`, or what `hvd.broadcast_object` gives."),
        Mistake("checkpoint_skipped", "A checkpoint with no finished epoch was not read: the job was stopped in its "
                "first one, and the steps made until then are lost.",
                "Ask `if checkpoint is not None:`, and not for its number of epochs.",
                lambda t: t.own[0] if t.saved and not t.epoch else None),
        Mistake("weights_not_restored", "The optimizer and the epoch come from the checkpoint, the model does not.",
                "`model.set_weights(checkpoint['weights'])` on rank 0, then broadcast `model.variables`.",
                lambda t: {name: t.own[0][name] for name in ("weights", "not trainable")} if t.epoch else None),
        Mistake("TypeError", "Something was used as if it were a checkpoint and is None: the other ranks have no "
                "checkpoint, and on a fresh start rank 0 has none either.",
                "Ask `if checkpoint is not None` before you open it; share what is needed with "
                "`hvd.broadcast_object`."),
    ]  # fmt: skip

    def cases(self, rng):
        def draw(*shape):
            return rng.normal(size=shape).astype(np.float32)

        fresh, resumed = self.levels
        found = []
        many = 2 * int(rng.integers(1030, 1900)) + 1  # a number that int8 and float16 do not hold
        for level, p, per_node, epochs, says in (
            (fresh, 3, 0, None, "no checkpoint"),
            (resumed, 4, 2, many, f"{many} epochs finished, 2 ranks on each node"),
            (resumed, 2, 1, 0, "a checkpoint from the first epoch, 1 rank on each node"),
            (resumed, 2, 0, 5, "5 epochs finished, Adam"),
        ):
            known = {"kernel": draw(p, 3, 2), "offset": draw(p, 2), "saved": None}
            if level == resumed:
                momentum = draw(3, 2)
                state = draw(3, 2), draw(2)
                steps = 2**24 + 2 * int(rng.integers(1, 999)) + 1  # an int64 that float32 does not hold
                known["saved"] = (epochs, *state, steps, momentum)
            # every rank has an optimizer of its own, too
            known |= {"steps": (3 + rng.permutation(p)).tolist(), "momentum": draw(p, 3, 2)}
            known["checkpoint"] = [known["saved"], *[None] * (p - 1)]
            known["adam"] = "Adam" in says
            names = "kernel[r] offset[r] steps[r] momentum[r] checkpoint[r] adam"
            found.append(on_ranks(level, p, names, known, says, rtol=1e-6, atol=1e-7, ranks_per_node=per_node))
        return found

    def worked(self, case):
        """own: what each rank would report if it did nothing. others_keep: all but rank 0 keep some of that."""
        t = super().worked(case)

        def report(epochs, kernel, offset, steps, momentum):
            held = {"weights": kernel.ravel(), "not trainable": offset, "steps": steps, "momentum": momentum.ravel()}
            return {"first epoch": epochs, **held}

        t.own = [report(0, t.kernel[r], t.offset[r], t.steps[r], t.momentum[r]) for r in range(t.p)]
        t.right = report(*t.saved) if t.saved else t.own[0]
        t.epoch = t.right["first epoch"]
        t.others_keep = lambda *names: [{}, *({name: own[name] for name in names} for own in t.own[1:])]
        return t

    def expected(self, case):
        return [self.worked(case).right] * case.world_size


# -- memory and traffic ------------------------------------------------------------------------------------------------

SLOTS = {"sgd": 0, "momentum": 1, "adam": 2}  # values that an optimizer keeps for each parameter
ALL_FIVE = "All five parts have to fit: -(-sum(parts.values()) // gpu_bytes)."


def training_bytes(
    parameters, optimizer, precision, activations, global_batch_size, world_size, *, share=1, samples=None, size=None
) -> dict[str, float]:
    """The bytes that one rank holds, part by part.

    share: by how much the model is divided. samples: of a rank's minibatch. size: bytes of one value of a part, or
        `slots`, in place of the right ones. Source: Rajbhandari et al. 2020 (ZeRO), section 3.1: 16 bytes per parameter
        for Adam, in float32 as well as in mixed precision.
    """
    mixed = precision == "mixed"
    sizes = {"weights": 2 if mixed else 4, "gradients": 2 if mixed else 4, "copy": 4 if mixed else 0, "optimizer": 4}
    sizes |= {"activations": 2 if mixed else 4, "slots": SLOTS[optimizer]} | (size or {})
    samples = global_batch_size // world_size if samples is None else samples
    values = {name: parameters / share for name in ("weights", "gradients", "copy", "optimizer")}
    values |= {"optimizer": sizes["slots"] * parameters / share, "activations": activations * samples}
    return {name: sizes[name] * number for name, number in values.items()}


class TrainingMemory(PlainExercise):
    """What fits into a GPU"""

    signature = (
        "training_memory(parameters, optimizer, precision, activations, global_batch_size, world_size, gpu_bytes) "
        "-> tuple[dict, int]"
    )
    levels = {"float32": 1, "mixed precision": 1, "a model that does not fit": 1}
    mistakes = [
        Mistake("no_gradients", "The gradients are missing.",
                "There is one for each parameter, in the precision of the weights.",
                lambda t: t.bytes(size={"gradients": 0})),
        Mistake("one_sample", "The activations of one sample were counted.",
                "There are global_batch_size / world_size samples on a rank.", lambda t: t.bytes(samples=1)),
        Mistake("global_batch_on_each", "The activations of the whole global batch were counted on one rank.",
                "A rank has global_batch_size / world_size samples.", lambda t: t.bytes(samples=t.global_batch_size)),
        Mistake("model_shared", "The model was divided by the number of ranks. In data parallelism every rank holds "
                "all of it, its gradients and the optimizer's values.",
                "Only the batch is divided.", lambda t: t.bytes(share=t.world_size)),
        Mistake("no_copy", "The float32 copy of the weights is missing, which mixed precision keeps so that small "
                "steps do not get lost.",
                "4 bytes per parameter.", lambda t: t.bytes(size={"copy": 0})),
        Mistake("copy_twice", "The float32 copy of the weights was counted twice: as the copy, and once more among the "
                "optimizer's values.",
                "It is one part of its own; the optimizer keeps 0, 1 or 2 further values.",
                lambda t: t.bytes(size={"slots": SLOTS[t.optimizer] + 1}) if t.mixed else None),
        Mistake("copy_in_float32", "A copy of the weights was counted in float32, too. There the weights themselves "
                "have 4 bytes, and a copy would be the same once more.",
                "The copy belongs to mixed precision; in float32 it has 0 bytes.",
                lambda t: None if t.mixed else t.bytes(size={"copy": 4})),
        Mistake("half_copy", "The copy of the weights was counted with 2 bytes for each. It is in float32, or it would "
                "lose the small steps as the weights do.",
                "4 bytes per parameter.", lambda t: t.bytes(size={"copy": 2}) if t.mixed else None),
        Mistake("model_of_all_ranks", "The copies of the model on all ranks were added up. What one rank holds was "
                "asked for: a GPU has room for its own rank.",
                "Nothing but the minibatch depends on world_size: no part is multiplied by it.",
                lambda t: t.bytes(share=1 / t.world_size)),
        Mistake("half_states", "The optimizer's values were taken as half precision. They stay in float32.",
                "4 bytes each.", lambda t: t.bytes(size={"optimizer": 2}) if t.mixed else None),
        Mistake("one_slot", "One value was counted for each parameter, whatever the optimizer is.",
                "Plain SGD keeps none, momentum one, Adam two.", lambda t: t.bytes(size={"slots": 1})),
        Mistake("float32_gradients", "In mixed precision gradients have 2 bytes, like the weights they belong to.",
                "2 * parameters.", lambda t: t.bytes(size={"gradients": 4}) if t.mixed else None),
        Mistake("float32_activations", "In mixed precision activations have 2 bytes.",
                "2 * activations * samples.", lambda t: t.bytes(size={"activations": 4})),
        Mistake("gigabytes", "This is in gigabytes.",
                "Return bytes.", lambda t: [{name: value / 1e9 for name, value in t.parts.items()}, t.gpus]),
        Mistake("rounded_down", "The number of GPUs was rounded down: what is left over needs one more.",
                "Round up: -(-nbytes // gpu_bytes).", lambda t: [t.parts, t.total // t.gpu_bytes]),
        Mistake("gpus_of_weights", "The GPUs were counted for the weights alone.", ALL_FIVE,
                lambda t: [t.parts, -(-t.parts["weights"] // t.gpu_bytes)]),
        Mistake("spread_over_ranks", "The memory was spread over the ranks. In data parallelism each of them needs all "
                "of it, so more ranks do not help.",
                "How many GPUs must hold together what one rank holds: -(-sum(parts.values()) // gpu_bytes).",
                lambda t: [t.parts, -(-t.total // (t.gpu_bytes * t.world_size))]),
        Mistake("one_too_many", "One GPU too many: the number was rounded up and one was added as well.",
                "-(-nbytes // gpu_bytes).", lambda t: [t.parts, t.gpus + 1]),
        Mistake("gigabinaries", "GB and GiB were mixed up: 10**9 and 2**30 differ by 7 %.",
                "gpu_bytes and the parts are all in bytes: convert nothing.",
                lambda t: [t.parts, -(-t.total // (t.gpu_bytes * 2**30 / 10**9))]),
        Mistake("gpus_part_by_part",
                "The GPUs were counted for each part and added up, as if parts could not share one.", ALL_FIVE,
                lambda t: [t.parts, sum(-(-part // t.gpu_bytes) for part in t.parts.values())]),
        Mistake("float32", "The bytes are right to 7 digits: they went through float32.",
                "Python's integers hold any number of bytes."),
        Mistake("overflow", "The number of parameters does not fit into 32 bits and has overflowed.",
                "Python's integers hold any number; of numpy's take int64.",
                lambda t: t.bytes(parameters=(t.parameters + 2**31) % 2**32 - 2**31)),
    ]  # fmt: skip

    def draw(self, rng):
        single, mixed, large = self.levels
        # How many GPUs the parts would fill. In every level less than half a GPU is left over once, and once more than
        # half; and once nothing. With these numbers every way to get the GPUs wrong gives another wrong number.
        for level, optimizer, precision, p, local, filled, says in (
            (single, "adam", "float32", 8, 32, 0.4, "Adam, 8 ranks"),
            (single, "sgd", "float32", 8, 4, 5.42, "plain SGD, 8 ranks"),
            (single, "momentum", "float32", 16, 16, 9.7, "momentum, 16 ranks"),
            (mixed, "adam", "mixed", 4, 16, 6.47, "Adam, 4 ranks"),
            (mixed, "sgd", "mixed", 4, 64, 0.7, "plain SGD, 4 ranks"),
            (large, "adam", "float32", 64, 2, 33.7, "tens of billions of parameters, Adam, float32"),
            (large, "adam", "mixed", 32, 4, 47.3, "tens of billions of parameters, Adam, mixed precision"),
            (large, "adam", "mixed", 32, 4, 19, "GPUs filled to the last byte, Adam, mixed precision"),
            (mixed, "momentum", "mixed", 4, 16, 5.7, "momentum, 4 ranks"),
        ):
            gpu = int(rng.choice([32, 48, 80])) * 10**9
            known = {"parameters": 1, "optimizer": optimizer, "precision": precision, "activations": 0}
            known |= {"global_batch_size": local * p, "world_size": p}
            each = sum(training_bytes(**known).values())
            size = training_bytes(**known | {"activations": 1})["activations"]  # of one value of every sample
            total = filled * gpu if filled == 19 else (filled + rng.uniform(-0.015, 0.015)) * gpu
            known["parameters"] = int(rng.uniform(0.6, 0.8) * total / each) // 16 * 16 + (0 if filled == 19 else 7)
            known["activations"] = int((total - each * known["parameters"]) // size)
            yield level, known | {"gpu_bytes": gpu}, {"says": says, "rtol": 1e-9, "atol": 0.0}
        known = {"parameters": 149 * 10**8, "optimizer": "adam", "precision": "float32", "activations": 4 * 10**8 + 1}
        known |= {"global_batch_size": 8, "world_size": 8, "gpu_bytes": 80 * 10**9}  # 3 * gpu_bytes + 4
        yield large, known, {"says": "4 bytes more than 3 GPUs hold, Adam, float32", "rtol": 1e-9, "atol": 0.0}

    def right(self, gpu_bytes, **known):
        parts = training_bytes(**known)
        return [parts, -(-sum(parts.values()) // gpu_bytes)]

    def worked(self, case):
        t = super().worked(case)
        (t.parts, t.gpus), t.mixed = t.right, t.precision == "mixed"
        t.total = sum(t.parts.values())

        def held(parameters=t.parameters, **change):
            return self.right(**case.known | {"parameters": parameters} | change)

        t.bytes = held
        return t

    def facts(self, case: Case, run: Run):
        """The bytes decide, whatever the GPUs are: a mistake is recognised by the parts that it changes, most of them
        first."""
        t, answer = self.worked(case), run.ranks[0].value
        found = answer[0] if isinstance(answer, (list, tuple)) and answer else None
        if not isinstance(found, dict) or set(found) != set(t.parts):
            return None
        parts = {name: as_floats(part) for name, part in found.items()}
        if any(part.size != 1 for part in parts.values()):
            return None
        got = {name: float(part[0]) for name, part in parts.items()}
        if all(close(got[name], right) for name, right in t.parts.items()):
            return None
        if all(abs(got[name] - right) <= 1e-6 * right for name, right in t.parts.items()):
            return "float32"
        for share in (t.parameters // t.world_size, -(-t.parameters // t.world_size)):
            if all(close(got[name], part) for name, part in t.bytes(parameters=share)[0].items()):
                return "model_shared"  # whole parameters for each rank
        changed = {}
        for mistake in self.mistakes:
            parts = (mistake.value and mistake.value(t) or [t.parts])[0]
            changed[mistake.name] = {name: part for name, part in parts.items() if part != t.parts[name]}
        most = sorted((name for name in changed if changed[name]), key=lambda name: -len(changed[name]))
        return next(
            (name for name in most if all(close(part, got[n]) for n, part in changed[name].items())),
            None,
        )


class NetworkBytes(PlainExercise):
    """Bytes between the nodes"""

    signature = "network_bytes(node_of: list[int], nbytes: float, two_levels: bool) -> list[float]"
    any_type = "an array of bytes, an entry for each node, can be indexed, summed and plotted like a list"
    levels = {"one ring, node after node": 1, "one ring, round-robin placement": 1, "two-level all-reduce": 1}
    mistakes = [
        Mistake("all_nodes", "This is one number for all nodes together.",
                "One number for each node, in a list.", lambda t: sum(t.right)),
        Mistake("levels_ignored", "With two_levels this is still one ring over all ranks.",
                "Between the nodes only sums travel: each rank sends a ring's share of its nbytes / g, in a ring over "
                "the nodes.", lambda t: one_ring(t.node_of, t.nbytes)),
        Mistake("not_shared_out", "Every rank of a node sent the node's whole sum to the other nodes. After the "
                "reduce-scatter each holds a g-th of it.",
                "nbytes / g for each of the g ranks.", lambda t: t.levels(held=t.nbytes)),
        Mistake("one_rank_of_the_node",
                "The bytes of one rank were counted. All ranks of the node send over its network card.",
                "Add up the ranks of a node.", lambda t: t.levels(ranks=1)),
        Mistake("p_for_nodes",
                "The rings between the nodes have as many members as there are nodes, not as there are ranks.",
                "2 (N - 1) sends of 1 / N of what a rank holds.", lambda t: t.levels(members=t.p)),
        Mistake("inside_counted",
                "Messages between ranks of one node were counted, too. They do not touch the network.",
                "Only a send whose receiver is on another node counts: node_of[r] != node_of[(r + 1) % p].",
                lambda t: t.ring(link=lambda sender, receiver: True)),
        Mistake("ring_not_closed", "The last rank sends to rank 0: a ring is closed.",
                "The right neighbour is (r + 1) % p.", lambda t: t.ring(closed=False)),
        Mistake("one_way", "A ring goes round twice: once to add up, once to pass the sums on.",
                "2 (p - 1) sends.", lambda t: t.ring(sends=t.p - 1)),
        Mistake("p_for_p_minus_1", "One step too many in each half: p ranks are joined by p - 1 messages.",
                "2 (p - 1) sends.", lambda t: t.ring(sends=2 * t.p)),
        Mistake("whole_vector", "In a ring a message holds one chunk, not all gradients.",
                "nbytes / p.", lambda t: t.ring(chunk=t.nbytes)),
        Mistake("average_node", "All nodes got the same number, the average. They do not send equally much.",
                "Count for each node the sends that leave it.", lambda t: [sum(t.right) / len(t.right)] * len(t.right)),
        Mistake("order_of_appearance",
                "The numbers are those of the nodes in the order in which they appear among the ranks.",
                "Node k's number stands at place k of the list.",
                lambda t: [t.right[node] for node in dict.fromkeys(t.node_of)]),
        Mistake("in_order_assumed", "Every node was given one link to the next, as if its ranks stood side by side in "
                "the ring. Here they do not.",
                "Look at each rank and its neighbour: node_of[r] and node_of[(r + 1) % p].",
                lambda t: t.ring(node_of=sorted(t.node_of))),
        Mistake("both_ends", "Each message was counted twice, where it leaves a node and where it arrives.",
                "A node sends what its own ranks send: count a message for the sender's node alone.",
                lambda t: [2 * nbytes for nbytes in t.right]),
        Mistake("rounded",
                "The bytes were rounded, or each chunk was. A share of the bytes need not be a whole number here.",
                "nbytes / p, with `/`; return floats."),
    ]  # fmt: skip

    def draw(self, rng):
        row, dealt, two = self.levels
        for level, node_of, two_levels, says in (
            (row, [0, 0, 0, 1, 1, 1], False, "2 nodes with 3 ranks each"),
            (row, [0, 0, 0, 1, 1, 2, 2, 2, 2], False, "3 nodes with 3, 2 and 4 ranks"),
            (row, [0] * 4, False, "one node with 4 ranks"),
            (dealt, [0, 1, 2] * 3, False, "3 nodes with 3 ranks each, dealt out in turn"),
            (dealt, [1, 0, 2, 2, 0, 1, 0, 1, 1, 0, 0], False, "3 nodes, in no order, node 1 first"),
            (two, [1, 1, 0, 0] * 2, True, "2 nodes with 4 ranks each, dealt out in pairs, node 1 first"),
            (two, [0, 0, 1, 1, 2, 2] * 2, True, "3 nodes with 4 ranks each, dealt out in pairs"),
            (two, [0] * 3, True, "one node with 3 ranks"),
            (dealt, [0, 1, 1, 0], False, "2 nodes with 2 ranks each, the first and the last rank on one node"),
        ):
            nbytes = float(
                2310 * rng.integers(500, 4000) + rng.choice([1, 13, 17, 19, 23])
            )  # no p of a case divides it
            known = {"node_of": node_of, "nbytes": nbytes, "two_levels": two_levels}
            yield level, known, {"says": says, "rtol": 1e-9, "atol": 1e-6}

    def right(self, node_of, nbytes, two_levels):
        return (rings_of_nodes if two_levels else one_ring)(node_of, nbytes)

    def worked(self, case):
        """ring, levels: `one_ring`, `rings_of_nodes` with something changed, where that is what was asked for."""
        t = super().worked(case)
        t.p = len(t.node_of)
        t.ring = lambda **change: (
            None if t.two_levels else one_ring(**{"node_of": t.node_of, "nbytes": t.nbytes} | change)
        )
        t.levels = lambda **change: rings_of_nodes(t.node_of, t.nbytes, **change) if t.two_levels else None
        return t

    def read(self, answer, **case):
        right, found = self.right(**case), as_floats(answer)
        if found.size == 1 and len(right) > 1:
            return "all_nodes"
        sends = 2 * len(case["node_of"]) ** 2  # each rounded by less than a byte
        near = found.size == len(right) and all(abs(found - right) < sends)
        return "rounded" if near else None


def one_ring(
    node_of, nbytes, link=lambda sender, receiver: sender != receiver, closed=True, sends=None, chunk=None
) -> list[float]:
    """The bytes of each node in one ring over all ranks. link(sender's node, receiver's node): whether a send
    counts."""
    p = len(node_of)
    sums = [0.0] * (max(node_of) + 1)
    for r in range(p if closed else p - 1):
        if link(node_of[r], node_of[(r + 1) % p]):
            sums[node_of[r]] += (2 * (p - 1) if sends is None else sends) * (nbytes / p if chunk is None else chunk)
    return sums


def rings_of_nodes(node_of, nbytes, members=None, ranks=None, held=None) -> list[float]:
    """The bytes of each node in two levels: a ring over the nodes for each of the g ranks of a node, with a g-th of the
    bytes."""
    nodes = max(node_of) + 1
    g, members = len(node_of) // nodes, members or nodes
    return [2 * (members - 1) * (held or nbytes / g) / members * (ranks or g)] * nodes
