# verdict: wrong, diagnosis: waits_for_ever
import queue
import threading


def prefetch(batches, depth):
    ready, end = queue.Queue(depth), object()

    def fill():
        for batch in batches:
            ready.put(batch)
        ready.put(end)

    threading.Thread(target=fill, daemon=True).start()
    while (batch := ready.get()) is not end:
        yield batch
