"""The node model: one variable given its parents.

network: the model and its weights; evidence: the score of a set of parents; families: fit and score of one family;
cache: every family is fitted once; family_evidence: what a search asks.
"""

NOISE_DISTRIBUTIONS = ("auto", "gaussian", "student", "free")
