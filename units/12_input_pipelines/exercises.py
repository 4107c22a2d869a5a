"""Unit 12, input pipelines: shards written, read and dealt out, a shuffle buffer, batches fetched ahead, the bound of a
pipeline, a band per rank, and an epoch that goes on after a stop.

Nothing is timed: what runs ahead is seen from counts, what it is worth from virtual clocks.
"""

from __future__ import annotations

import numpy as np

from autograder.compare import difference
from autograder.exercise import ANYTHING, Case, Finding, Mistake
from autograder.exercises.kinds import PlainExercise, RefusingExercise, holds
from autograder.exercises.readings.pipelines import (
    bands,
    block_by_block,
    buffered,
    by_luck,
    first_fit,
    in_runs,
    order_mistake,
    rate,
    shard_mistake,
    step_mistake,
    waits_at_the_end,
)
from autograder.exercises.source import harness_of

WORDS = "acorn birch cedar dune elm fern gorse heath iris juniper kelp larch moss nettle oak pine reed sedge".split()


# -- shards ------------------------------------------------------------------------------------------------------------


class WriteShards(RefusingExercise):
    """Writing shards"""

    signature = "write_shards(samples: list[tuple[str, bytes]], n: int) -> list[bytes]"
    levels = {"read back": 1, "uneven shards": 1, "illegal arguments": 1}
    harness = harness_of(__file__, "write_shards")
    mistakes = [
        Mistake("empty_files", "The files in the archives are empty.",
                "A `TarInfo` says how long its file is: set `.size`, or `addfile` copies nothing."),
        Mistake("drops_the_remainder", "n does not divide the number of samples, and those left over are in no shard.",
                "Some shards hold one sample more."),
        Mistake("sizes_differ", "One shard holds at least two samples more than another.",
                "Divide with a remainder: `len(samples) % n` shards get one sample more."),
        Mistake("dealt_in_turn", "The samples went to the shards in turn, like cards.",
                "A shard holds samples that follow each other, and the shards are in order."),
        Mistake("no_archive", "The result is not a list of tar archives as bytes.",
                "`tarfile.open(fileobj=out, mode='w')` writes into an `io.BytesIO`; its `getvalue()` are the bytes."),
        Mistake("compressed", "The archives are compressed.",
                "`mode='w'`, not `'w:gz'`: a reader looks for a sample at its place, and photographs do not get "
                "smaller."),
        Mistake("not_closed", "The archives have no end: their bytes were taken before they were closed.",
                "Leave the `with`, or call `tar.close()`; then take the `getvalue()` of the `BytesIO`."),
        Mistake("one_of_each_name", "Of two samples with one name only one is left.",
                "An archive may hold several files of one name: a list of pairs keeps them all, a dict does not."),
        Mistake("names_cut", "The end of a long name is missing: two samples may have one name now.",
                "Give `TarInfo` the whole name; `tarfile` itself takes care of names that do not fit into a "
                "header's 100 bytes."),
        Mistake("not_in_order", "The shards hold all samples, but not in the order in which they were given.",
                "The first shard holds the first samples, and so on: no sorting, no shuffling."),
        Mistake("not_the_samples", "The shards do not hold all samples, each once, under its name.",
                "Each sample is a file: its key is the name, its bytes the content."),
        Mistake("takes_anything", "An empty shard, or none at all, was written without an error.",
                "Raise ValueError if n is less than 1 or greater than the number of samples."),
    ]  # fmt: skip

    def draw(self, rng):
        read, uneven, wrong = self.levels
        for level, count, n in ((read, 6, 2), (read, 5, 1), (read, 4, 4), (uneven, 11, 4), (uneven, 9, 6),
                                (read, 3, 1), (wrong, 3, 4), (wrong, 3, 0), (wrong, 3, -1), (wrong, 0, 1),
                                (read, 2, 2)):  # fmt: skip
            words = [WORDS[k] for k in rng.permutation(len(WORDS))[:count]]
            samples = [[f"{word}.txt", f"{word} " * int(rng.integers(1, 400))] for word in words]
            if count == 5:  # a file may be empty, and lie in a folder
                samples[2][1], samples[3][0] = "", f"wood/{samples[3][0]}"
                samples[1][0], samples[4][0] = (f"{'in-the-wood-' * 9}{samples[k][0]}" for k in (1, 4))  # over 100
            if count == 4:  # a hidden file, and one that ends in a zero byte
                samples[3][0] = f".{samples[3][0]}"
                samples[0][1] += "\0"
            if level == read and count == 3:  # names that are no ASCII, and one name twice
                samples[0][0], samples[2][0] = "Höhle/Bär.txt", samples[1][0]
            if level == read and count == 2:  # names that look untidy, and are names all the same
                samples[0][0], samples[1][0] = " Wood/An Oak .TXT", f"wood/../{samples[1][0]}"
            yield level, {"samples": samples, "n": n}
        # each character of a content is a byte; names that no folder could hold side by side, or at all
        names = ["./An Oak.txt", "wood//elm.txt", 300 * "x", "pine", "pine/cone.txt"]
        contents = [bytes(range(256)).decode("latin-1"), "\r\n\xff", "x", "a pine", "a cone"]
        yield read, {"samples": [list(one) for one in zip(names, contents, strict=True)], "n": 1}

    def _case(self, level, known, options=None):
        case = super()._case(level, known, options)
        return Case(level, 1, case.arguments, f"{len(known['samples'])} samples, {known['n']} shards", case.known)

    def impossible(self, samples, n):
        return not 1 <= n <= len(samples)

    def right(self, samples, n):
        return ANYTHING

    def read_right(self, answer, samples, n):
        shards = answer.get("value") if isinstance(answer, dict) else None
        if not isinstance(shards, list):
            return "no_archive"
        if any(isinstance(shard, str) for shard in shards):
            return next((one.replace(" ", "_") for one in ("compressed", "not closed") if one in shards), "no_archive")
        held, sizes = [pair for shard in shards for pair in shard], [len(shard) for shard in shards]
        text = f"{len(shards)} shards of {', '.join(map(str, sizes))} samples."
        if [key for key, _ in held] == [key for key, _ in samples] and not any(content for _, content in held):
            return "empty_files"
        if held == samples[: n * (len(samples) // n)] != samples:
            return Finding("drops_the_remainder", text)
        if shards == [samples[k::n] for k in range(n)] and held != samples:
            return "dealt_in_turn"
        if held != samples and held == [[key[:100], text] for key, text in samples]:
            return "names_cut"
        if held != samples and held == [list(pair) for pair in dict(samples).items()]:
            return "one_of_each_name"
        if held != samples:
            return "not_in_order" if sorted(held) == sorted(samples) else Finding("not_the_samples", text)
        return Finding("sizes_differ", text) if len(shards) != n or max(sizes) - min(sizes) > 1 else None


class ReadShard(PlainExercise):
    """Reading broken shards"""

    signature = "read_shard(name: str, archive: bytes, decode) -> tuple[list, list]"
    levels = {"whole shards": 1, "samples that cannot be decoded": 2, "truncated shards": 1}
    given = ("name", "samples", "spoilt", "torn", "place")
    harness = harness_of(__file__, "read_shard")
    mistakes = [
        Mistake("shard_not_named", "The bytes are no archive, and the second list is empty.",
                "Then the shard itself is broken: (name, None).",
                lambda c: c.none and {**c.right, "broken": []} or None),
        Mistake("names_nothing", "Samples that could not be read are left out and not named.",
                "The second list names them: (name of the shard, key of the sample).",
                lambda c: {**c.right, "broken": []}),
        Mistake("stops_at_the_first", "After the first sample that cannot be decoded, no other is read.",
                "The `try` belongs into the loop, around one sample.", lambda c: c.until()),
        Mistake("keeps_a_place", "A sample that could not be decoded is among the samples as None.",
                "Append only decoded samples."),
        Mistake("whole_shard_lost", "Because of one broken place no sample of the shard is read.",
                "Go from member to member with `tar.next()`: the samples before the break are whole.",
                lambda c: {"samples": [], "broken": [[c.name, None]]}
                if c.right["broken"] and (c.right["samples"] or len(c.right["broken"]) > 1) else None),
        Mistake("no_file_is_no_archive", "An archive without any file is whole, but named as broken.",
                "The shard itself is broken only where `tarfile.open` fails.",
                lambda c: not c.samples and {"samples": [], "broken": [[c.name, None]]} or None),
        Mistake("break_not_named", "The sample in which the archive ends is not named.",
                "Reading the torn sample raises `tarfile.ReadError`: its header is whole and has its key.",
                lambda c: c.ends and {**c.right, "broken": [
                    b for b in c.right["broken"] if b[1] != c.ends]} or None),
        Mistake("names_the_break_alone", "The shard is named as torn, but not the torn sample.",
                "Catch the error of `read` where the key is known.",
                lambda c: c.ends and {**c.right, "broken": [*c.right["broken"][:-1], [c.name, None]]} or None),
        Mistake("error_of_decode", "`decode` raised an exception, as it may, and your function did not catch it.",
                "`decode` may raise any exception: catch `Exception` around one sample, name the sample, go on."),
        Mistake("tar_error_of_decode", "`decode` raised a `tarfile.ReadError` of its own, and that was taken for the "
                "end of the shard.",
                "Only an error of `tar.next()` ends the shard; an error of one sample concerns this sample alone."),
        Mistake("whole_one_blamed", "The shard breaks off after this sample, which is whole, but named as torn.",
                "Name the sample whose own bytes cannot be read. Where `tar.next()` fails there is no name.",
                lambda c: c.place == "at its end" and {"samples": c.right["samples"][:-1], "broken": [
                    *c.right["broken"], [c.name, c.torn]]} or None),
        Mistake("one_of_each_key", "Of two samples with one key only one is left.",
                "An archive may hold several files of one name: a list of pairs keeps them all, a dict does not.",
                lambda c: c.place in ("twice", "both") and {
                    "samples": [list(pair) for pair in dict(c.right["samples"]).items()],
                    "broken": [list(pair) for pair in dict.fromkeys(map(tuple, c.right["broken"]))]} or None),
        Mistake("none_is_broken", "A decoded sample that is None, 0 or empty was taken for a failure.",
                "Decoding has failed only if `decode` raises; whatever it returns is a sample."),
        Mistake("empty_is_broken", "A file without content was taken for a broken one.",
                "Whether a sample is broken is for `decode` to say, and for an exception when you read."),
        Mistake("folder_cut", "The folder is missing from a key.", "The key is the whole `member.name`.",
                lambda c: c.place in ("plain", "names") and {**c.right, "samples": [
                    [key.split("/")[-1], sample] for key, sample in c.right["samples"]]} or None),
        Mistake("not_named_by_both", "A pair names the shard and the sample.",
                "Append `(name, member.name)`.", lambda c: {**c.right, "broken": [k for _, k in c.right["broken"]]}),
    ]  # fmt: skip

    FALSY = {"nothing": None, "zero": 0, "no list": [], "false": False, "no text": ""}
    WITHIN = ("in the sample", "behind its header")  # where a shard breaks off so that a sample is torn and has a name

    def draw(self, rng):
        whole, spoilt_, torn_ = self.levels
        for level, count, spoilt, torn, place in (
            (whole, 4, 0, "", ""), (whole, 1, 0, "", ""), (whole, 7, 0, "", "odd"),
            (spoilt_, 6, 2, "", ""), (spoilt_, 3, 3, "", ""), (spoilt_, 16, 8, "", ""),
            (torn_, 6, 1, 4, "in the sample"), (torn_, 6, 1, 4, "behind it"), (torn_, 5, 0, 3, "behind it"),
            (torn_, 5, 1, 3, "in its header"), (torn_, 5, 1, 4, "before it"), (torn_, 3, 0, "no archive", ""),
            (torn_, 4, 0, 2, "at its end"), (torn_, 4, 0, 2, "behind its header"), (whole, 5, 0, "", "twice"),
            (whole, 3, 0, "", "plain"),
        ):  # fmt: skip
            words = [WORDS[k] for k in rng.permutation(len(WORDS))[:count]]
            samples = [[f"{word}.txt", f"{word} " * int(rng.integers(200, 500))] for word in words]
            if count == 4 and not torn:  # the shortest and the longest name, and files of just a block, and a byte more
                samples[:2] = ["x", 511 * "y"], [100 * "z", 512 * "z"]
            if place == "twice":  # an archive may hold two of one name
                samples[3][0] = samples[1][0]
            if place == "plain":  # one in a folder, and one that is empty
                samples[0][0], samples[1][1] = f"wood/deep/{samples[0][0]}", ""
            if place in ("behind it", "at its end"):  # there is padding behind it, and no sample ends with its block
                samples[torn][1] = samples[torn][1][: 512 * (len(samples[torn][1]) // 512) - 100]
            if place == "odd":
                samples = [[key, odd] for (key, _), odd in zip(samples, ["", *self.FALSY, "text"], strict=True)]
                samples[0][1] = "a text"
            keys = [key for key, _ in samples]
            bad = keys[1 : 2 * spoilt : 2] if spoilt < count else keys
            known = {"name": f"shard-{int(rng.integers(1000)):05d}.tar", "samples": samples, "spoilt": bad}
            yield level, known | {"torn": keys[torn] if isinstance(torn, int) else torn, "place": place}
        for level, names, spoilt, torn, place in (
            (spoilt_, ["oak", "elm", "oak", "fir"], ["oak"], "", "both"),
            (whole, [".oak.txt", "./elm.txt", "Höhle/Bär.txt"], [], "", "names"),
            (torn_, ["oak", "elm", "fir"], [], "oak", "in the sample"), (torn_, ["oak"], [], "oak", "in its header"),
            (torn_, ["oak"], [], "no archive", "short"), (whole, [], [], "", ""),
        ):  # fmt: skip
            samples = [[key, f"{WORDS[k]} " * 99] for k, key in enumerate(names)]
            yield level, {"name": "last.tar", "samples": samples, "spoilt": spoilt, "torn": torn, "place": place}

    def _case(self, level, known, options=None):
        case = super()._case(level, known, options)
        where = {"in the sample": "torn in", "behind it": "torn just behind", "at its end": "torn just behind",
                 "before it": "cut off before", "behind its header": "torn just behind the header of",
                 "in its header": "torn in the header of"}.get(known["place"], "")  # fmt: skip
        state = {"": "whole", "no archive": "no tar archive at all"}.get(known["torn"], f"{where} {known['torn']}")
        said = f"{len(known['samples'])} samples, {len(known['spoilt'])} of them damaged, {state}"
        odd = {"odd": ", decoded to None, 0, [], False and texts", "twice": ", two of one key"}
        odd |= {"plain": ", one in a folder and one empty", "both": ", two of one key", "short": ": 2 bytes"}
        odd |= {"names": ", two with a dot in front and one in no ASCII"}
        said += odd.get(known["place"], "")
        return Case(level, 1, case.arguments, said, case.known)

    @staticmethod
    def no_archive(samples, torn, place):
        return torn == "no archive" or (place == "in its header" and torn == samples[0][0])

    def right(self, name, samples, spoilt, torn, place, **rest):
        if self.no_archive(samples, torn, place):
            return {"samples": [], "broken": [[name, None]]}
        keys = [key for key, _ in samples]
        upto = keys.index(torn) + (place in ("behind it", "at its end")) if torn else len(keys)
        whole = [[key, self.FALSY.get(text, text)] for key, text in samples[:upto] if key not in spoilt]
        broken = [[name, key] for key in keys[:upto] if key in spoilt]
        return {"samples": whole, "broken": broken + ([[name, torn]] if place in self.WITHIN else [])}

    def worked(self, case):
        c = super().worked(case)
        c.ends, c.none = c.torn if c.place in self.WITHIN else None, self.no_archive(c.samples, c.torn, c.place)

        def until():
            first = c.right["broken"][:1]
            keys = [key for key, _ in c.samples]
            upto = keys.index(first[0][1]) if first and first[0][1] else 0
            return {"samples": c.samples[:upto], "broken": first} if first else None

        c.until = until
        return c

    def read(self, answer, name, samples, spoilt, torn, place, **rest):
        if not holds(answer, "samples", "broken"):
            return None
        right = self.right(name, samples, spoilt, torn, place)
        got, broken = answer["samples"], answer["broken"]
        if not all(isinstance(one, (list, tuple)) and len(one) == 2 for one in (*got, *broken)):
            return None
        some, wanted = ([one for one in these if one and one[1] is not None] for these in (got, right["samples"]))
        if some == wanted and len(got) > len(right["samples"]):
            return "keeps_a_place"
        named = {key for _, key in broken}
        if place == "odd" and named & {key for key, text in samples if text in self.FALSY}:
            return "none_is_broken"
        if place == "plain" and named & {key for key, text in samples if not text}:
            return "empty_is_broken"
        behind = place in ("behind it", "at its end")
        if behind and got == right["samples"] and broken == [*right["broken"], [name, torn]]:
            return "whole_one_blamed"
        shorter = got == right["samples"][: len(got)] and broken == right["broken"][: len(broken)]
        return "tar_error_of_decode" if shorter and len(broken) in (3, 4) and len(spoilt) > 3 else None

    def of_exception(self, case, kind, text):
        raised = ("bad header", "colour", "cannot identify image", "checksum", "in a shard", "of input", "more scans")
        return "error_of_decode" if any(words in text for words in raised) else None


class ShardsOf(PlainExercise):
    """Files for every worker of every rank"""

    signature = (
        "shards_of(files: list[str], rank: int, world_size: int, worker: int, workers: int, seed: int, epoch: int)"
        " -> list[str]"
    )
    levels = {"each file once": 2, "another order in each epoch": 1, "listings in any order": 1}
    given = ("files", "seeds", "epochs", "world_size", "workers", "turned")
    rank_at = 1
    harness = harness_of(__file__, "shards_of")
    mistakes = [
        Mistake("not_files", "The result is not a list of the files' names.",
                "Return names out of `files`, in the order in which the worker reads them."),
        Mistake("every_rank_reads_all", "All ranks read the same files.",
                "Rank r of p takes every p-th, beginning with file r."),
        Mistake("every_worker_reads_all", "All workers of a rank read the same files: each sample comes as often as "
                "there are workers.",
                "Deal the rank's files out to its workers, in the same way again."),
        Mistake("orders_differ", "Not all ranks and workers deal from the same order: files are read twice, and others "
                "never.",
                "Sort the listing, shuffle with a generator made of seed and epoch alone (no `hash` of a text, which "
                "differs between processes), and only then deal."),
        Mistake("reads_twice", "Some file is read twice.", "A file belongs to one worker of one rank."),
        Mistake("drops_files", "Some files are read by no worker.", "The last files, too, belong to a worker."),
        Mistake("uneven_ranks", "One rank reads at least two files more than another: it is still training when the "
                "other waits in a collective that nobody joins.",
                "First to ranks, then to the workers of each."),
        Mistake("uneven_workers", "One worker reads at least two files more than another of the same rank.",
                "Deal in turn, or in runs whose sizes differ by one at most."),
        Mistake("same_every_epoch", "All epochs have the same order.", "The generator needs the epoch, too."),
        Mistake("product_in_the_seed", "With seed 0 all epochs have the same order: a product of seed and epoch is 0 "
                "there.",
                "Give the generator both, `default_rng([seed, epoch])`, or their sum."),
        Mistake("shards_then_shuffles", "The files were dealt before they were shuffled: a rank reads the same files "
                "in each epoch, in another order.",
                "Shuffle all files, then deal."),
        Mistake("same_groups", "In every epoch the same files are together on one rank; only the rank that gets "
                "a group changes.",
                "Shuffle all files, then deal."),
        Mistake("share_sorted", "Every worker reads its files in the order of their names, in every epoch.",
                "Return the share as it was dealt from the shuffled files."),
        Mistake("ignores_the_seed", "Another seed gives the same order.", "The generator needs the seed, too."),
        Mistake("groups_ignore_the_seed", "With another seed each rank still gets the same files; only their order "
                "changes.",
                "The shuffle before the dealing needs the seed, too."),
    ]  # fmt: skip

    def draw(self, rng):
        once, another, listings = self.levels
        for level, count, p, workers, epochs, turned in (
            (once, 10, 2, 3, 1, 0),
            (once, 14, 3, 2, 2, 0),
            (once, 3, 4, 2, 1, 0),
            (once, 5, 1, 2, 1, 0),
            (another, 12, 2, 2, 4, 0),
            (another, 12, 1, 1, 3, 0),
            (listings, 12, 3, 2, 2, 5),
            (listings, 18, 3, 2, 2, 12),
            (once, 5, 4, 1, 1, 0),  # 2, 1, 1 and 1, and not 2, 2, 1 and 0
        ):
            numbers = sorted(rng.choice(900, count, replace=False) + 100)
            files = [f"shard-{number}.tar" for number in numbers]
            if turned == 12:  # names that differ in a capital alone, and names that two folders share
                files[:12] = [name.capitalize() for name in files[12:]] + [f"more/{name}" for name in files[12:]]
            seed = int(rng.integers(1000))
            seed = 0 if epochs == 4 else seed  # a product with it does not depend on the epoch
            seeds = [seed, seed + 5]  # not the same modulo the number of files
            known = {"files": files, "seeds": seeds, "epochs": epochs, "world_size": p, "workers": workers}
            yield level, {**known, "turned": turned, "level": level}
        known = {"seeds": [25, 30], "epochs": 1, "world_size": 2, "workers": 2, "level": once}
        yield once, {**known, "files": [], "turned": 0}
        files = [f"shard-{zeros}{k}.tar" for k in range(6) for zeros in ("", "0")]  # a number in two ways
        yield listings, {**known, "files": files, "turned": 5, "level": listings}

    def _case(self, level, known, options=None):
        case = super()._case(level, known, options)
        said = "{} files, {} ranks with {} workers".format(len(known["files"]), known["world_size"], known["workers"])
        return Case(level, 1, case.arguments, said, case.known)

    def read_right(self, answer, files, level, turned, **case):
        return shard_mistake(answer, files, level)


class ShuffleBuffer(PlainExercise):
    """A shuffle buffer"""

    signature = "shuffle_buffer(stream, size: int, rng: numpy.random.Generator) -> iterator"
    levels = {"the order": 2, "bounded memory": 1}
    given = ("stream", "size", "seed", "odd")
    harness = harness_of(__file__, "shuffle_buffer")
    mistakes = [
        Mistake("reads_everything", "The elements are right, but the whole stream was read before the first one left.",
                "Yield while you read: that is what the buffer is for. A stream may be longer than memory."),
        Mistake("reads_too_far", "More elements were read ahead than the buffer holds, plus the one that comes in.",
                "Ask the stream for the next element only when the one before it is in the buffer."),
        Mistake("loses_the_rest", "The elements that are in the buffer when the stream ends never leave it.",
                "Yield the rest, shuffled.", lambda c: c.of(rest="lost")),
        Mistake("rest_in_order", "The elements that are in the buffer when the stream ends leave it unshuffled.",
                "One permutation more, for the rest.", lambda c: c.of(rest="kept")),
        Mistake("shuffles_blocks", "Each block of `size` elements is shuffled separately: no element can move into "
                "another block.",
                "Take one out, put one in: the buffer stays full until the stream ends.",
                lambda c: {"out": block_by_block(c.stream, c.size, c.seed), "ahead": ANYTHING, "next": ANYTHING}),
        Mistake("begins_again", "The elements that fill the buffer came twice: the loop over the stream began again.",
                "`stream = iter(stream)` before you fill the buffer: a loop over a list begins at its start each time, "
                "one over an iterator goes on.",
                lambda c: c.odd == "no iterator" and {
                    "out": buffered([*c.stream[:c.size], *c.stream], c.size, c.seed), "ahead": ANYTHING,
                    "next": ANYTHING} or None),
        Mistake("not_in_its_place", "The new element went to the end of the buffer.",
                "It takes the place of the one that leaves: `buffer[k] = element`.", lambda c: c.of(place=False)),
        Mistake("own_generator", "Every element is there, but in another order than `rng` gives with one draw for each "
                "element that leaves a full buffer and one permutation for the rest.",
                "Draw `rng.integers(size)` for each, `rng.permutation(len(buffer))` at the end, and nothing else."),
        Mistake("draws_too_much", "The order is right, but more was drawn from `rng` than it takes.",
                "Draw `rng.integers(size)` for each, `rng.permutation(len(buffer))` at the end, and nothing else."),
        Mistake("takes_for_a_sign", "An element was taken for the end of the stream, or for an empty place; but an "
                "element can be anything, even None.",
                "`for element in stream` finds the end by itself, and `len(buffer)` tells how full the buffer is."),
        Mistake("takes_apart", "Pairs came back as rows of an array: numpy makes one of a list of pairs.",
                "Permute the places, `rng.permutation(len(buffer))`, not the elements.",
                lambda c: c.odd == "pairs" and {**c.right, "out": [
                    *c.right["out"][:-c.size], *([k, k + 1] for k in c.right["out"][-c.size:])]} or None),
        Mistake("not_each_once", "Some elements are missing or came twice.",
                "For each element that goes in, one comes out."),
    ]  # fmt: skip

    def draw(self, rng):
        for level, n, size in (("the order", 20, 6), ("the order", 9, 4), ("the order", 5, 8), ("the order", 6, 1),
                               ("the order", 7, 7), ("bounded memory", 40, 5)):  # fmt: skip
            stream = [int(x) for x in rng.permutation(90)[:n]]
            stream[n // 2] = 0 if 0 not in stream else stream[n // 2]
            known = {"stream": stream, "size": size, "odd": "no iterator" if n == 9 else "", "level": level}
            says = {"says": "a stream of 9 elements, size = 4, which is no iterator"} if n == 9 else {}
            yield level, known | {"seed": int(rng.integers(10**6))}, says
        yield "the order", {"stream": [], "size": 3, "seed": 25, "odd": "", "level": "the order"}
        # the numbers stand for None, False, an object that is equal to everything, -1 and 0
        known = {"stream": [7, 2, 9, 11, 4, 0, 6, 3, 10, 1, 8, 5], "size": 3, "seed": 25}
        yield level, known | {"odd": "things", "level": level}, {"says": "a stream of None, False, -1 and other things"}
        yield level, known | {"odd": "pairs", "level": level}, {"says": "a stream of pairs"}

    def of(self, c, **how):
        return {"out": buffered(c.stream, c.size, c.seed, **how), "ahead": ANYTHING, "next": ANYTHING}

    def right(self, stream, size, seed, **rest):
        rng = np.random.default_rng(seed)
        out = buffered(stream, size, rng)
        return {"out": out, "ahead": ANYTHING, "next": int(rng.integers(2**40))}

    def worked(self, case):
        c = super().worked(case)
        c.of = lambda **how: self.of(c, **how)
        return c

    def read(self, answer, stream, odd, **rest):
        out = answer["out"] if holds(answer, "out") else []
        if out and odd != "pairs" and out == self.right(stream, **rest)["out"]:
            return "draws_too_much"
        if odd == "things":
            return "takes_for_a_sign"
        if not all(isinstance(one, (int, float)) for one in out):
            return None
        return "own_generator" if sorted(out) == sorted(stream) else "not_each_once"

    def read_right(self, answer, stream, size, level, **rest):
        if level == "bounded memory" and answer["ahead"] > size + 1:
            text = f"Up to {answer['ahead']} were read ahead; the buffer holds {size}."
            return Finding("reads_everything" if answer["ahead"] >= len(stream) else "reads_too_far", text)
        return None


# -- ahead of the step -------------------------------------------------------------------------------------------------


class Prefetch(PlainExercise):
    """Batches made ahead, by a thread"""

    signature = "prefetch(batches, depth: int) -> iterator"
    levels = {"the batches": 1, "prefetched batches": 2, "errors": 1}
    given = ("batches", "depth", "breaks_at", "slow_at")
    harness = harness_of(__file__, "prefetch")
    mistakes = [
        Mistake("waits_for_ever", "The thread had ended, and the consumer still waited for a batch.",
                "The thread must always put an end mark into the queue, after an error, too, even if the loop over "
                "`batches` cannot begin."),
        Mistake("mixes_streams", "Two streams of batches were used at the same time, and their batches were mixed up.",
                "Make the queue inside of the function: each call needs one of its own."),
        Mistake("ends_at_none", "A batch that is None, or empty, was taken for the end.",
                "Mark the end by an object of its own: `end = object()`, `if batch is end`."),
        Mistake("a_batch_is_a_sign", "A batch was taken for the end, or for an error. A batch can be anything: False, "
                "a text, an exception, or an object that is equal to every other.",
                "Mark the end by an object of its own and test it with `is`; put pairs (batch, error) into the "
                "queue."),
        Mistake("does_not_wait", "A batch took a second, and the stream ended before it.",
                "`get()` without a timeout: the thread always sends an end or an error."),
        Mistake("the_end_is_a_batch", "The end mark came out as a batch.",
                "Test for it before you yield."),
        Mistake("not_the_batches", "Some batches are missing, came twice or came out of order.",
                "With one thread that puts and one that gets, a queue keeps the order."),
        Mistake("not_in_the_background", "The batches are made by the thread that uses them: while one is used, "
                "nothing is made.",
                "Start a `threading.Thread` that goes through `batches` and puts them into a `queue.Queue(depth)`."),
        Mistake("not_far_enough", "Fewer than `depth` batches are made while one is used.",
                "The thread goes on until the queue is full; it does not wait to be asked."),
        Mistake("unbounded", "More than `depth` batches wait, besides the one that the thread holds: with a slow "
                "consumer, all of them are in memory.",
                "`queue.Queue(depth)`: `put` waits while the queue is full."),
        Mistake("swallows_the_error", "The source failed, and the consumer saw a stream that ends.",
                "Catch the exception in the thread, put it into the queue, raise it where the batches are yielded."),
        Mistake("raises_too_early", "The error came before batches that had been made before it.",
                "Put it into the queue, behind them."),
        Mistake("another_error", "The consumer got another error than the source raised.",
                "Raise the very exception that was caught."),
    ]  # fmt: skip

    def draw(self, rng):
        batches = [[int(x) for x in rng.integers(1, 100, 2)] for _ in range(14)]
        odd = [*batches[:2], [], None, 0, *batches[2:4]]
        for level, given, depth, breaks_at in (("the batches", odd, 2, -1), ("the batches", batches[:3], 5, -1),
                                               ("the batches", [], 1, -1), ("prefetched batches", batches, 3, -1),
                                               ("prefetched batches", batches[:9], 1, -1), ("errors", batches, 2, 5),
                                               ("errors", batches, 4, 3), ("errors", batches[:2], 4, 0),
                                               ("the batches", "anything", 3, -1)):  # fmt: skip
            slow_at = 0 if depth == 5 else -1
            known = {"batches": given, "depth": depth, "breaks_at": breaks_at, "slow_at": slow_at, "level": level}
            said = "batches of all kinds" if given == "anything" else f"{len(given)} batches"
            more = f", batch {breaks_at} cannot be made" * (breaks_at >= 0) + ", batch 0 takes a second" * (
                slow_at == 0
            )
            yield level, known, {"says": f"{said}, depth = {depth}{more}"}

    def read_right(self, answer, batches, depth, breaks_at, slow_at, level):
        if not isinstance(answer, dict) or "hung" not in answer:
            return "not_the_batches"
        got, right = answer["got"], batches[:breaks_at] if breaks_at >= 0 else batches
        if answer["mixed"]:
            return "mixes_streams"
        if answer["hung"]:
            return "waits_for_ever"
        if breaks_at >= 0:
            text = f"Torn: batch {breaks_at}"
            if answer["raised"] == text and got != right:
                return Finding("raises_too_early", f"{len(got)} of {breaks_at} batches came before the error.")
            if not answer["raised"]:
                return "swallows_the_error"
            return None if answer["raised"] == text else Finding("another_error", f"It was {answer['raised'][:99]}.")
        if batches == "anything":
            return None if got == [f"thing {k}" for k in range(27)] else "a_batch_is_a_sign"
        if slow_at == 0 and not got:
            return "does_not_wait"
        if got != right:
            return self._other_batches(got, right)
        if level != "prefetched batches":
            return None
        if answer["own_thread"]:
            return "not_in_the_background"
        if answer["short"]:
            return "not_far_enough"
        if answer["far"] > depth + 1:
            return Finding("unbounded", f"{answer['far']} batches were made ahead; depth is {depth}.")
        return None

    @staticmethod
    def _other_batches(got, right):
        if isinstance(got, list) and len(got) < len(right) and got == right[: len(got)] and not right[len(got)]:
            return "ends_at_none"
        if isinstance(got, list) and len(got) > len(right) and got[: len(right)] == right:
            return "the_end_is_a_batch"
        return "not_the_batches"


# -- how fast ----------------------------------------------------------------------------------------------------------


class SamplesPerSecond(PlainExercise):
    """A bound on the throughput"""

    signature = (
        "samples_per_second(read: float, decode: float, step: float, workers: int, cores: int, ranks: int) -> float"
    )
    levels = {"one rank": 2, "ranks that share the cores": 1, "no workers": 1}
    rtol = 1e-9
    mistakes = [
        Mistake("one_after_the_other", "The times of the stages are added up: that is a loader without workers.",
                "With workers all stages work at once, and the slowest decides: the smallest of their rates.",
                lambda c: 1 / ((c.read + c.decode) / c.workers + c.step) if c.workers else None),
        Mistake("cores_to_itself", "Each rank decodes as if it had all cores of the machine.",
                "`ranks` ranks share them: 1/ranks of their rate for each.", lambda c: c.of(ranks=1)),
        Mistake("more_workers_than_cores", "The cores are not counted: a worker that decodes needs one to itself.",
                "All workers together decode at most `cores` / decode samples a second.",
                lambda c: c.of(cores=10**6)),
        Mistake("waiting_takes_a_core", "A worker that waits for the disk was counted as using a core.",
                "Only decoding needs one: cores / decode.",
                lambda c: min(c.workers / (c.read + c.decode), 1 / c.step,
                              c.cores / (c.ranks * (c.read + c.decode))) if c.workers else None),
        Mistake("ignores_the_step", "The input could be as fast as this, but the accelerator cannot.",
                "The step is a stage, too: 1 / step.", lambda c: c.of(step=1e-9) if c.workers else None),
        Mistake("whole_cores", "A rank's share of the cores was rounded to whole ones.",
                "Processes move between cores: `cores / ranks` of them, not `cores // ranks`.",
                lambda c: c.of(cores=max(c.cores // c.ranks, 1) * c.ranks)),
        Mistake("stages_added", "The times of the stages are added up, although all stages work at once.",
                "The slowest stage decides: the smallest of the rates.",
                lambda c: 1 / (c.read / c.workers + c.ranks * c.decode / c.cores + c.step) if c.workers else None),
        Mistake("step_in_the_worker", "A worker's time for a sample holds the step, too.",
                "Workers read and decode, the accelerator steps: workers / (read + decode), and 1 / step beside it.",
                lambda c: min(c.workers / (c.read + c.decode + c.step), c.cores / (c.ranks * c.decode), 1 / c.step)
                if c.workers else None),
        Mistake("workers_shared", "The workers were divided among the ranks, like the cores.",
                "`workers` is the number of each rank.", lambda c: c.of(workers=c.workers / c.ranks)),
        Mistake("of_all_ranks", "This is the rate of all ranks together.", "Return the rate of one rank.",
                lambda c: c.ranks * c.of()),
        Mistake("workers_read_only", "Only reading is divided among the workers; decoding is left out.",
                "A worker reads a sample and then decodes it: workers / (read + decode).",
                lambda c: min(c.workers / c.read, c.cores / (c.ranks * c.decode), 1 / c.step)
                if c.workers else None),
        Mistake("none_is_one", "Without workers nothing is done during the step.",
                "The step's own process reads and decodes: 1 / (read + decode + step).",
                lambda c: None if c.workers else c.of(workers=1)),
        Mistake("divides_by_none", "By this formula, without workers no input would ever come.",
                "The step's own process reads and decodes: 1 / (read + decode + step).",
                lambda c: 0.0 if not c.workers else None),
    ]  # fmt: skip

    def draw(self, rng):
        one, shared, none = self.levels
        for level, read, decode, step, workers, cores, ranks in (
            (one, 6, 2, 0.5, 4, 8, 1),
            (one, 1, 8, 0.5, 12, 4, 1),
            (one, 2, 2, 3, 8, 8, 1),
            (one, 9, 1, 0.25, 20, 2, 1),
            (shared, 1, 4, 0.25, 40, 12, 6),
            (shared, 1, 4, 0.5, 8, 16, 6),
            (shared, 6, 2, 1, 2, 16, 4),
            (shared, 1, 4, 0.25, 40, 3, 6),
            (none, 3, 2, 1, 0, 4, 1),
            (none, 1, 8, 1, 0, 2, 6),
        ):
            unit = float(rng.integers(80, 120)) * 1e-5
            known = {"read": read * unit, "decode": decode * unit, "step": step * unit}
            yield level, known | {"workers": workers, "cores": cores, "ranks": ranks}

    def draw_further(self, rng):
        for level, known in self.draw(rng):
            seconds = {name: known[name] * float(rng.uniform(0.97, 1.03)) for name in ("read", "decode", "step")}
            yield level, known | seconds

    def right(self, **case):
        return rate(**case)

    def read(self, answer, **case):
        """A rank's share that was rounded down may be no core at all."""
        whole = rate(**case | {"cores": case["cores"] // case["ranks"] * case["ranks"]})
        return "whole_cores" if difference(whole, answer, self.rtol) is None else None

    def worked(self, case):
        c = super().worked(case)
        c.of = lambda **other: rate(**{**case.known, **other})
        return c


class Utilisation(PlainExercise):
    """Utilisation of each rank: busy, waiting for data, waiting for others"""

    signature = "utilisation(make: list[list[float]], step: float, depth: int) -> list[tuple[float, float, float]]"
    levels = {"one rank": 1, "synchronised ranks": 2, "with prefetching": 1}
    rtol = 1e-9
    mistakes = [
        Mistake("no_barrier", "No rank waits for another here.",
                "A step ends on all ranks together: when the last one has computed.",
                lambda c: bands(c.make, c.step, c.depth, barrier=False)),
        Mistake("barrier_at_the_end", "The ranks wait for each other once, at the end of the run.",
                "They wait after each step: the next one begins when all have finished this one.",
                lambda c: waits_at_the_end(bands(c.make, c.step, c.depth, barrier=False))),
        Mistake("last_wait_missing", "The wait after the last step is missing.",
                "The run ends for all ranks together: the three add up to its time, on every rank.",
                lambda c: bands(c.make, c.step, c.depth, last=False)),
        Mistake("all_data", "All waiting is counted as waiting for data.",
                "Until its own batch is there, a rank waits for data; when it has computed, for the others.",
                lambda c: [[busy, data + others, 0.0] for busy, data, others in c.right]),
        Mistake("counted_twice", "Waiting for the others is counted as waiting for data, too: the three are more than "
                "the time of the run.",
                "A rank waits for data from the end of the step on all ranks, not from the end of its own computing.",
                lambda c: [[busy, data + before, others] for (busy, data, others), before in
                           zip(c.right, c.before_the_last, strict=True)]),
        Mistake("all_others", "Waiting for data is counted as waiting for the others.",
                "Until its own batch is there, a rank waits for data.",
                lambda c: [[busy, 0.0, data + others] for busy, data, others in c.right]),
        Mistake("exchanged", "The two kinds of waiting have changed places.",
                "Busy, then waiting for data, then waiting for the others.",
                lambda c: [[busy, others, data] for busy, data, others in c.right]),
        Mistake("first_is_there", "The first batch is there from the start.", "It has to be made, too.",
                lambda c: bands([[0.0, *one[1:]] for one in c.make], c.step, c.depth)),
        Mistake("side_by_side", "A rank makes several batches at a time.",
                "Its one worker makes them one after the other: batch k cannot begin before batch k - 1 is made.",
                lambda c: bands(c.make, c.step, c.depth, one_worker=False) if c.depth else None),
        Mistake("freed_when_over", "A batch counts as waiting until its step is over.",
                "It is taken when its step begins; that makes room for another.",
                lambda c: bands(c.make, c.step, c.depth, until="over") if c.depth else None),
        Mistake("never_ahead", "Every batch is begun when the step before it is over: that is depth 0.",
                "With depth > 0 the next one is made while a step runs.", lambda c: bands(c.make, c.step, 0)),
        Mistake("always_ahead", "Without prefetching, batches are made while a step runs.",
                "depth = 0: a batch is begun when the step before it is over.",
                lambda c: None if c.depth else bands(c.make, c.step, 1)),
        Mistake("begins_before_the_others", "Without prefetching, a rank begins its next batch when it has computed, "
                "before the others have.",
                "depth = 0: a batch is begun when all ranks have finished the step before it.",
                lambda c: None if c.depth else bands(c.make, c.step, 0, until="computed")),
        Mistake("first_wait_for_others", "The wait for the first batch is counted as waiting for the others.",
                "Before its first step, too, a rank waits for data.",
                lambda c: [[busy, data - one[0], others + one[0]]
                           for (busy, data, others), one in zip(c.right, c.make, strict=True)]),
        Mistake("as_far_as_it_likes", "Batches are made ahead without a limit.",
                "Batch k is begun when batch k - depth has been taken.",
                lambda c: bands(c.make, c.step, 10**6) if c.depth else None),
        Mistake("one_further_ahead", "One batch too many is made ahead: `depth` + 1.",
                "Batch k is begun when batch k - depth has been taken.",
                lambda c: bands(c.make, c.step, c.depth + 1) if c.depth else None),
        Mistake("shares", "These are shares of the time.", "Return seconds.",
                lambda c: [[part / sum(band) for part in band] for band in c.right]),
        Mistake("own_finish", "These are shares of the time until the rank itself has computed its last step, which is "
                "another time on every rank.",
                "Return seconds, to the end of the run: the wait for the others after the last step, too.",
                lambda c: [[part / sum(band) for part in band] for band in bands(c.make, c.step, c.depth, last=False)]),
    ]  # fmt: skip

    def draw(self, rng):
        one, others, ahead = self.levels
        for level, p, steps, step, depth, bursts in ((one, 1, 5, 1.0, 0, 0), (one, 1, 6, 2.0, 1, 0),
                                                     (others, 3, 6, 1.0, 1, 0), (others, 2, 5, 1.5, 0, 0),
                                                     (ahead, 2, 8, 2.0, 2, 1), (ahead, 3, 9, 2.0, 3, 1)):  # fmt: skip
            eighths = rng.integers(4, 12, (p, steps))  # a batch takes half a second to a second and a half
            while True:
                make = eighths / 8
                if bursts:  # cheap batches, then one that takes longer than a step, at another place on each rank
                    make = eighths / 16
                    for r in range(p):
                        make[r, -2 - r] = 8 + 2 * r
                known = {"make": make.tolist(), "step": step, "depth": depth}
                if self._telling(known, p):
                    break
                eighths = rng.integers(4, 12, (p, steps)) * (2 if level == others else 1)
            yield level, known
        yield others, {"make": [[0.5, 0.75, 0.5], [0.75, 0.5, 1.5]], "step": 1.0, "depth": 0}  # a wait at the end, too
        steady, slow, bursts = [1.25] * 9, [2.5] * 9, [7.0 if k % 3 == 2 else 1.25 for k in range(9)]
        yield ahead, {"make": [steady, slow, bursts], "step": 2.0, "depth": 2}
        yield ahead, {"make": [slow, [3.0, *steady[1:]]], "step": 2.0, "depth": 4}
        yield ahead, {"make": [[3.0] * 4, [1.0, 5.0, 5.0, 1.0]], "step": 2.0, "depth": 9}  # more than there are
        yield one, {"make": [[0.123456789, 7.7, 0.1]], "step": 0.3, "depth": 1}  # seconds that are not rounded

    def _telling(self, known, p) -> bool:
        other = [bands(**known | {"depth": depth}) for depth in {0, 1, known["depth"], known["depth"] + 1, 10**6}]
        seen = {repr(one) for one in other}
        return (known["depth"] < 2 or len(seen) == len(other)) and all(b[1] > 0 for b in bands(**known))

    def right(self, make, step, depth):
        return bands(make, step, depth)

    def worked(self, case):
        c = super().worked(case)
        c.before_the_last = [others for _, _, others in bands(c.make, c.step, c.depth, last=False)]
        return c

    def read(self, answer, make, step, depth):
        """A step may be over for a rank when it has computed, before the others have."""
        computed = depth and difference(bands(make, step, depth, until="computed"), answer, self.rtol) is None
        return "freed_when_over" if computed else None


# -- on another number of ranks ----------------------------------------------------------------------------------------


class NextBatch(PlainExercise):
    """The next batch, on any number of ranks"""

    signature = "next_batch(state: dict, n: int, batch_size: int, rank: int, world_size: int) -> tuple[list[int], dict]"
    levels = {"an epoch": 1, "the end of an epoch": 1, "epochs and seeds": 1, "another number of ranks": 2}
    given = ("n", "seeds", "plan")
    rank_at = 3
    # plan: (ranks, batch size, steps) of each stretch between two stops; every state goes through a file's text
    harness = harness_of(__file__, "next_batch")
    mistakes = [
        Mistake("not_a_pair", "The result is not a list of samples and a state with seed, epoch and taken.",
                "Return (list of this rank's samples, dict)."),
        Mistake("not_json", "The state cannot be written as JSON.",
                "Plain integers: `int(...)` of what numpy gives."),
        Mistake("not_samples", "A rank's share is not a list of samples' numbers.", "Return numbers from 0 to n - 1."),
        Mistake("batch_size_per_rank", "Each rank took batch_size samples for itself.",
                "`batch_size` counts the samples of all ranks together."),
        Mistake("drops_the_remainder", "If the batch does not divide evenly, its last samples went to no rank.",
                "Some ranks get one more: `batch[rank::world_size]`."),
        Mistake("drops_the_last_batch", "The samples left at the end of an epoch are not used.",
                "The last batch is smaller."),
        Mistake("pads_the_last_batch", "The last batch of the epoch was filled up.", "The last batch is smaller."),
        Mistake("wrong_number", "A step took another number of samples than batch_size."),
        Mistake("uneven_shares", "One rank got at least two samples more than another.",
                "Sizes differ by one at most: `batch[rank::world_size]`."),
        Mistake("counts_its_own", "The state counts only this rank's samples. On another number of ranks that is the "
                "wrong place in the epoch.",
                "`taken` counts what all ranks together have taken."),
        Mistake("never_ends_the_epoch", "All samples are taken, and the state stays in the epoch.",
                "Then epoch + 1, and taken is 0."),
        Mistake("counts_batches", "The state counts batches. With another batch size that is the wrong place.",
                "Count samples."),
        Mistake("wrong_state", "The new state is not the one after this batch.",
                "taken grows by the samples of the batch; at the end of an epoch it is 0, and epoch grows by 1."),
        Mistake("state_in_place", "The given state is changed. The next call with it, such as another rank's on this "
                "page, goes on from the wrong place.",
                "Return a new dict and leave the old one as it is."),
        Mistake("states_differ", "The ranks return different states: which one should be saved?",
                "Values that differ between ranks (its number, its own samples) do not belong in the state."),
        Mistake("not_one_order", "The ranks and steps of an epoch do not all use the same order: samples come twice "
                "and others never.",
                "Make it again in each call, from seed and epoch alone: no rank, no time, no global generator, no "
                "`hash` of a text (it differs between processes)."),
        Mistake("always_from_the_start", "Every step takes the first samples of the epoch again.",
                "Go on at `taken`."),
        Mistake("order_depends_on_ranks", "After the stop the epoch has another order: samples come twice and others "
                "never.",
                "The order is made of seed and epoch alone; only how a batch is shared depends on the ranks."),
        Mistake("not_shuffled", "The samples come in order.", "Shuffle, with a generator made of seed and epoch."),
        Mistake("same_order_every_epoch", "Two epochs have the same order.", "The generator needs the epoch, too."),
        Mistake("ignores_the_seed", "Another seed gives the same order.", "The generator needs the seed, too."),
        Mistake("first_epoch_ignores_the_seed", "In epoch 0 another seed gives the same order.",
                "seed * epoch is 0 there, whatever the seed: give the generator both, `default_rng([seed, epoch])`."),
    ]  # fmt: skip

    def draw(self, rng):
        for level, n, plan in zip(
            [name for name in self.levels for _ in range(3 if name == "another number of ranks" else 2)],
            (24, 30, 23, 21, 24, 20, 36, 31, 40),
            ([(2, 8, 3)], [(3, 6, 5)], [(4, 6, 4)], [(2, 10, 3)], [(2, 4, 12)], [(1, 5, 8)],
             [(2, 6, 2), (3, 6, 2), (1, 6, 2)], [(4, 8, 1), (3, 5, 2), (2, 9, 2)],
             [(2, 8, 1), (4, 16, 1), (2, 4, 4), (1, 7, 4)]),
            strict=True,
        ):  # fmt: skip
            seeds = [int(s) for s in rng.choice(10**6, 2 if level == "epochs and seeds" else 1, replace=False)]
            if n == 20:  # a seed like any other, but for those who write `seed or ...` or seed * epoch
                seeds[0] = 0
            yield level, {"n": n, "seeds": seeds, "plan": plan, "level": level}
        end = list(self.levels)[1]  # fewer samples than ranks, and than a batch
        yield end, {"n": 3, "seeds": [int(rng.integers(10**6))], "plan": [(4, 8, 2)], "level": end}
        other = list(self.levels)[3]  # a seed that another case has, too, with another n
        yield other, {"n": 26, "seeds": [0], "plan": [(2, 9, 2), (3, 9, 2)], "level": other}

    def read_right(self, answer, n, seeds, plan, level):
        epochs = []
        if not isinstance(answer, list) or not answer or not all(isinstance(s, list) and s for s in answer):
            return "not_a_pair"
        for steps in answer:
            for step in steps:
                if found := self._one_step(step, n):
                    return found
            whole = [{"epoch": s["before"]["epoch"], "ranks": s["ranks"], "shares": s["shares"]} for s in steps]
            if found := order_mistake(n, whole):
                return found
            of: dict[int, list] = {}
            for step in whole:
                of.setdefault(step["epoch"], []).append(sorted(k for share in step["shares"] for k in share))
            epochs.append(of)
        sizes = [len(batch) for batch in epochs[0][0]]
        if epochs[0][0] == in_runs(range(n), sizes) and not by_luck(n, sizes):
            return "not_shuffled"
        if level != "epochs and seeds":
            return None
        if epochs[0][0] == epochs[0][1]:
            return "same_order_every_epoch"
        if epochs[0] == epochs[1]:
            return "ignores_the_seed"
        return "first_epoch_ignores_the_seed" if epochs[0][0] == epochs[1][0] else None

    @staticmethod
    def _one_step(step, n):
        if not isinstance(step, dict) or not {"no_text", "odd", "shares"} & set(step):
            return "not_a_pair"
        if "no_text" in step:
            return Finding("not_json", step["no_text"])
        states = step.get("states", [])
        if "odd" in step or not all(type(s.get(k)) is int for s in states for k in ("seed", "epoch", "taken")):
            return "not_a_pair"
        shares = step["shares"]
        if not all(isinstance(s, list) and all(type(k) is int and 0 <= k < n for k in s) for s in shares):
            return "not_samples"
        found = step_mistake(n, step["batch_size"], step["before"], shares, states)
        return found or ("state_in_place" if step.get("changed") else None)


# -- for text ----------------------------------------------------------------------------------------------------------


class Pack(RefusingExercise):
    """Packing sequences"""

    signature = "pack(lengths: list[int], capacity: int) -> list[list[int]]"
    levels = {"every sequence once": 1, "few rows": 1, "illegal arguments": 1}
    mistakes = [
        Mistake("not_each_once", "Some sequences are missing, or in two rows.",
                "The answer holds the numbers 0 to len(lengths) - 1, each once."),
        Mistake("returns_lengths", "The rows hold lengths.", "Return the indices of the sequences."),
        Mistake("overfull", "A row holds more tokens than fit.",
                "Compare the sum with capacity before you add to a row."),
        Mistake("one_row_open", "Only the last row is filled up: a sequence that does not fit begins a new one, and "
                "the room in the others stays unused.",
                "Keep all rows open, and take the longest sequences first.",
                ),
        Mistake("another_rule", "The longest come first, but not into the first row that has room: some lists then "
                "need one row more.",
                "Go through the rows from the front and take the first that has room."),
        Mistake("modifies_input", "Your function sorts or changes the list that it was given: the caller's indices "
                "no longer fit it.",
                "`sorted(...)` makes a new list; sort indices, not lengths."),
        Mistake("row_for_nothing", "Sequences of length 0 got a row of their own: they fit into a full row, too.",
                "A sequence fits where `length <= room`; do not set full rows aside."),
        Mistake("too_many_rows", "Every sequence is there and no row too full, but fewer rows would do.",
                "The longest first, each into the first row that has room."),
        Mistake("takes_anything", "A sequence that is longer than a row was packed.", "Raise ValueError."),
    ]  # fmt: skip

    def draw(self, rng):
        once, few, wrong = self.levels
        for level, n, capacity in ((once, 7, 30), (once, 1, 10), (once, 0, 10), (few, 14, 40), (few, 20, 64),
                                   (wrong, 4, 16)):  # fmt: skip
            while True:
                lengths = [int(k) for k in rng.integers(2, capacity, n)]
                rows = [len(first_fit(lengths, capacity, decreasing)) for decreasing in (True, False)]
                if level == wrong:
                    lengths[2] = capacity + 1
                to_the_brim = len(first_fit(lengths, capacity - 1)) if max(lengths, default=0) < capacity else 0
                if level != few or (rows[0] < rows[1] < self._one_open(lengths, capacity) and rows[0] < to_the_brim):
                    break
            if level == once and n > 1:
                lengths[0] = capacity
            yield level, {"lengths": lengths, "capacity": capacity, "level": level}
        for lengths, capacity in self.TELLING:
            yield few, {"lengths": lengths, "capacity": capacity, "level": few}
        yield once, {"lengths": [5, 0, 3, 0, 8], "capacity": 8, "level": once}
        yield once, {"lengths": [0, 0], "capacity": 8, "level": once}
        yield few, {"lengths": list(range(1, 100)), "capacity": 100, "level": few}
        yield once, {"lengths": [1] * 3000, "capacity": 100, "level": once}

    # the fullest row that has room takes a row more than the first one; then so does the emptiest. All five rows of the
    # first list are full, and still have room for 0 tokens.
    TELLING = (
        ([7, 3, 13, 0, 11, 11, 2, 4, 9, 8, 2, 14, 7, 9], 20),
        ([83, 63, 61, 61, 61, 59, 40, 39, 34, 25, 23, 21, 21, 19, 18, 18, 10, 9, 8, 8, 7, 5, 2, 1], 100),
    )

    @staticmethod
    def _next_fit(lengths, capacity):
        rows, room = 0, 0
        for length in lengths:
            rows, room = (rows, room - length) if length <= room else (rows + 1, capacity - length)
        return rows

    @staticmethod
    def _alike(rows, others, lengths):
        return len({repr(sorted(sorted(lengths[k] for k in row) for row in one)) for one in (rows, others)}) == 1

    def _one_open(self, lengths, capacity):
        return min(self._next_fit(one, capacity) for one in (lengths, sorted(lengths, reverse=True)))

    def facts(self, case, run):
        if list(run.ranks[0].after[:1]) != [case.known["lengths"]]:
            return "modifies_input"
        return super().facts(case, run)

    def impossible(self, lengths, capacity, **rest):
        return max(lengths, default=0) > capacity

    def right(self, **case):
        return ANYTHING

    def read_right(self, answer, lengths, capacity, level):
        rows = answer["value"] if isinstance(answer, dict) and "value" in answer else None
        if not isinstance(rows, list) or not all(isinstance(row, list) for row in rows):
            return "not_each_once"
        held = [k for row in rows for k in row]
        if sorted(map(repr, held)) != sorted(map(repr, range(len(lengths)))):
            return "returns_lengths" if sorted(held, key=repr) == sorted(lengths, key=repr) else "not_each_once"
        full = max((sum(lengths[k] for k in row) for row in rows), default=0)
        if full > capacity:
            return Finding("overfull", f"{full} tokens in a row of {capacity}.")
        if level != "few rows":
            return None
        best, rows = len(first_fit(lengths, capacity)), [row for row in rows if row]
        if len(rows) <= best:
            return None
        name = "one_row_open" if len(rows) >= self._one_open(lengths, capacity) else "too_many_rows"
        others = [first_fit(lengths, capacity, pick=pick) for pick in (min, max)]
        if any(self._alike(rows, other, lengths) for other in others):
            name = "another_rule"
        if len([row for row in rows if any(lengths[k] for k in row)]) <= best:
            name = "row_for_nothing"
        return Finding(name, f"{len(rows)} rows; {best} would do.")
