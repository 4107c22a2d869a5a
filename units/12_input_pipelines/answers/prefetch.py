# Right and wrong answers to `prefetch`. In files of their own: autograder bank --write DIR
import queue
import threading
from collections import deque
from concurrent.futures import ThreadPoolExecutor

# %% right_executor: passed
# differs: One thread and a line of promises: an error in the source comes out of `result()` at its place, without a word of yours.
def prefetch(batches, depth):
    source, end = iter(batches), object()
    with ThreadPoolExecutor(1) as pool:
        waiting = deque(pool.submit(next, source, end) for _ in range(depth))
        while True:
            waiting.append(pool.submit(next, source, end))
            batch = waiting.popleft().result()
            if batch is end:
                return
            yield batch

# %% right_polls: passed
def prefetch(batches, depth):
    ready, errors = queue.Queue(depth), []

    def fill():
        try:
            for batch in batches:
                ready.put(batch)
        except Exception as error:
            errors.append(error)

    thread = threading.Thread(target=fill, daemon=True)
    thread.start()
    while thread.is_alive() or not ready.empty():
        try:
            yield ready.get(timeout=0.05)
        except queue.Empty:
            pass
    if errors:
        raise errors[0]

# %% right_queue: passed
# differs: A bounded queue holds the thread back, and errors travel through it like batches.
def prefetch(batches, depth):
    ready, end = queue.Queue(depth), object()

    def fill():
        try:
            for batch in batches:
                ready.put((batch, None))
            ready.put((end, None))
        except Exception as error:
            ready.put((end, error))

    threading.Thread(target=fill, daemon=True).start()
    while True:
        batch, error = ready.get()
        if error is not None:
            raise error
        if batch is end:
            return
        yield batch

# %% right_semaphore: passed
class prefetch:
    def __init__(self, batches, depth):
        self.made, self.there = deque(), threading.Semaphore(0)
        self.room = threading.Semaphore(depth)
        threading.Thread(target=self.fill, args=(batches,), daemon=True).start()

    def fill(self, batches):
        source = None
        while True:
            self.room.acquire()
            try:
                source = source or iter(batches)
                self.made.append(("batch", next(source)))
            except BaseException as error:
                self.made.append(("error", error))
            self.there.release()
            if self.made and self.made[-1][0] == "error":
                return

    def __iter__(self):
        return self

    def __next__(self):
        self.there.acquire()
        kind, what = self.made.popleft()
        if kind == "error":
            raise what
        self.room.release()
        return what

# %% wrong_a_word_is_the_end (right_queue): wrong, a_batch_is_a_sign, levels 0 1 1
-    ready, end = queue.Queue(depth), object()
+    waiting = queue.Queue(depth)
@@
-                ready.put((batch, None))
-            ready.put((end, None))
+                waiting.put((batch, None))
+            waiting.put(("end", None))
@@
-            ready.put((end, error))
+            waiting.put(("end", error))
@@
-        batch, error = ready.get()
+        batch, error = waiting.get()
@@
-        if batch is end:
+        if isinstance(batch, str) and batch == "end":

# %% wrong_asks_afterwards: wrong, not_far_enough, levels 1 0 1
def prefetch(batches, depth):
    source, end = iter(batches), object()
    with ThreadPoolExecutor(1) as pool:
        waiting = deque(pool.submit(next, source, end) for _ in range(depth))
        while (batch := waiting.popleft().result()) is not end:
            yield batch
            waiting.append(pool.submit(next, source, end))

# %% wrong_begins_outside_try (right_queue): wrong, waits_for_ever, levels 1 1 0
     def fill():
+        source = iter(batches)
@@
-            for batch in batches:
+            for batch in source:

# %% wrong_compares_with_equals: wrong, a_batch_is_a_sign, levels 0 1 1
def prefetch(batches, depth):
    ready, end, failed = queue.Queue(depth), object(), []

    def fill():
        try:
            for batch in batches:
                ready.put(batch)
        except Exception as error:
            failed.append(error)
        ready.put(end)

    threading.Thread(target=fill, daemon=True).start()
    while not (batch := ready.get()) == end:
        yield batch
    if failed:
        raise failed[0]

# %% wrong_end_comes_out: wrong, the_end_is_a_batch, levels 0 0 1
def prefetch(batches, depth):
    ready, failed = queue.Queue(depth), []
    over = threading.Event()

    def fill():
        try:
            for batch in batches:
                ready.put(batch)
        except Exception as error:
            failed.append(error)
        over.set()
        ready.put("end")

    threading.Thread(target=fill, daemon=True).start()
    while True:
        batch = ready.get()
        if failed and isinstance(batch, str):
            raise failed[0]
        yield batch
        if isinstance(batch, str):
            return

# %% wrong_end_is_false: wrong, a_batch_is_a_sign, levels 0 1 1
def prefetch(batches, depth):
    ready, failed = queue.Queue(depth), []

    def fill():
        try:
            for batch in batches:
                ready.put(batch)
        except Exception as error:
            failed.append(error)
        ready.put(False)

    threading.Thread(target=fill, daemon=True).start()
    while (batch := ready.get()) is not False:
        yield batch
    if failed:
        raise failed[0]

# %% wrong_error_by_type: wrong, a_batch_is_a_sign, levels 0 1 1
def prefetch(batches, depth):
    ready, end = queue.Queue(depth), object()

    def fill():
        try:
            for batch in batches:
                ready.put(batch)
            ready.put(end)
        except Exception as error:
            ready.put(error)

    threading.Thread(target=fill, daemon=True).start()
    while (batch := ready.get()) is not end:
        if isinstance(batch, Exception):
            raise batch
        yield batch

