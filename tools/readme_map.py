"""Puts the map of the units into the README, from `after` in each unit's unit.toml.

python tools/readme_map.py            says whether the map is current; exit status 1 where it is not
python tools/readme_map.py --write    brings it up to date
"""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from autograder import content  # noqa: E402

_ROWS = re.compile(r"(?:^\| `(?:\d\d_)?\w+` \| .+ \|\n)+", re.MULTILINE)


def rows(course: content.Content) -> str:
    """A row for each unit and homework, in the course's order."""
    names = [*course.units, *course.homework]
    return "".join(f"| `{name}` | {course.room(name).about['after']} |\n" for name in names)


def with_map(readme: str, course: content.Content) -> str:
    """The README with the map as it should be. Raises ValueError where it has no map."""
    first = course.units[0]
    found = next((match for match in _ROWS.finditer(readme) if f"| `{first}` |" in match[0]), None)
    if found is None:
        raise ValueError(f"the README has no table with a row for `{first}`")
    return readme[: found.start()] + rows(course) + readme[found.end() :]


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--write", action="store_true", help="bring the map up to date")
    options = parser.parse_args(arguments)
    course = content.course()
    path = course.root / "README.md"
    text = path.read_text(encoding="utf-8")
    wanted = with_map(text, course)
    if wanted == text:
        print(f"{path.name}: its map is current")
        return 0
    if not options.write:
        print(f"{path.name}: its map differs from the units' `after`: python tools/readme_map.py --write")
        return 1
    path.write_text(wanted, encoding="utf-8")
    print(f"wrote {path.name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
