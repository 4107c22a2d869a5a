"""The course's additions to JupyterHub: settings of one file, servers with limits, course files in every home, a
careful collector.
"""
