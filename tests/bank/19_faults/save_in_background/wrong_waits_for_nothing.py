# verdict: wrong, diagnosis: does_not_wait
import copy
import threading


def save_in_background(state, write):
    thread = threading.Thread(target=write, args=(copy.deepcopy(state),), daemon=True)
    thread.start()
    return lambda: None
