# verdict: wrong, diagnosis: a_batch_is_a_sign
import queue
import threading


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
