# verdict: wrong, diagnosis: a_batch_is_a_sign
import queue
import threading


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
