# by: hand
# must not: have a timestamp of a terabyte, of no characters, or of another calendar stop the run
# comes: as it is
def hand_in(place, folder, notebook):
    (folder / "homework.ipynb").write_bytes(notebook)
    with open(folder / "timestamp.txt", "wb") as file:
        file.write(b"\xff\xfe99999-99-99")
        file.truncate(1 << 40)
