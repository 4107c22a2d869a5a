# verdict: wrong, diagnosis: another_error
import queue
import threading


def prefetch(batches, depth):
    ready, end = queue.Queue(depth), object()

    def fill():
        try:
            for batch in batches:
                ready.put((batch, None))
            ready.put((end, None))
        except Exception as error:
            ready.put((end, str(error)))

    threading.Thread(target=fill, daemon=True).start()
    while True:
        batch, error = ready.get()
        if error is not None:
            raise RuntimeError(error)
        if batch is end:
            return
        yield batch
