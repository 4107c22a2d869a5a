# verdict: wrong, diagnosis: refuses_what_can_be
def mesh_coordinates(rank, shape):
    data, pipeline, tensor = shape
    if not 0 <= rank < data * pipeline * tensor:
        raise ValueError(rank)
    return rank // (pipeline * tensor), rank // tensor % pipeline, rank % tensor
