# verdict: wrong, diagnosis: error_lost
import copy
import threading


def save_in_background(state, write):
    thread = threading.Thread(target=write, args=(copy.deepcopy(state),))
    thread.start()
    return thread.join
