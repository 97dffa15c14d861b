"""Counts of the work of a fit, on whatever machine: the parts that are counted take nearly all of its time."""

from collections import Counter
from contextlib import contextmanager
from unittest import mock

from support.article import FamilyFitter, FamilyObjective
from support.families import FamilyModels, NodeResponse


@contextmanager
def counted_work():
    """Count, inside the block, fits of families, steps of their minimisers, and the rows that these steps read.

    Every evaluation of a network's objective is a step; in `ICDH`, too. Counts are right on one thread alone.
    """
    counts = Counter(fits=0, steps=0, rows=0)

    def add_steps(steps, rows):
        counts.update(steps=steps, rows=steps * rows)

    def counting_fits(fit):
        def counted(self, *arguments, **options):
            counts["fits"] += 1
            return fit(self, *arguments, **options)

        return counted

    def counting_steps(minimiser):
        def counted(self, x, *arguments):
            minimise = minimiser(self, x, *arguments)

            def minimise_and_count(*options):
                result = minimise(*options)
                add_steps(1 + result[2], x.shape[1])  # the start is evaluated, too
                return result

            return minimise_and_count

        return counted

    def counting_evaluations(evaluate):
        def counted(self, w):
            add_steps(1, self.features.shape[1])
            return evaluate(self, w)

        return counted

    responses = [kind for kind in _with_subclasses(NodeResponse) if "minimiser" in vars(kind)]
    changes = [
        *((owner, "fit", counting_fits) for owner in (FamilyModels, FamilyFitter)),
        *((response, "minimiser", counting_steps) for response in responses),
        (FamilyObjective, "evaluate", counting_evaluations),
    ]
    patches = [mock.patch.object(owner, name, change(getattr(owner, name))) for owner, name, change in changes]
    for patch in patches:
        patch.start()
    try:
        yield counts
    finally:
        for patch in patches:
            patch.stop()


def _with_subclasses(kind):
    yield kind
    for child in kind.__subclasses__():
        yield from _with_subclasses(child)
