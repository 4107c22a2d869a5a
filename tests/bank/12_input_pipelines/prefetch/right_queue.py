# verdict: passed
# differs: A bounded queue holds the thread back, and errors travel through it like batches.
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
            ready.put((end, error))

    threading.Thread(target=fill, daemon=True).start()
    while True:
        batch, error = ready.get()
        if error is not None:
            raise error
        if batch is end:
            return
        yield batch
