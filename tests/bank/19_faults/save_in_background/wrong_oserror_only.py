# verdict: wrong, diagnosis: error_lost
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
