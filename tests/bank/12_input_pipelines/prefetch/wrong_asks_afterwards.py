# verdict: wrong, diagnosis: not_far_enough
from collections import deque
from concurrent.futures import ThreadPoolExecutor


def prefetch(batches, depth):
    source, end = iter(batches), object()
    with ThreadPoolExecutor(1) as pool:
        waiting = deque(pool.submit(next, source, end) for _ in range(depth))
        while (batch := waiting.popleft().result()) is not end:
            yield batch
            waiting.append(pool.submit(next, source, end))
