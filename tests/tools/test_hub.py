"""`make hub` in a real browser: an instructor and two students, servers on this machine and as jobs of a real Slurm."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest
from machine import CHROMIUM, FULL, some

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))
import hub as hub_tool  # noqa: E402

UNIT, NOTEBOOK = "01_mpi_pi", "mpi_pi"
TORCH_UNIT, TORCH_NOTEBOOK = "02_point_to_point", "point_to_point"
START_S = 240
STEP_MS = 120_000
ANSWER = "return np.count_nonzero(x * x + y * y < 0.25)"
ADA, BEN, INSTRUCTOR = "hub-student1", "hub-student2", "hub-instructor"


# -- a browser with three people in it ---------------------------------------------------------------------------------


class Person:
    """Somebody with a browser window of their own."""

    def __init__(self, browser, hub: dict, name: str):
        self.hub, self.name = hub, name
        self.context = browser.new_context(viewport={"width": 1280, "height": 1000})
        self.page = self.context.new_page()
        self.page.set_default_timeout(STEP_MS)

    def url(self, path: str = "") -> str:
        """Of this person's own server."""
        return f"{self.hub['address']}/user/{self.name}/{path}"

    def log_in(self) -> None:
        self.page.goto(f"{self.hub['address']}/hub/login")
        self.page.fill("#username_input", self.name)
        self.page.fill("#password_input", self.hub["passwords"][self.name])
        self.page.click("#login_submit")
        self.page.wait_for_url(lambda url: "/hub/login" not in url)

    def ask_for_server(self, profile: str = "cpu") -> None:
        self.page.goto(f"{self.hub['address']}/hub/spawn")
        self.page.check(f"#profile-{profile}")
        self.shoot(f"profiles_{self.hub['spawner']}")
        self.page.click("#spawn_form [type=submit]", no_wait_after=True)

    def wait_for_server(self) -> None:
        self.page.wait_for_url(f"**/user/{self.name}/lab**")
        self.page.locator(".jp-DirListing-item").first.wait_for()

    def fetch(self, path: str, method: str = "GET", body: object = None) -> tuple[int, str]:
        """(status, text) of a request made from this person's page, with this person's cookies; redirections to a login
        are followed.
        """
        program = """async ([path, method, body]) => {
            const xsrf = document.cookie.match(/_xsrf=([^;]*)/);
            const options = {method, headers: {"X-XSRFToken": xsrf ? xsrf[1] : "", "Content-Type": "application/json"}};
            if (body !== null) options.body = JSON.stringify(body);
            const answer = await fetch(path, options);
            return [answer.status, await answer.text()];
        }"""
        status, text = self.page.evaluate(program, [path, method, body])
        return status, text

    def shoot(self, name: str) -> None:
        """Keeps a screenshot where somebody wants to look at it."""
        if os.environ.get("COURSE_SCREENSHOTS"):
            self.page.screenshot(path=Path(os.environ["COURSE_SCREENSHOTS"]) / f"hub_{name}.png")

    # -- in Lab

    def menu(self, title: str, entry: str) -> None:
        self.page.locator(".lm-MenuBar-itemLabel", has_text=re.compile(f"^{title}$")).click()
        self.page.locator(".lm-Menu-itemLabel", has_text=re.compile(f"^{entry}")).first.click()

    def assignments(self):
        """The list of assignments, fresh."""
        self.page.goto(self.url("lab?reset"))
        self.page.locator(".jp-DirListing-item").first.wait_for()
        self.menu("Nbgrader", "Assignment List")
        panel = self.page.locator("#nbgrader-assignment-list")
        panel.get_by_text("Submitted assignments", exact=True).wait_for()
        return panel

    def open(self, path: str):
        """A notebook, when its kernel waits for work. All of its cells are in the page, those out of sight, too."""
        settings = {"raw": json.dumps({"windowingMode": "none"})}
        self.fetch(f"/user/{self.name}/lab/api/settings/@jupyterlab/notebook-extension:tracker", "PUT", settings)
        self.page.goto(self.url(f"lab/tree/{path}?reset"))
        notebook = self.page.locator(".jp-NotebookPanel:not(.lm-mod-hidden)")
        notebook.locator(".jp-Notebook-ExecutionIndicator[data-status=idle]").wait_for()
        return notebook

    def type_answer(self, notebook, function: str, answer: str) -> None:
        """Replace the placeholder in the body of a function, as a student does: with the mouse and the keyboard."""
        cell = notebook.locator(".jp-CodeCell", has_text=f"def {function}(").first
        cell.scroll_into_view_if_needed()
        line = cell.locator(".cm-line", has_text="raise NotImplementedError")
        line.click()
        self.page.keyboard.press("Home")
        self.page.keyboard.press("Shift+End")
        self.page.keyboard.type(answer)

    def run_up_to(self, notebook, text: str):
        """Run all cells from the top to the first one with this text, and return that cell when the kernel is done."""
        cell = notebook.locator(".jp-CodeCell", has_text=text).first
        cell.scroll_into_view_if_needed()
        cell.locator(".cm-content").click()
        self.page.keyboard.press("Escape")
        self.menu("Run", "Run All Above Selected Cell")
        self.menu("Run", "Run Selected Cell")
        return cell

    def save(self) -> None:
        """Save the open notebook, and return when the server has it."""
        with self.page.expect_response(
            lambda answer: answer.request.method == "PUT" and "/api/contents/" in answer.url
        ):
            self.page.keyboard.press("Control+s")

    def validate(self, notebook) -> str:
        """What the Validate button says."""
        notebook.get_by_role("button", name="Validate").first.click()
        dialog = self.page.locator(".jp-Dialog-content", has_text="Validation Results")
        dialog.wait_for()
        self.shoot(f"validate_{self.hub['spawner']}")
        said = dialog.inner_text()
        dialog.get_by_role("button", name="Ok").click()
        return said

    def submit(self) -> None:
        panel = self.assignments()
        panel.get_by_role("button", name="Submit").click()
        panel.locator("#submitted_assignments, #submitted_assignments_list").get_by_text(UNIT).first.wait_for()
        self.shoot(f"submitted_{self.hub['spawner']}")

    def in_terminal(self, line: str) -> None:
        """Open a terminal in Lab and type a line."""
        self.page.goto(self.url("lab?reset"))
        self.page.locator(".course-start h1").wait_for()
        self.page.keyboard.press("Control+Shift+L")
        self.page.locator(".jp-LauncherCard", has_text="Terminal").click()
        terminal = self.page.locator(".jp-Terminal .xterm-screen")
        terminal.wait_for()
        terminal.click()
        self.page.keyboard.type(f"{line}\n")

    def wait_for_file(self, path: str) -> str:
        """The text of a file in this person's folder, when it is there."""
        deadline = time.monotonic() + STEP_MS / 1000
        while True:
            status, text = self.fetch(f"/user/{self.name}/api/contents/{path}?content=1")
            if status == 200:
                return json.loads(text)["content"]
            assert time.monotonic() < deadline, f"{path} does not appear: {status} {text[:300]}"
            self.page.wait_for_timeout(200)


