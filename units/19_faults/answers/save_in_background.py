# Right and wrong answers to `save_in_background`. In files of their own: autograder bank --write DIR
import copy
import threading
import torch
from concurrent.futures import ThreadPoolExecutor

# %% right_futures: passed
# differs: A pool of one thread: its future keeps the error and raises it when it is asked for.
def save_in_background(state, write):
    pool = ThreadPoolExecutor(1)
    future = pool.submit(write, copy.deepcopy(state))
    pool.shutdown(wait=False)
    return future.result

# %% right_singledispatch: passed
from collections.abc import Callable
from functools import singledispatch


@singledispatch
def _copied(value):
    return value  # a number


@_copied.register(torch.Tensor)
def _(value):
    return value.detach().clone()


@_copied.register(dict)
def _(value):
    return {name: _copied(part) for name, part in value.items()}


@_copied.register(list)
def _(value):
    return [_copied(part) for part in value]


def save_in_background(state: dict, write: Callable) -> Callable:
    executor = ThreadPoolExecutor(max_workers=1)
    future = executor.submit(write, _copied(state))
    executor.shutdown(wait=False)

    def wait():
        future.result()

    return wait

# %% right_thread: passed
def cloned(value):
    if isinstance(value, torch.Tensor):
        return value.detach().clone()
    if isinstance(value, dict):
        return {key: cloned(one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(cloned(one) for one in value)
    return value


def save_in_background(state, write):
    copied, errors = cloned(state), []

    def run():
        try:
            write(copied)
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=run)
    thread.start()

    def wait():
        thread.join()
        if errors:
            raise errors[0]

    return wait

# %% wrong_a_pool_for_all: wrong, one_after_the_other, levels 1 0 1
POOL = ThreadPoolExecutor(max_workers=1)


def save_in_background(state, write):
    return POOL.submit(write, copy.deepcopy(state)).result

# %% wrong_a_pool_of_two: wrong, one_after_the_other, levels 1 0 1
POOL = ThreadPoolExecutor(max_workers=2)


def save_in_background(state, write):
    return POOL.submit(write, copy.deepcopy(state)).result

# %% wrong_copies_in_the_thread: wrong, written_later, levels 0 0 0
import copy, threading


def save_in_background(state, write):
    failed = []
    def run():
        try:
            write(copy.deepcopy(state))
        except BaseException as e:
            failed.append(e)
    thread = threading.Thread(target=run)
    thread.start()
    def wait():
        thread.join()
        if failed:
            raise failed[0]
    return wait

# %% wrong_error_lost: wrong, error_lost, levels 1 1 0
def save_in_background(state, write):
    thread = threading.Thread(target=write, args=(copy.deepcopy(state),))
    thread.start()
    return thread.join

# %% wrong_error_made_again: wrong, another_error, levels 1 1 0
def save_in_background(state, write):
    mine, failed = copy.deepcopy(state), []

    def run():
        try:
            write(mine)
        except Exception as error:
            failed.append((type(error), str(error)))

    thread = threading.Thread(target=run)
    thread.start()

    def wait():
        thread.join()
        if failed:
            kind, text = failed[0]
            raise kind(text)

    return wait

# %% wrong_errors_in_a_global: wrong, error_of_another_save, levels 1 1 0
errors = []


def copied(x):
    if isinstance(x, dict):
        return {k: copied(v) for k, v in x.items()}
    if isinstance(x, list):
        return [copied(v) for v in x]
    if isinstance(x, torch.Tensor):
        return x.detach().clone()
    return x


def save_in_background(state, write):
    mine = copied(state)

    def work():
        try:
            write(mine)
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=work)
    thread.start()

    def wait():
        thread.join()
        if errors:
            raise errors[0]

    return wait

# %% wrong_errors_of_all_saves: wrong, error_of_another_save, levels 1 1 0
ERRORS = []


def save_in_background(state, write):
    copied = copy.deepcopy(state)

    def run():
        try:
            write(copied)
        except Exception as error:
            ERRORS.append(error)

    thread = threading.Thread(target=run)
    thread.start()

    def wait():
        thread.join()
        if ERRORS:
            raise ERRORS.pop(0)

    return wait

# %% wrong_float32_copy: wrong, not_a_copy, levels 0 0 0
import copy, threading


def conv(s):
    if isinstance(s, dict): return {k: conv(v) for k, v in s.items()}
    if isinstance(s, list): return [conv(v) for v in s]
    return s.float() if hasattr(s, 'float') else s
def save_in_background(state, write):
    copied = conv(state)
    failed = []
    def run():
        try:
            write(copied)
        except BaseException as e:
            failed.append(e)
    thread = threading.Thread(target=run)
    thread.start()
    def wait():
        thread.join()
        if failed:
            raise failed[0]
    return wait

