"""The parts, for authors of other libraries: likelihood and acyclicity with exact gradients, and the simulator.

    python as_library.py

Nothing but the picture, as_library.png, needs more than numpy, scipy and numba. A[i, j] is the edge i -> j everywhere.
"""

import numpy as np
from scipy.optimize import check_grad

from icdh import acyclicity, graphs, likelihood, metrics, network, plotting, simulate

# %%
# 1. A table whose graph, means and spreads are known.
data = simulate.simulate_sem(simulate.erdos_renyi(5, 1, random_state=0), 300, random_state=0, standardize=True)
print(f"{data.X.shape[0]} rows of {data.X.shape[1]} variables, {int(data.adjacency.sum())} edges")

# %%
# 2. The network of every variable given all others: mean (w2) and standard deviation (w3) share a hidden layer (w1).
weights = network.initial_weights(data.X, 4, True, np.random.default_rng(0))

# %%
# 3. The negative log-likelihood, mean over rows in nats (natural units of information), and its exact gradient.
value, gradient = likelihood.nll_and_gradient(data.X, weights)
print(f"negative log-likelihood {value:.3f} nats")

error = check_grad(
    lambda theta: likelihood.nll(data.X, weights.from_vector(theta)),
    lambda theta: likelihood.nll_and_gradient(data.X, weights.from_vector(theta))[1].to_vector(),
    weights.to_vector(),
)
print(f"the gradient differs from finite differences by {error:.1e}")

# %%
# 4. How far a graph is from having no cycles: h, zero for a DAG, and its gradient.
A = weights.adjacency()
h, slope = acyclicity.acyclicity(A)
print(f"h = {h:.3f} with cycles, {acyclicity.acyclicity(np.triu(A, 1))[0]:.1f} without; its gradient: {slope.shape}")

# %%
# 5. Graphs and distances between them.
dag = graphs.break_cycles(A).adjacency
print("causal order", graphs.causal_order(dag), "SHD to the truth", metrics.shd(dag != 0, data.adjacency))
figure = plotting.plot_comparison(dag, data.adjacency, data.names, titles=("random weights, without cycles", "true"))
figure.savefig("as_library.png")
