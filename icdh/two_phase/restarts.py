"""Several fits from different initial weights; the best is kept."""

import multiprocessing
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import closing
from functools import partial

from icdh._ground.labels import counted
from icdh._ground.parallel import in_parallel
from icdh.exceptions import ConvergenceWarning, WorkerLostError, warn
from icdh.network import Weights
from icdh.search.moves import Move
from icdh.two_phase.rounds import OUT_OF_TIME, Round, TwoPhaseResult

Start = Sequence[Weights]
Fit = Callable[..., TwoPhaseResult]
Report = Callable[[Round | Move], None]


def best_of_restarts(fit: Fit, starts: Sequence[Start], n_jobs: int, report: Report) -> TwoPhaseResult:
    """Fit from every start; return the result of the lowest cost or, without the last stage, of the lowest criterion.

    Parameters
    ----------
    fit : callable
        Takes ``initial`` and ``callback``, as `icdh.two_phase.fit_two_phase` with all of its other arguments.
    starts : sequence
        What to pass as ``initial``.
    n_jobs : int
        How many processes share the fits. Two processes save half of the time; two threads would save a quarter at
        best, for much of a fit is Python code.
    report : callable
        Called with every round and every move of the last stage. Those of another process are reported once the fit
        there has ended.

    Returns
    -------
    TwoPhaseResult
        The best. After a KeyboardInterrupt, the best so far: of fits in this process with at least one round, of fits
        in other processes that have ended. When the time is over, the best of the fits that had begun.

    Raises
    ------
    MissingExtraError
        If more than one process is asked for and joblib is not installed.
    WorkerLostError
        If a process was killed before any fit ended.

    Warns
    -----
    ConvergenceWarning
        If a process was killed later; the best of the fits before is returned.

    Notes
    -----
    Results do not depend on ``n_jobs``. A daemonic process, which may not start others, fits one after the other.
    """
    if min(n_jobs, len(starts)) == 1 or multiprocessing.current_process().daemon:
        return _best(_one_after_the_other(fit, starts, report))
    return _best(_reported(in_parallel(partial(_fit_from, fit), starts, n_jobs), report))


def _one_after_the_other(fit: Fit, starts: Sequence[Start], report: Report) -> Iterator[TwoPhaseResult]:
    for start in starts:
        result = fit(initial=start, callback=report)
        yield result
        if result.timed_out:
            return


def _fit_from(fit: Fit, start: Start) -> TwoPhaseResult:
    return fit(initial=start)


def _reported(results: Generator[TwoPhaseResult, None, None], report: Report) -> Iterator[TwoPhaseResult]:
    """Yield every result, then report its rounds and moves. After a lost process, warn and yield no more."""
    count = 0
    with closing(results):
        try:
            for result in results:
                count += 1
                yield result
                records: list[Round | Move] = [*result.history, *result.moves]
                for record in records:
                    report(record)
        except WorkerLostError as error:
            if count == 0:
                raise
            warn(f"{error}; the best of {counted(count, 'restart')} is kept", ConvergenceWarning)


def _best(results: Iterable[TwoPhaseResult]) -> TwoPhaseResult:
    """Return the best result; after an interrupt, the best of those that there are."""
    seen = []
    try:
        for result in results:
            seen.append(result)
            if result.interrupted:
                raise KeyboardInterrupt
    except KeyboardInterrupt:
        if not seen:
            raise
        return min(seen, key=_merit)._replace(converged=False, interrupted=True)
    best = min(seen, key=_merit)
    return best._replace(converged=False, timed_out=True) if any(result.timed_out for result in seen) else best


def _merit(result: TwoPhaseResult) -> tuple[bool, float]:
    """Return a key that sorts results, the best first: by cost or criterion, and last those without a whole round."""
    return result.best.message == OUT_OF_TIME, result.best.criterion if result.cost is None else result.cost
