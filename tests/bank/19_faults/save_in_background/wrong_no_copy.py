# verdict: wrong, diagnosis: written_later
import copy
from concurrent.futures import ThreadPoolExecutor


def save_in_background(state, write):
    pool = ThreadPoolExecutor(1)
    future = pool.submit(write, state)
    pool.shutdown(wait=False)
    return future.result
