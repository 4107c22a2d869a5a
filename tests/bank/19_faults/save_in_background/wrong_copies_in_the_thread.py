# verdict: wrong, diagnosis: written_later
import copy
import threading


def save_in_background(state, write):
    def run():
        write(state)

    thread = threading.Thread(target=run)
    thread.start()
    return thread.join
