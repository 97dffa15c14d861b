"""What rounding one of two variables ever more coarsely does to the arrow that HNMSearch finds.

    python benchmarks/coarse_rounding.py results.json [--seeds FIRST END]

A Gaussian cause, and an effect whose mean and spread are random functions of it (`simulated_tables`), 800 rows; the
cause or the effect is rounded to a number of levels. Every pair is kept in the JSON file and not repeated. Prints how
often the arrow points forward and backward, and the nats by which the right direction leads: the arrow may fade, but
ought not to turn with confidence.
"""

import argparse
import json
import warnings
from pathlib import Path

import numpy as np
from simulated_tables import effect

from icdh import HNMSearch
from icdh.files import replace_on_success

LEVELS = (0, 20, 8, 5, 3, 2)  # 0 is as it was


def rounded(values, levels):
    """Return values as one of so many evenly spaced levels."""
    if not levels:
        return values
    low, high = np.quantile(values, (0.01, 0.99))
    return np.clip(np.round((values - low) / (high - low) * (levels - 1)), 0, levels - 1)


def lead_of(side, levels, seed):
    """Return whether the arrow points forward, backward, and the nats by which the right direction leads."""
    rng = np.random.default_rng(seed)
    cause = rng.normal(size=800)
    pair = {"cause": cause, "effect": effect(cause[:, np.newaxis], rng, rng.normal(size=800))}
    pair[side] = rounded(pair[side], levels)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = HNMSearch().fit(np.column_stack(list(pair.values())))
    searched = model.found_graph()
    scores, order = searched.scores, searched.table.order
    first, second = (int(np.flatnonzero(order == k)[0]) for k in (0, 1))
    backward, forward = (sum(scores([(b, (a,)), (a, ())])) for a, b in ((second, first), (first, second)))
    found = model.adjacency_matrix_
    return {"forward": bool(found[0, 1]), "backward": bool(found[1, 0]), "lead": float(backward - forward)}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", type=Path)
    parser.add_argument("--seeds", type=int, nargs=2, default=(13000, 13020), metavar=("FIRST", "END"))
    args = parser.parse_args()
    kept = json.loads(args.results.read_text(encoding="utf-8")) if args.results.exists() else {}
    for side in ("cause", "effect"):
        for levels in LEVELS:
            keys = [f"{side}/{levels}/{seed}" for seed in range(*args.seeds)]
            for key, seed in zip(keys, range(*args.seeds), strict=True):
                if key not in kept:
                    kept[key] = lead_of(side, levels, seed)
                    with replace_on_success(args.results) as temporary:
                        temporary.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")
            rows = [kept[key] for key in keys]
            low, median, high = np.quantile([row["lead"] for row in rows], [0.0, 0.5, 1.0])
            print(
                f"{side:<7} {levels:2d} levels  forward {sum(row['forward'] for row in rows):2d}  "
                f"backward {sum(row['backward'] for row in rows):2d}  lead {median:.0f} ({low:.0f} to {high:.0f}) nats"
                f"  n={len(rows)}",
                flush=True,
            )


if __name__ == "__main__":
    main()
