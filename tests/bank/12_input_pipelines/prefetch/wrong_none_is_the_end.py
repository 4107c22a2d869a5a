# verdict: wrong, diagnosis: ends_at_none
import queue
import threading


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
