"""What a model tells of given rows: expected values, spreads, residuals, probabilities, scores."""

from collections.abc import Hashable
from typing import Any

import numpy as np

from icdh._ground.labels import variable_index
from icdh._model.conditionals import has_probabilities, log_density, nearest, standardised
from icdh._table.frames import frame_of
from icdh._table.table import LARGEST_SCALED_VALUE, Table


class Predicting:
    """The part of a `StructuralModel` that predicts."""

    def scaled(self, X: Any) -> np.ndarray:
        """Return scaled observations, one variable a row, shape (N, M).

        Parameters
        ----------
        X : array_like or DataFrame, shape (M, N)
            Observations of the model's variables, in their order.

        Raises
        ------
        ValueError, TypeError
            If these are not the variables of the model, or anything but finite numbers.
        """
        return self._scaled(self.as_table(X))

    def as_table(self, X: Any) -> Table:
        """Return observations of the model's variables, checked, in the units of X; parameters as of `scaled`."""
        table = Table.of(X, min_rows=1, known=self.categories)
        if table.n_variables != len(self.names):
            raise ValueError(
                f"X has {table.n_variables} features, but {type(self).__name__} is expecting {len(self.names)} "
                "features as input: pass the columns that fit saw"
            )
        if table.named and self.named and table.names != self.names:
            at = next(i for i, name in enumerate(self.names) if table.names[i] != name)
            raise ValueError(
                f"column {at} of X is {table.names[at]!r} where fit saw {self.names[at]!r}; "
                "pass the same columns in the same order, X[model.feature_names_in_]"
            )
        return table

    def _scaled(self, table):
        with np.errstate(over="ignore"):
            values = self.scaling.apply(table.values)
        largest = np.abs(values).max(axis=1)
        if largest.max() > LARGEST_SCALED_VALUE:
            name = table.names[int(np.argmax(largest))]
            raise ValueError(f"column {name!r} of X holds values far beyond those that fit saw; check its units")
        return values

    def in_units(self, variable: int, scaled: np.ndarray) -> np.ndarray:
        """Return natural values of a variable in its units, shape (M,); those of a variable with levels are levels."""
        values = self.scaling.undo_variable(variable, scaled)
        levels = self.levels.get(variable)
        return values if levels is None else levels[nearest(levels, values)]

    def scaled_variable(self, variable: int, values: np.ndarray) -> np.ndarray:
        """Return the scaled values that an intervention set for a variable; both of shape (M,).

        Raises
        ------
        ValueError
            If the values are far beyond those of the table that was fitted.
        """
        with np.errstate(over="ignore"):
            scaled = self.scaling.apply_to(variable, values)
        if np.abs(scaled).max() > LARGEST_SCALED_VALUE:
            raise ValueError(
                f"do sets {self.names[variable]!r} to values far beyond those that fit saw; check their units"
            )
        return scaled

    def mean_and_scale(self, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return mean and scale of every variable at scaled observations, all of shape (N, M)."""
        mean, scale = np.empty((2, *values.shape))
        for n, conditional in enumerate(self.conditionals):
            mean[n], scale[n] = conditional.mean_and_scale(values)
        return mean, scale

    def given_causes(self, node: int, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return mean and scale of one variable given its causes alone, each of shape (M,), at scaled observations.

        Other inputs of its conditional are held at their means.
        """
        return self.conditionals[node].mean_and_scale(self.others_held(node, values))

    def others_held(self, node: int, values: np.ndarray) -> np.ndarray:
        """Return scaled observations with the inputs of a conditional that are not causes held at their means."""
        inputs = self.conditionals[node].inputs
        others = inputs[self.adjacency[inputs, node] == 0]
        if others.size:
            values = values.copy()
            values[others] = self.centre[others, np.newaxis]
        return values

    def predict(self, X: Any) -> Any:
        """Return the mean of every variable given its causes.

        For a categorical variable it is the most probable label; for ordered labels, the label nearest to the mean
        rank.

        Parameters
        ----------
        X : array_like or DataFrame, shape (M, N)
            Observations; the columns of ``fit``, in the same order.

        Returns
        -------
        ndarray or DataFrame, shape (M, N)
            In the units of X; a DataFrame if ``fit`` saw one.

        Raises
        ------
        ValueError, TypeError
            If X does not have the columns of ``fit`` or holds anything but finite numbers.
        """
        mean, _ = self.mean_and_scale(self.scaled(X))
        return self._given_back(self.scaling.undo(mean), X)

    def predict_scale(self, X: Any) -> Any:
        """Return the standard deviation of every variable given its causes, in the units of X.

        For a categorical variable it is the probability of any but the most probable label.
        Parameters, shape of the result and errors are those of `predict`.
        """
        _, scale = self.mean_and_scale(self.scaled(X))
        return self._given_back(self.scaling.undo_scale(scale), X, of_labels=False)

    def residuals(self, X: Any) -> Any:
        """Return the standardised residuals, (X - mean) / standard deviation: standard normal if the model holds.

        For a categorical variable, the surprise -log P is standardised: mean 0 and variance 1 if the model holds.
        Parameters, shape of the result and errors are those of `predict`.
        """
        return self._given_back(self.standardised_residuals(self.scaled(X)), X, of_labels=False)

    def standardised_residuals(self, values: np.ndarray) -> np.ndarray:
        """Return the residuals of scaled observations, both of shape (N, M)."""
        return np.array([standardised(*own, values) for own in zip(self.conditionals, values, strict=True)])

    def probabilities(self, variable: Hashable, X: Any) -> Any:
        """Return the probabilities of the labels, or levels, of a variable given its causes.

        Parameters
        ----------
        variable : str or int
            A variable of labels, or of few ordered values.
        X : array_like or DataFrame, shape (M, N)
            Observations; the columns of ``fit``, in the same order.

        Returns
        -------
        ndarray or DataFrame, shape (M, K)
            A DataFrame, whose columns are the labels or values, if ``fit`` saw one; else in the order of ``categories``
            or of ``levels``.

        Raises
        ------
        ValueError, TypeError
            If the variable has neither labels nor levels, or as `predict`.
        """
        node = variable_index(variable, self.names, "variable")
        if not has_probabilities(self.conditionals[node]):
            raise ValueError(f"{self.names[node]!r} has no labels; predict gives its mean, predict_scale its spread")
        table = self.as_table(X)
        found = np.exp(self.conditionals[node].log_probabilities(self._scaled(table))).T
        if not self.frame:
            return found
        known, levels = self.categories.get(node), self.levels.get(node)
        columns = list(known.labels if levels is None else levels if known is None else known.decoded(levels))
        labels = columns if self.frame == "pandas" else map(str, columns)
        return frame_of(self.frame, dict(zip(labels, found.T, strict=True)), _index_of(X))

    def score(self, X: Any, y: None = None) -> float:
        """Return the log-likelihood: mean over observations, sum over variables.

        Parameters
        ----------
        X : array_like or DataFrame, shape (M, N)
            Observations; the columns of ``fit``, in the same order.
        y : None
            Ignored.

        Returns
        -------
        float
            In nats, as a density in the units of X whatever scaling the model uses, so that models with different
            scaling compare; of labels and levels as a probability. Higher is better.

        Raises
        ------
        ValueError, TypeError
            As `predict`.
        """
        densities = [not has_probabilities(own) for own in self.conditionals]
        return -self.nll(self.scaled(X)) - float(np.log(self.scaling.scale[densities]).sum())

    def nll(self, values: np.ndarray, rows: np.ndarray | None = None) -> float:
        """Return the negative log-likelihood of scaled observations, shape (N, M), as a density of these.

        ``rows``, of that shape, are the observations that count for each variable; by default all.
        """
        total = 0.0
        for n, conditional in enumerate(self.conditionals):  # one by one: long tables need little more memory
            nats = -log_density(conditional, values[n], values)
            total += float(np.mean(nats if rows is None else np.where(rows[n], nats, 0.0)))
        return total

    def _given_back(self, values, X=None, of_labels=True):
        """Return values, one variable a row, as observations in rows, in the kind of table that fit saw."""
        labels = {n: own.nearest(values[n]) for n, own in self.categories.items()} if of_labels else {}
        if self.frame:
            columns = {name: labels.get(n, values[n]) for n, name in enumerate(self.names)}
            ordered = {self.names[n]: self.categories[n] for n in labels if self.categories[n].ordered}
            return frame_of(self.frame, columns, _index_of(X), ordered)
        table = np.ascontiguousarray(values.T)
        if any(self.categories[n].of_text for n in labels):
            table = table.astype(object)
        for n, own in labels.items():
            table[:, n] = own
        return table


def _index_of(X):
    """Return the labels of the rows of a pandas frame, None of any other table."""
    return X.index if hasattr(X, "iloc") else None
