# by: hand
# must not: be graded for a rival's folder by a link one folder further up
# comes: refused
def hand_in(place, folder, notebook):
    folder.rmdir()
    folder.parent.rmdir()
    folder.parent.symlink_to(place.rival.parent, target_is_directory=True)
