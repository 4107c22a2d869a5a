# by: nbgrader collect
# must not: be listed by the formgrader under a name that runs a script in the instructor's browser
# comes: not at all
def hand_in(place, folder, notebook):
    said = folder.name.partition("+")[2]
    for name in ("<img src=x onerror=eval(atob('YWxlcnQoMSk='))>", "mallory<svg onload=alert(1)>", "..", "-mallory"):
        other = folder.with_name(f"{name}+{said}")
        other.mkdir()
        (other / "homework.ipynb").write_bytes(notebook)
    folder.rmdir()
