# verdict: passed
import queue
import threading


def prefetch(batches, depth):
    ready, errors = queue.Queue(depth), []

    def fill():
        try:
            for batch in batches:
                ready.put(batch)
        except Exception as error:
            errors.append(error)

    thread = threading.Thread(target=fill, daemon=True)
    thread.start()
    while thread.is_alive() or not ready.empty():
        try:
            yield ready.get(timeout=0.05)
        except queue.Empty:
            pass
    if errors:
        raise errors[0]
