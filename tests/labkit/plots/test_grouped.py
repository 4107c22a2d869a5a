"""Bars side by side: as high as the values say, with the values at their ends."""

import matplotlib.pyplot as plt
import pytest

from labkit.plots import grouped


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


def test_a_bar_for_each_value():
    ax = grouped.bars(["plain", "every 2"], {"after": [4.0, 1.0], "peak": [5.0, 2.5]}, ylabel="MB")
    assert [bar.get_height() for bar in ax.patches] == [4.0, 1.0, 5.0, 2.5]
    assert [text.get_text() for text in ax.texts] == ["4.0", "1.0", "5.0", "2.5"]
    assert [text.get_text() for text in ax.get_xticklabels()] == ["plain", "every 2"]
    first, _, second, _ = ax.patches
    assert first.get_x() + first.get_width() <= second.get_x()
    assert first.get_hatch() != second.get_hatch()  # not told by colour alone
    assert ax.get_ylabel() == "MB" and ax.get_ylim()[1] > 5.0


def test_what_does_not_fit_is_said():
    with pytest.raises(ValueError, match="peak: 1 values for 2 groups"):
        grouped.bars(["a", "b"], {"peak": [1.0]})
    with pytest.raises(ValueError, match="4 series"):
        grouped.bars(["a"], {name: [1.0] for name in "abcd"})
