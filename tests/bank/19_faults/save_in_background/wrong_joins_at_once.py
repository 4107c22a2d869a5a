# verdict: wrong, diagnosis: waits_for_the_disk
import copy
import threading


def save_in_background(state, write):
    thread = threading.Thread(target=write, args=(copy.deepcopy(state),))
    thread.start()
    thread.join()
    return thread.join
