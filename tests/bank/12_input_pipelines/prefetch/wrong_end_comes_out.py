# verdict: wrong, diagnosis: the_end_is_a_batch
import queue
import threading


def prefetch(batches, depth):
    ready, failed = queue.Queue(depth), []
    over = threading.Event()

    def fill():
        try:
            for batch in batches:
                ready.put(batch)
        except Exception as error:
            failed.append(error)
        over.set()
        ready.put("end")

    threading.Thread(target=fill, daemon=True).start()
    while True:
        batch = ready.get()
        if failed and isinstance(batch, str):
            raise failed[0]
        yield batch
        if isinstance(batch, str):
            return
