"""One variable given others, fitted to some rows and asked at others.

The family is that of `icdh._node_model`: a network of mean and spread or, where the evidence is higher, a linear mean
and a constant spread, of all parents or of few. Which of these, hidden units and prior are chosen once, on all rows; a
fit to a part of the rows starts from there.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np
from scipy.special import ndtr

from icdh._effect.estimation import TUNING
from icdh._ground.arrays import Floats, Integers, Mask
from icdh._ground.parallel import single_blas_thread
from icdh._model.conditionals import Conditional, has_probabilities
from icdh._node_model.categorical import CategoricalResponse
from icdh._node_model.evidence import NodeFit, fit_node
from icdh._node_model.gaussian import GaussianResponse, fit_linear
from icdh._node_model.network import GivenParents, indicators, with_twice_the_units
from icdh._node_model.ordinal import OrdinalResponse
from icdh._table.table import LEVEL_KINDS

EffectResponse = GaussianResponse | OrdinalResponse | CategoricalResponse


@dataclass(frozen=True)
class Numbers:
    """The distribution of a number at n rows: Gaussian, with this mean and standard deviation, each of shape (n,)."""

    mean: Floats
    deviation: Floats

    def moment(self, order: int) -> Floats:
        """Return the mean of the number, or of its square, shape (n,)."""
        return self.mean if order == 1 else np.square(self.mean) + np.square(self.deviation)

    def share(self, label: int) -> Floats:
        """Return the probability of a label, which a number does not have: zero."""
        return np.zeros(self.mean.size)

    def below(self, limit: float) -> Floats:
        """Return the probability of at most this value, shape (n,)."""
        share: Floats = ndtr((limit - self.mean) / self.deviation)
        return share


@dataclass(frozen=True)
class Levels:
    """The distribution over K values, shape (K,), at n rows: their probabilities, shape (K, n)."""

    values: Floats
    probabilities: Floats

    @property
    def deviation(self) -> Floats:
        """The standard deviation, shape (n,)."""
        return np.sqrt(np.maximum(self.moment(2) - np.square(self.moment(1)), 0.0))

    def moment(self, order: int) -> Floats:
        """Return the mean of the value, or of its square, shape (n,)."""
        return self.values**order @ self.probabilities

    def share(self, label: int) -> Floats:
        """Return the probability of a label by its code, shape (n,)."""
        share: Floats = self.probabilities[label]
        return share

    def below(self, limit: float) -> Floats:
        """Return the probability of at most this value, shape (n,)."""
        share: Floats = self.probabilities[self.values <= limit].sum(axis=0)
        return share


Given = Numbers | Levels


class Family:
    """A variable given its parents, all of them or, where the evidence is higher, some.

    Parameters
    ----------
    values : ndarray, shape (p + 1, n)
        The parents and, last, the variable; codes in place of labels.
    kinds : sequence of str
        Their kinds: "continuous", "ordinal", "binary" or "categorical".
    n_categories : sequence of int
        The number of labels of each that is categorical.
    random_state : int
        Seed of the initial weights.
    always : sequence of int
        The parents that stay in any case.
    """

    def __init__(
        self,
        values: Floats,
        kinds: Sequence[str],
        n_categories: Sequence[int],
        random_state: int,
        always: Sequence[int] = (),
    ):
        self._offset, self._scale = values.mean(axis=1), values.std(axis=1)
        labels = np.array([kind == "categorical" for kind in kinds])
        self._offset[labels], self._scale[labels] = 0.0, 1.0
        self._scale[self._scale == 0.0] = 1.0
        self._levels, self._is_categorical = np.unique(values[-1]), kinds[-1] == "categorical"
        scaled, widths = self._scaled(values), np.where(labels, n_categories, 1)
        self._response = _response(scaled[-1], kinds[-1], n_categories[-1])
        with single_blas_thread():
            few = _selected(scaled, widths, tuple(always), self._response, random_state)
            choices = dict.fromkeys([tuple(range(len(values) - 1)), few])
            models = [_model(scaled, widths, p, self._response, random_state, TUNING.n_restarts) for p in choices]
        self._model = min(models, key=lambda model: model.evidence)

    @property
    def parents(self) -> list[int]:
        """The parents that the family has kept, by their positions."""
        return [int(k) for k in self._model.parents]

    @property
    def form(self) -> str:
        """Return "linear", with a constant spread, or "network"."""
        return "linear" if self._model.is_linear else "network"

    def _scaled(self, values: Floats) -> Floats:
        at = slice(len(values))
        scaled: Floats = (values - self._offset[at, np.newaxis]) / self._scale[at, np.newaxis]
        return scaled

    def fitted(self, rows: Mask | None = None) -> Callable[[Floats], Given]:
        """Return the variable's distribution at given parents, shape (p, n), fitted to some rows; by default to all."""
        x, widths = self._model.x, self._model.widths
        x = x if rows is None else np.ascontiguousarray(x[:, rows])
        response = self._response if rows is None else self._response.take(rows)
        if self._model.is_linear and isinstance(response, GaussianResponse):
            return partial(self._at, _Line.of(self._model.parents, widths, x, response.centre))
        fit = self._model.fit if rows is None else self._refit(x, response)
        return partial(self._at, response.conditional(self._model.parents, widths, fit.theta, fit.hidden_units))

    def _refit(self, x: Floats, response: EffectResponse) -> NodeFit:
        whole = self._model.fit
        warm = whole.succeeded and len(x) > 0
        with single_blas_thread():
            return fit_node(
                x,
                response,
                hidden_units=whole.hidden_units,
                tol=TUNING.tolerance,
                start=whole.theta if warm else None,
                precision=whole.precision if warm else None,
                precision_updates=0 if warm else 2,
            )

    def _at(self, conditional: Conditional, parents: Floats) -> Given:
        scaled = self._scaled(parents)
        if has_probabilities(conditional):
            p = np.exp(conditional.log_probabilities(scaled))
            return Levels(np.arange(len(p), dtype=float) if self._is_categorical else self._levels, p)
        mean, deviation = conditional.mean_and_scale(scaled)
        return Numbers(self._offset[-1] + self._scale[-1] * mean, self._scale[-1] * deviation)


