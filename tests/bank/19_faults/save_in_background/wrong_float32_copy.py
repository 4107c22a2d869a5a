# verdict: wrong, diagnosis: not_a_copy
import copy, threading
def conv(s):
    if isinstance(s, dict): return {k: conv(v) for k, v in s.items()}
    if isinstance(s, list): return [conv(v) for v in s]
    return s.float() if hasattr(s, 'float') else s
def save_in_background(state, write):
    copied = conv(state)
    failed = []
    def run():
        try:
            write(copied)
        except BaseException as e:
            failed.append(e)
    thread = threading.Thread(target=run)
    thread.start()
    def wait():
        thread.join()
        if failed:
            raise failed[0]
    return wait
