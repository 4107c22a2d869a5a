"""Unit 09, multi-node image lab: a list of images, data made once per node, minibatches of unequal shares, a restart, memory, traffic.

The exercises on Horovod run on two stand-in nodes: four forked ranks whose local ranks are 0, 1, 0, 1. What has happened before what is
read from the collectives that each rank has finished, not from a clock: Horovod finishes none before all ranks have begun it.
"""

from __future__ import annotations

import numpy as np

from autograder.exercise import Case, Diagnosis, Exercise, Finding, Run
from autograder.exercises.readings.contributions import returned
from autograder.exercises.unit_07_horovod import NOT_ALL_RANKS, told_apart
from autograder.exercises.unit_08_scaling import close, listed, numbers

UNIT = "09_multi_node_image_lab"
HEADER = "image_id class_id super_class_id path"
FOLDERS = ("bicycle", "cabinet", "chair", "coffee_maker", "fan", "kettle", "lamp", "mug", "sofa", "stapler", "table", "toaster")


def only_once(case: Case, expected: list, wrong: dict, names) -> dict:
    """`told_apart`, with a None for each name that this case knows nothing of."""
    return dict.fromkeys(names) | told_apart(case, expected, wrong)


class ReadProducts(Exercise):
    """The list of images"""

    unit, function = UNIT, "read_products"
    signature = "read_products(text: str, classes: list[int] | None = None) -> (paths, labels, classes)"
    runtime = "plain"
    levels = {"paths": 1, "labels": 1, "the test list": 1}
    harness = """
import numpy as np


def plain(label):
    label = getattr(label, "item", lambda: label)()  # of numpy, torch; a whole number stays one
    return int(label) if isinstance(label, int) else float(label)


def harness(f, text, classes, asked):
    result = f(text) if classes is None else f(text, classes)
    if not isinstance(result, (tuple, list)) or len(result) != 3:
        return result
    paths, labels, known = result
    paths = [str(path) for path in paths]
    if asked == "paths":
        return paths
    return paths, [plain(label) for label in np.ravel(labels)], [float(one) for one in np.ravel(list(known))]
"""
    diagnoses = {
        "header_counted": Diagnosis(
            "The first line was taken for an image. It names the columns.", "Leave it out: `text.splitlines()[1:]`."
        ),
        "ValueError": Diagnosis(
            "Something could not be read as it was expected: the header has words where the other lines have numbers, and the text "
            "may end with empty lines.",
            "Leave out the first line and the empty ones.",
        ),
        "IndexError": Diagnosis(
            "A line has fewer columns than expected. The text may end with empty lines.", "Leave out the empty lines."
        ),
        "last_line_lost": Diagnosis(
            "The last image is missing. Not every text ends with a line break.", "`text.splitlines()` copes with both."
        ),
        "first_image_lost": Diagnosis("The first image is missing: one line too many was left out.", "Only the header goes."),
        "empty_line_counted": Diagnosis("An empty line was taken for an image.", "Leave out the empty lines."),
        "sorted_paths": Diagnosis(
            "The images are in another order than in the list.", "Keep the order: labels and paths belong together line by line."
        ),
        "sorted_by_id": Diagnosis(
            "The images were sorted by their image_id. The list has an order of its own.",
            "Keep the order of the lines: labels and paths belong together line by line.",
        ),
        "twice_in_the_list": Diagnosis(
            "An image that is in the list twice came back once, as happens where its path is the key of a dictionary.",
            "One path and one label for each line.",
        ),
        "folder_missing": Diagnosis("The folder was cut off the paths.", "The fourth column as it is: folder/name.JPG."),
        "raw_ids": Diagnosis(
            "These are the super_class_ids as they stand in the file. A network with k outputs wants labels from 0 to k - 1.",
            "A label is the place of its id in `classes`: `classes.index(super_class_id)`.",
        ),
        "range_of_ids": Diagnosis(
            "All ids from the smallest to the largest got a label. Those that are not in the list would be outputs that nothing trains.",
            "The ids that occur, and no others: `sorted(set(ids))`.",
        ),
        "by_folder": Diagnosis(
            "The labels follow the folders' names. The list says which kind a photo shows; a folder may be called anything.",
            "The kind of product is the third column, super_class_id.",
        ),
        "given_sorted": Diagnosis(
            "The classes that were given were sorted. Their order says which label means what: it is that of the training.",
            "Use `classes` as it is, if it is given: `classes.index(super_class_id)`.",
        ),
        "float_labels": Diagnosis(
            "The labels have the right values, but are no integers.",
            "`int(...)`, or an array with an integer dtype: they are indices.",
        ),
        "minus_one": Diagnosis(
            "1 was taken off every id. That works when all ids from 1 to k occur; here some are missing, and labels would run past "
            "the last output.",
            "A label is the place of its id in `classes`.",
        ),
        "order_of_appearance": Diagnosis(
            "The labels were given in the order in which the ids appear. Another list, or a shuffled one, would get other labels.",
            "Sort the ids first: `sorted(set(ids))`.",
        ),
        "sorted_as_text": Diagnosis(
            "The ids were sorted as text, where '10' comes before '2'.", "Make numbers of them before you sort."
        ),
        "products_for_classes": Diagnosis(
            "These labels come from class_id, the product. Each product has a handful of photos, and those of the test list never "
            "occur in the training list: nothing could be learned that way.",
            "The kind of product is the third column, super_class_id.",
        ),
        "own_classes": Diagnosis(
            "The test list got labels of its own. A kind that is missing there shifts all labels behind it, and the network is right "
            "where you count it wrong.",
            "If `classes` is given, use it: labels mean what they meant in training.",
        ),
        "classes_renumbered": Diagnosis(
            "The list of classes was numbered anew. Whoever reads the test list next could not tell which kind is which label.",
            "Return the super_class_ids themselves, in the order of their labels.",
        ),
        "labels_shifted": Diagnosis("The labels begin with 1.", "A network counts its outputs from 0."),
        "one_hot": Diagnosis(
            "There are more numbers than images: these look like one-hot vectors.", "One whole number per image is asked for."
        ),
    }

    def cases(self, rng):
        paths, labels, test = self.levels
        found = []
        for level, ids, n, end, says in (
            (paths, (1, 2, 3), 7, "\n", "7 images"),
            (paths, (4, 5), 5, "", "5 images, no line break at the end"),
            (paths, (6, 9), 6, "\n\n\n", "6 images, empty lines at the end"),
            (labels, (3, 4, 5, 6), 9, "\n", "super classes 3, 4, 5 and 6"),
            (labels, (11, 2, 10, 6), 12, "\n", "super classes 2, 6, 10 and 11"),
            (test, (8, 3, 12), 8, "\n", "classes 12, 7, 3 and 8; none of 7 in the list"),
        ):
            rows, text = self._rows(rng, ids, n), HEADER + "\n"
            text += "\n".join(" ".join(map(str, row)) for row in rows) + end
            classes = [12, 7, 3, 8] if level == test else None
            asked = "paths" if level == paths else "all"
            found.append(Case(level, 1, (text, classes, asked), says, known={"rows": rows, "classes": classes}))
        return found

    @staticmethod
    def _rows(rng, ids, n) -> list[tuple[int, int, int, str]]:
        """The list's lines: the ids in no order (the first to appear is the first of `ids`), two photos of most products.

        The image_ids are in no order either, no folder's name stands where its id does in the alphabet, and one image is there twice.
        """
        first, product = int(rng.integers(1, 60_000)), int(rng.integers(100, 11_000))
        order = [ids[k // 2 % len(ids)] for k in range(n)]
        rows = []
        for k, super_class in enumerate(order):
            name = f"{rng.integers(110_000_000_000, 391_000_000_000)}_{k % 2}.JPG"
            image, folder = first + (n - 2 - k) % n, FOLDERS[-super_class]
            rows.append((image, product + 3 * (k // 2), super_class, f"{folder}_final/{name}"))
        rows[3] = (rows[3][0], *rows[0][1:])
        return rows

    @staticmethod
    def _answer(case, label=None, classes=None):
        rows = case.known["rows"]
        paths = [row[3] for row in rows]
        if case.level == "paths":
            return [paths]
        classes = classes or case.known["classes"] or sorted({row[2] for row in rows})
        return [(paths, [label(row, classes) if label else classes.index(row[2]) for row in rows], [float(c) for c in classes])]

    def expected(self, case):
        return self._answer(case)

    def misconceptions(self, case):
        rows = case.known["rows"]
        paths = [row[3] for row in rows]
        if case.level == "paths":
            wrong = {
                "header_counted": [["path", *paths]],
                "last_line_lost": [paths[:-1]],
                "first_image_lost": [paths[1:]],
                "sorted_paths": [sorted(paths)],
                "sorted_by_id": [[row[3] for row in sorted(rows)]],
                "twice_in_the_list": [list(dict.fromkeys(paths))],
                "folder_missing": [[path.split("/")[1] for path in paths]],
            }
            return only_once(case, self.expected(case), wrong, self._declared())
        here = {row[2] for row in rows}
        seen = list(dict.fromkeys(row[2] for row in rows))
        products = sorted({row[1] for row in rows})
        as_text = sorted(case.known["classes"] or here, key=str)
        ((_, right_labels, right_classes),) = self.expected(case)
        folders = sorted({row[3].split("/")[0] for row in rows})
        given = case.known["classes"]
        wrong = {
            "by_folder": None if given else self._answer(case, lambda row, classes: folders.index(row[3].split("/")[0])),
            "range_of_ids": None if given else self._answer(case, classes=list(range(min(here), max(here) + 1))),
            "given_sorted": self._answer(case, classes=sorted(given)) if given else None,
            "sorted_by_id": [self._lines(sorted(rows), right_classes)],
            "twice_in_the_list": [self._lines(list({row[3]: row for row in rows}.values()), right_classes)],
            "sorted_paths": [(sorted(paths), right_labels, right_classes)],
            "folder_missing": [([path.split("/")[1] for path in paths], right_labels, right_classes)],
            "classes_renumbered": [(paths, right_labels, [float(k) for k in range(len(right_classes))])],
            "own_classes": self._answer(case, classes=sorted(here)) if case.known["classes"] else None,
            "raw_ids": self._answer(case, lambda row, classes: row[2]),
            "minus_one": self._answer(case, lambda row, classes: row[2] - 1),
            "labels_shifted": self._answer(case, lambda row, classes: classes.index(row[2]) + 1),
            "order_of_appearance": self._answer(case, classes=seen),
            "sorted_as_text": self._answer(case, classes=as_text),
            "products_for_classes": self._answer(case, lambda row, classes: products.index(row[1]), products),
        }
        return only_once(case, self.expected(case), wrong, self._declared())

    @staticmethod
    def _lines(rows, classes):
        """The answer to a list with these lines."""
        return [row[3] for row in rows], [[int(c) for c in classes].index(row[2]) for row in rows], classes

    def _declared(self):
        unseen = ("ValueError", "IndexError", "empty_line_counted", "one_hot", "float_labels")
        return [n for n in self.diagnoses if n not in unseen]

    def facts(self, case: Case, run: Run):
        """The labels alone, where the list of classes hides what they are; and lines that are too many."""
        value = run.ranks[0].value
        if case.level == "paths":
            return "empty_line_counted" if isinstance(value, list) and "" in value else None
        if not isinstance(value, (tuple, list)) or len(value) != 3:
            return None
        paths, labels, _ = value
        if paths and paths[0] == "path":
            return "header_counted"
        if len(labels) > len(paths):
            return "one_hot"
        if list(labels) == self.expected(case)[0][1]:
            return "float_labels" if any(isinstance(label, float) for label in labels) else None
        given = case.known["classes"]
        if given:  # looked up in a list that is not sorted, as if it were
            searched = np.searchsorted(given, [row[2] for row in case.known["rows"]]).tolist()
            if list(labels) == searched:
                return "given_sorted"
            present = [one for one in given if any(row[2] == one for row in case.known["rows"])]
            if list(labels) == [present.index(row[2]) for row in case.known["rows"]]:
                return "own_classes"
        for name, answer in self.misconceptions(case).items():
            if answer and list(labels) == answer[0][1]:
                return name
        return None


# -- on Horovod: two nodes -----------------------------------------------------------------------------------------------------------

# Counts the collectives that this rank has finished. Horovod begins one when all ranks have asked for it, so whatever a rank did before
# its collective number k lies before whatever another rank does after its own number k.
COUNTING = """
import horovod.tensorflow as hvd
import numpy as np

COLLECTIVES = ("allreduce", "grouped_allreduce", "allgather", "grouped_allgather", "broadcast", "broadcast_", "broadcast_object",
               "allgather_object", "broadcast_variables", "alltoall", "reducescatter", "join")
finished = 0


def counted(collective):
    def call(*arguments, **options):
        global finished
        result = collective(*arguments, **options)
        finished += 1
        return result

    return call


gather = hvd.allgather_object
for name in COLLECTIVES:
    if hasattr(hvd, name):
        setattr(hvd, name, counted(getattr(hvd, name)))
"""

IN_TIME, TOO_EARLY, NEVER_MADE, NOT_READ = (
    "when they were there",
    "before they were there",
    "though nobody made them",
    "not at all",
)

SKIPPED_MEETING = Diagnosis(
    "Some ranks wait in a collective that the others skip: on their node the images were ready, so they took another way.",
    "Only `prepare` depends on the rank and on the node. The meeting is for all ranks: take it out of every `if`.",
)


class PreparedImages(Exercise):
    """Made once on every node"""

    unit, function = UNIT, "prepared_images"
    signature = "prepared_images(hvd, is_ready, prepare, load)"
    runtime = "horovod"
    inputs = "free"
    levels = {"two nodes": 1, "one node": 1, "a node that has them already": 1}
    may_lose = {
        "int64": "labels only mark which sample is which",
        "integers of both widths": "labels only mark which sample is which",
    }
    harness = (
        COUNTING
        + """

def harness(f, ready, images):
    hvd.init()
    node = hvd.cross_rank()
    events, asked = [], 0

    def told():
        with open(f"made-on-{node}-{hvd.local_rank()}", "w") as file:
            file.write(str(finished))

    def known():
        # The slowest disk there can be: what another rank makes is there after the next collective, and not a moment earlier.
        import glob

        made = [int(open(name).read() or 10**6) for name in glob.glob(f"made-on-{node}-*")]
        return ready or "prepared" in events or any(finished > count for count in made)

    def is_ready():
        nonlocal asked
        asked += 1
        import glob

        answer = known() or asked > 20 and bool(glob.glob(f"made-on-{node}-*"))
        if answer and "ready" not in events:
            events.append("ready")
        return bool(answer)

    def prepare():
        told()
        events.append("prepared")

    def load():
        events.append("read in time" if "ready" in events or known() else "read")
        return images

    value = f(hvd, is_ready, prepare, load)
    everybody = gather((node, events))
    made_here = any("prepared" in done for where, done in everybody if where == node)
    if "read in time" in events:
        read = "when they were there"
    elif "read" in events:
        read = "before they were there" if made_here else "though nobody made them"
    else:
        read = "not at all"
    return {"made the images": events.count("prepared"), "read them": read, "returned": value}
"""
    )
    diagnoses = {
        "by_rank": Diagnosis(
            "Rank 0 alone made the images, on the disk of its own node. The other nodes have none.",
            "One rank of every node: `if hvd.local_rank() == 0`.",
        ),
        "every_rank": Diagnosis(
            "Every rank made the images: the ranks of a node do the same work side by side and write the same files.",
            "One rank of every node is enough: `if hvd.local_rank() == 0`.",
        ),
        "whole_node": Diagnosis(
            "All ranks of the first node made the images and none on the others: the number of the node was asked.",
            "`hvd.cross_rank()` is the node's number, `hvd.local_rank()` the rank's number in it.",
        ),
        "all_but_the_first": Diagnosis(
            "Every rank of a node but the first made the images: the condition is the wrong way round.",
            "`if hvd.local_rank() == 0`.",
        ),
        "other_local_rank": Diagnosis(
            "One rank of every node made the images, but not local rank 0. A node with one rank only would have none.",
            "`if hvd.local_rank() == 0`.",
        ),
        "read_too_early": Diagnosis(
            "Some ranks read the images while another one may still be making them: they find no file, or half of one.",
            "All ranks meet after `prepare` and before `load`: every collective is such a meeting, "
            "for example `hvd.allreduce(tf.constant(0.0))`.",
        ),
        "made_again": Diagnosis(
            "The images were made again on a node that had them. On the whole data set that costs hours.",
            "Ask `is_ready()` on the rank that would make them.",
        ),
        "nobody": Diagnosis("Nobody made the images.", "One rank of every node calls `prepare()`."),
        "sent_over_network": Diagnosis(
            "The images were read on one rank and sent to the others. All of the data crosses the network then, and a node's own disk "
            "is not used.",
            "Every rank calls `load()`: the ranks of a node read the same file, which stays in that node's memory once.",
        ),
        "not_returned": Diagnosis("The images were read but not returned.", "`return load()`."),
        "missing_rank": SKIPPED_MEETING,
        "mismatched_collective": SKIPPED_MEETING,
        "AttributeError": Diagnosis(
            "Something has not the attribute it was asked for. If that is `barrier`: only PyTorch's Horovod has one. If it is "
            "`dtype`: `hvd.allreduce` takes tensors.",
            "Any collective makes ranks wait for each other: `hvd.allreduce(tf.constant(0.0))`.",
        ),
    }

    def cases(self, rng):
        two, one, already = self.levels
        found = []
        for level, p, per_node, ready, says in (
            (two, 4, 2, (False, False), "2 ranks on each of 2 nodes"),
            (one, 3, 3, (False,), "3 ranks on one node"),
            (already, 4, 2, (False, True), "2 ranks on each of 2 nodes; node 1 has the images"),
            (already, 4, 2, (True, False), "2 ranks on each of 2 nodes; node 0 has the images"),
        ):
            images = [rng.integers(0, 256, 4) for _ in ready]
            arguments = [(ready[r // per_node], images[r // per_node]) for r in range(p)]
            known = {"per_node": per_node, "ready": ready, "images": images}
            found.append(Case(level, p, arguments, says, known=known, ranks_per_node=per_node))
        return found

    @staticmethod
    def _reports(case, makes, meets=True, source=None) -> list:
        """makes(local_rank, node, ready): whether a rank calls prepare. source: the rank that alone reads, and sends it to all."""
        per_node, ready, images = (case.known[k] for k in ("per_node", "ready", "images"))
        places = [(r % per_node, r // per_node) for r in range(case.world_size)]
        made = [bool(makes(local_rank, node, ready[node])) for local_rank, node in places]
        reports = []
        for r, (_, node) in enumerate(places):
            here = any(m for m, (_, n) in zip(made, places, strict=True) if n == node)
            in_time = ready[node] or made[r] or here and meets
            read = IN_TIME if in_time else TOO_EARLY if here else NEVER_MADE
            if source is not None and r != source:
                read = NOT_READ
            value = images[places[source][1] if source is not None else node]
            reports.append({"made the images": int(made[r]), "read them": read, "returned": value})
        return reports

    @staticmethod
    def _first(local_rank, node, ready):
        return local_rank == 0 and not ready

    def expected(self, case):
        return self._reports(case, self._first)

    def misconceptions(self, case):
        right = self.expected(case)
        wrong = {
            "by_rank": self._reports(case, lambda local_rank, node, ready: (local_rank, node) == (0, 0) and not ready),
            "every_rank": self._reports(case, lambda local_rank, node, ready: not ready),
            "whole_node": self._reports(case, lambda local_rank, node, ready: node == 0 and not ready),
            "all_but_the_first": self._reports(case, lambda local_rank, node, ready: local_rank != 0 and not ready),
            "other_local_rank": self._reports(case, lambda local_rank, node, ready: local_rank == 1 and not ready),
            "read_too_early": self._reports(case, self._first, meets=False),
            "made_again": self._reports(case, lambda local_rank, node, ready: local_rank == 0),
            "nobody": self._reports(case, lambda *_: False),
            "sent_over_network": self._reports(case, self._first, source=0),
            "not_returned": [one | {"returned": None} for one in right],
        }
        return only_once(case, right, wrong, wrong)

    def facts(self, case: Case, run: Run):
        """Two mistakes at once: who makes the images comes first, then when they are read."""
        reports, right = returned(run), self.expected(case)
        if not all(isinstance(one, dict) and "read them" in one for one in reports):
            return None
        made = [int(one["made the images"]) for one in reports]
        if made != [one["made the images"] for one in right]:
            for name, answer in self.misconceptions(case).items():
                if answer and made == [one["made the images"] for one in answer]:
                    return name
            more = [r for r, (a, b) in enumerate(zip(made, right, strict=True)) if a > b["made the images"]]
            return Finding("every_rank", f"Made by rank {listed(more)} too.") if more else None
        read = [one["read them"] for one in reports]
        if TOO_EARLY in read:
            return Finding("read_too_early", f"Rank {listed(r for r, how in enumerate(read) if how == TOO_EARLY)}.")
        return "sent_over_network" if NOT_READ in read else None


class EpochBatches(Exercise):
    """Minibatches of unequal shares"""

    unit, function = UNIT, "epoch_batches"
    signature = "epoch_batches(dataset: tf.data.Dataset, n: int, local_batch_size: int, seed: int) -> (minibatches, steps)"
    talks = False  # every rank is handed all images; only the harness compares what they drew
    runtime = "horovod"
    levels = {"shares of equal size": 1, "shares of unequal size": 2}
    may_lose = {
        "int64": "labels only mark which sample is which",
        "integers of both widths": "labels only mark which sample is which",
    }
    harness = """
import itertools

import horovod.tensorflow as hvd
import numpy as np
import tensorflow as tf


def drawn_from(stream, most):
    return [[int(i) for i in np.ravel(batch)] for batch in itertools.islice(iter(stream), most)]


def harness(f, asked, seed):
    hvd.init()
    reports, mine, passes = [], [], []
    for k, (samples, local_batch_size) in enumerate(asked):
        def minibatches(seed):
            return f(tf.data.Dataset.from_tensor_slices(samples), len(samples), local_batch_size, seed)

        result = minibatches(seed)
        if not isinstance(result, (tuple, list)) or len(result) != 2:
            return result
        stream, steps = result
        steps = getattr(steps, "numpy", lambda: steps)()
        two, share = min(2 * int(steps), 60), len(samples) // hvd.size()
        everything = drawn_from(stream, max(two, 3 * (share + 1) // local_batch_size + 1))
        batches = everything[:two]
        mine.append(([i for batch in batches[: int(steps)] for i in batch], [i for batch in batches for i in batch]))
        reports.append({"steps": steps, "minibatches of two epochs": [len(batch) for batch in batches]})
        drawn = [i for batch in everything for i in batch]
        own = len(set(drawn))
        first, second = drawn[:own], drawn[own : 2 * own]
        kept = len(set(first)) == own and sorted(first) == sorted(second)  # one share, over and over
        # Where in the share an image stands, minus where it comes in a pass: large somewhere, if all is mixed.
        order = {image: place for place, image in enumerate(i for i in samples.tolist() if i in set(drawn))}
        ahead = max(order[i] - place for part in (first, second) for place, i in enumerate(part)) if kept else share
        again, other = (minibatches(s)[0] for s in (seed, seed + 1))
        again, other = ([i for batch in drawn_from(one, max(1, share // local_batch_size)) for i in batch] for one in (again, other))
        end = getattr(stream, "cardinality", lambda: tf.constant(-2))()
        passes.append(
            {
                "share": own,
                "kept": kept,
                # or another share in each pass, if all ranks shuffle the list alike: then no image comes twice in a pass
                "whole": any(len(set(drawn[:m])) == m == len(set(drawn[m : 2 * m])) for m in (share, share + 1)),
                "cut": any(len(set(drawn[:m])) == m == len(set(drawn[m : 2 * m]))
                           for m in (share // local_batch_size * local_batch_size, (share + 1) // local_batch_size * local_batch_size)),
                "same order": kept and first == second,
                "ahead": ahead,
                "by seed": again == drawn[: len(again)] and other != drawn[: len(other)],
                "ends": int(end) >= 0,
            }
        )
    everybody, every_pass = hvd.allgather_object(mine), hvd.allgather_object(passes)
    for k, ((samples, _), report) in enumerate(zip(asked, reports)):
        share = len(samples) // hvd.size()  # every rank has at least so many: in its first pass none of them comes again
        seen = [set(drawn[k][1][:share]) for drawn in everybody]
        report["shares samples with"] = [r for r, other in enumerate(seen) if r != hvd.rank() and other & seen[hvd.rank()]]
        report["images nobody sees"] = len(set(samples.tolist()) - {i for drawn in everybody for i in drawn[k][0]})
        ranks = [one[k] for one in every_pass]
        report["also"] = ""
        if any(one["ends"] for one in ranks):
            report["also"] = "stream_ends"
        elif not all(one["kept"] or one["whole"] for one in ranks):
            report["also"] = "images_left_out" if all(one["kept"] or one["whole"] or one["cut"] for one in ranks) else "passes_mixed"
        elif all(one["kept"] for one in ranks) and max(one["share"] for one in ranks) > min(one["share"] for one in ranks) + 1:
            report["also"] = "unequal_shares"
        elif all(one["same order"] for one in ranks):
            report["also"] = "one_order"
        elif max(one["ahead"] for one in ranks) < share // 3:
            report["also"] = "small_buffer"
        elif not all(one["by seed"] for one in ranks):
            report["also"] = "seed_ignored"
        report["order of the list"] = all(drawn[k][1][:share] == [i for i in samples.tolist() if i in set(drawn[k][1][:share])]
                                          for drawn in everybody)
    return reports
"""
    diagnoses = {
        "not_sharded": Diagnosis(
            "All ranks draw from all images: they do the same work several times over.",
            "Each rank takes its own share first: `dataset.shard(hvd.size(), hvd.rank())`.",
        ),
        "by_local_rank": Diagnosis(
            "The share was chosen by the local rank. Ranks with the same one on different nodes train on the same images, and the "
            "other shares nobody sees.",
            "`dataset.shard(hvd.size(), hvd.rank())`; the local rank chooses the GPU and nothing else.",
        ),
        "steps_of_one_process": Diagnosis(
            "This is the number of steps of one process that has all images to itself.",
            "One step of all ranks uses hvd.size() minibatches: divide by hvd.size() too.",
        ),
        "rounded_down": Diagnosis(
            "The last images of an epoch are never reached: the number of steps was rounded down.",
            "Round up: -(-n // (local_batch_size * hvd.size())). The stream goes on, so the last minibatch is full all the same.",
        ),
        "unequal_steps": Diagnosis(
            "The ranks make different numbers of steps. In the first step that one of them does not make, the others wait forever.",
            "Count from what all ranks know: n, the batch size and hvd.size().",
        ),
        "stream_ends": Diagnosis(
            "The minibatches come to an end. A rank with a smaller share has none left while the others still wait for its gradients.",
            "`.repeat()`: then the number of steps ends an epoch, the same on every rank.",
        ),
        "short_minibatches": Diagnosis(
            "Some minibatches are not full: they were cut at the end of a pass over the share. Their images count for more in the mean.",
            "Repeat first, then batch: a minibatch may reach into the next pass.",
        ),
        "images_left_out": Diagnosis(
            "Some images are never seen in an epoch.",
            "Repeat before you batch, and do not drop what is left over at the end of a pass.",
        ),
        "overlap": Diagnosis(
            "Some images are on two ranks, and others on none: the ranks shuffled the whole list, each in its own way, and then took "
            "shares.",
            "Shard first, then shuffle: `dataset.shard(...).shuffle(...)`.",
        ),
        "not_shuffled": Diagnosis(
            "The images come in the order of the list, which is sorted by class: a minibatch holds one or two kinds of product.",
            "`.shuffle(n, seed=seed)` behind `shard`: a buffer as large as the share mixes all of it.",
        ),
        "unequal_shares": Diagnosis(
            "The shares differ by more than one image: the last rank took all that is left over. Its images are seen less often than the "
            "others'.",
            "`dataset.shard(hvd.size(), hvd.rank())` deals out one by one.",
        ),
        "passes_mixed": Diagnosis(
            "An image comes again before all others of the share have been there: the passes are mixed with each other.",
            "Shuffle first, then repeat: `.shuffle(...).repeat()`.",
        ),
        "one_order": Diagnosis(
            "Every pass over the share has the same order: the minibatches are mixed once and then always the same.",
            "`shuffle` mixes anew in each pass, unless it is told `reshuffle_each_iteration=False`; `repeat` comes behind it.",
        ),
        "small_buffer": Diagnosis(
            "The images are hardly mixed: the buffer holds a few of them, and what is far behind in the list cannot come to the front.",
            "`.shuffle(n, seed=seed)`: a buffer as large as the share mixes all of it.",
        ),
        "seed_ignored": Diagnosis(
            "The seed does not decide the order: the same seed gave another order, or another seed the same one.",
            "`.shuffle(n, seed=seed)`.",
        ),
        "not_whole": Diagnosis("The number of steps is not a whole number.", "Divide with `//`."),
        "another_number": Diagnosis(
            "This is not the number of steps in which all ranks together see every image once.",
            "n / (local_batch_size * hvd.size()), rounded up.",
        ),
        "minibatch_of_all": Diagnosis(
            "The minibatches do not hold local_batch_size images.", "local_batch_size is one rank's part of a step."
        ),
        "missing_rank": NOT_ALL_RANKS,
        "mismatched_collective": NOT_ALL_RANKS,
        "InvalidArgumentError": Diagnosis(
            "TensorFlow refuses the arguments of `shard`: the index must lie between 0 and the number of shards minus 1.",
            "`shard(num_shards=hvd.size(), index=hvd.rank())`.",
        ),
    }

    def cases(self, rng):
        equal, unequal = self.levels
        found = []
        for level, p, sizes in (
            (equal, 4, ((64, 4), (48, 6))),
            (unequal, 3, ((50, 4), (41, 5))),
            (unequal, 4, ((45, 3),)),
        ):
            asked = [(np.sort(rng.permutation(1000)[:n]), batch) for n, batch in sizes]
            says = f"{p} ranks, 2 on a node; " + "; ".join(f"n = {n}, minibatches of {batch}" for n, batch in sizes)
            seed = int(rng.integers(1, 1000))
            found.append(Case(level, p, (asked, seed), says, known={"sizes": sizes}, ranks_per_node=2))
        return found

    @staticmethod
    def _reports(case, steps=None, minibatches=None, shards=None, mixed=True, also="") -> list:
        """What the ranks report. steps(n, batch, rank); minibatches(n, batch, rank): sizes; shards(rank): the number of its share or
        None for all images. also: what else the harness saw of the passes over a share."""
        p, reports = case.world_size, [[] for _ in range(case.world_size)]
        for n, batch in case.known["sizes"]:
            right = -(-n // (batch * p))
            share = [shards(rank) if shards else rank for rank in range(p)]
            missing = 0 if None in share else sum(len(range(s, n, p)) for s in range(p) if s not in share)
            for rank in range(p):
                made = steps(n, batch, rank) if steps else right
                reports[rank].append(
                    {
                        "steps": made,
                        "minibatches of two epochs": minibatches(n, batch, rank) if minibatches else [batch] * (2 * made),
                        "shares samples with": [q for q in range(p) if q != rank and (share[q] == share[rank])],
                        "images nobody sees": max(0, n - right * batch) if share[0] is None else missing,
                        "also": also,
                        "order of the list": not mixed,
                    }
                )
        return reports

    def expected(self, case):
        return self._reports(case)

    def misconceptions(self, case):
        p = case.world_size

        def share(n, rank):
            return len(range(rank, n, p))

        def cut(n, batch, rank):
            """Sizes of the minibatches of two epochs, if each pass over the share ends with a short one."""
            passes = [min(batch, share(n, rank) - first) for first in range(0, share(n, rank), batch)]
            return (passes * 9)[: 2 * -(-n // (batch * p))]

        def once(n, batch, rank):
            return [min(batch, share(n, rank) - first) for first in range(0, share(n, rank), batch)]

        wrong = {
            "not_sharded": self._reports(case, shards=lambda rank: None),
            "by_local_rank": self._reports(case, shards=lambda rank: rank % 2),
            "steps_of_one_process": self._reports(case, steps=lambda n, batch, rank: -(-n // batch)),
            "stream_ends": self._reports(case, minibatches=once, also="stream_ends"),
            "short_minibatches": self._reports(case, minibatches=cut),
            "not_shuffled": self._reports(case, mixed=False, also="one_order"),
        }
        return only_once(case, self.expected(case), wrong, wrong)

    def facts(self, case: Case, run: Run):
        p, reports = case.world_size, returned(run)
        for k, (n, batch) in enumerate(case.known["sizes"]):
            where = f"With n = {n} and minibatches of {batch}: "
            found = [float(report[k]["steps"]) for report in reports]
            if any(one != int(one) for one in found):
                return Finding("not_whole", f"{where}{found[0]:.3g} steps.")
            steps, right = [int(one) for one in found], -(-n // (batch * p))
            if len(set(steps)) > 1:
                return Finding("unequal_steps", f"{where}{listed(steps)} steps.")
            if steps[0] != right:
                name = {
                    n // (batch * p): "rounded_down",
                    n // batch: "steps_of_one_process",
                    -(-n // batch): "steps_of_one_process",
                }
                return Finding(name.get(steps[0], "another_number"), f"{where}{steps[0]} steps instead of {right}.")
            for rank, report in enumerate(reports):
                sizes = report[k]["minibatches of two epochs"]
                if any(size > batch for size in sizes) or sizes and max(sizes) < batch:
                    return Finding("minibatch_of_all", f"{where}rank {rank} has minibatches of {listed(sorted(set(sizes)))}.")
                if len(sizes) < 2 * right:
                    return Finding(
                        "stream_ends", f"{where}rank {rank} has {len(sizes)} minibatches for 2 epochs of {right} steps."
                    )
                if any(size != batch for size in sizes):
                    return Finding("short_minibatches", f"{where}rank {rank} has minibatches of {listed(sorted(set(sizes)))}.")
            for rank, report in enumerate(reports):
                if report[k]["shares samples with"]:
                    return Finding("overlap", f"{where}rank {rank} and rank {listed(report[k]['shares samples with'])}.")
            if reports[0][k]["images nobody sees"] and reports[0][k]["also"] != "passes_mixed":
                return Finding("images_left_out", f"{where}{reports[0][k]['images nobody sees']} of {n}.")
        if all(report["order of the list"] for report in reports[0]):
            return "not_shuffled"
        return next((report["also"] for report in reports[0] if report["also"]), None)


class GoOn(Exercise):
    """Going on from a checkpoint"""

    unit, function = UNIT, "go_on"
    signature = "go_on(model, optimizer, read_checkpoint) -> int"
    runtime = "horovod"
    inputs = "free"
    levels = {"a fresh start": 1, "from a checkpoint that rank 0 can read": 2}
    may_lose = {"float32 promoted": "what is compared are the variables of a model, whose type TensorFlow keeps"}
    harness = """
import horovod.tensorflow as hvd
import tensorflow as tf


class Offset(tf.keras.layers.Layer):
    def build(self, shape):
        self.offset = self.add_weight(name="offset", shape=(shape[-1],), trainable=False)

    def call(self, x):
        return x + self.offset


def harness(f, kernel, offset, steps_before, momentum_before, checkpoint):
    hvd.init()
    model = tf.keras.Sequential([tf.keras.layers.Dense(kernel.shape[1], use_bias=False), Offset()])
    model.build((None, kernel.shape[0]))
    model.set_weights([kernel, offset])
    optimizer = tf.keras.optimizers.SGD(0.1, momentum=0.9)
    optimizer.build(model.trainable_variables)
    optimizer.iterations.assign(steps_before)
    optimizer.momentums[0].assign(momentum_before)
    asked = 0

    def read_checkpoint():
        nonlocal asked
        asked += 1
        if checkpoint is None:
            return None
        epochs, kernel, offset, steps, momentum = checkpoint
        held = {tuple(variable.shape): value for variable, value in zip(optimizer.momentums, [momentum])}
        values = [held.get(tuple(variable.shape)) for variable in optimizer.variables]
        integers = iter([steps])
        values = [variable.numpy() if value is None else value for variable, value in zip(optimizer.variables, values)]
        values = [next(integers, value) if variable.dtype == tf.int64 else value
                  for variable, value in zip(optimizer.variables, values)]
        return {"epochs": epochs, "weights": [kernel, offset], "optimizer": values}

    first = f(model, optimizer, read_checkpoint)
    kernel, offset = model.get_weights()
    return {
        "first epoch": getattr(first, "numpy", lambda: first)(),
        "weights": kernel.ravel(),
        "not trainable": offset,
        "steps": int(optimizer.iterations.numpy()),
        "momentum": optimizer.momentums[0].numpy().ravel(),
    }
"""
    diagnoses = {
        "no_broadcast": Diagnosis(
            "Every rank goes on with a model of its own.",
            "Broadcast rank 0's variables to all ranks, whether there was a checkpoint or not.",
        ),
        "not_restored": Diagnosis(
            "The checkpoint was not put into the model: training begins anew.",
            "`model.set_weights(...)` on rank 0, then broadcast.",
        ),
        "only_rank_0_restored": Diagnosis(
            "Rank 0 goes on from the checkpoint and the others from where they are: nothing was broadcast after it was read.",
            "Read first, broadcast then.",
        ),
        "broadcast_first": Diagnosis(
            "The broadcast came before the checkpoint was read: all ranks were equal for a moment, then rank 0 went elsewhere.",
            "Read first, broadcast then.",
        ),
        "epoch_not_told": Diagnosis(
            "Rank 0 goes on with a later epoch, the others begin with epoch 0: they make more steps, and wait for rank 0 in the end.",
            "The number has to travel, too: `hvd.broadcast_object(epochs, root_rank=0)`.",
        ),
        "epoch_too_many": Diagnosis(
            "One epoch is skipped. `epochs` counts those that are finished, and the first one has number 0.",
            "After 3 finished epochs (0, 1 and 2) the next one is number 3.",
        ),
        "epoch_too_few": Diagnosis(
            "One epoch is trained again. `epochs` counts those that are finished, and the first one has number 0.",
            "After 3 finished epochs (0, 1 and 2) the next one is number 3.",
        ),
        "epoch_forgotten": Diagnosis(
            "The weights come from the checkpoint, but the epochs are counted from 0 again.",
            'Return checkpoint["epochs"] on all ranks.',
        ),
        "optimizer_not_restored": Diagnosis(
            "The optimizer begins anew: its momentum and its count of steps are part of the checkpoint.",
            "`for variable, value in zip(optimizer.variables, checkpoint['optimizer']): variable.assign(value)`.",
        ),
        "optimizer_emptied": Diagnosis(
            "The optimizer begins anew, with no momentum and at step 0, on all ranks.",
            "Rank 0's optimizer goes on: from the checkpoint, if there is one, and from its own variables if not.",
        ),
        "optimizer_left_alone": Diagnosis(
            "The optimizer was neither restored nor broadcast: every rank keeps the momentum and the count of steps of its own.",
            "Assign the checkpoint's values to `optimizer.variables` on rank 0, then broadcast these variables.",
        ),
        "steps_not_broadcast": Diagnosis(
            "The optimizer's count of steps is rank 0's own: only the momentum was broadcast. Adam corrects by that count.",
            "Broadcast all of `optimizer.variables`.",
        ),
        "steps_not_restored": Diagnosis(
            "The optimizer's count of steps was not taken from the checkpoint.",
            "All of `optimizer.variables` are in it, in their order: `iterations` too.",
        ),
        "epoch_averaged": Diagnosis(
            "The number of the epoch was averaged over the ranks, and the others have none to add.",
            "Send it: `hvd.broadcast_object(epochs, root_rank=0)`.",
        ),
        "optimizer_not_broadcast": Diagnosis(
            "The ranks have different optimizers, rank 0 perhaps that of the checkpoint: equal gradients will move them differently.",
            "Broadcast the variables of both, model and optimizer.",
        ),
        "model_not_broadcast": Diagnosis(
            "The optimizer was broadcast, the model was not.", "Broadcast the variables of both, model and optimizer."
        ),
        "trainable_only": Diagnosis(
            "Only the trainable variables were broadcast. A batch normalisation holds moving averages besides them.",
            "`model.variables`, not `model.trainable_variables`.",
        ),
        "wrong_root": Diagnosis("All ranks took over from another rank than 0, who alone has the checkpoint.", "`root_rank=0`."),
        "mean_start": Diagnosis("The ranks' weights were averaged.", "Broadcast rank 0's; average gradients only."),
        "missing_rank": Diagnosis(
            "Rank 0 found a checkpoint and took another way than the others, who have none: some wait in a collective that the others "
            "do not call.",
            "Only the reading depends on the rank. Broadcast on all ranks, whether there was a checkpoint or not.",
        ),
        "mismatched_collective": Diagnosis(
            "Rank 0 found a checkpoint and took another way than the others, who have none: they wait in different collectives.",
            "Only the reading depends on the rank. Broadcast on all ranks, whether there was a checkpoint or not.",
        ),
        "TypeError": Diagnosis(
            "Something was used as if it were a checkpoint and is None: the other ranks have no checkpoint, and on a fresh start rank 0 "
            "has none either.",
            "Ask `if checkpoint is not None` before you open it; share what is needed with `hvd.broadcast_object`.",
        ),
    }

    def cases(self, rng):
        fresh, resumed = self.levels
        found = []
        for level, p, says in ((fresh, 3, "no checkpoint"), (resumed, 2, "1 on each node"), (resumed, 4, "2 on each node")):
            kernels = rng.normal(size=(p, 3, 2)).astype(np.float32)
            offsets = rng.normal(size=(p, 2)).astype(np.float32)
            saved = None
            if level == resumed:
                momentum = rng.normal(size=(3, 2)).astype(np.float32)
                state = rng.normal(size=(3, 2)).astype(np.float32), rng.normal(size=2).astype(np.float32)
                saved = (int(rng.integers(5, 12)), *state, int(rng.integers(100, 999)), momentum)
            before = (
                3 + rng.permutation(p),
                rng.normal(size=(p, 3, 2)).astype(np.float32),
            )  # every rank has an optimizer of its own, too
            arguments = [(kernels[r], offsets[r], int(before[0][r]), before[1][r], saved if r == 0 else None) for r in range(p)]
            known = {"kernels": kernels, "offsets": offsets, "before": before, "saved": saved}
            per_node = {3: 0, 2: 1, 4: 2}[p]
            found.append(Case(level, p, arguments, says, known=known, rtol=1e-6, atol=1e-7, ranks_per_node=per_node))
        return found

    @staticmethod
    def _reports(case, change=lambda rank, report, own, rank_0: None) -> list[dict]:
        """All ranks with what rank 0 goes on from; change(rank, report, own, rank_0) alters a rank's report in place.

        own: what the rank would report if it did nothing. rank_0: what all should report.
        """
        kernels, offsets, (steps, momentum), saved = (case.known[k] for k in ("kernels", "offsets", "before", "saved"))

        def report(epochs, kernel, offset, steps, momentum):
            return {
                "first epoch": epochs,
                "weights": np.asarray(kernel).ravel(),
                "not trainable": offset,
                "steps": steps,
                "momentum": np.asarray(momentum).ravel(),
            }

        own = [report(0, kernels[r], offsets[r], int(steps[r]), momentum[r]) for r in range(case.world_size)]
        right = report(*saved) if saved else own[0]
        reports = []
        for r in range(case.world_size):
            reports.append(dict(right))
            change(r, reports[r], own[r], right)
        return reports

    def expected(self, case):
        return self._reports(case)

    def misconceptions(self, case):
        def others_keep(*names):
            def change(rank, report, own, rank_0):
                if rank:
                    report.update({name: own[name] for name in names})

            return change

        def all_have(**values):
            return lambda rank, report, own, rank_0: report.update(values)

        def of_rank(source, *names):
            start = self._reports(case, lambda rank, report, own, rank_0: report.update(own))[source]
            return lambda rank, report, own, rank_0: report.update({name: start[name] for name in names})

        first = self.expected(case)[0]["first epoch"]
        mean = {
            "weights": case.known["kernels"].mean(0).ravel(),
            "not trainable": case.known["offsets"].mean(0),
        }
        model, optimizer = ("weights", "not trainable"), ("steps", "momentum")
        zeros = {"steps": 0, "momentum": np.zeros(6, np.float32)}  # if a new optimizer is made
        everything = ("first epoch", *model, *optimizer)

        def broadcast_first(rank, report, own, rank_0):
            if rank:
                of_rank(0, *model, *optimizer)(rank, report, own, rank_0)

        wrong = {
            "no_broadcast": self._reports(case, lambda rank, report, own, rank_0: report.update(own)),
            "not_restored": self._reports(case, of_rank(0, *everything)),
            "broadcast_first": self._reports(case, broadcast_first),
            "only_rank_0_restored": self._reports(case, others_keep(*model, *optimizer)),
            "epoch_not_told": self._reports(case, others_keep("first epoch")),
            "epoch_too_many": self._reports(case, all_have(**{"first epoch": first + 1})),
            "epoch_too_few": self._reports(case, all_have(**{"first epoch": first - 1})),
            "epoch_forgotten": self._reports(case, all_have(**{"first epoch": 0})),
            "optimizer_not_restored": self._reports(case, of_rank(0, *optimizer)),
            "optimizer_emptied": self._reports(case, all_have(**zeros)),
            "steps_not_broadcast": self._reports(case, others_keep("steps")),
            "steps_not_restored": self._reports(case, of_rank(0, "steps")),
            "epoch_averaged": self._reports(case, all_have(**{"first epoch": first // case.world_size})),
            "optimizer_not_broadcast": self._reports(case, others_keep(*optimizer)),
            "model_not_broadcast": self._reports(case, others_keep(*model)),
            "trainable_only": self._reports(case, others_keep("not trainable")),
            "wrong_root": self._reports(case, of_rank(1, *everything)),
            "mean_start": self._reports(case, all_have(**mean)),
            "optimizer_left_alone": self._reports(
                case, lambda rank, report, own, rank_0: report.update({k: own[k] for k in optimizer})
            ),
        }
        if case.known["saved"]:
            wrong["no_broadcast"] = None  # nothing restored and nothing sent: not_restored's sister shows on a fresh start
        return only_once(case, self.expected(case), wrong, wrong)

    def facts(self, case: Case, run: Run):
        """Two mistakes at once: what the ranks hold comes first, then how they count."""
        reports, right = returned(run), self.expected(case)
        names = tuple(right[0])
        if not all(isinstance(one, dict) and set(one) == set(names) for one in reports):
            return None
        for group in (("weights", "not trainable"), ("steps", "momentum"), ("first epoch",)):
            if self._same(case, reports, right, group):
                continue
            for name, answer in self.misconceptions(case).items():
                if answer and self._same(case, reports, answer, group):
                    return name
            return None
        return None

    @staticmethod
    def _same(case, reports, answer, names) -> bool:
        def alike(a, b):
            return a is not None and np.allclose(np.asarray(a, float), np.asarray(b, float), rtol=case.rtol, atol=case.atol)

        return all(alike(one[name], other[name]) for one, other in zip(reports, answer, strict=True) for name in names)


# -- memory and traffic ----------------------------------------------------------------------------------------------------------------

SLOTS = {"sgd": 0, "momentum": 1, "adam": 2}  # values that an optimizer keeps for each parameter


def training_bytes(known: dict, share=1, samples=None, parameters=None, **other) -> dict[str, float]:
    """The bytes that one rank holds, part by part. share: by how much the model is divided. samples: of a rank's minibatch.
    other: bytes of one value of a part, or `slots`, in place of the right ones.

    Source: Rajbhandari et al. 2020 (ZeRO), section 3.1: 16 bytes per parameter for Adam, in float32 as well as in mixed precision.
    """
    mixed = known["precision"] == "mixed"
    size = {"weights": 2 if mixed else 4, "gradients": 2 if mixed else 4, "copy": 4 if mixed else 0, "optimizer": 4}
    size |= {"activations": 2 if mixed else 4, "slots": SLOTS[known["optimizer"]]} | other
    parameters = (known["parameters"] if parameters is None else parameters) / share
    samples = known["batch"] // known["p"] if samples is None else samples
    return {
        "weights": size["weights"] * parameters,
        "gradients": size["gradients"] * parameters,
        "copy": size["copy"] * parameters,
        "optimizer": size["optimizer"] * size["slots"] * parameters,
        "activations": size["activations"] * known["activations"] * samples,
    }


class TrainingMemory(Exercise):
    """What fits into a GPU"""

    unit, function = UNIT, "training_memory"
    signature = "training_memory(parameters, optimizer, precision, activations, global_batch_size, world_size, gpu_bytes) -> (parts, gpus)"
    runtime = "plain"
    levels = {"float32": 1, "mixed precision": 1, "a model that does not fit": 1}
    diagnoses = {
        "weights_only": Diagnosis(
            "These are the weights alone. Training keeps gradients and the optimizer's state as well.",
            "Add one gradient and the optimizer's values for each parameter.",
        ),
        "no_gradients": Diagnosis(
            "The gradients are missing.", "There is one for each parameter, in the precision of the weights."
        ),
        "no_optimizer": Diagnosis(
            "The optimizer's values are missing.", "Momentum keeps one float32 value for each parameter, Adam two."
        ),
        "one_slot": Diagnosis(
            "One value was counted for each parameter, whatever the optimizer is.",
            "Plain SGD keeps none, momentum one, Adam two.",
        ),
        "two_slots": Diagnosis(
            "Two values were counted for each parameter, whatever the optimizer is.",
            "Plain SGD keeps none, momentum one, Adam two.",
        ),
        "no_activations": Diagnosis(
            "The activations are missing: what the forward pass keeps for the backward pass.",
            "`activations` values for each sample of a rank's minibatch.",
        ),
        "one_sample": Diagnosis(
            "The activations of one sample were counted.", "There are global_batch_size / world_size samples on a rank."
        ),
        "global_batch_on_each": Diagnosis(
            "The activations of the whole global batch were counted on one rank.",
            "A rank has global_batch_size / world_size samples.",
        ),
        "model_shared": Diagnosis(
            "The model was divided by the number of ranks. In data parallelism every rank holds all of it, its gradients and the "
            "optimizer's values.",
            "Only the batch is divided.",
        ),
        "all_ranks": Diagnosis("This is the memory of all ranks together.", "What one rank holds is asked for."),
        "no_copy": Diagnosis(
            "The float32 copy of the weights is missing, which mixed precision keeps so that small steps do not get lost.",
            "4 bytes per parameter.",
        ),
        "copy_twice": Diagnosis(
            "The float32 copy of the weights was counted twice: as the copy, and once more among the optimizer's values.",
            "It is one part of its own; the optimizer keeps 0, 1 or 2 further values.",
        ),
        "copy_in_float32": Diagnosis(
            "In float32 the weights need no copy: they are what the optimizer changes.", '0 bytes, unless precision is "mixed".'
        ),
        "half_states": Diagnosis("The optimizer's values were taken as half precision. They stay in float32.", "4 bytes each."),
        "precision_ignored": Diagnosis(
            "Everything was counted with 4 bytes, although the precision is mixed.",
            "Weights, gradients and activations have 2 bytes; a float32 copy of the weights and the optimizer's values have 4.",
        ),
        "float32_weights": Diagnosis(
            "In mixed precision the weights have 2 bytes, besides their float32 copy.", "2 * parameters."
        ),
        "float32_gradients": Diagnosis(
            "In mixed precision gradients have 2 bytes.", "The precision of the weights they belong to."
        ),
        "float32_activations": Diagnosis("In mixed precision activations have 2 bytes.", "2 * activations * samples."),
        "float64": Diagnosis("A float32 has 4 bytes, not 8.", "4 bytes."),
        "gigabytes": Diagnosis("This is in gigabytes.", "Return bytes."),
        "rounded_down": Diagnosis(
            "The number of GPUs was rounded down: what is left over needs one more.", "Round up: -(-nbytes // gpu_bytes)."
        ),
        "one_too_many": Diagnosis(
            "One GPU too many: the number was rounded up and one was added as well.", "-(-nbytes // gpu_bytes)."
        ),
        "fraction_of_a_gpu": Diagnosis("There is no fraction of a GPU.", "Round up: -(-nbytes // gpu_bytes)."),
        "world_size_counted": Diagnosis(
            "The number of GPUs is that of all ranks together.", "How many GPUs must hold together what one rank holds?"
        ),
        "spread_over_ranks": Diagnosis(
            "The memory was spread over the ranks. In data parallelism each of them needs all of it, so more ranks do not help.",
            "How many GPUs must hold together what one rank holds: -(-sum(parts.values()) // gpu_bytes).",
        ),
        "gigabinaries": Diagnosis(
            "GB and GiB were mixed up: 10**9 and 2**30 differ by 7 %.",
            "gpu_bytes and the parts are all in bytes: convert nothing.",
        ),
        "gpus_part_by_part": Diagnosis(
            "The GPUs were counted for each part and added up, as if parts could not share one.",
            "All five parts together: -(-sum(parts.values()) // gpu_bytes).",
        ),
        "gpus_of_some_parts": Diagnosis(
            "The bytes are right, but not all of them were counted for the GPUs.",
            "All five parts have to fit: -(-sum(parts.values()) // gpu_bytes).",
        ),
        "float32": Diagnosis(
            "The bytes are right to 7 digits: they went through float32.", "Python's integers hold any number of bytes."
        ),
        "overflow": Diagnosis(
            "The number of parameters does not fit into 32 bits and has overflowed.",
            "Python's integers hold any number; of numpy's take int64.",
        ),
        "gpus_of_weights": Diagnosis(
            "The GPUs were counted for the weights alone.", "All five parts have to fit: -(-sum(parts.values()) // gpu_bytes)."
        ),
    }

    def cases(self, rng):
        single, mixed, large = self.levels
        found = []
        # How many GPUs the parts would fill. In every level less than half a GPU is left over once, and once more than half; and once
        # nothing. With these numbers every way to get the GPUs wrong gives another wrong number.
        for level, optimizer, precision, p, local, filled, says in (
            (single, "adam", "float32", 8, 32, 0.4, "Adam, 8 ranks"),
            (single, "sgd", "float32", 8, 4, 5.42, "plain SGD, 8 ranks"),
            (single, "momentum", "float32", 16, 16, 9.7, "momentum, 16 ranks"),
            (mixed, "adam", "mixed", 4, 16, 6.47, "Adam, 4 ranks"),
            (mixed, "sgd", "mixed", 4, 64, 0.7, "plain SGD, 4 ranks"),
            (large, "adam", "float32", 64, 2, 33.7, "tens of billions of parameters, Adam, float32"),
            (large, "adam", "mixed", 32, 4, 47.3, "tens of billions of parameters, Adam, mixed precision"),
            (large, "adam", "mixed", 32, 4, 19, "GPUs filled to the last byte, Adam, mixed precision"),
        ):
            gpu = int(rng.choice([32, 48, 80])) * 10**9
            known = {
                "parameters": 1,
                "optimizer": optimizer,
                "precision": precision,
                "activations": 0,
                "batch": local * p,
                "p": p,
            }
            each = sum(training_bytes(known).values())
            size = training_bytes(known | {"activations": 1})["activations"]  # of one value of every sample
            total = filled * gpu if filled == 19 else (filled + rng.uniform(-0.015, 0.015)) * gpu
            known["parameters"] = int(rng.uniform(0.6, 0.8) * total / each) // 16 * 16 + (0 if filled == 19 else 7)
            known["activations"] = int((total - each * known["parameters"]) // size)
            found.append(Case(level, 1, (*known.values(), gpu), says, known=known | {"gpu": gpu}, rtol=1e-9, atol=0.0))
        return found

    @staticmethod
    def _answer(case, gpus=lambda nbytes, gpu: -(-nbytes // gpu), **mistake) -> list:
        parts = training_bytes(case.known, **mistake)
        return [(parts, gpus(sum(parts.values()), case.known["gpu"]))]

    def expected(self, case):
        return self._answer(case)

    @staticmethod
    def _mistakes(known) -> dict[str, dict]:
        """Name -> the factors of `training_bytes` that the mistake changes."""
        slots, mixed = SLOTS[known["optimizer"]], known["precision"] == "mixed"
        found = {
            "weights_only": {"gradients": 0, "copy": 0, "slots": 0, "activations": 0},
            "no_gradients": {"gradients": 0},
            "no_optimizer": {"slots": 0} if slots else None,
            "one_slot": {"slots": 1} if slots != 1 and not mixed else None,  # in mixed precision Adam's half_states looks like it
            "two_slots": {"slots": 2} if slots != 2 else None,
            "no_activations": {"activations": 0},
            "one_sample": {"samples": 1},
            "global_batch_on_each": {"samples": known["batch"]},
            "model_shared": {"share": known["p"]},
            "all_ranks": {"share": 1 / known["p"], "samples": known["batch"]},
        }
        if mixed:
            found |= {
                "no_copy": {"copy": 0},
                "copy_twice": {"slots": slots + 1},
                "half_states": {"optimizer": 2},
                "precision_ignored": {"weights": 4, "gradients": 4, "copy": 0, "activations": 4},
                "float32_weights": {"weights": 4},
                "float32_gradients": {"gradients": 4},
                "float32_activations": {"activations": 4},
            }
        else:
            found["copy_in_float32"] = {"copy": 4}
            found["float64"] = {"weights": 8, "gradients": 8, "optimizer": 8, "activations": 8}
        return {name: change for name, change in found.items() if change}

    def misconceptions(self, case):
        known = case.known
        ((parts, gpus),) = self.expected(case)
        wrong = {name: self._answer(case, **change) for name, change in self._mistakes(known).items()}
        wrong |= {
            "gigabytes": [({name: value / 1e9 for name, value in parts.items()}, gpus)],
            "rounded_down": self._answer(case, lambda nbytes, gpu: nbytes // gpu),
            "gpus_of_weights": [(parts, -(-parts["weights"] // known["gpu"]))],
            "spread_over_ranks": self._answer(case, lambda nbytes, gpu: -(-nbytes // (gpu * known["p"]))),
            "world_size_counted": [(parts, gpus * known["p"])],
            "one_too_many": [(parts, gpus + 1)],
            "fraction_of_a_gpu": self._answer(case, lambda nbytes, gpu: nbytes / gpu),
            "gigabinaries": self._answer(case, lambda nbytes, gpu: -(-nbytes // (gpu * 2**30 / 10**9))),
            "gpus_part_by_part": [(parts, sum(-(-part // known["gpu"]) for part in parts.values()))],
        }
        if known["parameters"] >= 2**31:
            wrong["overflow"] = self._answer(case, parameters=(known["parameters"] + 2**31) % 2**32 - 2**31)
        shown = [name for name in self.diagnoses if name not in ("float32", "gpus_of_some_parts")]
        return only_once(case, self.expected(case), {name: wrong.get(name) for name in shown}, shown)

    def facts(self, case: Case, run: Run):
        """The bytes decide first, whatever the GPUs are: a mistake is recognised by the parts that it changes."""
        value = run.ranks[0].value
        if not isinstance(value, (tuple, list)) or len(value) != 2 or not isinstance(value[0], dict):
            return None
        right = training_bytes(case.known)
        if set(value[0]) != set(right):
            return None
        got = {name: float(np.asarray(getattr(part, "values", part), dtype=float).reshape(())) for name, part in value[0].items()}
        if all(close(got[name], right[name]) for name in right):
            for name in right:  # the GPUs without one part, which would have taken some
                gpus = -(-(sum(right.values()) - right[name]) // case.known["gpu"])
                if right[name] and value[1] == gpus != self.expected(case)[0][1]:
                    return Finding("gpus_of_some_parts", f"Without {name} it would be {gpus:.0f}.")
            return None
        if all(abs(got[name] / right[name] - 1) < 1e-6 if right[name] else not got[name] for name in right):
            return "float32"
        changes = {name: training_bytes(case.known, **change) for name, change in self._mistakes(case.known).items()}
        changes["gigabytes"] = {name: part / 1e9 for name, part in right.items()}
        changes["gigabinaries"] = {name: part / 2**30 for name, part in right.items()}
        for name, parts in sorted(changes.items(), key=lambda item: -sum(item[1][n] != right[n] for n in right)):
            if all(close(parts[n], got[n]) for n in right if parts[n] != right[n]):
                return name
        return None


class NetworkBytes(Exercise):
    """Bytes between the nodes"""

    unit, function = UNIT, "network_bytes"
    signature = "network_bytes(node_of: list[int], nbytes: float, two_levels: bool) -> list[float]"
    runtime = "plain"
    levels = {"one ring, node after node": 1, "one ring, ranks dealt out in turn": 1, "in two levels": 1}
    diagnoses = {
        "inside_counted": Diagnosis(
            "Messages between ranks of one node were counted, too. They do not touch the network.",
            "Only a send whose receiver is on another node counts: node_of[r] != node_of[(r + 1) % p].",
        ),
        "ring_not_closed": Diagnosis("The last rank sends to rank 0: a ring is closed.", "The right neighbour is (r + 1) % p."),
        "one_way": Diagnosis("A ring goes round twice: once to add up, once to pass the sums on.", "2 (p - 1) sends."),
        "p_for_p_minus_1": Diagnosis("One step too many in each half: p ranks are joined by p - 1 messages.", "2 (p - 1) sends."),
        "whole_vector": Diagnosis("In a ring a message holds one chunk, not all gradients.", "nbytes / p."),
        "one_message": Diagnosis("One message was counted; a ring makes 2 (p - 1) of them.", "2 (p - 1) sends of nbytes / p."),
        "received_too": Diagnosis(
            "What a node receives was added to what it sends.",
            "A network card does both at a time; the bytes sent are asked for.",
        ),
        "in_order_assumed": Diagnosis(
            "Every node was given one link to the next, as if its ranks stood side by side in the ring. Here they do not.",
            "Look at each rank and its neighbour: node_of[r] and node_of[(r + 1) % p].",
        ),
        "levels_ignored": Diagnosis(
            "With two_levels this is still one ring over all ranks.",
            "Between the nodes only sums travel: each rank sends a ring's share of its nbytes / g, in a ring over the nodes.",
        ),
        "not_shared_out": Diagnosis(
            "Every rank of a node sent the node's whole sum to the other nodes. After the reduce-scatter each holds a g-th of it.",
            "nbytes / g for each of the g ranks.",
        ),
        "one_rank_of_the_node": Diagnosis(
            "The bytes of one rank were counted. All ranks of the node send over its network card.", "Add up the ranks of a node."
        ),
        "p_for_nodes": Diagnosis(
            "The rings between the nodes have as many members as there are nodes, not as there are ranks.",
            "2 (N - 1) sends of 1 / N of what a rank holds.",
        ),
        "levels_one_way": Diagnosis("The rings between the nodes go round twice.", "2 (N - 1) sends."),
        "levels_whole_sum": Diagnosis(
            "In the rings between the nodes a message holds one chunk, an N-th of what a rank holds.", "nbytes / g / N."
        ),
        "bits": Diagnosis("Bits were counted.", "nbytes is in bytes, and so is what a node sends: leave out the 8."),
        "rounded": Diagnosis(
            "The bytes were rounded, or each chunk was. A share of the bytes need not be a whole number here.",
            "nbytes / p, with `/`; return floats.",
        ),
        "average_node": Diagnosis(
            "All nodes got the same number, the average. They do not send equally much.",
            "Count for each node the sends that leave it.",
        ),
        "order_of_appearance": Diagnosis(
            "The numbers are those of the nodes in the order in which they appear among the ranks.",
            "Node k's number stands at place k of the list.",
        ),
        "all_nodes": Diagnosis("This is one number for all nodes together.", "One number for each node, in a list."),
    }

    def cases(self, rng):
        row, dealt, two = self.levels
        found = []
        for level, node_of, two_levels, says in (
            (row, [0, 0, 0, 1, 1, 1], False, "2 nodes with 3 ranks each"),
            (row, [0, 0, 0, 1, 1, 2, 2, 2, 2], False, "3 nodes with 3, 2 and 4 ranks"),
            (row, [0] * 4, False, "one node with 4 ranks"),
            (dealt, [0, 1, 2] * 3, False, "3 nodes with 3 ranks each, dealt out in turn"),
            (dealt, [1, 0, 2, 2, 0, 1, 0, 1, 1, 0, 0], False, "3 nodes, in no order, node 1 first"),
            (two, [1, 1, 0, 0] * 2, True, "2 nodes with 4 ranks each, dealt out in pairs, node 1 first"),
            (two, [0, 0, 1, 1, 2, 2] * 2, True, "3 nodes with 4 ranks each, dealt out in pairs"),
            (two, [0] * 3, True, "one node with 3 ranks"),
        ):
            nbytes = float(2310 * rng.integers(500, 4000) + rng.choice([1, 13, 17, 19, 23]))  # no p of a case divides it
            known = {"node_of": node_of, "nbytes": nbytes, "two": two_levels}
            found.append(Case(level, 1, (node_of, nbytes, two_levels), says, known=known, rtol=1e-9, atol=1e-6))
        return found

    @staticmethod
    def _ring(known, link=lambda sender, receiver: sender != receiver, closed=True, sends=None, chunk=None) -> list[float]:
        """The bytes of each node in one ring over all ranks. link(sender's node, receiver's node): whether a send counts."""
        node_of, p = known["node_of"], len(known["node_of"])
        sends = 2 * (p - 1) if sends is None else sends
        chunk = known["nbytes"] / p if chunk is None else chunk
        sums = [0.0] * (max(node_of) + 1)
        for r in range(p if closed else p - 1):
            sender, receiver = node_of[r], node_of[(r + 1) % p]
            if link(sender, receiver):
                sums[sender] += sends * chunk
        return sums

    @staticmethod
    def _levels(known, members=None, sends=None, chunk=None, ranks=None, held=None) -> list[float]:
        """The bytes of each node in two levels: a ring over the nodes for each of the g ranks of a node, with a g-th of the bytes."""
        nodes = max(known["node_of"]) + 1
        g = len(known["node_of"]) // nodes
        members = nodes if members is None else members
        sends = 2 * (members - 1) if sends is None else sends
        held = known["nbytes"] / g if held is None else held
        chunk = held / members if chunk is None else chunk
        return [sends * chunk * (g if ranks is None else ranks)] * nodes

    def expected(self, case):
        return [(self._levels if case.known["two"] else self._ring)(case.known)]

    def misconceptions(self, case):
        known = case.known
        node_of, nbytes, p = known["node_of"], known["nbytes"], len(known["node_of"])
        nodes = max(node_of) + 1
        g = p // nodes
        right = self.expected(case)[0]
        wrong = {"received_too": [2 * one for one in right], "all_nodes": sum(right), "bits": [8 * one for one in right]}
        if known["two"]:
            wrong |= {
                "levels_ignored": self._ring(known),
                "not_shared_out": self._levels(known, held=nbytes),
                "one_rank_of_the_node": self._levels(known, ranks=1),
                "p_for_nodes": self._levels(known, members=p),
                "levels_one_way": self._levels(known, sends=nodes - 1),
                "levels_whole_sum": self._levels(known, chunk=nbytes / g),
                "inside_counted": [a + b for a, b in zip(right, [2 * (g - 1) * nbytes] * nodes, strict=True)],
            }
        else:
            wrong |= {
                "inside_counted": self._ring(known, link=lambda sender, receiver: True),
                "ring_not_closed": self._ring(known, closed=False),
                "one_way": self._ring(known, sends=p - 1),
                "p_for_p_minus_1": self._ring(known, sends=2 * p),
                "whole_vector": self._ring(known, chunk=nbytes),
                "one_message": self._ring(known, sends=1),
                "average_node": [sum(right) / nodes] * nodes,
                "order_of_appearance": [right[node] for node in dict.fromkeys(node_of)],
                "in_order_assumed": [2 * (p - 1) / p * nbytes if nodes > 1 else 0.0] * nodes,
            }
        shown = [name for name in self.diagnoses if name != "rounded"]
        wrong = {name: None if wrong.get(name) is None else [wrong[name]] for name in shown}
        return only_once(case, self.expected(case), wrong, shown)

    def facts(self, case: Case, run: Run):
        if run.ranks[0].value is None:
            return None
        value, right = numbers(run), self.expected(case)[0]
        if len(value) == 1 and len(right) > 1:
            return "all_nodes"
        sends = 2 * len(case.known["node_of"]) ** 2  # each rounded by less than a byte
        if len(value) == len(right) and all(abs(a - b) < sends for a, b in zip(value, right, strict=True)):
            return None if all(map(close, value, right)) else "rounded"
        return None
