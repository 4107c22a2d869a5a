# by: hand
# must not: have the grader read the whole disk, or find the keys as modules beside the notebook
# comes: refused
def hand_in(place, folder, notebook):
    folder.rmdir()
    folder.symlink_to("/", target_is_directory=True)
