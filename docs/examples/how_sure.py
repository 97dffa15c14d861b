"""How sure is a graph: of an edge, of its direction, of the model.

    python how_sure.py

The picture, how_sure.png, needs matplotlib.
The table is simulated, so that the truth is known: a chain x0 -> x1 -> x2, and x3, whose direction nothing can tell.
"""

import numpy as np

import icdh
from icdh.uncertainty import direction_loss

rng = np.random.default_rng(0)
x0 = rng.normal(size=400)
x1 = np.tanh(2 * x0) + (0.2 + 0.3 * (x0 > 0)) * rng.normal(size=400)  # the spread depends on the cause, too
x2 = x1**2 + 0.5 * rng.normal(size=400)
x3 = 0.6 * x0 + 0.8 * rng.normal(size=400)  # linear and Gaussian: x3 -> x0 would look the same
model = icdh.HNMSearch().fit(np.column_stack([x0, x1, x2, x3]))

# %%
# 1. Is there an edge at all? Its strength: nats of evidence lost without it. Below ten, think twice.
# 2. Which way does it point? What the evidence loses by reversing it.
loss = direction_loss(model)
print("edge        strength  if turned")
for cause, effect, strength, *_ in model.edge_list():
    turned = loss[int(cause[1:]), int(effect[1:])]
    print(f"{cause} -> {effect}  {strength:8.1f}  {turned:8.1f}", "  a guess" if turned < 10 else "")

names = ["x0", "x1", "x2", "x3"]
guesses = {(i, j): icdh.plotting.DOUBTFUL for i, j in np.argwhere(loss < 10)}
figure = icdh.plotting.plot_graph(model.adjacency_matrix_, names, styles=guesses)
figure.savefig("how_sure.png")

# %%
# 3. Other graphs may be as good. The posterior weighs them all by their evidence: nothing is fitted to other rows.
sure = icdh.posterior(model)
print("\nby the posterior:")
for belief in sure.edges(level=0.05):
    print(f"{belief.cause} -> {belief.effect}: {belief.probability:.2f}, the other way {belief.reverse:.2f}")
print(f"a path from x0 to x2: {sure.path_probability('x0', 'x1', 'x2'):.2f}")

# %%
# 4. Would other rows have given another graph? Resamples are slower, and ask less of the model. A hundred are usual.
often = icdh.bootstrap(icdh.HNMSearch(), np.column_stack([x0, x1, x2, x3]), n_resamples=8)
print("\nby resamples:")
for belief in often.edges(level=0.05):
    print(f"{belief.cause} -> {belief.effect}: {belief.probability:.2f}, the other way {belief.reverse:.2f}")

# %%
# 5. All of these are about chance. None sees a common cause that is not in the table, or rows that depend on one
#    another. The residuals may: those of a good model do not go with one another.
rest = model.residuals(np.column_stack([x0, x1, x2, x3]))
print("\nlargest correlation among residuals:", np.abs(np.corrcoef(rest.T) - np.eye(4)).max().round(2))
