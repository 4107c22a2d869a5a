# verdict: wrong, diagnosis: not_in_the_background
from collections import deque
from itertools import islice


def prefetch(batches, depth):
    source = iter(batches)
    made = deque(islice(source, depth))
    while made:
        yield made.popleft()
        made.extend(islice(source, 1))
