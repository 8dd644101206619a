"""Real buggy training programs and their published fixes.

Each was re-stated in our own code by its architecture, the shape of its data, and its fault, as a question, forum
thread or issue describes them. `plan.PAIRS` names the origin of each.
"""
