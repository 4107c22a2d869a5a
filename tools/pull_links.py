"""Links that fetch the students' files into a server of any JupyterHub with nbgitpuller and open a unit there.

    python tools/pull_links.py https://hub.example.org https://git.example.org/dl2027-work.git [--branch main]

prints a Markdown table, a link for each unit and each homework. How the repository behind it is made, and what a hub
needs: job_scripts/jupyterhub/README.md.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from urllib.parse import urlencode

import build_notebooks

ROOT = Path(__file__).resolve().parents[1]


def link(hub: str, repository: str, branch: str, notebook: str) -> str:
    """The address that pulls `branch` of `repository` and then opens `notebook`, a path inside it, in Lab.

    nbgitpuller names the folder after the last part of the repository's address, as it stands there.
    """
    folder = repository.rstrip("/").split("/")[-1]
    asked = {"repo": repository, "branch": branch, "urlpath": f"lab/tree/{folder}/{notebook}"}
    return f"{hub.rstrip('/')}/hub/user-redirect/git-pull?{urlencode(asked)}"


def notebooks() -> list[str]:
    """Paths of the notebooks in work/, units first."""
    found = []
    for name in (*build_notebooks.units(ROOT), *build_notebooks.homeworks(ROOT)):
        found.append(f"{name}/{build_notebooks.solved_of(ROOT, name).name}")
    return found


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("hub", help="the hub's address, as students type it")
    parser.add_argument("repository", help="the repository that holds the content of work/")
    parser.add_argument("--branch", default="main")
    options = parser.parse_args(arguments)
    print("| unit | link |\n|---|---|")
    for path in notebooks():
        address = link(options.hub, options.repository, options.branch, path)
        print(f"| {path.partition('/')[0]} | [open]({address}) |")


if __name__ == "__main__":
    main()
