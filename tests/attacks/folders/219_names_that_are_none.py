# by: hand
# must not: end anything by names with line ends, terminal escapes, bytes that are no text, or patterns
# comes: left out
import os


def hand_in(place, folder, notebook):
    (folder / "homework.ipynb").write_bytes(notebook)
    for name in (b"\n[x]\x1b[2J.py", b"\xff\xfe.py", b"*.py", b"..py", b" .py", b"x" * 250 + b".py", b"import.py"):
        with open(os.fsencode(folder) + b"/" + name, "wb") as file:
            file.write(b"raise SystemExit\n")
    os.symlink(b"/etc/passwd", os.fsencode(folder) + b"/\n\x1b]0;title\x07\xff")
