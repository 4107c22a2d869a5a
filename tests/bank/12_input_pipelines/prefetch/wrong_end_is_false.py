# verdict: wrong, diagnosis: a_batch_is_a_sign
import queue
import threading


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
