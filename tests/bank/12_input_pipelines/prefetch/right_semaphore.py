# verdict: passed
import threading
from collections import deque


class prefetch:
    def __init__(self, batches, depth):
        self.made, self.there = deque(), threading.Semaphore(0)
        self.room = threading.Semaphore(depth)
        threading.Thread(target=self.fill, args=(batches,), daemon=True).start()

    def fill(self, batches):
        source = iter(batches)
        while True:
            self.room.acquire()
            try:
                self.made.append(("batch", next(source)))
            except BaseException as error:
                self.made.append(("error", error))
            self.there.release()
            if self.made and self.made[-1][0] == "error":
                return

    def __iter__(self):
        return self

    def __next__(self):
        self.there.acquire()
        kind, what = self.made.popleft()
        if kind == "error":
            raise what
        self.room.release()
        return what
