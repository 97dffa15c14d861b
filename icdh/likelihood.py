"""The negative log-likelihood of the heteroscedastic noise model (Eq. 11) and its full gradient."""

import math

import numpy as np

from icdh._table.frames import rows_like, scale_like
from icdh._utils.arrays import Floats, Mask, TableLike
from icdh._utils.density import LOG_SQRT_2PI, gaussian_nll
from icdh.network import LARGEST_LOG_FLOOR, Weights, checked_features, node_inputs, outputs

__all__ = ["nll", "nll_and_gradient"]


def nll(X: TableLike, weights: Weights) -> float:
    """Return the negative log-likelihood, in nats: mean over observations, sum over variables.

    Parameters
    ----------
    X : array_like or DataFrame, shape (M, N)
        Observations.
    weights : Weights
        The network.

    Returns
    -------
    float
        (1/M) sum over m, n of log(sigma sqrt(2 pi)) + (X_n - f_n)^2 / (2 sigma^2).

    Raises
    ------
    TypeError, ValueError
        If X is not a table of N finite columns, or the weights are not finite.

    Notes
    -----
    The likelihood is unbounded where a scale goes to zero at observations that are fitted exactly. The scale is
    relu(...) + exp(w3_bias) with the exponential clipped to at least exp(-150): no division by zero, but a
    minimiser must bound ``w3_bias`` from below, as Phase I does.

    References
    ----------
    Yin, Gao, Yu, Ji: "Effective Causal Discovery under Identifiable Heteroscedastic Noise Model", AAAI 2024, Eq. 11.

    Examples
    --------
    >>> import numpy as np
    >>> from icdh.likelihood import nll
    >>> from icdh.network import initial_weights
    >>> X = np.random.default_rng(0).normal(size=(100, 3))
    >>> weights = initial_weights(X, 4, False, np.random.default_rng(0))
    >>> 3.0 < nll(X, weights) < 6.0
    True
    """
    features = checked_features(X, weights)
    return gaussian_nll(features[: weights.n_variables], *outputs(features, weights), None, None)


def nll_and_gradient(
    X: TableLike, weights: Weights, *, scale: TableLike | None = None, rows: TableLike | None = None
) -> tuple[float, Weights]:
    """Return the negative log-likelihood and its gradient by every weight.

    Parameters
    ----------
    X : array_like or DataFrame, shape (M, N)
        Observations.
    weights : Weights
        The network.
    scale : array_like or DataFrame, shape (M, N), optional
        Standard deviations sigma to hold fixed, positive, as Phase II does; the derivatives by w3 and w3_bias are then
        zero. By default sigma is that of the network.
    rows : array_like or DataFrame of truth values, or of ones and zeros, shape (M, N), optional
        The observations that count for each variable; by default all.

    Returns
    -------
    value : float
        Sum over the observations that count, divided by M, in nats; see `nll`.
    gradient : Weights
        The derivatives, in the shapes of ``weights``; those by self-loops ``w1[n, :, n]``, which are structurally
        absent, are zero. At the kink of the ReLU the derivative from the dead side is returned.

    Raises
    ------
    TypeError
        If an argument holds something else; the message names it.
    ValueError
        If X is not a table of N finite columns, the weights are not finite, ``scale`` is not positive and finite, or
        ``scale`` or ``rows`` has another shape than X, or other labels.

    Notes
    -----
    For one node n and one observation x, with r = x_n - f and e = r / sigma, Eq. 11 is
    L = log(sigma sqrt(2 pi)) + e^2 / 2, and by the chain rule

    - dL/df = -e / sigma,
    - dL/dsigma = (1 - e^2) / sigma,
    - dL/dslope = dL/dsigma where slope = W3_n . s > 0, else 0 (the ReLU),
    - dL/dW3_n0 = dL/dsigma exp(W3_n0),
    - dL/dW2_n = dL/df s and dL/dW3_n = dL/dslope s,
    - dL/dz = (dL/df W2_n + dL/dslope W3_n) ds/dz by the pre-activations z = W1_n x, with ds/dz = s (1 - s) of the
      sigmoid,
    - dL/dW1_n = dL/dz x^T,

    each averaged over observations. Intercepts have the derivatives dL/dz (hidden) and dL/df (output).

    Examples
    --------
    >>> import numpy as np
    >>> from icdh.likelihood import nll_and_gradient
    >>> from icdh.network import initial_weights
    >>> X = np.random.default_rng(0).normal(size=(100, 3))
    >>> value, gradient = nll_and_gradient(X, initial_weights(X, 4, False, np.random.default_rng(0)))
    >>> gradient.w1.shape, gradient.w3_bias.shape
    ((3, 4, 3), (3,))
    """
    features = checked_features(X, weights)
    shape = features.shape[1], weights.n_variables
    scale = None if scale is None else scale_like(X, scale, shape)
    return loss_and_gradient(features, weights, scale, None if rows is None else rows_like(X, rows, shape))


def loss_and_gradient(
    features: Floats, weights: Weights, scale: Floats | None = None, rows: Mask | None = None
) -> tuple[float, Weights]:
    """Return what `nll_and_gradient` returns, of arguments that were checked.

    Parameters
    ----------
    features : ndarray, shape (N or N + 1, M)
        As `icdh.network.features_of` returns them.
    weights : Weights
        The network.
    scale, rows : ndarray, shape (N, M), optional
        See `nll_and_gradient`.
    """
    from icdh._network_kernels import node_nll_and_gradient

    nodes, observations, inputs = weights.n_variables, features.shape[1], np.arange(features.shape[0])
    value, none = 0.0, np.empty(0)
    d_inputs = np.zeros((nodes, features.shape[0], weights.hidden_units))
    d_w2, d_w3 = np.zeros_like(weights.w2), np.zeros_like(weights.w3)
    d_floor, d_intercept, floor = np.empty(nodes), np.empty(nodes), weights.scale_floor()
    for n in range(nodes):
        sigma = none if scale is None else scale[n]
        intercept = 0.0 if weights.output_bias is None else weights.output_bias[n]
        outer = weights.w2[n], weights.w3[n], floor[n] if scale is None else 0.0, intercept
        loss, d_floor[n], d_intercept[n] = node_nll_and_gradient(
            (features if rows is None else np.ascontiguousarray(features[:, rows[n]]), inputs, n),
            weights.activation.low,
            (node_inputs(weights, n), *outer),
            sigma if rows is None or scale is None else sigma[rows[n]],
            (d_inputs[n], d_w2[n], d_w3[n]),
        )
        value += loss + LOG_SQRT_2PI * (observations if rows is None else np.count_nonzero(rows[n]))
    if scale is not None:
        d_floor[:] = d_w3[:] = 0.0
    inside = np.abs(weights.w3_bias) < LARGEST_LOG_FLOOR
    gradient = Weights(
        d_inputs[:, :nodes].transpose(0, 2, 1) / observations,
        w2=d_w2 / observations,
        w3=d_w3 / observations,
        w3_bias=np.where(inside, d_floor * floor, 0.0) / observations,
        hidden_bias=None if weights.hidden_bias is None else d_inputs[:, nodes] / observations,
        output_bias=None if weights.output_bias is None else d_intercept / observations,
        activation=weights.activation,
    )
    return math.inf if math.isnan(value) else float(value / observations), gradient
