# verdict: passed
# differs: A pool of one thread: its future keeps the error and raises it when it is asked for.
import copy
from concurrent.futures import ThreadPoolExecutor


def save_in_background(state, write):
    pool = ThreadPoolExecutor(1)
    future = pool.submit(write, copy.deepcopy(state))
    pool.shutdown(wait=False)
    return future.result
