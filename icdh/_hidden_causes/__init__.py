"""Hidden common causes of many columns, for `HNMSearch(hidden_causes=True)`.

district: the children of a hidden cause, fitted by EM; linear: the same from covariances; search: graphs with hidden
causes. The rest of the core does not know this folder: an estimator hands its search to `GraphSearch`.
"""
