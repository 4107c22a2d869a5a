"""The harnesses of unit 12's exercises: functions that run around the student's (`autograder.exercises.source`)."""

import copy
import io
import json
import tarfile
import threading
import time
import zlib
from itertools import islice

import numpy as np

from autograder.exercises.harness import LikeAnything, as_lists, hashes_of_process

PACKED = (b"\x1f\x8b", b"BZh", b"\xfd7zXZ")  # gzip, bzip2, xz


def opened(shard):
    if not isinstance(shard, (bytes, bytearray, memoryview)):
        return "no archive"
    try:
        with tarfile.open(fileobj=io.BytesIO(shard), mode="r:") as tar:
            held = [[m.name, tar.extractfile(m).read().decode("latin-1")] for m in tar if m.isfile()]
        return held if bytes(shard[-1024:]) == bytes(1024) else "not closed"
    except tarfile.TarError:
        return "compressed" if bytes(shard[:6]).startswith(PACKED) else "no archive"


def shards_of_it(shards):
    if isinstance(shards, (str, bytes, dict)) or not hasattr(shards, "__iter__"):
        return "a " + type(shards).__name__
    return [opened(shard) for shard in shards]


def write_shards(f, *arguments):
    try:
        found = shards_of_it(f([(key, text.encode("latin-1")) for key, text in arguments[0]], arguments[1]))
        return {"value": found, "raises": "nothing"}
    except ValueError:
        return {"value": None, "raises": "ValueError"}


class Unreadable(Exception):
    pass


ERRORS = (ValueError("bad header"), KeyError("colour"), OSError("cannot identify image"), Unreadable("checksum"))


ERRORS += (tarfile.ReadError("a shard in a shard"), EOFError("ran out of input"), StopIteration("no more scans"))


DECODED = {"nothing": None, "zero": 0, "no list": [], "false": False, "no text": ""}


def archive_of(samples, spoilt, torn, place):
    if torn == "no archive" and place == "short":
        return b"no"
    if torn == "no archive":
        return b"this has never been a tar archive" * 40
    out, end = io.BytesIO(), None
    with tarfile.open(fileobj=out, mode="w") as tar:
        for key, text in samples:
            data = (b"?" if key in spoilt else b"!") + text.encode()
            if place == "plain" and not text:
                data = b""
            info = tarfile.TarInfo(key)
            info.size = len(data)
            if key == torn:
                where = out.tell() + 512
                end = {
                    "in the sample": where + len(data) // 2,
                    "behind it": where + len(data) + 1,
                    "at its end": where + len(data),
                    "behind its header": where,
                    "before it": where - 512,
                    "in its header": where - 1,
                }[place]
            tar.addfile(info, io.BytesIO(data))
    return out.getvalue()[:end]


def read_shard(f, name, samples, spoilt, torn, place):
    failed = []

    def decode(data):
        if place == "plain" and not data:
            return ""
        if data[:1] != b"!":
            failed.append(data)
            raise ERRORS[len(failed) % len(ERRORS)]
        text = data[1:].decode()
        return copy.copy(DECODED.get(text, text))  # what a decoder returns is new each time

    answer = f(name, archive_of(samples, spoilt, torn, place), decode)
    if not isinstance(answer, (tuple, list)) or len(answer) != 2:
        return "not two things: " + type(answer).__name__
    return {"samples": as_lists(answer[0]), "broken": as_lists(answer[1])}


class Name(str):  # as another process has it: its hash, and with it the order of a set of names, is another one
    process = 0

    def __hash__(self):
        return zlib.crc32(f"{self.process} {self}".encode())


def in_process(number):
    return type("Name", (Name,), {"process": number})