# %% wrong_float_tensors_only: wrong, tensors_not_copied, levels 0 0 0
def copied(x):
    if isinstance(x, dict):
        return {k: copied(v) for k, v in x.items()}
    if isinstance(x, list):
        return [copied(v) for v in x]
    if torch.is_tensor(x) and x.is_floating_point():
        return x.detach().clone()
    return x  # numbers, indices


def save_in_background(state, write):
    mine, failed = copied(state), []

    def run():
        try:
            write(mine)
        except Exception as error:
            failed.append(error)

    thread = threading.Thread(target=run)
    thread.start()

    def wait():
        thread.join()
        if failed:
            raise failed[0]

    return wait

# %% wrong_joins_at_once: wrong, waits_for_the_disk, levels 1 0 0
def save_in_background(state, write):
    thread = threading.Thread(target=write, args=(copy.deepcopy(state),))
    thread.start()
    thread.join()
    return thread.join

# %% wrong_lists_of_dicts_only: wrong, tensors_not_copied, levels 0 0 0
def copied(x):
    if isinstance(x, dict):
        return {k: copied(v) for k, v in x.items()}
    if isinstance(x, list) and x and isinstance(x[0], dict):
        return [copied(v) for v in x]
    return x.detach().clone() if torch.is_tensor(x) else x


def save_in_background(state, write):
    mine, failed = copied(state), []

    def run():
        try:
            write(mine)
        except Exception as error:
            failed.append(error)

    thread = threading.Thread(target=run)
    thread.start()

    def wait():
        thread.join()
        if failed:
            raise failed[0]

    return wait

# %% wrong_no_copy (right_futures): wrong, written_later, levels 0 0 0
-    future = pool.submit(write, copy.deepcopy(state))
+    future = pool.submit(write, state)

# %% wrong_one_buffer: wrong, one_memory_for_all, levels 0 0 1
def copied(x):
    if isinstance(x, dict):
        return {k: copied(v) for k, v in x.items()}
    if isinstance(x, list):
        return [copied(v) for v in x]
    if isinstance(x, torch.Tensor):
        return x.detach().clone()
    return x


KEPT = {}


def save_in_background(state, write):
    mine = KEPT
    KEPT.clear()
    KEPT.update(copied(state))
    errors = []

    def work():
        try:
            write(mine)
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=work)
    thread.start()

    def wait():
        thread.join()
        if errors:
            raise errors[0]

    return wait

# %% wrong_oserror_only: wrong, error_lost, levels 1 1 0
import copy, threading


def save_in_background(state, write):
    copied = copy.deepcopy(state)
    failed = []
    def run():
        try:
            write(copied)
        except OSError as e:
            failed.append(e)
    thread = threading.Thread(target=run)
    thread.start()
    def wait():
        thread.join()
        if failed:
            raise failed[0]
    return wait

# %% wrong_shallow (right_futures): wrong, tensors_not_copied, levels 0 0 0
-    future = pool.submit(write, copy.deepcopy(state))
+    future = pool.submit(write, dict(state))

# %% wrong_starts_late: wrong, begins_when_waited_for, levels 1 0 0
import copy, threading


def save_in_background(state, write):
    copied = copy.deepcopy(state)
    failed = []
    def run():
        try:
            write(copied)
        except BaseException as e:
            failed.append(e)
    thread = threading.Thread(target=run)
    def wait():
        thread.start(); thread.join()
        if failed:
            raise failed[0]
    return wait

# %% wrong_synchronous: wrong, waits_for_the_disk, levels 1 0 0
def save_in_background(state, write):
    write(copy.deepcopy(state))
    return lambda: None

# %% wrong_waits_a_fifth_of_a_second: wrong, does_not_wait, levels 0 0 0
def save_in_background(state, write):
    mine, failed = copy.deepcopy(state), []

    def run():
        try:
            write(mine)
        except Exception as error:
            failed.append(error)

    thread = threading.Thread(target=run)
    thread.start()

    def wait():
        thread.join(timeout=5)
        if failed:
            raise failed[0]

    return wait

# %% wrong_waits_for_nothing: wrong, does_not_wait, levels 0 0 0
def save_in_background(state, write):
    thread = threading.Thread(target=write, args=(copy.deepcopy(state),), daemon=True)
    thread.start()
    return lambda: None

# %% wrong_writes_when_waited_for: wrong, never_written, levels 0 0 0
def save_in_background(state, write):
    thread = threading.Thread(target=write, args=(copy.deepcopy(state),))

    def wait():
        return None if thread.is_alive() else thread

    return wait
