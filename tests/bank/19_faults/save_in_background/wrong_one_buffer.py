# verdict: wrong, diagnosis: one_memory_for_all
import threading

import torch


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
