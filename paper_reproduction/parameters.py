"""The hyper-parameters that `paper_reproduction.tuning` chose; see results/tuning.txt for what it printed."""

PARAMETERS = {
    "NOTEARS": {"lambda1": 0.03},
    "CD-NOD": {"alpha": 0.001},
    "US": {"alpha": 1e-6},
    "GFBS": {"eta": 0.0, "gamma": 0.1},
    "HOST": {"hidden_units": 10, "ridge": 1e-3, "max_iterations": 300},
}
