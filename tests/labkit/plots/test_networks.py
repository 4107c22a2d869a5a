"""Links: every link that was used has its arrow, thicker with more bytes; the bytes between nodes are added up."""

import matplotlib.pyplot as plt
import pytest

from labkit.plots import networks


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


def test_an_arrow_for_each_link_and_the_bytes_between_the_nodes():
    ax = networks.links({(0, 1): 4000, (1, 2): 1000, (2, 0): 2000}, 4, 2, title="a ring")
    arrows = [text.arrow_patch for text in ax.texts if getattr(text, "arrow_patch", None)]
    assert len(arrows) == 3
    assert ax.get_title() == "a ring\n3 kB between the nodes"
    inside, across, back = arrows
    assert inside.get_linewidth() > back.get_linewidth() > across.get_linewidth()
    assert inside.get_linestyle() == "-" != across.get_linestyle()  # not told by colour alone
    assert inside.get_edgecolor()[:3] != across.get_edgecolor()[:3]
    assert [text.get_text() for text in ax.texts if text.get_text()] == ["0", "1", "2", "3"]
    assert len(ax.patches) == 2  # a box for each node


def test_a_network_on_which_nothing_was_sent():
    _, ax = plt.subplots()
    assert networks.links({}, 3, 2, ax, title="silence") is ax
    assert "0 kB" in ax.get_title()


def test_a_rank_that_is_not_there():
    with pytest.raises(ValueError, match=r"\[4\] are not among the 4"):
        networks.links({(0, 4): 8}, 4, 2)


def test_links_beside_each_other():
    networks.beside({"one": {(0, 1): 4000}, "two": {(1, 2): 1000}}, 4, 2)
    assert [ax.get_title().split("\n")[0] for ax in plt.gcf().axes] == ["one", "two"]


def test_modelled_times_have_a_panel_for_each_machine():
    networks.modelled(lambda algorithm, nbytes, nodes, per_node: nbytes * nodes, [(2, 1), (4, 2)])
    left, right = plt.gcf().axes
    assert [ax.get_title() for ax in (left, right)] == ["2 nodes of 1", "4 nodes of 2"]
    assert [line.get_label() for line in right.lines] == list(networks.LOOKS)
    assert right.lines[0].get_ydata()[0] == 400 and left.get_xscale() == left.get_yscale() == "log"