# %% wrong_error_first: wrong, raises_too_early, levels 1 1 0
def prefetch(batches, depth):
    ready, end, failed = queue.Queue(depth), object(), []
    over = threading.Event()

    def fill():
        try:
            for batch in batches:
                ready.put(batch)
        except Exception as error:
            failed.append(error)
            over.set()
        ready.put(end)

    threading.Thread(target=fill, daemon=True).start()
    first = True
    while (batch := ready.get()) is not end:
        if not first and over.wait(0.05):
            raise failed[0]
        first = False
        yield batch
    if failed:
        raise failed[0]

# %% wrong_error_kills_the_thread: wrong, waits_for_ever, levels 1 1 0
def prefetch(batches, depth):
    ready, end = queue.Queue(depth), object()

    def fill():
        for batch in batches:
            ready.put(batch)
        ready.put(end)

    threading.Thread(target=fill, daemon=True).start()
    while (batch := ready.get()) is not end:
        yield batch

# %% wrong_error_made_again (right_queue): wrong, another_error, levels 1 1 0
-                ready.put((batch, None))
-            ready.put((end, None))
+                ready.put((batch, None, None))
+            ready.put((end, None, None))
@@
-            ready.put((end, error))
+            ready.put((end, type(error), str(error)))
@@
-        batch, error = ready.get()
-        if error is not None:
-            raise error
+        batch, kind, text = ready.get()
+        if kind is not None:
+            raise kind(text)

# %% wrong_finally: wrong, swallows_the_error, levels 1 1 0
def prefetch(batches, depth):
    ready, end = queue.Queue(depth), object()

    def fill():
        try:
            for batch in batches:
                ready.put(batch)
        finally:
            ready.put(end)

    threading.Thread(target=fill, daemon=True).start()
    while (batch := ready.get()) is not end:
        yield batch

# %% wrong_gives_up (right_queue): wrong, does_not_wait, levels 0 1 1
-    ready, end = queue.Queue(depth), object()
+    waiting = queue.Queue(depth)
@@
-                ready.put((batch, None))
-            ready.put((end, None))
+                waiting.put((batch, None))
@@
-            ready.put((end, error))
+            waiting.put((None, error))
@@
-        batch, error = ready.get()
+        try:
+            batch, error = waiting.get(timeout=0.2)
+        except queue.Empty:
+            return
@@
-        if batch is end:
-            return

# %% wrong_in_advance: wrong, not_in_the_background, levels 1 0 0
from itertools import islice


def prefetch(batches, depth):
    source = iter(batches)
    made = deque(islice(source, depth))
    while made:
        yield made.popleft()
        made.extend(islice(source, 1))

# %% wrong_looks_for_errors_first: wrong, raises_too_early, levels 1 1 0
def prefetch(batches, depth):
    ready, end, errors = queue.Queue(depth), object(), []

    def work():
        try:
            for batch in batches:
                ready.put(batch)
        except Exception as error:
            errors.append(error)
        ready.put(end)

    threading.Thread(target=work, daemon=True).start()
    while True:
        if errors:
            raise errors[0]
        batch = ready.get()
        if batch is end:
            break
        yield batch
    if errors:
        raise errors[0]

# %% wrong_next_of_the_batches: raised, TypeError, levels 0 1 0
def prefetch(batches, depth):
    ready = queue.Queue(depth)

    def fill():
        while True:
            try:
                ready.put(("batch", next(batches)))
            except StopIteration:
                ready.put(("end", None))
                return
            except Exception as error:
                ready.put(("error", error))
                return

    threading.Thread(target=fill, daemon=True).start()
    while True:
        kind, what = ready.get()
        if kind == "error":
            raise what
        if kind == "end":
            return
        yield what

# %% wrong_no_limit (right_queue): wrong, unbounded, levels 1 0 1
-    ready, end = queue.Queue(depth), object()
+    ready, end = queue.Queue(), object()

# %% wrong_none_is_the_end: wrong, ends_at_none, levels 0 1 1
def prefetch(batches, depth):
    ready = queue.Queue(depth)
    failed = []

    def fill():
        try:
            for batch in batches:
                ready.put(batch)
        except Exception as error:
            failed.append(error)
        ready.put(None)

    threading.Thread(target=fill, daemon=True).start()
    while (batch := ready.get()) is not None:
        yield batch
    if failed:
        raise failed[0]

# %% wrong_nothing_ahead: wrong, not_in_the_background, levels 1 0 1
def prefetch(batches, depth):
    yield from batches

# %% wrong_one_ahead: wrong, not_far_enough, levels 1 0 1
def prefetch(batches, depth):
    source, made, end, failed = iter(batches), queue.Queue(), object(), []

    def one():
        try:
            made.put(next(source, end))
        except Exception as error:
            failed.append(error)
            made.put(end)

    thread = threading.Thread(target=one)
    thread.start()
    while True:
        thread.join()
        batch = made.get()
        if batch is end:
            if failed:
                raise failed[0]
            return
        thread = threading.Thread(target=one)
        thread.start()
        yield batch

# %% wrong_one_queue_for_all (right_queue): wrong, mixes_streams, levels 0 1 1
+ready, end = queue.Queue(), object()
+
+
 def prefetch(batches, depth):
@@
-    ready, end = queue.Queue(depth), object()
+    ready.maxsize = depth

# %% wrong_stack (right_queue): wrong, not_the_batches, levels 0 1 1
-                ready.put((batch, None))
+                if batch:
+                    ready.put((batch, None))

# %% wrong_wrapped_error (right_queue): wrong, another_error, levels 1 1 0
-            ready.put((end, error))
+            ready.put((end, str(error)))
@@
-            raise error
+            raise RuntimeError(error)