class _Model(NamedTuple):
    """A family's network or linear model on all rows, with its negative log evidence."""

    parents: Integers
    widths: Integers
    x: Floats
    fit: NodeFit
    is_linear: bool
    evidence: float


def _selected(
    scaled: Floats, widths: Integers, parents: tuple[int, ...], response: EffectResponse, seed: int
) -> tuple[int, ...]:
    """Return parents to which no other one adds evidence, found by adding the best one again and again."""
    if scaled.shape[1] > TUNING.selection_rows:
        rows = np.zeros(scaled.shape[1], dtype=bool)
        rows[np.random.default_rng(seed).choice(scaled.shape[1], TUNING.selection_rows, replace=False)] = True
        scaled, response = scaled[:, rows], response.take(rows)

    def evidence(family: tuple[int, ...]) -> float:
        return _model(scaled, widths, family, response, seed, 1).evidence

    least = evidence(parents)
    while others := [k for k in range(len(scaled) - 1) if k not in parents]:
        families = [tuple(sorted([*parents, k])) for k in others]
        lower, best = min((evidence(family), family) for family in families)
        if lower >= least:
            break
        parents, least = best, lower
    return parents


def _model(
    scaled: Floats, widths: Integers, parents: Sequence[int], response: EffectResponse, seed: int, n_restarts: int
) -> _Model:
    chosen = np.array(parents, dtype=np.int64)
    x = np.vstack([np.empty((0, scaled.shape[1])), *(_inputs(scaled[k], widths[k]) for k in parents)])
    fit, line = _best_network(x, response, seed, n_restarts), np.inf
    if parents and isinstance(response, GaussianResponse):
        line = fit_linear(x, response).evidence
    return _Model(chosen, widths[chosen], x, fit, line < fit.evidence, min(line, fit.evidence))


def _best_network(x: Floats, response: EffectResponse, seed: int, n_restarts: int) -> NodeFit:
    starts = range(seed, seed + (n_restarts if len(x) else 1))
    fits = [fit_node(x, response, hidden_units=TUNING.hidden_units, random_state=start) for start in starts]
    best = min(fits, key=lambda fit: fit.evidence)
    grows = n_restarts > 1 and len(x) > 0 and not isinstance(response, CategoricalResponse)
    while grows and 2 * best.hidden_units <= TUNING.most_units:
        start = with_twice_the_units(best.theta, len(x), best.hidden_units, seed)
        larger = fit_node(x, response, hidden_units=2 * best.hidden_units, start=start)
        if larger.evidence > best.evidence - TUNING.least_gain:
            break
        best = larger
    return best


def _inputs(values: Floats, width: int) -> Floats:
    return values[np.newaxis] if width == 1 else indicators(values, width)


def _response(values: Floats, kind: str, n_categories: int) -> EffectResponse:
    """Return a variable as an effect: its values as they are."""
    if kind == "categorical":
        return CategoricalResponse(values.astype(np.int64), n_categories)
    return OrdinalResponse(values) if kind in LEVEL_KINDS else GaussianResponse.exact(values)


class _Line(GivenParents):
    """A linear mean and a constant spread: theta is the intercept, the slopes and the standard deviation."""

    @classmethod
    def of(cls, inputs: Integers, widths: Integers, x: Floats, values: Floats) -> "_Line":
        """Return the least-squares fit to the network inputs x, shape (inputs, n), and values, shape (n,)."""
        design = np.vstack([np.ones(values.size), x])
        slopes = np.linalg.lstsq(design.T, values, rcond=None)[0]
        deviation = max(float((values - slopes @ design).std()), 1e-6)
        return cls(inputs, widths, np.append(slopes, deviation), 0)

    def mean_and_scale(self, values: Floats) -> tuple[Floats, Floats]:
        """Return mean and scale, each of shape (n,), at the parents' values, shape (p, n)."""
        mean = self.theta[0] + self.theta[1:-1] @ self.network_inputs(values)
        return mean, np.full(mean.size, self.theta[-1])
