"""`%%ranks` in a real kernel: what a student sees when it works, when it goes wrong, and that work goes on afterwards."""

from __future__ import annotations

import contextlib
import glob
import re
import socket
import time

import leaks
import psutil
import pytest
from rank_notebook import Cell, Notebook

from labkit.launch import launcher
from labkit.ranks.cluster import Cluster

DEADLINE = 1.0  # s, of the cells that hang
SOON = 20.0  # s: on a busy machine too, and long before any other limit would end a cell
FRESH = "Fresh ranks are starting. Variables on the ranks are gone"


@pytest.fixture(scope="module")
def notebook(tmp_path_factory):
    notebook = Notebook(cwd=str(tmp_path_factory.mktemp("notebook")))
    try:
        yield notebook
    finally:
        notebook.close()


@pytest.fixture(scope="module")
def restarted(notebook) -> Cell:
    """A %%ranks cell in a kernel that has run nothing."""
    return notebook.run("%%ranks\nprint(rank)")


@pytest.fixture(scope="module")
def before(notebook, restarted) -> Cell:
    """A %%ranks cell before there are ranks."""
    assert notebook.run("from labkit import ranks").error is None
    return notebook.run("%%ranks\nprint(rank)")


@pytest.fixture(scope="module")
def ranks(notebook, before):
    """Runs a cell on 4 ranks that are started once."""
    started = notebook.run("ranks.start(4)")
    assert re.fullmatch(r"4 ranks ready \(MPI, this machine, \d+ cores?(: they take turns)?\)", started.text.strip())

    def run(source: str, options: str = "", **keywords) -> Cell:
        return notebook.run(f"%%ranks {options}\n{source}", **keywords)

    return run


@pytest.fixture(scope="module")
def torch_ranks(notebook, ranks):
    """The same with a process group of torch.distributed; in a module's fixture, whose processes and files may stay."""
    assert "4 ranks ready" in notebook.run("ranks.start(4, torch=True)", limit=120).text
    return ranks


@pytest.fixture
def works_again(ranks):
    """Whatever the test did, the next cell runs on 4 ranks."""
    yield
    assert ranks("comm.allreduce(1)").text == "ranks 0-3  4"


def hangs(ranks, source: str, options: str = "") -> Cell:
    """Run a cell that hangs; its report comes soon after the deadline (and after ranks that were starting)."""
    ranks("comm.barrier()")
    cell = ranks(source, f"--deadline {DEADLINE} {options}")
    assert f"within {DEADLINE:g} s." in cell.text
    assert cell.elapsed < DEADLINE + SOON
    assert FRESH in cell.text
    assert cell.error is None
    return cell


def rows(cell: Cell) -> list[str]:
    return [re.sub(r" {2,}", " ", line.strip()) for line in cell.text.split("\n") if re.match(r" +rank \d", line)]


# --- when it works


def test_after_a_restart_the_cells_above_are_asked_for(restarted):
    assert restarted.error is None, "not: cell magic not found"
    assert "has just been started or restarted" in restarted.text and "Run the cells above first" in restarted.text


def test_what_is_said_asks_for_the_process_group_where_it_is_needed(notebook, before):
    cell = notebook.run("%%ranks\nx = torch.ones(1)\ndist.all_reduce(x)")
    assert cell.text.endswith("Start them in a cell of their own: ranks.start(4, torch=True)")


def test_before_the_ranks_are_started(before):
    assert (
        before.text
        == "The cell did not run.\nNo ranks are running yet. Start them in a cell of their own: ranks.start(4)"
    )
    assert before.error is None


def test_output_by_rank_and_what_all_print_alike_once(ranks):
    assert ranks("print('I am', rank, 'of', world_size)").text == "\n".join(
        f"rank {k}  I am {k} of 4" for k in range(4)
    )
    assert ranks("print('alike')\nworld_size").text == "ranks 0-3  alike\n           4"
    assert ranks("print('low' if rank < 3 else 'high')").text == "ranks 0-2  low\nrank 3     high"
    assert ranks("rank;").text == ""


