"""Rows of results: what the trials of one method in one setting come to."""

from typing import NamedTuple

import numpy as np


class Row(NamedTuple):
    """All trials of one method in one setting.

    Attributes
    ----------
    metrics : dict
        Arrays of the values of every metric, one a trial that gave it.
    errors : dict
        Standard errors of the means of the metrics; those that cannot be told are NaN.
    trials, failed : int
        How many trials gave a result, and how many did not.
    reasons : tuple of str
        Why these did not.
    seconds : float
        Median CPU seconds.
    """

    metrics: dict
    errors: dict
    trials: int
    failed: int
    reasons: tuple
    seconds: float

    def mean(self, metric: str) -> float:
        """Return the mean over trials, NaN without any."""
        values = self.metrics.get(metric, np.zeros(0))
        return float(values.mean()) if len(values) else np.nan

    def std(self, metric: str) -> float:
        """Return the standard deviation over trials, NaN without any."""
        values = self.metrics.get(metric, np.zeros(0))
        return float(values.std()) if len(values) else np.nan

    def error(self, metric: str) -> float:
        """Return the standard error of the mean, NaN if it cannot be told."""
        return self.errors.get(metric, np.nan)


def rows(records: dict) -> dict:
    """Return the rows by (setting name, method).

    Parameters
    ----------
    records : dict
        Records by the name of their job.
    """
    groups = {}
    for record in records.values():
        setting = record["job"].rsplit("/", 2)[0]
        groups.setdefault((setting, record["method"]), []).append(record)
    return {key: _row(group, is_pair=key[0].startswith("pairs/")) for key, group in groups.items()}


def _row(group, is_pair):
    done = [record for record in group if record["status"] == "done"]
    reasons = tuple(dict.fromkeys(record["reason"] for record in group if record["status"] != "done"))
    seconds = float(np.median([record["cpu_seconds"] for record in done])) if done else np.nan
    found = [record["metrics"] for record in done]
    metrics, errors = _pair_metrics(found) if is_pair else _graph_metrics(found)
    return Row(metrics, errors, len(done), len(group) - len(done), reasons, seconds)


def _graph_metrics(found):
    names = dict.fromkeys(name for metrics in found for name in metrics)
    values = {name: [metrics[name] for metrics in found if metrics[name] is not None] for name in names}
    values = {name: np.array(of_trials, dtype=float) for name, of_trials in values.items()}
    return values, {name: v.std(ddof=1) / np.sqrt(len(v)) for name, v in values.items() if len(v) > 1}


def _pair_metrics(found):
    """Return the number of right answers and their weighted share: a single number each, with binomial errors."""
    if not found:
        return {}, {}
    correct, weights = (np.array([metrics[name] for metrics in found], dtype=float) for name in ("correct", "weight"))
    shares = {"correct": correct.sum(), "weighted_accuracy": correct @ weights / weights.sum()}
    spread = correct.std()
    errors = {
        "correct": spread * np.sqrt(len(correct)),
        "weighted_accuracy": spread * np.linalg.norm(weights) / weights.sum(),
    }
    return {name: np.array([value]) for name, value in shares.items()}, errors
