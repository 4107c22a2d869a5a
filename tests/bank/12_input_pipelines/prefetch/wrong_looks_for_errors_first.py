# verdict: wrong, diagnosis: raises_too_early
import queue
import threading


def prefetch(batches, depth):
    ready, end, errors = queue.Queue(depth), object(), []

    def work():
        try:
            for batch in batches:
                ready.put(batch)
        except Exception as error:
            errors.append(error)
        ready.put(end)

    threading.Thread(target=work, daemon=True).start()
    while True:
        if errors:
            raise errors[0]
        batch = ready.get()
        if batch is end:
            break
        yield batch
    if errors:
        raise errors[0]
