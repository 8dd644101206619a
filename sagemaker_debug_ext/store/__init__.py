"""The format of a trial: object names, records, messages, index and collections files, and where their bytes lie.

Nothing here knows rules, configuration or frameworks. Section numbers in this package refer to the store format.
"""
