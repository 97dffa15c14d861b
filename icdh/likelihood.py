"""The negative log-likelihood of the heteroscedastic noise model (Eq. 11) and its full gradient."""

import numpy as np

from icdh.network import (
    LARGEST_LOG_FLOOR,
    HiddenLayer,
    Weights,
    check_observations,
    output_weights,
)

LOG_SQRT_2PI = 0.5 * np.log(2.0 * np.pi)


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
    """
    return nll_and_gradient(X, weights)[0]


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
    """
    from icdh import _kernels

    X = check_observations(X, weights)
    observations, nodes = X.shape
    layer = HiddenLayer(X, weights.hidden_units, weights.hidden_bias is not None)
    stacked = layer.stack(weights.w1, weights.hidden_bias)
    outputs = output_weights(weights)
    floor = weights.scale_floor()
    value = LOG_SQRT_2PI * nodes * observations
    d_stacked, d_outputs = np.zeros_like(stacked), np.zeros_like(outputs)
    d_floor, d_output_bias = np.zeros(nodes), np.zeros(nodes)
    for rows, s in layer.blocks(stacked):
        out = np.empty((nodes, 2, s.shape[1]))
        _kernels.combine(s, outputs, out)
        residual = layer.variables[:, rows] - out[:, 0]
        if weights.output_bias is not None:
            residual -= weights.output_bias[:, np.newaxis]
        for n in range(nodes):
            loss, d = _kernels.gaussian_nll(residual[n], out[n, 1], floor[n], out[n, 0], out[n, 1])
            value += loss
            d_floor[n] += d
        d_output_bias += out[:, 0].sum(axis=1)
        _kernels.backpropagate(s, out, outputs, d_outputs)
        d_stacked += s @ layer.features[:, rows].T
    d_w1, d_hidden_bias = layer.unstack(d_stacked / observations, weights.w1.shape)
    inside = np.abs(weights.w3_bias) < LARGEST_LOG_FLOOR
    gradient = Weights(
        d_w1,
        w2=d_outputs[:, 0] / observations,
        w3=d_outputs[:, 1] / observations,
        w3_bias=np.where(inside, d_floor * floor, 0.0) / observations,
        hidden_bias=d_hidden_bias,
        output_bias=None if weights.output_bias is None else d_output_bias / observations,
    )
    return value / observations, gradient
