"""What estimators of causal graphs share: the scikit-learn contract, the fitted distribution, sampling and export.

A subclass learns in ``fit`` a DAG and, for every variable, a distribution given its causes,

    X_n = mean_n(X) + scale_n(X) E_n,    E_n ~ N(0, 1),

on scaled data ``(X - offset_) / scale_``. It says what mean and scale are in `_mean_and_scale`; all else is here.
"""

import inspect

import numpy as np

from icdh import graphs
from icdh._validation import check_number, check_table, random_generator, warn_about_columns
from icdh.exceptions import NotFittedError
from icdh.likelihood import LOG_SQRT_2PI

LARGEST_SCALED_VALUE = 1e60  # the square of a residual in units of the smallest scale stays finite


class Parameters:
    """scikit-learn's parameter contract by duck typing: the arguments of ``__init__``, stored as they came."""

    @classmethod
    def _defaults(cls):
        arguments = inspect.signature(cls.__init__).parameters
        return {name: argument.default for name, argument in arguments.items() if name != "self"}

    def get_params(self, deep: bool = True) -> dict:
        """Return the parameters by name.

        Parameters
        ----------
        deep : bool
            Ignored: no parameter is an estimator.
        """
        return {name: getattr(self, name) for name in self._defaults()}

    def set_params(self, **params):
        """Set parameters by name and return self.

        Raises
        ------
        ValueError
            If there is no such parameter.
        """
        known = self._defaults()
        for name in params:
            if name not in known:
                raise ValueError(f"{type(self).__name__} has no parameter {name!r}; it has {', '.join(known)}")
        for name, value in params.items():
            setattr(self, name, value)
        return self

    def __repr__(self):
        defaults = self._defaults()
        changed = [
            f"{name}={value!r}" for name, value in self.get_params().items() if repr(value) != repr(defaults[name])
        ]
        return f"{type(self).__name__}({', '.join(changed)})"

    def __sklearn_tags__(self):
        from sklearn.utils import InputTags, Tags, TargetTags

        return Tags(estimator_type=None, target_tags=TargetTags(required=False), input_tags=InputTags())


