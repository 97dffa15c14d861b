"""The fitted model that every estimator returns: a graph, and the distribution of each variable given its causes."""
