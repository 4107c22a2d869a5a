# verdict: wrong, diagnosis: begins_when_waited_for
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