class Formgrader:
    """The instructor's formgrader, in the grader's Lab."""

    def __init__(self, instructor: Person):
        self.person, self.page = instructor, instructor.page
        self.address = f"{instructor.hub['address']}/services/{hub_tool.COURSE}"

    def open_in_lab(self) -> str:
        """From the hub's page through its menu, as an instructor finds it. Returns what the list of assignments shows."""
        self.page.goto(f"{self.person.hub['address']}/hub/home")
        self.page.get_by_text("Services", exact=True).click()
        self.page.locator("nav .dropdown-item", has_text=re.compile(f"^{hub_tool.COURSE}$")).click()
        self.page.locator(".lm-MenuBar-itemLabel", has_text="Nbgrader").wait_for()
        self.person.menu("Nbgrader", "Formgrader")
        table = self.page.frame_locator("iframe").locator("table")
        table.get_by_text(UNIT, exact=True).first.wait_for()
        self.person.shoot(f"formgrader_{self.person.hub['spawner']}")
        return table.first.inner_text()

    def press(self, page: str, row: str, button: str) -> str:
        """Press a button in a row of one of the formgrader's pages; what the dialog then says."""
        self.page.goto(f"{self.address}/formgrader/{page}")
        self.page.locator("tr", has=self.page.get_by_text(row, exact=True)).first.locator(f"td.{button} a").click()
        message = self.page.locator(".modal-dialog .modal-body")
        message.wait_for(state="visible")
        return message.inner_text()

    def score(self, student: str) -> str:
        self.page.goto(f"{self.address}/formgrader/manage_submissions/{UNIT}")
        row = self.page.locator("tr", has=self.page.get_by_text(student, exact=True)).first
        row.wait_for()
        self.person.shoot(f"submissions_{self.person.hub['spawner']}")
        return row.locator("td.score").inner_text()