@pytest.mark.parametrize(
    ("which", "seen"), [("0", [0]), ("0,2", [0, 2]), ("1:", [1, 2, 3]), (":2", [0, 1]), ("all", [0, 1, 2, 3])]
)
def test_some_of_the_ranks(ranks, which, seen):
    assert ranks("print(rank)", which).text.split() == [word for k in seen for word in ("rank", str(k), str(k))]


def test_figures_and_rich_displays_stand_under_their_rank(ranks):
    cell = ranks(
        "import matplotlib.pyplot as plt\nfrom IPython.display import HTML, display\n"
        "plt.figure(figsize=(1, 1))\nplt.plot([rank, 1])\nplt.show()\ndisplay(HTML(f'<b>{rank}</b>'))",
        "0,1",
    )
    shown = [next(kind for kind in ("image/png", "text/html") if kind in output) for output in cell.outputs]
    assert shown == ["text/html", "image/png", "text/html"] * 2  # label, figure, HTML
    assert [output["text/html"] for output in cell.outputs if "<b>" in output.get("text/html", "")] == [
        "<b>0</b>",
        "<b>1</b>",
    ]


def test_output_is_shown_while_the_cell_runs(notebook, ranks):
    cell = ranks(
        "import time\nfor k in range(3):\n    print('epoch', k)\n    time.sleep(0.4)\nprint('\\r10%\\r20%', end='')"
    )
    assert cell.text == "ranks 0-3  epoch 0\n           epoch 1\n           epoch 2\n           20%"
    assert len(cell.outputs) == 1


def test_names_of_the_notebook_travel(notebook, ranks):
    notebook.run("import math\nfrom dataclasses import dataclass\nSCALE = 10\n@dataclass\nclass Point:\n    x: int")
    notebook.run("def area(p):\n    return SCALE * math.floor(p.x + 0.5)\npoints = [Point(1), Point(2)]")
    assert ranks("[area(p) for p in points]").text == "ranks 0-3  [10, 20]"
    notebook.run("SCALE = 100")
    assert ranks("area(points[1])").text == "ranks 0-3  200"
    notebook.run("points.append(Point(3))")
    assert ranks("len(points)").text == "ranks 0-3  3"


def test_a_name_assigned_on_the_ranks_stays_until_the_notebook_changes_its_own(notebook, ranks):
    notebook.run("size = 1\ndef f():\n    return 'notebook'")
    ranks("size = 5 + rank\ndef f():\n    return 'ranks'")
    assert ranks("print(size, f())", "0").text == "rank 0  5 ranks"
    assert notebook.run("ranks.pull('size')").text == "[5, 6, 7, 8]"
    notebook.run("size = 2\ndef f():\n    return 'changed'")
    assert ranks("print(size, f())", "0").text == "rank 0  2 changed"
    assert "NameError" in "".join(notebook.run("ranks.pull('nowhere')").error)


def test_communication_is_recorded(notebook, ranks):
    cell = ranks(
        """
        right, left = (rank + 1) % world_size, (rank - 1) % world_size
        a, b = np.full(3, float(rank)), np.empty(3)
        MPI = __import__("mpi4py.MPI").MPI
        MPI.Request.Waitall([comm.Isend(a, dest=right, tag=5), comm.Irecv(b, source=left, tag=5)])
        comm.sendrecv(rank, dest=right, source=left)
        half = MPI.COMM_WORLD.Split(rank % 2)
        half.Allreduce(MPI.IN_PLACE, a)
        if half.rank == 0:
            half.send("x", 1)
        else:
            half.recv(source=MPI.ANY_SOURCE)
        half.Dup().Free()
        comm.bcast(None)
        """
    )
    assert cell.text == ""
    found = notebook.run(
        "[(e.kind, e.peer, e.tag, e.nbytes, e.group, e.line[-7:]) for e in ranks.events() if e.rank == 1], "
        "all(e.match and e.ended >= e.started >= e.posted for e in ranks.events())"
    )
    events, complete = eval(found.text)
    assert complete
    assert events == [
        ("Isend", 2, 5, 24, None, " line 6"),
        ("Irecv", 0, 5, 24, None, " line 6"),
        ("isend", 2, 0, 5, None, " line 7"),
        ("recv", 0, 0, 5, None, " line 7"),
        ("Split", None, 0, 0, None, " line 8"),
        ("Allreduce", None, 0, 24, (1, 3), " line 9"),
        ("send", 3, 0, 16, (1, 3), "line 11"),
        ("Dup", None, 0, 0, (1, 3), "line 14"),
        ("bcast", 0, 0, 4, None, "line 15"),
    ]
    assert notebook.run("ranks.timeline()").count("image/png") == 1
    assert ranks("comm.barrier()", "--timeline").count("image/png") == 1


