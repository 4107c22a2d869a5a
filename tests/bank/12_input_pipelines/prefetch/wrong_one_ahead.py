# verdict: wrong, diagnosis: not_far_enough
import queue
import threading


def prefetch(batches, depth):
    source, made, end = iter(batches), queue.Queue(), object()

    def one():
        try:
            made.put(next(source, end))
        except Exception as error:
            made.put((end, error))

    thread = threading.Thread(target=one)
    thread.start()
    while True:
        thread.join()
        batch = made.get()
        if batch is end:
            return
        if isinstance(batch, tuple):
            raise batch[1]
        thread = threading.Thread(target=one)
        thread.start()
        yield batch
