"""How well the shares of some lists of tables foretell those of another, and what users are told of arrows.

    python benchmarks/track_record_lists.py

The counts are those that `track_record.py` prints of each list. Each list is foretold from the others in several ways:
by the pool of every group ("three groups"), of "both" and of all other arrows ("two groups"), by pools drawn towards
the share of all arrows as far as the groups suggest ("shrunk", a beta prior over groups), and by the share of all
arrows ("one group"). Prints for each way the log score over all arrows, in nats, and how many points too high it is for
each list. Then what users are told: the pool of all lists in three groups, and an interval of 95 % for another list. It
is that of a normal model of the logits: the error of each list is what resampling its tables says, and lists differ
beyond that by an unknown standard deviation, the same in all groups, with a half-normal prior of scale 0.5.
"""

import argparse

import numpy as np
from scipy.optimize import minimize
from scipy.special import betaln, expit, logit
from scipy.stats import norm

GROUPS = ("both", "one", "neither")
# Arrows forward, all arrows, and the interval of 95 % over tables of the share, in percent. Of the list that is kept
# apart the shares alone are known; its counts are what gives them.
LISTS = {
    "fourth": ((64, 77, 71, 93), (57, 107, 40, 66), (16, 43, 21, 54)),
    "kept apart": ((52, 64, 67, 92), (77, 119, 54, 75), (33, 71, 25, 68)),
    "record": ((104, 127, 74, 89), (121, 224, 48, 61), (36, 100, 26, 47)),
    "collected": ((203, 249, 75, 87), (208, 404, 45, 58), (53, 164, 24, 41)),
}
SPREADS, SCALE = np.linspace(0.0, 2.0, 401), 0.5  # of lists beyond their errors, in logits; the scale of the prior


def three_groups(counts):
    return counts[:, 0] / counts[:, 1]


def two_groups(counts):
    forward, number = counts[1:].sum(axis=0)
    return np.array([counts[0, 0] / counts[0, 1], forward / number, forward / number])


def shrunk(counts):
    """Return the means of the posteriors under the beta prior that makes the counts of all groups most likely."""
    forward, number = counts.T

    def prior(x):
        return np.exp(x[1]) * expit(x[0]), np.exp(x[1]) * expit(-x[0])

    def loss(x):
        a, b = prior(x)
        return -np.sum(betaln(forward + a, number - forward + b) - betaln(a, b))

    a, b = prior(minimize(loss, [0.0, 2.0], method="Nelder-Mead").x)
    return (forward + a) / (number + a + b)


def one_group(counts):
    return np.full(len(counts), counts[:, 0].sum() / counts[:, 1].sum())


WAYS = {"three groups": three_groups, "two groups": two_groups, "shrunk": shrunk, "one group": one_group}


def of_another_list(lists):
    """Return the ends of the interval of 95 % for the share of another list, by group, and the mean spread of lists."""
    forward, number, low, high = np.moveaxis(lists, -1, 0)
    share = forward / number
    error = (high - low) / 100.0 / (2.0 * norm.ppf(0.975)) / (share * (1.0 - share))
    weights = 1.0 / (error**2 + SPREADS[:, np.newaxis, np.newaxis] ** 2)
    total = weights.sum(axis=1)
    mean = (weights * logit(share)).sum(axis=1) / total
    misfit = (weights * (logit(share) - mean[:, np.newaxis]) ** 2).sum(axis=1)
    evidence = 0.5 * (np.log(weights).sum(axis=1) - np.log(total) - misfit).sum(axis=1) - 0.5 * (SPREADS / SCALE) ** 2
    probability = np.exp(evidence - evidence.max())
    probability /= probability.sum()
    deviation = np.sqrt(1.0 / total + SPREADS[:, np.newaxis] ** 2)
    grid = np.linspace(0.01, 0.99, 9801)
    below = np.einsum(
        "s,sgk->gk", probability, norm.cdf((logit(grid) - mean[..., np.newaxis]) / deviation[..., np.newaxis])
    )
    ends = np.array([np.interp([0.025, 0.975], own, grid) for own in below])
    return ends, probability @ SPREADS


def show_ways(counts):
    """Print for each way how well the other lists foretell a list."""
    forward, number = np.moveaxis(counts, -1, 0)
    for name, way in WAYS.items():
        told = np.array([way(np.delete(counts, k, axis=0).sum(axis=0)) for k in range(len(counts))])
        score = np.sum(forward * np.log(told) + (number - forward) * np.log1p(-told))
        missed = 100.0 * (told - forward / number)
        print(f"{name}: log score {score:.1f}, at most {np.abs(missed).max():.0f} points off")
        for own, points in zip(LISTS, missed, strict=True):
            print(f"    {own:<10} " + ", ".join(map("{} {:+.0f}".format, GROUPS, points)))


def line(name, counts, ends):
    """Return the shares of a list, and the intervals that others foretell."""
    shares = 100.0 * three_groups(counts)
    return f"    {name:<10} " + ", ".join(map("{} {:.0f} % ({:.0f} to {:.0f})".format, GROUPS, shares, *100.0 * ends.T))


def main():
    argparse.ArgumentParser(description=__doc__.splitlines()[0]).parse_args()
    lists = np.array(list(LISTS.values()), dtype=float)
    counts = lists[..., :2]
    show_ways(counts)
    ends, spread = of_another_list(lists)
    print(f"told, with the interval for another list (lists differ by {spread:.2f} logits):")
    print(line("all", counts.sum(axis=0), ends))
    print("each list, with the interval that the others foretell:")
    for k, own in enumerate(LISTS):
        print(line(own, counts[k], of_another_list(np.delete(lists, k, axis=0))[0]))


if __name__ == "__main__":
    main()
