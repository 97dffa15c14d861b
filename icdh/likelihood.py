"""The negative log-likelihood of the heteroscedastic noise model (Eq. 11) and its full gradient."""

import numpy as np

from icdh._ground.arrays import Floats, Mask
from icdh._ground.density import LOG_SQRT_2PI, gaussian_nll
from icdh.network import LARGEST_LOG_FLOOR, Weights, checked_features, node_inputs, outputs


def nll(X: Floats, weights: Weights) -> float:
    """Return the negative log-likelihood, in nats: mean over observations, sum over variables.

    Parameters
    ----------
    X : ndarray, shape (M, N)
        Observations.
    weights : Weights
        The network.

    Returns
    -------
    float
        (1/M) sum over m, n of log(sigma sqrt(2 pi)) + (X_n - f_n)^2 / (2 sigma^2).

    Raises
    ------
    ValueError
        If X is not a table of N finite columns.

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
    return gaussian_nll(features[: weights.n_variables], *outputs(features, weights))


def nll_and_gradient(
    X: Floats, weights: Weights, *, scale: Floats | None = None, rows: Mask | None = None
) -> tuple[float, Weights]:
    """Return the negative log-likelihood and its gradient by every weight.

    Parameters
    ----------
    X : ndarray, shape (M, N)
        Observations.
    weights : Weights
        The network.
    scale : ndarray, shape (M, N), optional
        Standard deviations sigma to hold fixed, positive, as Phase II does; the derivatives by w3 and w3_bias are then
        zero. By default sigma is that of the network.
    rows : ndarray of bool, shape (M, N), optional
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
    ValueError
        If X is not a table of N finite columns, or ``scale`` or ``rows`` has another shape.

    Notes
    -----
    For one node n and one observation x, with r = x_n - f and e = r / sigma, Eq. 11 is
    L = log(sigma sqrt(2 pi)) + e^2 / 2, and by the chain rule

    - dL/df = -e / sigma,
    - dL/dsigma = (1 - e^2) / sigma,
    - dL/dslope = dL/dsigma where slope = W3_n . s > 0, else 0 (the ReLU),
    - dL/dW3_n0 = dL/dsigma exp(W3_n0),
    - dL/dW2_n = dL/df s and dL/dW3_n = dL/dslope s,
    - dL/dz = (dL/df W2_n + dL/dslope W3_n) s (1 - s) by the pre-activations z = W1_n x, as ds/dz = s (1 - s),
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
    from icdh._network_kernels import node_nll_and_gradient

    features = checked_features(X, weights)
    nodes, observations, inputs = weights.n_variables, features.shape[1], np.arange(features.shape[0])
    _check_shape("scale", scale, (observations, nodes))
    _check_shape("rows", rows, (observations, nodes))
    value = 0.0
    d_inputs = np.zeros((nodes, features.shape[0], weights.hidden_units))
    d_w2, d_w3 = np.zeros_like(weights.w2), np.zeros_like(weights.w3)
    d_floor, d_intercept, floor = np.empty(nodes), np.empty(nodes), weights.scale_floor()
    for n in range(nodes):
        counts = slice(None) if rows is None else rows[:, n]
        loss, d_floor[n], d_intercept[n] = node_nll_and_gradient(
            np.ascontiguousarray(features[:, counts]),
            inputs,
            n,
            node_inputs(weights, n),
            weights.w2[n],
            weights.w3[n],
            floor[n] if scale is None else 0.0,
            0.0 if weights.output_bias is None else weights.output_bias[n],
            np.empty(0) if scale is None else np.ascontiguousarray(scale[counts, n]),
            d_inputs[n],
            d_w2[n],
            d_w3[n],
        )
        value += loss + LOG_SQRT_2PI * (observations if rows is None else np.count_nonzero(rows[:, n]))
    if scale is not None:
        d_floor[:] = d_w3[:] = 0.0
    inside = np.abs(weights.w3_bias) < LARGEST_LOG_FLOOR
    d_w1 = d_inputs[:, :nodes].transpose(0, 2, 1) / observations
    d_w1[np.arange(nodes), :, np.arange(nodes)] = 0.0
    gradient = Weights(
        d_w1,
        w2=d_w2 / observations,
        w3=d_w3 / observations,
        w3_bias=np.where(inside, d_floor * floor, 0.0) / observations,
        hidden_bias=None if weights.hidden_bias is None else d_inputs[:, nodes] / observations,
        output_bias=None if weights.output_bias is None else d_intercept / observations,
    )
    return float(value / observations), gradient


def _check_shape(name: str, given: Floats | Mask | None, shape: tuple[int, int]) -> None:
    if given is not None and np.shape(given) != shape:
        raise ValueError(f"{name} must have the shape of X, {shape}; got {np.shape(given)}")