def shards_of(f, files, seeds, epochs, world_size, workers, turned):
    def listing(rank):
        name = in_process(rank)
        return [name(file) for file in files[turned * rank :] + files[: turned * rank]]

    def texts(share):
        return [str(one) if isinstance(one, str) else one for one in share] if isinstance(share, list) else share

    def dealt(rank, seed, epoch):
        with hashes_of_process(rank):
            mine = listing(rank), rank, world_size
            return [texts(as_lists(f(*mine, worker, workers, seed, epoch))) for worker in range(workers)]

    def deal(seed, epoch):
        return [dealt(rank, seed, epoch) for rank in range(world_size)]

    return [[deal(seed, epoch) for epoch in range(epochs)] for seed in seeds]


def shuffle_buffer(f, stream, size, seed, odd):
    read, out, ahead = 0, [], 0
    things = dict(enumerate([None, False, LikeAnything(), -1, 0])) if odd == "things" else {}
    things |= {element: (element, element + 1) for element in stream} if odd == "pairs" else {}

    def number(element):
        return next((k for k, thing in things.items() if thing is element), element)

    def source():
        nonlocal read
        for element in stream:
            read += 1
            yield things.get(element, element)

    class NoIterator:  # as a list or a file's reader: each loop over it begins again
        def __iter__(self):
            return source()

    rng = np.random.default_rng(seed)
    for element in f(NoIterator() if odd == "no iterator" else source(), size, rng):
        ahead = max(ahead, read - len(out))
        out.append(element)
        if len(out) > 2 * len(stream) + 9:
            break
    return {"out": as_lists([number(element) for element in out]), "ahead": ahead, "next": int(rng.integers(2**40))}


class Torn(Exception):
    def __init__(self, what, k):  # not to be made again from its text
        super().__init__(f"{what} {k}")


OTHERS = ["another", "stream's", "batches"]


class Batches:
    """No iterator: one that can be begun, and fails at that if batch 0 cannot be made."""

    def __init__(self, source, breaks_at):
        self.source, self.breaks_at = source, breaks_at

    def __iter__(self):
        if self.breaks_at == 0:
            raise Torn("batch", 0)
        return self.source()


class Watched:
    """A source of batches, and one who takes what comes of it: who is how far, and who waits for ever."""

    def __init__(self, f, batches, depth, breaks_at, slow_at):
        self.slow_at = slow_at
        self.f, self.batches, self.depth, self.breaks_at = f, batches, depth, breaks_at
        self.there, self.taker = set(threading.enumerate()), threading.Thread(target=self.take, daemon=True)
        self.changed, self.threads = threading.Condition(), set()
        self.made, self.got, self.far, self.error = 0, [], 0, None
        self.raised, self.own_thread, self.short, self.over = "", False, False, False
        self.mixed, self.others_made = False, threading.Event()

    def source(self):
        for k, batch in enumerate(self.batches):
            if k == self.breaks_at:
                raise Torn("batch", k)
            if k == self.slow_at:
                time.sleep(1.3)
            with self.changed:
                self.made += 1
                self.threads.add(threading.get_ident())
                self.changed.notify_all()
            yield batch
        if self.slow_at >= 0:  # the end takes its time, too
            time.sleep(0.3)

    def other_source(self):
        yield from OTHERS
        self.others_made.set()

    def take(self):
        try:
            others = iter([] if self.batches else self.f(self.other_source(), len(OTHERS)))
            beside = list(islice(others, 1))
            if not self.batches:  # the others wait in their queue while a stream ends that has none
                self.others_made.wait(1)
            made = Batches(self.source, self.breaks_at)
            for batch in self.f(made if self.breaks_at == 0 or self.slow_at >= 0 else self.source(), self.depth):
                with self.changed:
                    self.got.append(batch)
                    self.look_ahead()
                if len(self.got) > len(self.batches) + 2:
                    break
            self.mixed = not self.batches and (bool(self.got) or beside + list(others) != OTHERS)
        except Exception as error:
            self.error, self.raised = error, f"{type(error).__name__}: {error}"
        self.over = True

    def at_work(self):
        return set(threading.enumerate()) - self.there - {threading.current_thread(), self.taker}

    def look_ahead(self):
        """While the batch in hand is used, the next ones are made: wait until they are, and a little longer."""
        if threading.get_ident() in self.threads:
            self.own_thread = True
        elif self.breaks_at >= 0 and len(self.got) == 1:  # time enough for the error, behind batches that wait
            self.changed.wait_for(lambda: False, timeout=0.1)
        elif not self.short and self.breaks_at < 0:
            taken, most = len(self.got), len(self.batches)
            wanted = min(taken + self.depth, most)
            for _ in range(40):
                idle = not self.at_work()
                if self.changed.wait_for(lambda: self.made >= wanted, timeout=0.05) or idle:
                    break
            self.short = self.made < wanted
            if taken + self.depth + 1 < most and taken < 4:
                self.changed.wait_for(lambda: self.made > taken + self.depth + 1, timeout=0.02)
            self.far = max(self.far, self.made - taken)


