# verdict: wrong, diagnosis: not_far_enough
import queue
import threading


def prefetch(batches, depth):
    source, made, end, failed = iter(batches), queue.Queue(), object(), []

    def one():
        try:
            made.put(next(source, end))
        except Exception as error:
            failed.append(error)
            made.put(end)

    thread = threading.Thread(target=one)
    thread.start()
    while True:
        thread.join()
        batch = made.get()
        if batch is end:
            if failed:
                raise failed[0]
            return
        thread = threading.Thread(target=one)
        thread.start()
        yield batch
