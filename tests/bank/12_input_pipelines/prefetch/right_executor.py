# verdict: passed
# differs: One thread and a line of promises: an error in the source comes out of `result()` at its place, without a word of yours.
from collections import deque
from concurrent.futures import ThreadPoolExecutor


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
