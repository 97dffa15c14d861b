"""The node model: one variable given its parents.

law: the distribution of a kind of variable; response: a column, fitted by it; network: a mean model and its weights;
evidence: the score of a set of parents; families: the data; family_models: fit and score of one; score: the engine,
which remembers fits.
"""
