"""The machinery of unit 14: points with wrong labels, curves that fall, and the books of a manager."""

import numpy as np

from labkit.lessons import search


def test_every_tenth_label_is_wrong_and_a_network_learns_the_others():
    data = search.points(300, seed=1)
    net = search.trained(data, 12, lr=0.1, momentum=0.9, layers=2, activation="relu")
    start = search.trained(data, 0, lr=0.1, momentum=0.9, layers=2, activation="relu")
    assert data[0].shape == (300, 6) and data[1].shape == (300,)
    assert search.loss_and_error(net, data)[1] < 0.25 < search.loss_and_error(start, data)[1]


def test_a_configuration_in_words():
    assert (
        search.in_words({"lr": 0.031623, "layers": 2, "activation": "relu"}) == "lr 0.0316, layers 2, activation relu"
    )


def test_curves_fall_and_cross():
    config = {"lr": 0.03, "momentum": 0.9, "layers": 2}
    assert np.all(np.diff(search.curve(config, np.arange(30))) < 0)
    assert search.crossing(80, 3) < search.crossing(0, 3) and search.crossing(80, 81) > search.crossing(0, 81)


def test_a_choice_by_the_test_set_is_reported_too_good():
    wrong = np.random.default_rng(1).random((20, 5000)) < 0.2
    found = search.reported_minus_true(wrong, searches=200)
    assert np.mean(found["chosen and reported by the test set"]) < -2
    assert abs(np.mean(found["chosen by validation"])) < 1


def test_the_books_of_a_halving():
    table = search.Table(search.halving_next, 3, 3, 3)
    assert table.rungs == [1, 3] and table.best() is None
    jobs = [table.next_job() for _ in range(3)]
    assert jobs == [(0, 1), (1, 1), (2, 1)] and table.next_job() is None  # the rung is not complete
    for job, loss in zip(jobs, (0.5, 0.2, 0.9), strict=True):
        table.report(job, loss)
    assert table.next_job() == (1, 3) and table.next_job() is None
    assert table.new_epochs(3) == 2 and table.spent() == 3 + 2 and table.best() == 0.2


def test_all_trials_go_to_the_end_on_one_rung():
    table = search.Table(search.all_to_the_end, 2, 81, 3)
    assert [table.next_job() for _ in range(3)] == [(0, 81), (1, 81), None] and table.spent() == 162