# -- the hub -----------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module", params=some(["local", "slurm"], 2, first=1))
def hub(request, tmp_path_factory) -> dict:
    """What `make hub` has printed: {"address", "passwords", ...}; and with it what no student may know: paths inside."""
    if reason := hub_tool.missing(request.param):
        pytest.skip(f"no hub on this machine: {reason}")
    folder = tmp_path_factory.mktemp("hub")
    command = [sys.executable, ROOT / "tools" / "hub.py", "try", "--port=0", f"--spawner={request.param}"]
    command += [
        "--units",
        UNIT,
        TORCH_UNIT,
        "--assign",
        UNIT,
        "--ready",
        folder / "ready.json",
        "--log",
        folder / "log.txt",
    ]
    with (folder / "said.txt").open("wb") as said:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=said, stderr=subprocess.STDOUT)
    try:
        start = time.monotonic()
        while not (folder / "ready.json").exists():
            assert process.poll() is None and time.monotonic() - start < START_S, (folder / "said.txt").read_text()
            time.sleep(0.1)
        yield json.loads((folder / "ready.json").read_text()) | {"spawner": request.param}
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(timeout=60)
        finally:
            process.kill()


@pytest.fixture(scope="module")
def people(hub):
    """{name: Person}: two students whose servers run, and the instructor."""
    from playwright.sync_api import sync_playwright

    quiet = [
        "--disable-gpu",
        "--disable-quic",
        "--no-first-run",
        "--disable-background-networking",
        "--disable-component-update",
    ]
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=CHROMIUM,
            headless=True,
            args=[*quiet, "--disable-sync", "--disable-dev-shm-usage", "--no-sandbox"],
        )
        try:
            people = {name: Person(browser, hub, name) for name in (ADA, BEN, INSTRUCTOR)}
            for person in people.values():
                person.log_in()
            for name in (ADA, BEN):
                people[name].ask_for_server()
            for name in (ADA, BEN):
                people[name].wait_for_server()
            yield people
        except BaseException:
            for person in people.values():
                person.shoot(f"failed_{person.name}_{hub['spawner']}")
            raise
        finally:
            browser.close()


def uid_of(hub: dict, name: str) -> int:
    """Of an account that exists inside the hub's mounts only."""
    lines = Path(f"/proc/{hub['pid']}/root/etc/passwd").read_text().splitlines()
    return next(int(line.split(":")[2]) for line in lines if line.startswith(f"{name}:"))


def memory_of(hub: dict, name: str) -> tuple[float, int]:
    """(memory in MB, number) of all processes of a user. Memory is PSS: what processes share is divided among them."""
    uid, total, count = uid_of(hub, name), 0, 0
    for process in psutil.process_iter():
        try:
            if process.uids().real == uid:
                total, count = total + process.memory_full_info().pss, count + 1
        except psutil.Error:
            continue
    return total / 2**20, count


# -- tests -------------------------------------------------------------------------------------------------------------


