"""What a model draws: new rows, rows under interventions, counterfactuals, and effects."""

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import numpy as np

from icdh._ground.checks import check_number, random_generator
from icdh._ground.labels import variable_index
from icdh._model import effects, intervene
from icdh._table.categories import holds_text
from icdh._table.frames import records_as_frame


class Intervening:
    """The part of a `StructuralModel` that draws and intervenes."""

    def sample(self, n_samples: int = 1, random_state: Any = None, *, do: Mapping[Hashable, Any] | None = None) -> Any:
        """Draw observations from the DAG, causes before effects, as they are or under an intervention.

        Parameters
        ----------
        n_samples : int
            M, the number of observations.
        random_state : int, SeedSequence, Generator or None
            The only source of randomness.
        do : mapping, optional
            The intervention, in the units of the variables: from names or indices to a number, to an array with one
            number a row, or to a function such as `icdh.Shift`. The function gets the natural values, shape (M,), and
            returns the values under the intervention. A categorical variable is set to one label, or to one a row.

        Returns
        -------
        ndarray or DataFrame, shape (M, N)
            In the units of the data that the model was learned from; a DataFrame if that was one.

        Raises
        ------
        ValueError, TypeError
            If an argument is not what it should be.

        Notes
        -----
        A variable depends only on its causes in the DAG. Inputs of the fitted mean and scale below the threshold are
        held at their means in the data of ``fit``. With the same seed, variables that ``do`` does not reach are the
        same with and without it.
        """
        check_number("n_samples", n_samples, low=1, integer=True)
        do = self.with_codes(do)
        rows = intervene.drawn(self, n_samples, random_generator(random_state))
        return self._given_back(intervene.under(self, rows, do))

    def with_codes(self, do: Mapping[Hashable, Any] | None) -> Mapping[Hashable, Any] | None:
        """Return an intervention with the numbers that stand for labels in place of these.

        Raises
        ------
        ValueError, TypeError
            If a categorical variable is set to an unknown label, or changed by a function.
        """
        if not isinstance(do, Mapping):
            return do
        return {key: self._coded_action(key, action) for key, action in do.items()}

    def _coded_action(self, key, action):
        known = self.categories.get(variable_index(key, self.names, "do"))
        if known is None or (known.ordered and not holds_text(action)):
            return action
        if callable(action):
            raise TypeError(f"do[{key!r}] changes labels by a function; set the variable to {known.labels[0]!r}, ...")
        codes = known.encoded(list(np.atleast_1d(np.asarray(action, dtype=object))), f"do[{key!r}]")
        return codes if np.ndim(action) else float(codes[0])

    def counterfactual(self, X: Any, do: Mapping[Hashable, Any]) -> Any:
        """Return the counterfactual of observed rows under an intervention: abduction, action, prediction.

        Parameters
        ----------
        X : array_like or DataFrame, shape (M, N)
            The rows; the columns of ``fit``, in the same order.
        do : mapping
            As in `sample`.

        Returns
        -------
        ndarray or DataFrame, shape (M, N)
            In the units of X. Columns that ``do`` does not reach are those of X.

        Raises
        ------
        ValueError, TypeError
            If an argument is invalid, or ``do`` reaches a categorical or ordinal variable, whose counterfactual is not
            determined.

        Notes
        -----
        Every row keeps its own noise, (X - mean) / standard deviation given the causes.

        Examples
        --------
        >>> import numpy as np
        >>> from icdh import HNMSearch
        >>> rng = np.random.default_rng(0)
        >>> dose = rng.normal(size=300)
        >>> X = np.column_stack([dose, 2.0 * np.tanh(dose) + (0.2 + 0.2 * (dose > 0)) * rng.normal(size=300)])
        >>> model = HNMSearch().fit(X)
        >>> np.array_equal(model.counterfactual(X, do={"x1": 0.0})[:, 0], X[:, 0])
        True
        """
        table, do = self.as_table(X), self.with_codes(do)
        rows = intervene.abducted(self, table.values, self._scaled(table))
        return self._given_back(intervene.under(self, rows, do), X)

    def average_effect(
        self,
        cause: Hashable,
        effect: Hashable,
        values: Any,
        *,
        n_samples: int = 10_000,
        models: Sequence[Any] = (),
        level: float = 0.9,
        random_state: Any = 0,
    ) -> effects.AverageEffect:
        """Return the mean of an effect for values that an intervention sets for its cause.

        Parameters
        ----------
        cause, effect : str or int
            The variables.
        values : float or array_like, shape (K,)
            The values set for the cause, in its units.
        n_samples : int
            How many rows are drawn; every value meets the same noise.
        models : sequence of StructuralModel
            Other fits, such as those of `icdh.refits` to resampled rows: the band is theirs.
        level : float
            The share of these fits that the band holds.
        random_state : int, SeedSequence, Generator or None
            Draws the noise.

        Returns
        -------
        icdh._model.effects.AverageEffect
            Mean, standard deviation and band of the effect at every value; ``plot()`` draws them.

        Raises
        ------
        ValueError, TypeError
            If an argument is not what it should be.
        """
        return effects.average_effect(self, cause, effect, values, n_samples, models, level, random_state)

    def effects(self, *, n_samples: int = 2000, random_state: Any = 0) -> Any:
        """Return the total effects of all variables on all that they reach, strongest first.

        Parameters
        ----------
        n_samples : int
            How many rows are drawn; every intervention meets the same noise.
        random_state : int, SeedSequence, Generator or None
            Draws the noise.

        Returns
        -------
        list of icdh._model.effects.TotalEffect, or DataFrame
            One entry for every ordered pair with a directed path; all others have no effect.
        """
        found = effects.total_effects(self, n_samples, random_state)
        return self._as_records(found, effects.TotalEffect._fields)

    def _as_records(self, records, columns):
        return records_as_frame(self.frame, records, columns) if self.frame else records