class CausalGraphEstimator(Parameters):
    """Base of the estimators: a DAG and a distribution of every variable given the others.

    Attributes
    ----------
    adjacency_matrix_ : ndarray, shape (N, N)
        The DAG; ``adjacency_matrix_[i, j] != 0`` means i -> j.
    causal_order_ : list of int
        The variables, causes before effects.
    offset_, scale_ : ndarray, shape (N,)
        The model is about ``(X - offset_) / scale_``.
    n_features_in_ : int
        N.
    feature_names_in_ : ndarray of str, shape (N,)
        The column labels; present only if ``fit`` saw a table with labels.
    """

    def _mean_and_scale(self, Z):
        """Return mean and scale of every variable at scaled observations Z, each of shape (M, N)."""
        raise NotImplementedError

    def _mean_and_scale_of(self, node, Z):
        """Return mean and scale of one variable at scaled observations Z, each of shape (M,); for `sample`."""
        mean, scale = self._mean_and_scale(Z)
        return mean[:, node], scale[:, node]

    def _start_fit(self, X):
        """Check the table, warn about what deserves a second look, and record the columns."""
        table = check_table(X)
        warn_about_columns(table, stacklevel=4)
        return table

    def _record_columns(self, table, offset, scale):
        """Set the attributes that say what the columns were, and where non-causes are held in `sample`."""
        self.n_features_in_ = len(table.names)
        if table.named:
            self.feature_names_in_ = np.array(table.names, dtype=object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_
        self.offset_, self.scale_ = offset, scale
        self._centre = (table.values.mean(axis=0) - offset) / scale

    def _set_graph(self, dag):
        self.adjacency_matrix_ = dag
        self.causal_order_ = graphs.causal_order(dag)

    def _names(self):
        self._check_fitted()
        named = getattr(self, "feature_names_in_", None)
        return [f"x{i}" for i in range(self.n_features_in_)] if named is None else list(named)

    def _check_fitted(self):
        if not hasattr(self, "adjacency_matrix_"):
            raise NotFittedError(f"this {type(self).__name__} is not fitted yet; call fit(X) first")

    def _scaled(self, X):
        """Return the scaled observations after checking that their columns are those of ``fit``."""
        names = self._names()
        table = check_table(X, min_rows=1)
        if len(table.names) != len(names):
            raise ValueError(
                f"X has {len(table.names)} features, but {type(self).__name__} is expecting {len(names)} features "
                "as input: pass the columns that fit saw"
            )
        if table.named and hasattr(self, "feature_names_in_") and table.names != names:
            at = next(i for i, name in enumerate(names) if table.names[i] != name)
            raise ValueError(
                f"column {at} of X is {table.names[at]!r} where fit saw {names[at]!r}; "
                "pass the same columns in the same order, X[model.feature_names_in_]"
            )
        with np.errstate(over="ignore"):
            Z = (table.values - self.offset_) / self.scale_
        largest = np.abs(Z).max(axis=0)
        if largest.max() > LARGEST_SCALED_VALUE:
            name = table.names[int(np.argmax(largest))]
            raise ValueError(f"column {name!r} of X holds values far beyond those that fit saw; check its units")
        return Z

    def predict(self, X) -> np.ndarray:
        """Return the mean of every variable given its causes.

        Parameters
        ----------
        X : array_like or DataFrame, shape (M, N)
            Observations; the columns of ``fit``, in the same order.

        Returns
        -------
        ndarray, shape (M, N)
            In the units of X.

        Raises
        ------
        NotFittedError
            Before ``fit``.
        ValueError, TypeError
            If X does not have the columns of ``fit`` or holds anything but finite numbers.
        """
        mean, _ = self._mean_and_scale(self._scaled(X))
        return mean * self.scale_ + self.offset_

    def predict_scale(self, X) -> np.ndarray:
        """Return the standard deviation of every variable given its causes.

        Parameters
        ----------
        X : array_like or DataFrame, shape (M, N)
            Observations; the columns of ``fit``, in the same order.

        Returns
        -------
        ndarray, shape (M, N)
            In the units of X.

        Raises
        ------
        NotFittedError, ValueError, TypeError
            As `predict`.
        """
        _, scale = self._mean_and_scale(self._scaled(X))
        return scale * self.scale_

    def residuals(self, X) -> np.ndarray:
        """Return the standardised residuals, (X - mean) / standard deviation: standard normal if the model holds.

        Parameters
        ----------
        X : array_like or DataFrame, shape (M, N)
            Observations; the columns of ``fit``, in the same order.

        Returns
        -------
        ndarray, shape (M, N)
            Dimensionless.

        Raises
        ------
        NotFittedError, ValueError, TypeError
            As `predict`.
        """
        Z = self._scaled(X)
        mean, scale = self._mean_and_scale(Z)
        return (Z - mean) / scale

    def score(self, X, y=None) -> float:
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
            scaling compare. Higher is better.

        Raises
        ------
        NotFittedError, ValueError, TypeError
            As `predict`.
        """
        return self._log_likelihood(self._scaled(X)) - float(np.log(self.scale_).sum())

    def _log_likelihood(self, Z):
        """Return the log-likelihood of scaled observations: mean over observations, sum over variables."""
        mean, scale = self._mean_and_scale(Z)
        log_density = -0.5 * ((Z - mean) / scale) ** 2 - np.log(scale) - LOG_SQRT_2PI
        return float(log_density.sum(axis=1).mean())

    def sample(self, n_samples: int = 1, random_state=None) -> np.ndarray:
        """Draw observations from the learned DAG, causes before effects.

        Parameters
        ----------
        n_samples : int
            M, the number of observations.
        random_state : int, SeedSequence, Generator or None
            The only source of randomness.

        Returns
        -------
        ndarray, shape (M, N)
            In the units of the data of ``fit``.

        Raises
        ------
        NotFittedError
            Before ``fit``.
        ValueError, TypeError
            If an argument is not what it should be.

        Notes
        -----
        A variable depends on its causes in ``adjacency_matrix_`` alone: whatever else the fitted mean and scale may
        depend on, below the threshold, is held at its mean in the data of ``fit``.
        """
        self._check_fitted()
        check_number("n_samples", n_samples, low=1, integer=True)
        rng = random_generator(random_state)
        Z = np.tile(self._centre, (n_samples, 1))
        for node in self.causal_order_:
            causes = self.adjacency_matrix_[:, node] != 0
            mean, scale = self._mean_and_scale_of(node, np.where(causes, Z, self._centre))
            Z[:, node] = mean + scale * rng.standard_normal(n_samples)
        return Z * self.scale_ + self.offset_

    def edge_list(self) -> list[graphs.Edge]:
        """Return the edges of the DAG as tuples (cause, effect, weight), strongest first."""
        names = self._names()
        return graphs.edge_list(self.adjacency_matrix_, names)

    def to_networkx(self):
        """Return the DAG as a networkx.DiGraph whose edges carry ``weight``; needs the extra ``[graph]``."""
        names = self._names()
        return graphs.to_networkx(self.adjacency_matrix_, names)

    def to_dot(self) -> str:
        """Return the DAG in the DOT language of Graphviz."""
        names = self._names()
        return graphs.to_dot(self.adjacency_matrix_, names)
