"""Where the CPU time of a search goes.

    python benchmarks/where_search_time_goes.py R.json [--tables 20-2-1000 wine-like ...] [--seeds FIRST END]
        [--folder FOLDER]

Tables are those of `search_speed.py`. Clocks run around the compiled fits, by what asked for them (comparing changes,
further starts, more hidden units) and by the stage of the search: the choice of a transform, the climb, escapes, what
follows the choice of the noise distribution, the climb on all rows of a long table, what comes after. They run around
the gain estimates of changes and the gains of the noise distribution, too; the rest is Python. Then come fits, steps
and seconds by hidden units and inputs, and how many of the fitted families were ever part of a graph.
"""

import argparse
import time
import warnings
from collections import Counter
from contextlib import ExitStack
from pathlib import Path
from unittest.mock import patch

import numpy as np
from harness import Results
from search_speed import table
from where_time_goes import Clock

from icdh import HNMSearch
from icdh._estimators import graph_search, refit
from icdh._node_model import family_models, gaussian, response, score
from icdh.search import climb, escapes

STAGES = {
    "transform": (graph_search.GraphSearch, "transform"),
    "climb": (graph_search, "greedy_search"),
    "climb on": (escapes.Search, "climb_on"),
    "escapes": (escapes.Search, "escape"),
    "noise chosen": (escapes.Search, "choose_noise"),
    "afterwards": (refit, "refit"),
    "strength": (refit, "strengths"),
}
PURPOSES = {
    "further starts": (score.FamilyScore, "fit_again"),
    "more units": (score.FamilyScore, "grow"),
}
CLOCKS = {
    "fits": (gaussian, "node_fit"),
    "ordinal, categorical": (response, "minimise"),
    "gain estimates": (family_models.FamilyModels, "gain_estimates"),
    "noise": (family_models, "noise_gain"),
}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("results", type=Path)
    parser.add_argument("--tables", nargs="+", default=["20-2-1000", "wine-like", "10-1-100000"])
    parser.add_argument("--seeds", type=int, nargs=2, default=(5000, 5001), metavar=("FIRST", "END"))
    parser.add_argument("--folder", type=Path)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    results = Results(arguments.results, ("table", "seed"))
    HNMSearch().fit(np.random.default_rng(0).normal(size=(60, 3)))  # loads the kernels before the clocks run
    for name in arguments.tables:
        for seed in range(*arguments.seeds):
            if not results.has(table=name, seed=seed):
                results.add({"table": name, "seed": seed, **account(table(name, seed, arguments.folder)[0])})
            print_account(next(row for row in results.rows if (row["table"], row["seed"]) == (name, seed)))


class Account:
    """What a search is at, and what it fitted."""

    def __init__(self):
        self.at, self.seconds, self.steps, self.fits = ["afterwards"], Counter(), Counter(), Counter()
        self.of_size, self.in_graphs, self.fitted, self.running = Counter(), set(), set(), []

    def entering(self, function, name):
        """Return the function with a note of being in it."""

        def noted(*args, **kwargs):
            self.at.append(name)
            try:
                return function(*args, **kwargs)
            finally:
                self.at.pop()

        return noted

    def timing(self, function, name):
        """Return the function with its seconds, less those of others inside, booked to stage and purpose."""

        def timed(*args, **kwargs):
            clock = Clock(function, self.running)
            result = clock(*args, **kwargs)
            stage = next(part for part in reversed(self.at) if part in STAGES)
            purpose = next((part for part in reversed(self.at) if part in PURPOSES), "comparisons")
            self.seconds[f"{stage}: {purpose if name in ('fits', 'steps in Python') else name}"] += clock.seconds
            if name == "fits":
                (x, *_), _, _, units = args[:4]
                size = f"{units} units, {len(x)} inputs"
                self.of_size[size] += clock.seconds
                self.steps[size] += result[2]
                self.fits[size] += 1
            return result

        return timed

    def remembering_graphs(self, best_move):
        """Return the choice of a move with a note of the families of the graph that it begins from."""

        def noted(climber, graph, *how):
            self.in_graphs.update(enumerate(graph))
            return best_move(climber, graph, *how)

        return noted

    def remembering_fits(self, fit):
        """Return the fit of a family with a note of it."""

        def noted(scores, family, *args, **kwargs):
            self.fitted.add(family)
            return fit(scores, family, *args, **kwargs)

        return noted


def account(X):
    own = Account()
    wrapped = [(place, own.entering, name) for name, place in {**STAGES, **PURPOSES}.items()]
    wrapped += [(place, own.timing, name) for name, place in CLOCKS.items()]
    with ExitStack() as stack:
        for place, wrap, name in wrapped:
            stack.enter_context(patch.object(*place, wrap(getattr(*place), name)))
        for part, name, wrap in (
            (climb.Climber, "_best_move", own.remembering_graphs),
            (family_models.FamilyModels, "fit", own.remembering_fits),
        ):
            stack.enter_context(patch.object(part, name, wrap(getattr(part, name))))
        begin = time.process_time()
        HNMSearch().fit(X)
        seconds = time.process_time() - begin
    parts = {**own.seconds, "Python": seconds - sum(own.seconds.values())}
    sizes = {size: [own.fits[size], own.steps[size], spent] for size, spent in own.of_size.items()}
    fitted = len(own.fitted)
    return {"seconds": seconds, "parts": parts, "sizes": sizes, "families": fitted, "in_graphs": len(own.in_graphs)}


def print_account(row):
    print(f"{row['table']} ({row['seed']}): {row['seconds']:.1f} s")
    for part, seconds in sorted(row["parts"].items(), key=lambda own: -own[1]):
        print(f"  {part:<32} {seconds:7.2f} s {seconds / row['seconds']:5.0%}")
    print("  hidden units and inputs              fits   steps a fit   seconds   ms a step")
    for size, (fits, steps, seconds) in sorted(row["sizes"].items(), key=lambda own: -own[1][2])[:12]:
        print(f"  {size:<32} {fits:8d} {steps / fits:12.1f} {seconds:9.2f} {1e3 * seconds / max(steps, 1):11.3f}")
    print(f"  {row['families']} families were fitted, {row['in_graphs']} were part of a graph", flush=True)


if __name__ == "__main__":
    main()
