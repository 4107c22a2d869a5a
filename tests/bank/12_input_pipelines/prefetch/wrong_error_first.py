# verdict: wrong, diagnosis: raises_too_early
import queue
import threading


def prefetch(batches, depth):
    ready, end, failed = queue.Queue(depth), object(), []
    over = threading.Event()

    def fill():
        try:
            for batch in batches:
                ready.put(batch)
        except Exception as error:
            failed.append(error)
            over.set()
        ready.put(end)

    threading.Thread(target=fill, daemon=True).start()
    first = True
    while (batch := ready.get()) is not end:
        if not first and over.wait(0.05):
            raise failed[0]
        first = False
        yield batch
    if failed:
        raise failed[0]
