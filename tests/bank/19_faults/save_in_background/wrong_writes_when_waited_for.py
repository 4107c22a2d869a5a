# verdict: wrong, diagnosis: never_written
import copy
import threading


def save_in_background(state, write):
    thread = threading.Thread(target=write, args=(copy.deepcopy(state),))

    def wait():
        return None if thread.is_alive() else thread

    return wait
