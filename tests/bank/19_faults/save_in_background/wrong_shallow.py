# verdict: wrong, diagnosis: tensors_not_copied
import copy
from concurrent.futures import ThreadPoolExecutor


def save_in_background(state, write):
    pool = ThreadPoolExecutor(1)
    future = pool.submit(write, dict(state))
    pool.shutdown(wait=False)
    return future.result
