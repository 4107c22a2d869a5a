# verdict: passed
import threading

import torch


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
