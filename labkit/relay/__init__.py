"""The checks' network: a process group whose messages pass through one place that counts and times them."""


def __getattr__(name: str):
    """`relay.simulate` of notebooks that were released when `labkit.simulation.run` had this name."""
    if name == "simulate":
        from importlib import import_module

        return import_module("labkit.simulation").run
    raise AttributeError(f"module 'labkit.relay' has no attribute {name!r}")