@pytest.mark.timeout(600)
def test_an_afternoon(hub, people):
    """Fetch, open, four ranks, one exercise, validate, submit; collect, autograde, feedback; read it."""
    ada, instructor = people[ADA], people[INSTRUCTOR]

    panel = ada.assignments()
    assert UNIT not in panel.locator("#fetched_assignments_list").inner_text(), (
        "what is handed out is fetched, not delivered"
    )
    panel.get_by_role("button", name="Fetch", exact=True).click()
    panel.get_by_role("button", name="Submit").wait_for()

    notebook = ada.open(f"{UNIT}/{NOTEBOOK}.ipynb")
    assert "cm-lineWrapping" in notebook.locator(".jp-CodeCell .cm-content").first.get_attribute("class"), (
        "no code is cut"
    )
    ada.type_answer(notebook, "count_inside", ANSWER)
    cell = ada.run_up_to(notebook, "%%ranks")
    output = cell.locator(".jp-OutputArea-output", has_text="of 150 inside").first
    output.wait_for()
    assert "ranks 0-3" in output.inner_text(), "all four drew the same darts, and their output is shown once"
    ada.shoot(f"ranks_{hub['spawner']}")
    check = notebook.locator(".jp-CodeCell", has_text="check(count_inside)").first
    assert "2 of 2 points" in check.inner_text()
    ada.save()
    if hub["spawner"] == "local" or not FULL:  # the same page with either; it runs the whole notebook
        said = ada.validate(notebook)
        assert "count_inside" not in said and "fair_share: missing" in said
    ada.submit()

    formgrader = Formgrader(instructor)
    assert "released" in formgrader.open_in_lab()
    assert "Collecting submission: hub-student1 01_mpi_pi" in formgrader.press("manage_assignments", UNIT, "collect")
    assert "Successfully autograded" in formgrader.press(f"manage_submissions/{UNIT}", ADA, "autograde")
    assert formgrader.score(ADA) == "2 / 14"
    assert "Successfully generated" in formgrader.press(f"manage_submissions/{UNIT}", ADA, "generate-feedback")
    assert "Successfully released" in formgrader.press(f"manage_submissions/{UNIT}", ADA, "release-feedback")

    panel = ada.assignments()
    panel.get_by_role("button", name="Fetch Feedback").click()
    panel.get_by_text("view feedback").first.click()
    entry = ada.page.locator(".jp-DirListing-item", has_text=f"{NOTEBOOK}.html")
    entry.dblclick()
    page = ada.page.frame_locator(".jp-HTMLViewer iframe, iframe.jp-HTMLViewer").locator("body")
    page.get_by_text("2 of 2 points").first.wait_for()
    ada.shoot(f"feedback_{hub['spawner']}")
    assert "count_nonzero(x * x + y * y < 0.25)" in page.inner_text()


def ways_by_url(hub: dict) -> list[tuple[str, str, str, object]]:
    """(what for, method, path, body) of what a student, Ben, asks for in his browser and must not get."""
    service, key = f"/services/{hub_tool.COURSE}", f"overlay/keys/{UNIT}.key"
    return [
        ("another's work", "GET", f"/user/{ADA}/lab", None),
        ("another's work", "GET", f"/user/{ADA}/api/contents/{UNIT}/{NOTEBOOK}.ipynb", None),
        ("another's work", "GET", f"/user/{ADA}/files/{UNIT}/{NOTEBOOK}.ipynb", None),
        ("another's work", "GET", f"/user/{BEN}/api/contents/..%2F..%2F{ADA}%2F{hub_tool.COURSE}", None),
        (
            "another's work",
            "GET",
            f"/user/{BEN}/files/..%2f..%2f{ADA}%2f{hub_tool.COURSE}%2f{UNIT}%2f{NOTEBOOK}.ipynb",
            None,
        ),
        # a link to Ada's notebook, made before
        ("another's work", "GET", f"/user/{BEN}/api/contents/handed_to_me.ipynb", None),
        ("another's terminal", "POST", f"/user/{ADA}/api/terminals", {}),
        ("another's server", "DELETE", f"/hub/api/users/{ADA}/server", None),
        ("another's rights", "POST", f"/hub/api/users/{ADA}/tokens", {}),
        ("an instructor's rights", "POST", f"/hub/api/groups/formgrade-{hub_tool.COURSE}/users", {"users": [BEN]}),
        ("an administrator's rights", "PATCH", f"/hub/api/users/{BEN}", {"admin": True}),
        ("who is in the class", "GET", "/hub/api/users", None),
        ("the hub's settings", "GET", "/hub/admin", None),
        ("formgrader", "GET", f"{service}/formgrader", None),
        ("formgrader", "GET", f"{service}/formgrader/api/assignments", None),
        ("formgrader", "GET", f"/user/{BEN}/formgrader", None),
        ("formgrader", "POST", f"{service}/formgrader/api/submission/{UNIT}/{BEN}/autograde", {}),
        ("gradebook", "GET", f"{service}/files/gradebook.db", None),
        ("sources", "GET", f"{service}/api/contents/source/{UNIT}/{NOTEBOOK}.ipynb", None),
        ("the grader's keys", "GET", f"{service}/files/{key}", None),
        ("the grader's terminal", "POST", f"{service}/api/terminals", {}),
    ]


