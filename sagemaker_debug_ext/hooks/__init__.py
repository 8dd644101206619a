"""Inside training: decide what to save, capture it, hand it to the store.

`base.BaseHook` knows no framework; each framework has a module of its own, which is the only one that imports it.
"""
