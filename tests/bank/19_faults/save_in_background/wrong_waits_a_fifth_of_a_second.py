# verdict: wrong, diagnosis: does_not_wait
import copy
import threading


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
