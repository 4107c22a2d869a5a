"""Extensions that Jupyter itself loads: into the kernels, and into the servers."""
