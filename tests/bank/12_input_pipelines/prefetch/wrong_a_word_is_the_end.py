# verdict: wrong, diagnosis: a_batch_is_a_sign
import queue
import threading


def prefetch(batches, depth):
    waiting = queue.Queue(depth)

    def fill():
        try:
            for batch in batches:
                waiting.put((batch, None))
            waiting.put(("end", None))
        except Exception as error:
            waiting.put(("end", error))

    threading.Thread(target=fill, daemon=True).start()
    while True:
        batch, error = waiting.get()
        if error is not None:
            raise error
        if isinstance(batch, str) and batch == "end":
            return
        yield batch