THINGS = [None, False, True, 0, -1, "", (), [], {}, ..., NotImplemented, StopIteration, ValueError("a batch")]


THINGS += [LikeAnything(), np.array([1, 2]), "end", "END", "stop", "done", "error", "None", (None, None)]


THINGS += [("end", None), (None, "end"), object, object(), threading.Event()]


def name_of(batch):
    return next((f"thing {k}" for k, thing in enumerate(THINGS) if thing is batch), batch)


def prefetch(f, batches, depth, breaks_at, slow_at):
    quiet, seen, odd = 0, -1, batches == "anything"
    batches = THINGS if odd else batches
    threading.excepthook = lambda what: None
    watched = Watched(f, batches, depth, breaks_at, slow_at)
    watched.taker.start()
    while watched.taker.is_alive() and quiet < 240:
        watched.taker.join(0.05)
        quiet = 0 if seen != watched.made + len(watched.got) else quiet + (1 if watched.at_work() else 6)
        seen = watched.made + len(watched.got)
    if isinstance(watched.error, NotImplementedError) or (watched.error and breaks_at < 0 and not odd):
        raise watched.error
    got = [name_of(batch) for batch in watched.got] if odd else watched.got
    found = {"got": as_lists(got), "raised": watched.raised, "own_thread": watched.own_thread}
    found |= {"short": watched.short, "far": watched.far, "hung": not watched.over}
    return {**found, "mixed": watched.mixed}


def copied(answer):
    return copy.deepcopy(answer[1]) if isinstance(answer, (tuple, list)) and len(answer) == 2 else None


def step(f, state, n, batch_size, p):
    answers, kept, given, changed = [], [], json.loads(json.dumps(state)), False
    for rank in range(p):
        with hashes_of_process(rank):
            answers.append(f(given, n, batch_size, rank, p))
        kept.append(copied(answers[-1]))
        if given != state:
            given, changed = json.loads(json.dumps(state)), True
    for answer in answers:
        if not isinstance(answer, (tuple, list)) or len(answer) != 2 or not isinstance(answer[1], dict):
            return {"odd": type(answer).__name__}
    try:
        states = [json.loads(json.dumps(state)) for state in kept]
    except TypeError as error:
        return {"no_text": str(error)}
    shares = [as_lists(answer[0]) for answer in answers]
    return {"before": state, "shares": shares, "states": states, "changed": changed}


def next_batch(f, n, seeds, plan):
    runs = []
    for seed in seeds:
        state, steps = {"seed": seed, "epoch": 0, "taken": 0}, []
        for p, batch_size, count in plan:
            for _ in range(count):
                steps.append(step(f, state, n, batch_size, p) | {"batch_size": batch_size, "ranks": p})
                state = steps[-1].get("states", [None])[0]
                if not isinstance(state, dict) or not all(type(state.get(k)) is int for k in ("epoch", "taken")):
                    return [*runs, steps]
        runs.append(steps)
    return runs
