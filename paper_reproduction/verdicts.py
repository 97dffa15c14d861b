"""Every published number beside ours: the difference in standard errors, and one word for it."""

import math
from typing import NamedTuple

from paper_reproduction.jobs import Selection
from paper_reproduction.published import Published

REPRODUCED, BETTER, WORSE, NOT_RUN = WORDS = ("reproduced", "better", "worse", "not run")
STANDARD_ERRORS = 2.0
HIGHER_IS_BETTER = ("truncated_auprc", "correct", "weighted_accuracy")
TWO_DIGITS = ("truncated_auprc", "weighted_accuracy", "au_shdc")
# Which row of ours answers for a method of the article: the first that was run.
OURS = {"ICDH": ("ICDH (as printed)", "ICDH")}


class Verdict(NamedTuple):
    """A published number and ours.

    Attributes
    ----------
    published : Published
        Theirs.
    method : str
        The row of ours that is compared.
    mean, std : float
        Ours, NaN if it was not run.
    trials : int
        Over how many trials.
    errors : float
        The difference in standard errors, positive where ours is the larger number; NaN without an error.
    word : str
        One of `WORDS`.
    reason : str
        Why it was not run.
    """

    published: Published
    method: str
    mean: float
    std: float
    trials: int
    errors: float
    word: str
    reason: str = ""


def verdicts(found: dict, published: list, ours: dict | None = None, metrics: dict | None = None) -> list:
    """Return the verdict on every published number.

    Parameters
    ----------
    found : dict
        Rows by (setting name, method).
    published : list of Published
        The numbers.
    ours : dict
        Which of our rows answer for a method, in the place of `OURS`.
    metrics : dict
        With which of our metrics a published one is compared, if not with the same.
    """
    planned = {(job.setting.name, job.method) for job in Selection().jobs()}
    ours, metrics = OURS if ours is None else ours, metrics or {}
    return [_verdict(found, number, ours, metrics.get(number.metric, number.metric), planned) for number in published]


def _verdict(found, number, ours, metric, planned):
    candidates = ours.get(number.method, (number.method,))
    rows = {method: found.get((number.setting.name, method)) for method in candidates}
    for method, row in rows.items():
        if row is not None and not math.isnan(row.mean(metric)):
            return _compared(number, method, row, metric)
    reason = _why_not(rows, number, planned)
    return Verdict(number, candidates[0], math.nan, math.nan, 0, math.nan, NOT_RUN, reason)


def _compared(number, method, row, metric):
    difference, error = row.mean(metric) - number.value, standard_error(number, row, metric)
    errors = difference / error if error > 0 else math.nan
    if abs(difference) <= max(STANDARD_ERRORS * error, 0.5 * 10.0 ** -digits(metric)):
        word = REPRODUCED
    else:
        word = BETTER if (difference > 0) == (metric in HIGHER_IS_BETTER) else WORSE
    return Verdict(number, method, row.mean(metric), row.std(metric), row.trials, errors, word)


def standard_error(number: Published, row, metric: str) -> float:
    """Return the standard error of the difference between a published number and ours.

    Where one side has no standard deviation (a single trial, or none was printed), it is taken to be the other's. On
    data that everybody shares (Sachs, the pairs) the published number is a number, without an error.

    Parameters
    ----------
    number : Published
        Theirs.
    row : Row
        Ours.
    metric : str
        Which of ours.
    """
    mine = row.error(metric)
    if not number.setting.graph.startswith("ER"):
        return 0.0 if math.isnan(mine) else mine
    theirs = number.std / math.sqrt(number.trials) if number.std is not None else math.nan
    if math.isnan(theirs):
        theirs = mine * math.sqrt(row.trials / number.trials)
    if math.isnan(mine):
        mine = theirs * math.sqrt(number.trials / row.trials)
    return math.hypot(mine, theirs)


def _why_not(rows, number, planned):
    reasons = [reason for row in rows.values() if row is not None for reason in row.reasons]
    if reasons:
        return reasons[0].splitlines()[0][:80]
    is_planned = any((number.setting.name, method) in planned for method in rows)
    return "planned, not run yet" if is_planned else "not planned: hours a table"


def digits(metric: str) -> int:
    """Return how many digits after the point a metric is printed with.

    Parameters
    ----------
    metric : str
        Its name.
    """
    return 2 if metric in TWO_DIGITS else 1


def count(found: list) -> dict:
    """Return how many verdicts have each of `WORDS`.

    Parameters
    ----------
    found : list of Verdict
        Any.
    """
    return {word: sum(verdict.word == word for verdict in found) for word in WORDS}


def sentence(found: list) -> str:
    """Return the count in a sentence.

    Parameters
    ----------
    found : list of Verdict
        Those on the article's numbers.
    """
    counts = count(found)
    return (
        f"Of the article's {len(found)} numbers, {counts[REPRODUCED]} are reproduced within two standard errors, "
        f"{counts[BETTER]} of ours are better, {counts[WORSE]} are worse, and {counts[NOT_RUN]} were not run."
    )