def ways_by_hand(hub: dict) -> list[tuple[str, str]]:
    """(what for, shell command) of what he tries in a terminal. Each must fail."""
    base, home, pid = hub["base"], f"{hub['base']}/home", "$(pgrep -u {} -n)"
    exchange = f"{base}/exchange/{hub_tool.COURSE}"
    ways = [
        ("another's work", f"ls {home}/{ADA}"),
        ("another's work", f"cat {home}/{ADA}/{hub_tool.COURSE}/{UNIT}/{NOTEBOOK}.ipynb"),
        ("another's work", f"ls {exchange}/inbound"),
        ("another's work", f"rm -r {exchange}/inbound/{ADA}+*"),
        ("another's work", f"ls {base}/class/submitted"),
        ("another's work", f"find {exchange}/feedback -name '*.html' | grep html"),
        ("another's temporary files", f"ls {base}/scratch/{hub_tool.COURSE}-{ADA} /tmp/{hub_tool.COURSE}-{ADA}"),
        ("another's token", f"cat /proc/{pid.format(ADA)}/environ"),
        ("another's processes", f"kill -0 {pid.format(ADA)}"),
        ("the grader's token", f"cat /proc/{pid.format(hub_tool.GRADER)}/environ"),
        ("the grader's account", "su hub-grader -c id < /dev/null"),
        ("root's rights", "sudo -n id"),
        ("gradebook", f"cat {base}/class/gradebook.db"),
        ("sources", f"cat {base}/class/source/{UNIT}/{NOTEBOOK}.ipynb"),
        ("sources", "ls $COURSE_SHARED/solutions $COURSE_SHARED/tests"),
        ("sources", "ls $COURSE_SHARED/.git"),
        ("the grader's keys", f"ls {base}/class/overlay/keys"),
        ("the hub's secrets", f"cat {base}/state/cookie_secret"),
        ("the hub's secrets", f"cat {base}/state/hub.sqlite"),
        ("passwords", "cat /etc/shadow"),
        ("the course of all", "touch $COURSE_SHARED/labkit/mine.py"),
        ("the course of all", "touch $VIRTUAL_ENV/lib/mine.py"),
        ("assignments of all", f"touch {exchange}/outbound/{UNIT}/mine.ipynb"),
        ("assignments of all", f"mv {base}/exchange/{hub_tool.COURSE} {base}/exchange/gone"),
        ("the hub's interface", 'curl -fsS -H "Authorization: token $JUPYTERHUB_API_TOKEN" $JUPYTERHUB_API_URL/users'),
        (
            "an instructor's rights",
            f'curl -fsS -H "Authorization: token $JUPYTERHUB_API_TOKEN" $JUPYTERHUB_API_URL/groups/formgrade-{hub_tool.COURSE}',
        ),
    ]
    if hub["spawner"] == "slurm":
        ways += [
            ("another's job", f"scancel --user={ADA} && squeue --user={ADA} --noheader | grep CG"),
            ("another's account", f"srun --uid={ADA} id"),
        ]
    return ways