# --- bad input: one clear message, and work goes on


def test_a_syntax_error_is_shown_with_its_line_and_nothing_runs(ranks, works_again):
    cell = ranks("\nprint('sent')\nfor k in range(3)\n    pass")
    assert cell.text == (
        f"The cell did not run.\ncell {cell.number}, line 4: expected ':'\n  for k in range(3)\n                   ^"
    )


@pytest.mark.parametrize(
    ("define", "use", "told"),
    [
        ("log = open('/dev/null')", "log", "log cannot be sent to the ranks (cannot pickle "),
        (
            "import numpy\nbig = numpy.zeros(25_000_000)",
            "big",
            "big: 200 MB, and at most 50 MB travel to the ranks with a cell.",
        ),
        (
            "many = [bytes(1000)] * 60000 + [bytes(60_000_000)]",
            "many",
            "many: more than 50 MB, and at most 50 MB travel",
        ),
    ],
)
def test_a_name_that_cannot_travel(notebook, ranks, works_again, define, use, told):
    notebook.run(define)
    cell = ranks(f"print('sent')\n{use}")
    assert cell.text.startswith("The cell did not run.\n" + told)
    assert len(cell.outputs) == 1 and cell.error is None


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ("7", "There is no rank 7: the ranks are 0 to 3."),
        ("first", "I do not understand which ranks 'first' are."),
        ("--deadline soon", "--deadline needs a number of seconds, not 'soon'."),
        ("--fast", "I do not know '--fast' here."),
    ],
)
def test_options_that_do_not_exist(ranks, options, told):
    cell = ranks("print('sent')", options)
    assert cell.text.startswith("The cell did not run.\n" + told)


@pytest.mark.parametrize(
    ("call", "told"),
    [
        ("ranks.start(1000)", "1000 ranks are too many for the"),
        ("ranks.start(0)", "The number of ranks is a whole number from 1 on, not 0."),
        ("ranks.start('4')", "The number of ranks is a whole number from 1 on, not '4'."),
    ],
)
def test_a_number_of_ranks_that_cannot_be(notebook, ranks, works_again, call, told):
    cell = notebook.run(call)
    assert cell.text.startswith("The ranks were not started.\n" + told)
    assert cell.error is None


def test_the_slots_of_an_allocation_are_the_limit(monkeypatch):
    from labkit.ranks import magic as ranks
    from labkit.ranks import order

    monkeypatch.setenv("SLURM_JOB_ID", "1")
    monkeypatch.setenv("SLURM_NTASKS", "3")
    assert ranks._checked_number(None) == 3
    with pytest.raises(order.CannotRun, match="3 slots, too few for 4 ranks"):
        ranks._checked_number(4)


# --- exceptions


def test_an_exception_is_shown_once_with_the_students_lines(notebook, ranks, works_again):
    defined = notebook.run("def divide(x):\n    return x / 0")
    cell = ranks("print('before')\ndivide(rank)", "1")
    assert cell.text == (
        "rank 1  before\nRank 1 raised ZeroDivisionError: division by zero\n"
        f"  cell {cell.number}, line 3\n      divide(rank)\n  cell {defined.number}, line 2, in divide\n      return "
        "x / 0"
    )
    everybody = ranks("undefined")
    assert everybody.text.count("NameError") == 1 and everybody.text.startswith("Ranks 0-3 raised NameError")
    assert ranks("import sys\nsys.exit(3)", "0").text.startswith("Rank 0 raised SystemExit: 3")


