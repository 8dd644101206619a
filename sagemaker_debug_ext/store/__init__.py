"""The format of a trial: object names, records, messages, index and collections files, and the back ends for them.

This package does not depend on rules, configuration or frameworks. Section numbers in it refer to the store format.
"""
