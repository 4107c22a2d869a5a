# Right and wrong answers to `shuffle_buffer`. In files of their own: autograder bank --write DIR
import itertools

# %% right_class: passed
class shuffle_buffer:
    def __init__(self, stream, size, rng):
        self.stream, self.size, self.rng, self.buffer, self.rest = iter(stream), size, rng, [], None

    def __iter__(self):
        return self

    def __next__(self):
        while self.rest is None:
            try:
                element = next(self.stream)
            except StopIteration:
                self.rest = [self.buffer[k] for k in self.rng.permutation(len(self.buffer))]
                break
            if len(self.buffer) < self.size:
                self.buffer.append(element)
                continue
            k = self.rng.integers(self.size)
            out, self.buffer[k] = self.buffer[k], element
            return out
        if not self.rest:
            raise StopIteration
        return self.rest.pop(0)

# %% right_generator: passed
def shuffle_buffer(stream, size, rng):
    buffer = []
    for element in stream:
        if len(buffer) < size:
            buffer.append(element)
        else:
            k = rng.integers(size)
            yield buffer[k]
            buffer[k] = element
    for k in rng.permutation(len(buffer)):
        yield buffer[k]

# %% right_islice: passed
# differs: The first elements fill the buffer in one call, and then one is exchanged for each that comes.
def shuffle_buffer(stream, size, rng):
    stream = iter(stream)
    buffer = list(itertools.islice(stream, size))
    for element in stream:
        k = int(rng.integers(size))
        buffer[k], element = element, buffer[k]
        yield element
    yield from (buffer[k] for k in rng.permutation(len(buffer)))

# %% right_shuffles_the_rest: passed
def shuffle_buffer(stream, size, rng):
    buffer = []
    for new in stream:
        if len(buffer) < size:
            buffer.append(new)
            continue
        k = rng.integers(size)
        yield buffer[k]
        buffer[k] = new
    rng.shuffle(buffer)
    yield from buffer

# %% wrong_all_at_once: wrong, reads_everything, levels 1 0
def shuffle_buffer(stream, size, rng):
    elements = list(stream)
    buffer, out = elements[:size], []
    for element in elements[size:]:
        k = rng.integers(size)
        out.append(buffer[k])
        buffer[k] = element
    return iter(out + [buffer[k] for k in rng.permutation(len(buffer))])

# %% wrong_begins_again (right_islice): wrong, begins_again, levels 0 1
-    stream = iter(stream)

# %% wrong_blocks: wrong, shuffles_blocks, levels 0 0
def shuffle_buffer(stream, size, rng):
    buffer = []
    for element in stream:
        buffer.append(element)
        if len(buffer) == size:
            yield from (buffer[k] for k in rng.permutation(size))
            buffer = []
    yield from (buffer[k] for k in rng.permutation(len(buffer)))

# %% wrong_draws_after_the_end (right_shuffles_the_rest): wrong, draws_too_much, levels 0 0
-    rng.shuffle(buffer)
-    yield from buffer
+    for k in rng.permutation(len(buffer)):
+        yield buffer[k]
+    rng.random()

# %% wrong_empty_places (right_generator): wrong, takes_for_a_sign, levels 1 0
-    buffer = []
+    buffer = [None] * size
@@
-        if len(buffer) < size:
-            buffer.append(element)
+        if None in buffer:
+            buffer[buffer.index(None)] = element
@@
             buffer[k] = element
+    buffer = [element for element in buffer if element is not None]

# %% wrong_end_is_none (right_generator): wrong, takes_for_a_sign, levels 1 0
-    buffer = []
-    for element in stream:
+    buffer, stream = [], iter(stream)
+    while True:
+        element = next(stream, None)
+        if element is None:
+            break

# %% wrong_looks_one_further: wrong, reads_too_far, levels 1 0
def shuffle_buffer(stream, size, rng):
    stream, end = iter(stream), object()
    buffer, coming = [], next(stream, end)
    while coming is not end:
        element, coming = coming, next(stream, end)
        if len(buffer) < size:
            buffer.append(element)
            continue
        k = rng.integers(size)
        leaves, buffer[k] = buffer[k], element
        yield leaves
    for k in rng.permutation(len(buffer)):
        yield buffer[k]

# %% wrong_loses_rest (right_generator): wrong, loses_the_rest, levels 0 0
-    for k in rng.permutation(len(buffer)):
-        yield buffer[k]

# %% wrong_next_of_the_stream: raised, TypeError, levels 0 1
def shuffle_buffer(stream, size, rng):
    buffer = []
    while True:
        try:
            element = next(stream)
        except StopIteration:
            break
        if len(buffer) < size:
            buffer.append(element)
            continue
        k = rng.integers(size)
        yield buffer[k]
        buffer[k] = element
    for k in rng.permutation(len(buffer)):
        yield buffer[k]

# %% wrong_one_more: wrong, own_generator, levels 0 0
def shuffle_buffer(stream, size, rng):
    buffer = []
    for element in stream:
        buffer.append(element)
        if len(buffer) > size:
            yield buffer.pop(rng.integers(len(buffer)))
    for k in rng.permutation(len(buffer)):
        yield buffer[k]

# %% wrong_own (right_generator): wrong, own_generator, levels 0 0
+import random
+
+
 def shuffle_buffer(stream, size, rng):
@@
-            k = rng.integers(size)
+            k = random.randrange(size)
@@
-    for k in rng.permutation(len(buffer)):
-        yield buffer[k]
+    random.shuffle(buffer)
+    yield from buffer

# %% wrong_permutes_the_elements: wrong, takes_apart, levels 1 0
def shuffle_buffer(stream, size, rng):
    held = []
    for one in stream:
        if len(held) < size:
            held.append(one)
            continue
        k = rng.integers(size)
        out, held[k] = held[k], one
        yield out
    yield from rng.permutation(held)

# %% wrong_pop_append: wrong, not_in_its_place, levels 0 0
def shuffle_buffer(stream, size, rng):
    buffer = []
    for element in stream:
        if len(buffer) == size:
            yield buffer.pop(rng.integers(size))
        buffer.append(element)
    for k in rng.permutation(len(buffer)):
        yield buffer[k]

# %% wrong_reads_a_buffer_ahead: wrong, reads_too_far, levels 1 0
from itertools import islice


def shuffle_buffer(stream, size, rng):
    stream = iter(stream)
    buffer = list(islice(stream, size))
    while block := list(islice(stream, size)):
        for element in block:
            k = rng.integers(size)
            yield buffer[k]
            buffer[k] = element
    for k in rng.permutation(len(buffer)):
        yield buffer[k]

# %% wrong_rest_in_order (right_generator): wrong, rest_in_order, levels 0 0
-    for k in rng.permutation(len(buffer)):
-        yield buffer[k]
+    yield from buffer

# %% wrong_with_replacement (right_generator): wrong, not_each_once, levels 0 0
-            k = rng.integers(size)
-            yield buffer[k]
-            buffer[k] = element
+            yield buffer[rng.integers(size)]
+            buffer[rng.integers(size)] = element
