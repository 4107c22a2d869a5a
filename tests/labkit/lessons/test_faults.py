"""The machinery of unit 19: what a kill leaves of a file, and failures at random moments."""

import os

from labkit.lessons import faults


def in_place(path, data):
    with open(path, "wb") as file:
        file.write(data)


def renamed(path, data):
    in_place(f"{path}.part", data)
    os.replace(f"{path}.part", path)


def test_a_kill_leaves_a_half_file_unless_the_name_comes_last():
    assert faults.killed_at_every_byte(in_place) == {"old": 0, "new": 1, "half": 60, "gone": 0}
    assert faults.killed_at_every_byte(renamed) == {"old": 60, "new": 1, "half": 0, "gone": 0}


def test_failures_come_in_order_and_as_often_as_said():
    moments = faults.log_of_failures(0, 100, 100_000)
    assert moments == sorted(moments) and moments[-1] < 100_000
    assert 900 < len(moments) < 1100