def test_an_exception_on_one_rank_ends_the_waiting_of_the_others(ranks, works_again):
    cell = ranks("if rank == 2:\n    raise ValueError('no')\ncomm.Barrier()")
    assert cell.text.startswith("Rank 2 raised ValueError: no")
    assert "Ranks 0, 1, 3 waited in a communication that could not complete any more, and were ended:" in cell.text
    assert rows(cell) == [f"rank {k} Barrier cell {cell.number}, line 4" for k in (0, 1, 3)]
    assert FRESH in cell.text
    assert cell.elapsed < SOON


def test_others_that_still_compute_are_not_ended(ranks):
    cell = ranks("import time\nif rank == 0:\n    raise ValueError('no')\ntime.sleep(1.6)\nprint('done')")
    assert "ranks 1-3  done" in cell.text
    assert FRESH not in cell.text


# --- hangs


def test_receive_receive(ranks, works_again):
    cell = hangs(ranks, "x = comm.recv(source=(rank - 1) % world_size)\ncomm.send(rank, (rank + 1) % world_size)")
    assert rows(cell) == [f"rank {k} recv from {(k - 1) % 4} cell {cell.number}, line 2" for k in range(4)]
    assert "waits to receive before anybody has sent" in cell.text


def test_send_send_of_what_no_buffer_holds(ranks, works_again):
    cell = hangs(ranks, "x = np.zeros(200_000)\ncomm.Send(x, (rank + 1) % 4)\ncomm.Recv(x, (rank - 1) % 4)")
    assert rows(cell)[0] == f"rank 0 Send to 1, float64[200000] cell {cell.number}, line 3"
    assert "All of them wait in a send" in cell.text


def test_a_rank_that_a_collective_misses(ranks, works_again):
    cell = hangs(ranks, "if rank != 1:\n    comm.Barrier()")
    assert rows(cell)[1] == "rank 1 has returned"
    assert "wait in Barrier for rank 1: it has returned without calling it." in cell.text


def test_different_collectives(ranks, works_again):
    cell = hangs(ranks, "x = np.ones(3)\ncomm.Barrier() if rank % 2 else comm.Allreduce(x.copy(), x)")
    assert "ranks 0 and 2 called Allreduce; ranks 1 and 3 called Barrier" in cell.text


def test_different_tags(ranks, works_again):
    cell = hangs(ranks, "if rank == 0:\n    comm.ssend('x', 1, tag=1)\nif rank == 1:\n    comm.recv(source=0, tag=2)")
    assert "Rank 0 sends to rank 1 with tag 1, but rank 1 uses tag 2." in cell.text


def test_a_rank_that_returned_early(ranks, works_again):
    cell = hangs(ranks, "request = comm.irecv(source=1) if rank == 0 else None\nif request:\n    request.wait()")
    assert rows(cell)[0] == f"rank 0 irecv from 1 cell {cell.number}, line 4"
    assert "Rank 1 has returned, and rank 0 waits for a message from it." in cell.text


def test_ranks_that_did_not_run_the_cell(ranks, works_again):
    cell = hangs(ranks, "comm.barrier()", "0,1")
    assert "Ranks 2 and 3 did not run this cell." in cell.text


def test_a_rank_that_computes_for_ever(ranks, works_again):
    cell = hangs(ranks, "def spin():\n    while True:\n        pass\nif rank == 3:\n    spin()")
    assert re.fullmatch(rf"rank 3 is running cell {cell.number}, line [34]", rows(cell)[3])
    assert f"Does it only need more time? Then give it more: %%ranks --deadline {10 * DEADLINE:g}" in cell.text


def test_sizes_that_do_not_fit_are_told_even_if_mpi_lets_them_pass(ranks, works_again):
    cell = ranks("x = np.ones(2 if rank else 3)\ncomm.Bcast(x, root=1)", f"--deadline {DEADLINE}")
    assert "called Bcast with different sizes" in cell.text


@pytest.mark.parametrize(
    ("source", "how"),
    [
        ("import os, signal\n    os.kill(os.getpid(), signal.SIGKILL)", "(SIGKILL)"),
        ("import ctypes\n    ctypes.string_at(0)", "(SIGSEGV)"),
        ("import os\n    os._exit(3)", "(exited with status 3)"),
        ("comm.Abort(3)", "(called MPI_Abort)"),
    ],
)
def test_a_rank_that_dies_is_noticed_at_once(ranks, works_again, source, how):
    ranks("comm.barrier()")
    cell = ranks(f"print('before')\nif rank == 2:\n    {source}\ncomm.recv(source=2)", "--deadline 60")
    assert cell.elapsed < SOON
    assert "Rank 2 died." in cell.text and f"rank 2  is dead {how}" in cell.text
    assert FRESH in cell.text and cell.error is None


