# verdict: wrong, diagnosis: waits_for_the_disk
import copy


def save_in_background(state, write):
    write(copy.deepcopy(state))
    return lambda: None
