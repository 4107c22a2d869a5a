# verdict: wrong, diagnosis: written_later
import copy, threading
def save_in_background(state, write):
    failed = []
    def run():
        try:
            write(copy.deepcopy(state))
        except BaseException as e:
            failed.append(e)
    thread = threading.Thread(target=run)
    thread.start()
    def wait():
        thread.join()
        if failed:
            raise failed[0]
    return wait
