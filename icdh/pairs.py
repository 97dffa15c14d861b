"""Which of two variables causes the other.

Under x -> y the node model y = mu(x) + sigma(x) e has a noise e that is independent of x. The description length of
the pair in that direction codes x, the scale and e as if they were independent, in nats per observation:

    L(x -> y) = H(x) + E[log sigma(x)] + H(e),    e = (y - mu(x)) / sigma(x).

For any mu and sigma, L(x -> y) is the joint entropy H(x, y) plus the mutual information I(x; e). The direction with the
shorter description has the more independent noise; no distribution is assumed. Entropies are estimated from spacings
(`mean_entropy`).
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from icdh._model.export import Result
from icdh._node_model.evidence import Start
from icdh._node_model.families import Families
from icdh._node_model.family_models import FamilyModels
from icdh._node_model.gaussian import GaussianResponse
from icdh._node_model.network import node_outputs
from icdh._rows import LEAST_EFFECT, dependence
from icdh._table.frames import as_array
from icdh._table.kinds import FEW_VALUES, PointMass, point_mass, wide_heaps
from icdh._table.table import Table, mean_and_deviation, rows_by_content
from icdh._table.transforms import normal_scores
from icdh._utils.arrays import Floats, Integers, RandomState, cells, drawn_from_cells
from icdh._utils.checks import Number, random_generator
from icdh._utils.density import vasicek_entropy
from icdh.diagnostics.independence import Distances, distance_correlation, p_value
from icdh.exceptions import warn
from icdh.files import LabelledTable
from icdh.knowledge import Knowledge


@dataclass(frozen=True)
class PairTuning:
    """How pairs are fitted and compared."""

    hidden_units: int = 5
    prior_precision: float = 1.0
    clipped: tuple[float, ...] = (0.0005, 0.01)  # shares at each end: outliers bend the first fit; the second hides
    # where the noise is widest
    most_rows: int = 1000
    bag_share: float = 0.8
    windows: tuple[float, ...] = (0.25, 0.5, 1.0)  # of entropies, in units of the usual spacing
    grid: int = 200  # values of the cause at which a fit is kept
    min_rows: int = 20
    min_reliable_rows: int = 100
    doubt: float = 1.0  # the most confidence where a point mass or a coarse grid may have decided, or no cause acts
    level: float = 0.05  # of the test of independence


PAIRS = PairTuning()
START = Start(tol=1e-2, precision_updates=0, max_steps=60)


@dataclass(frozen=True)
class DirectionFit:
    """The node model of the effect given the cause, in one direction.

    Attributes
    ----------
    cause_values : ndarray, shape (200,)
        Evenly spaced values of the cause, from its least to its greatest, in its units.
    mean, scale : ndarray, shape (200,)
        Mean and standard deviation of the effect at these values, in its units: those of the mixture of all fits.
        Beyond the 0.05th and 99.95th percentile of the cause they are constant.
    description_length : float
        L of the standardised variables, in nats per observation.
    """

    cause_values: Floats
    mean: Floats
    scale: Floats
    description_length: float


@dataclass(frozen=True)
class CausalDirection(Result):
    """The verdict of `causal_direction`.

    Attributes
    ----------
    direction : {"x->y", "y->x", "undecided"}
        The verdict; "undecided" if the confidence is below ``abstain_below``, or both directions are equal.
    score : float
        By how many nats per observation x -> y is better than y -> x; negative if y -> x is the better one.
    confidence : float
        The absolute score over its standard deviation across random subsamples of the rows.
    forward, backward : DirectionFit
        The fitted model of x -> y and of y -> x.
    n_independent : int or None
        The effective sample size where rows depend on those before them, or repeat: the confidence is too large then.
    """

    direction: str
    score: float
    confidence: float
    forward: DirectionFit = field(repr=False)
    backward: DirectionFit = field(repr=False)
    n_independent: int | None = None

    def summary(self) -> str:
        """Return the verdict in a line."""
        return f"{self.direction}: score {self.score:.4g} nats a row, confidence {self.confidence:.3g}"

    def records(self) -> list[dict[str, object]]:
        """Return a dict of every value of a cause, in both directions: mean and standard deviation of the effect."""
        return [
            {"direction": direction, "cause": cause, "mean": mean, "scale": scale}
            for direction, fit in (("x->y", self.forward), ("y->x", self.backward))
            for cause, mean, scale in np.column_stack([fit.cause_values, fit.mean, fit.scale]).tolist()
        ]

    def to_dict(self) -> dict[str, object]:
        """Return verdict, score, confidence and both fits as what JSON can hold."""
        verdict = {"direction": self.direction, "score": self.score, "confidence": self.confidence}
        verdict |= {"n_independent": self.n_independent}
        return {**verdict, "fits": self.records()}


def causal_direction(
    x: ArrayLike,
    y: ArrayLike,
    *,
    names: tuple[str, str] = ("x", "y"),
    abstain_below: float = 0.0,
    n_bags: int = 6,
    knowledge: Knowledge | Mapping[str, object] | None = None,
    random_state: RandomState = 0,
) -> CausalDirection:
    """Decide whether x causes y or y causes x, given that one does and nothing else causes both.

    Both directions of the heteroscedastic noise model are fitted to random subsamples of the rows and compared by
    description length (see the module's docstring). Swapping the arguments swaps the answer exactly; units, offsets and
    signs of the variables do not matter, nor does the order of the rows, but for what it shows of their dependence.

    Parameters
    ----------
    x, y : array_like, shape (M,)
        Paired observations, M >= 20. Tied values are spread at random over the interval that rounds to them.
    names : (str, str)
        The names of the variables in errors and warnings.
    abstain_below : float
        Answer "undecided" if the confidence is below this.
    n_bags : int
        How many random subsamples (four fifths of the rows, at most 1000) both directions are fitted to, at least 2.
    knowledge : Knowledge or mapping, optional
        Background knowledge about the two variables of ``names``. If it allows one direction only, that is the answer,
        with infinite confidence. If it allows none, the answer is "undecided". The score depends on the data alone.
    random_state : int, SeedSequence, Generator or None
        Draws the subsamples and spreads the ties. By default the same answer every time.

    Returns
    -------
    CausalDirection
        The verdict, the score in nats, its confidence, and the fitted mean and scale in both directions.

    Raises
    ------
    TypeError
        If x or y are not numbers, or a parameter is of the wrong type.
    ValueError
        If x or y are not of the same length, too short, constant, or hold NaN or infinity; if a parameter is out of
        range.

    Warns
    -----
    DataWarning
        If there are fewer than 100 rows, if most values of a variable are repeated, if one value of it has far more
        rows than its neighbours (a point mass, as of censored values), if one variable is a linear function of the
        other, if nothing shows that they depend on one another (the test of distance correlation, at 5 %), or if rows
        depend on those before them, or repeat.

    Notes
    -----
    Confidences are not probabilities. Subsamples share most of their rows: the standard deviation across them is about
    half of that across fresh tables. 400 simulated pairs of 1000 rows had no identifiable direction (independent, or
    linear with Gaussian noise). Of these 11 % exceed a confidence of 2, and 3 % exceed 4.

    The confidence is at most 1 where nothing shows that the variables depend on one another (two of the Tübingen
    pairs), with a point mass, and with fewer than ten distinct values of a variable. Without the first 31 % of those
    400 pairs exceeded 2. Where a fifth of the effect's values were censored or set to zero, the verdict was wrong for
    47 of 48 simulated pairs. Rounding to fewer than ten values reversed many verdicts. Rounding to ten or more favours
    neither direction. Where rows depend on those before them confidences are too large: those of 40 % of independent
    series with an autocorrelation of 0.95 exceed 2.

    References
    ----------
    Immer, Schultheiss, Vogt, Schölkopf, Bühlmann, Marx: "On the identifiability and estimation of causal
    location-scale noise models", ICML 2023.
    Mooij, Peters, Janzing, Zscheischler, Schölkopf: "Distinguishing cause from effect using observational data:
    methods and benchmarks", JMLR 17(32), 2016, section 4.2.
    Yin, Gao, Yu, Ji: "Effective causal discovery under identifiable heteroscedastic noise model", AAAI 2024.

    Examples
    --------
    >>> import numpy as np
    >>> from icdh import causal_direction
    >>> rng = np.random.default_rng(0)
    >>> x = rng.uniform(-2, 2, size=500)
    >>> y = np.tanh(2 * x) + x**2 / 2 + (0.1 + 0.2 * np.abs(x)) * rng.normal(size=500)
    >>> causal_direction(x, y).direction
    'x->y'
    """
    Number(0.0).check("abstain_below", abstain_below)
    Number(2, integer=True).check("n_bags", n_bags)
    rng = random_generator(random_state)
    forbidden = Knowledge.of(knowledge).rules(names).forbidden
    first, second = _Standardised.of(names[0], x), _Standardised.of(names[1], y)
    if first.values.size != second.values.size:
        raise ValueError(
            f"the variables must be paired observations; got {first.values.size} values of {names[0]!r} "
            f"and {second.values.size} of {names[1]!r}"
        )
    in_doubt = _is_coarse(first, second) | _may_be_independent(first, second)  # both may warn
    there, back = _content(first.values, second.values), _content(second.values, first.values)
    pair = (second, first) if (swapped := back < there) else (first, second)
    rows = rows_by_content([column.values for column in pair])
    cause, effect = (column._replace(values=column.values[rows]) for column in pair)
    score, confidence, forward, backward = _compare(cause, effect, n_bags, rng)
    if swapped:
        score, forward, backward = -score, backward, forward
    n_independent = _n_independent(first, second, forward, backward)
    is_linear = abs(np.mean(first.values * second.values)) > 1.0 - 1e-12
    if is_linear:
        warn(f"{names[1]!r} is a linear function of {names[0]!r}: no data identify the cause")
    if is_linear or there == back:  # each pair is there the other way round, too
        score = confidence = 0.0
    elif in_doubt:
        confidence = min(confidence, PAIRS.doubt)
    undecided = score == 0.0 or not confidence >= abstain_below
    direction = "undecided" if undecided else "x->y" if score > 0.0 else "y->x"
    if forbidden[0, 1] and forbidden[1, 0]:
        direction, confidence = "undecided", 0.0
    elif forbidden[0, 1] or forbidden[1, 0]:
        direction, confidence = "y->x" if forbidden[0, 1] else "x->y", np.inf
    return CausalDirection(direction, score, confidence, forward, backward, n_independent)


def _content(x: Floats, y: Floats) -> list[float]:
    """Return x, sorted, and y in the same order of rows, shape (2 M,): rows in another order give the same."""
    order = np.lexsort((y, x))
    return [*x[order].tolist(), *y[order].tolist()]


class _Standardised(NamedTuple):
    """A variable of mean 0, standard deviation 1 and no negative skewness: values = (original - offset) / scale.

    ``mass`` is its point mass, as the table has it.
    """

    name: str
    values: Floats
    offset: float
    scale: float
    mass: PointMass | None

    def in_units(self, standardised: Floats) -> Floats:
        """Return values in the variable's units, at most the largest number: a fit may go beyond data near it."""
        with np.errstate(over="ignore"):
            return np.nan_to_num(self.offset + self.scale * standardised, nan=np.nan)

    @classmethod
    def of(cls, name: str, values: ArrayLike) -> "_Standardised":
        column = as_array(values)
        if column.ndim == 2 and column.shape[1] == 1:
            column = column[:, 0]
        if column.ndim != 1:
            raise ValueError(f"{name!r} must be one variable, of shape (M,); got shape {column.shape}")
        table = Table.of(LabelledTable(column[:, None], [name]), min_rows=PAIRS.min_rows, argument="the pair")
        column = table.values[0]
        unit = np.abs(column).max()
        if unit == 0.0 or np.ptp(column / unit) == 0.0:
            raise ValueError(f"{name!r} is constant, and so neither cause nor effect; choose another variable")
        centre, deviation = mean_and_deviation(column / unit, None)
        standardised = (column / unit - centre) / deviation
        sign = -1.0 if np.mean(standardised**3) < -1e-9 else 1.0  # that of a symmetric variable is rounded
        return cls(name, sign * standardised, unit * centre, sign * unit * deviation, point_mass(column))


def _is_coarse(*columns: _Standardised) -> bool:
    """Return whether a point mass or few values may decide the direction; warn of these, of ties and of few rows."""
    n, coarse = columns[0].values.size, False
    if n < PAIRS.min_reliable_rows:
        warn(f"{n} observations: expect an unreliable direction; collect more")
    for column in columns:
        distinct = np.unique(column.values).size
        coarse |= column.mass is not None or distinct < FEW_VALUES
        if distinct < n / 2:
            values = f"{distinct} distinct values in {n} observations"
            warn(f"{column.name!r} has {values}: ties are spread at random; if you can, measure with more digits")
        if column.mass is not None:
            mass = f"{column.mass}, as of censored values or of many zeros"
            warn(f"{column.name!r} has {mass}: with a point mass the direction cannot be trusted")
    return coarse


def _may_be_independent(first: _Standardised, second: _Standardised) -> bool:
    """Return whether nothing shows that two variables depend on one another; warn of that."""
    scores = [Distances.of(normal_scores(column.values)) for column in (first, second)]
    p = p_value(distance_correlation(scores[0], scores[1]), first.values.size)
    if p > PAIRS.level:
        both = f"{first.name!r} and {second.name!r} have p = {p:.2g} if they are independent"
        warn(f"{both}: nothing shows that they depend on one another, and so that there is a cause to find")
    return p > PAIRS.level


def _residuals(fit: DirectionFit, cause: _Standardised, effect: _Standardised) -> Floats:
    """Return the standardised residuals of all rows, shape (M,), by a fit in the variables' units."""
    order = slice(None, None, 1 if cause.scale > 0.0 else -1)
    curves = (fit.mean - effect.offset) / effect.scale, fit.scale / abs(effect.scale)
    mean, scale = (np.interp(cause.values, _grid(cause), curve[order]) for curve in curves)
    return np.asarray((effect.values - mean) / scale)


def _n_independent(
    first: _Standardised, second: _Standardised, forward: DirectionFit, backward: DirectionFit
) -> int | None:
    """Return the effective sample size where rows depend on one another, in the order of the user; warn of that."""
    residuals = [_residuals(backward, second, first), _residuals(forward, first, second)]
    related = dependence(np.array([first.values, second.values]), np.array(residuals))
    rows = first.values.size
    if related is None or LEAST_EFFECT * related.n_independent > rows:
        return None
    why = "rows repeat, as copies or rows of one person or place do; keep one of each"
    if related.kind == "sequence":
        why = "rows depend on those before them, and such series go together without a cause; take differences"
    warn(f"{first.name!r} and {second.name!r} have {related.n_independent} effective rows of {rows}: {why}")
    return related.n_independent


class _Sample(NamedTuple):
    """Some rows of a standardised variable without ties, in units of their own.

    ``values = (standardised - offset) / scale``. Fits see ``clipped``, which has mean 0 and standard deviation 1:
    outliers would otherwise decide where the curves bend. ``grid`` is clipped likewise.
    """

    values: Floats
    clipped: Floats
    grid: Floats
    offset: float
    scale: float


def _compare(
    x: _Standardised, y: _Standardised, n_bags: int, rng: np.random.Generator
) -> tuple[float, float, DirectionFit, DirectionFit]:
    """Return score and confidence of x -> y, and the fits of both directions."""
    fits = [fit for start in range(n_bags) for fit in _bag(x, y, rng, start)]
    forward, backward = ([fit[way] for fit in fits] for way in (0, 1))
    scores = np.array([back.description_length - forth.description_length for forth, back in fits])
    scores = scores.reshape(n_bags, len(PAIRS.clipped)).mean(axis=1)
    score = float(scores.mean())
    confidence = abs(score) / max(float(scores.std(ddof=1)), float(np.finfo(float).eps))
    return score, confidence, _summary(x, y, forward), _summary(y, x, backward)


def _bag(
    x: _Standardised, y: _Standardised, rng: np.random.Generator, start: int
) -> Iterator[tuple[DirectionFit, DirectionFit]]:
    """Yield, on one random subsample, the evaluations of x -> y and y -> x, clipped little and more."""
    n = x.values.size
    rows = rng.permutation(n)[: min(PAIRS.most_rows, int(PAIRS.bag_share * n))]
    spread = [(column, _without_ties(column, rows, rng)) for column in (x, y)]
    for share in PAIRS.clipped:
        samples = [_sample(column, values, share) for column, values in spread]
        causes = np.array([sample.clipped for sample in samples])
        effects = [GaussianResponse(sample.clipped, np.zeros(rows.size), [sample.values], None) for sample in samples]
        widths, no_penalty = np.ones(2, dtype=np.int64), np.zeros((2, 2))
        models = FamilyModels(Families(causes, effects, widths, no_penalty, PAIRS.prior_precision, start, None, None))
        yield _evaluate(models, samples, 0, 1), _evaluate(models, samples, 1, 0)


def _without_ties(column: _Standardised, rows: Integers, rng: np.random.Generator) -> Floats:
    """Return these rows with tied values drawn anew from the interval that is nearest to them, heaps from more."""
    sample = column.values[rows]
    if np.ptp(sample) == 0.0:
        raise ValueError(f"{column.name!r} has the same value in {rows.size} random rows; drop rows with that value")
    return drawn_from_cells(*wide_heaps(sample, *cells(sample)), rng)


def _sample(column: _Standardised, values: Floats, share: float) -> _Sample:
    low, high = np.quantile(values, (share, 1.0 - share))
    clipped = np.clip(values, low, high)
    offset, scale = float(clipped.mean()), float(clipped.std())
    values, clipped, grid = ((part - offset) / scale for part in (values, clipped, np.clip(_grid(column), low, high)))
    return _Sample(values, clipped, grid, offset, scale)


def _evaluate(models: FamilyModels, samples: Sequence[_Sample], cause: int, effect: int) -> DirectionFit:
    """Return one fit of one direction, in standardised units."""
    family, x, y = (effect, (cause,)), samples[cause], samples[effect]
    fit = models.fit(family, PAIRS.hidden_units, START)
    (noise,), scale = models.residuals(family, fit)
    length = mean_entropy(x.values) + np.log(scale).mean() + mean_entropy(noise) + np.log(x.scale * y.scale)
    mean, scale = node_outputs(fit.theta, x.grid[np.newaxis], PAIRS.hidden_units)
    return DirectionFit(x.grid, y.offset + y.scale * mean, y.scale * scale, float(length))


def _grid(cause: _Standardised) -> Floats:
    return np.linspace(cause.values.min(), cause.values.max(), PAIRS.grid)


def _summary(cause: _Standardised, effect: _Standardised, fits: list[DirectionFit]) -> DirectionFit:
    """Return the fits of one direction as one, in the variables' units."""
    means, scales = np.array([fit.mean for fit in fits]), np.array([fit.scale for fit in fits])
    scale = np.sqrt((scales**2).mean(axis=0) + means.var(axis=0))
    order = slice(None, None, 1 if cause.scale > 0.0 else -1)
    at, mean = cause.in_units(_grid(cause))[order], effect.in_units(means.mean(axis=0))[order]
    length = float(np.mean([fit.description_length for fit in fits]))
    return DirectionFit(at, mean, (abs(effect.scale) * scale)[order], length)


def mean_entropy(sample: Floats) -> float:
    """Return the mean entropy over three windows: small windows have less bias, large ones less variance.

    The sample needs 13 values or more, so that the smallest window is at least one.
    """
    root = round(math.sqrt(sample.size))
    return float(np.mean([vasicek_entropy(sample, round(multiple * root)) for multiple in PAIRS.windows]))