def test_a_rank_that_died_between_cells(notebook, ranks, works_again):
    ranks("import os\npid = os.getpid()")
    psutil.Process(eval(notebook.run("ranks.pull('pid')").text)[1]).kill()
    time.sleep(0.1)
    assert "Dead since the last cell: rank 1 (SIGKILL)." in ranks("pid").text


def test_the_students_stop_button(ranks, works_again):
    ranks("comm.barrier()")
    cell = ranks("comm.recv(source=(rank + 1) % 4)", interrupt_after=0.7)
    assert cell.elapsed < SOON
    (told,) = cell.error
    assert told.startswith("Interrupted. The ranks stood here:\n  rank 0  recv from 1")
    assert FRESH in told and "Traceback" not in told


# --- torch.distributed


def test_torch_distributed_is_ready_and_its_hangs_are_explained(torch_ranks):
    assert torch_ranks("t = torch.ones(2) * rank\ndist.all_reduce(t)\nt").text == "ranks 0-3  tensor([6., 6.])"
    cell = torch_ranks(
        "t = torch.zeros(3)\nif rank:\n    dist.all_reduce(t)\nelse:\n    dist.broadcast(t, 0)",
        f"--deadline {DEADLINE}",
    )
    assert "ranks 1, 2 and 3 called all_reduce; rank 0 called broadcast" in cell.text
    # the fresh ranks have their process group, too
    assert torch_ranks("dist.get_rank()", "2", limit=120).text == "rank 2  2"


# --- nothing is left behind


def test_the_controller_listens_only_at_ports_that_were_held_for_it(warm, monkeypatch):
    """Of many that start in the same second, none takes a port that another one has picked."""
    monkeypatch.setattr(launcher, "for_notebook", lambda: warm)
    cluster = Cluster(1, torch=False)
    try:
        held = {sock.getsockname() for sock in cluster._reserved}
        for address in held:
            with socket.socket() as other, pytest.raises(OSError, match="in use"):
                other.bind(address)
        cluster.wait_until_ready()
        started = psutil.Process(cluster._reaper.pid).children(recursive=True)
        controllers = [process for process in started if "ipyparallel.controller" in process.cmdline()]
        listening = {
            link.laddr
            for each in controllers
            for link in each.net_connections("tcp")
            if link.status == psutil.CONN_LISTEN
        }
        assert len(listening) > 10 and listening <= held
        assert not cluster._reserved, "nothing is held longer than it must be"
    finally:
        cluster.close()


def test_stop_leaves_nothing(notebook, ranks):
    assert notebook.run("ranks.stop()").error is None
    assert not engines()
    assert "No ranks are running yet" in ranks("1").text


def test_a_killed_kernel_leaves_nothing(notebook, ranks):
    before, others = leaks.Snapshot.now(), engines()
    other = Notebook()
    try:
        assert "2 ranks ready" in other.run("from labkit import ranks\nranks.start(2)").text
        assert len(engines()) == len(others) + 2
        folder = glob.glob("/dev/shm/labkit-ranks-*")
        other.run("%%ranks --deadline 0.5\ncomm.recv()")
    finally:
        other.kill()
    # the reaper gives mpiexec 20 s to end what it started
    assert folder and leaks.leaks_since(before, grace=30) == []
    assert not set(engines()) - set(others)


def engines() -> list[psutil.Process]:
    """The processes of ranks: forked ones by the name they give themselves, others by their command line."""
    found = []
    for pid, _ in leaks.our_processes():
        with contextlib.suppress(psutil.Error):
            process = psutil.Process(pid)
            command = process.cmdline()
            if process.name().startswith("rank ") or ("labkit.ranks.engine" in command and "mpiexec" not in command[0]):
                found.append(process)
    return found
