# verdict: wrong, diagnosis: swallows_the_error
import queue
import threading


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
