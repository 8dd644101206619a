"""How the steps of each framework are found; a module is imported after its framework.

Each module has a function ``install(timer, guard)``, which may be called once per process.
"""