TRIES = """
import json, subprocess, sys
found = []
for command in json.load(open("ways.json")):
    done = subprocess.run(["bash", "-c", "set -o pipefail; " + command], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          errors="replace", timeout=60)
    found.append([command, done.returncode, done.stdout[-200:], done.stderr[-200:]])
json.dump(found, open("found.part", "w"))
import os; os.rename("found.part", "found.json")
"""


@pytest.mark.timeout(300)
def test_a_student_reaches_nothing_of_others(hub, people):
    """By address, from the file system and in a terminal: each way is tried, and ways to what is his own show that
    trying works.
    """
    ben, lines, open_ways = people[BEN], [], []
    course = f"{hub['base']}/home/{ADA}/{hub_tool.COURSE}"
    own = "cat images/data_parallel.svg | grep -c svg"
    own_hub = 'curl -fsS -H "Authorization: token $JUPYTERHUB_API_TOKEN" $JUPYTERHUB_API_URL/user'
    link = f"ln -s {course}/{UNIT}/{NOTEBOOK}.ipynb handed_to_me.ipynb"
    by_hand = ways_by_hand(hub)
    commands = [own, own_hub, link, *(command for _, command in by_hand)]
    ben.page.goto(ben.url("lab?reset"))
    for name, text in (("ways.json", json.dumps(commands)), ("tries.py", TRIES)):
        body = {"type": "file", "format": "text", "content": text}
        status, said = ben.fetch(f"/user/{BEN}/api/contents/{name}", "PUT", body)
        assert status in (200, 201), said
    ben.in_terminal("python3 tries.py")
    found = {command: rest for command, *rest in json.loads(ben.wait_for_file("found.json"))}
    assert [found[command][0] for command in commands[:3]] == [0, 0, 0], [found[command] for command in commands[:3]]
    for what, command in by_hand:
        code, out, err = found[command]
        lines.append(f"{what:26} terminal  {command[:88]:88}  {(err or out).strip().splitlines()[-1:] or code}")
        open_ways += [lines[-1]] * (code == 0)

    status, _ = ben.fetch(f"/user/{BEN}/api/contents/images")
    assert status == 200, "he reaches his own files this way"
    for what, method, path, body in ways_by_url(hub):
        status, said = ben.fetch(path, method, body)
        lines.append(f"{what:26} address   {method + ' ' + path:88}  {status}")
        open_ways += [f"{lines[-1]} {said[:200]}"] * (status < 400)
    print("\n".join(["", *lines]))
    assert not open_ways, "\n".join(open_ways)


@pytest.mark.timeout(300)
@pytest.mark.parametrize("hub", ["local"], indirect=True)
def test_memory_of_a_student(hub, people):
    """An idle server, and one in which a torch unit runs on 4 ranks: measured and printed; the second at most 1.5 GB."""
    ben = people[BEN]
    ben.page.goto(ben.url("lab?reset"))
    for kind in ("terminals", "kernels"):
        for item in json.loads(ben.fetch(f"/user/{BEN}/api/{kind}")[1]):
            ben.fetch(f"/user/{BEN}/api/{kind}/{item.get('id') or item['name']}", "DELETE")
    idle, _ = memory_of(hub, BEN)
    notebook = ben.open(f"{TORCH_UNIT}/{TORCH_NOTEBOOK}.ipynb")
    cell = ben.run_up_to(notebook, "%%ranks --timeline")
    most, processes, start = 0.0, 0, time.monotonic()
    while cell.locator(".jp-OutputArea-output").count() == 0:
        assert time.monotonic() - start < 240, "the ranks do not come to an end"
        now, count = memory_of(hub, BEN)
        most, processes = max(most, now), max(processes, count)
        ben.page.wait_for_timeout(300)
    ben.shoot("torch_unit")
    print(
        f"\nidle, with Lab open: {idle:.0f} MB; unit {TORCH_UNIT} on 4 ranks: at most {most:.0f} MB in {processes} "
        "processes (PSS)"
    )
    assert processes >= 7, "server, kernel, controller and four ranks"
    assert 50 < idle < most <= 1536
