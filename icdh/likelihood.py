"""The negative log-likelihood of the heteroscedastic noise model (Eq. 11) and its full gradient."""

import numpy as np

from icdh.density import LOG_SQRT_2PI, gaussian_nll
from icdh.network import LARGEST_LOG_FLOOR, Weights, activations, checked_features, outputs


def nll(X: np.ndarray, weights: Weights) -> float:
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


def nll_and_gradient(X: np.ndarray, weights: Weights) -> tuple[float, Weights]:
    """Return the negative log-likelihood and its gradient by every weight.

    Parameters
    ----------
    X : ndarray, shape (M, N)
        Observations.
    weights : Weights
        The network.

    Returns
    -------
    value : float
        The mean over observations, in nats; see `nll`.
    gradient : Weights
        The derivatives, in the shapes of ``weights``; those by self-loops ``w1[n, :, n]``, which are structurally
        absent, are zero. At the kink of the ReLU the derivative from the dead side is returned.

    Raises
    ------
    ValueError
        If X is not a table of N finite columns.

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
    from icdh._network_kernels import gaussian_nll as node_nll

    features = checked_features(X, weights)
    nodes, observations = weights.n_variables, features.shape[1]
    floor = weights.scale_floor()
    value = LOG_SQRT_2PI * nodes
    d_inputs = np.empty((nodes, features.shape[0], weights.hidden_units))
    d_w2, d_w3 = np.empty_like(weights.w2), np.empty_like(weights.w3)
    d_floor, d_intercept = np.empty(nodes), np.empty(nodes)
    for n in range(nodes):
        w2, w3, s = weights.w2[n], weights.w3[n], activations(features, weights, n)
        intercept = 0.0 if weights.output_bias is None else weights.output_bias[n]
        g_mean, g_slope = features[n] - w2 @ s - intercept, w3 @ s
        loss, d_floor[n] = node_nll(g_mean, g_slope, floor[n], g_mean, g_slope)
        value += loss / observations
        d_w2[n], d_w3[n], d_intercept[n] = s @ g_mean, s @ g_slope, g_mean.sum()
        d_inputs[n] = features @ ((np.outer(w2, g_mean) + np.outer(w3, g_slope)) * s * (1.0 - s)).T
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
    return float(value), gradient
