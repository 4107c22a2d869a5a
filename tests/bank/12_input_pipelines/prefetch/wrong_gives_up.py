# verdict: wrong, diagnosis: does_not_wait
import queue
import threading


def prefetch(batches, depth):
    waiting = queue.Queue(depth)

    def fill():
        try:
            for batch in batches:
                waiting.put((batch, None))
        except Exception as error:
            waiting.put((None, error))

    threading.Thread(target=fill, daemon=True).start()
    while True:
        try:
            batch, error = waiting.get(timeout=0.2)
        except queue.Empty:
            return
        if error is not None:
            raise error
        yield batch
