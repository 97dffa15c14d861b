"""What is known beforehand, and what experiments tell.

    python knowledge.py

First proteins of 853 single cells (Sachs et al. 2005): something is known of them. Then two columns: an experiment
tells what watching them cannot. The picture, knowledge.png, needs matplotlib.
"""

import numpy as np

import icdh
from icdh.uncertainty import direction_loss

# %%
# 1. Without any knowledge. The strength of an edge is in nats: by so much does the evidence fall without it.
#    Evidence is the log-likelihood of the table, less a price for each parameter. Three nats are odds of twenty to one.
sachs = icdh.datasets.load_sachs()
alone = icdh.HNMSearch().fit(sachs.table)
print(alone.summary())

# %%
# 2. What is known cuts down what can be found. PKC and PKA are known to act on the others, not the
#    other way round. What stands in an earlier tier is no effect of what stands in a later one. A pattern such as "PI*"
#    means several.
others = [name for name in sachs.feature_names if name not in ("PKC", "PKA")]
known = icdh.Knowledge(tiers=[["PKC", "PKA"], others], forbidden=[("Jnk", "P38")], required=[("Raf", "Mek")])
informed = icdh.HNMSearch(knowledge=known).fit(sachs.table)
print("\nwith knowledge", informed.summary(), sep="\n")
print(f"\nlog evidence without and with knowledge: {alone.evidence_:.0f} and {informed.evidence_:.0f} nats")
print("Much lower: the table contradicts what was said. A little lower: it leaves room for it.")

# %%
# 3. Against the consensus of the literature. SHD, the structural Hamming distance, counts the edges that are
#    missing, extra, or reversed. Zero is best, and a graph without edges has 17.
for what, model in (("no knowledge", alone), ("knowledge", informed)):
    print(f"{what}: SHD {icdh.metrics.shd(model.adjacency_matrix_ != 0, sachs.adjacency)}")
figure = icdh.plotting.plot_comparison(informed.adjacency_matrix_, sachs.adjacency, sachs.feature_names, weight="nats")
figure.savefig("knowledge.png")

# %%
# 4. Experiments. A straight line with Gaussian noise fits both ways equally well: no number of rows tells the cause.
rng = np.random.default_rng(0)


def arrows(model):
    return [f"{edge.cause} -> {edge.effect}" for edge in model.edge_list()]


cause = rng.normal(size=300)
effect = 0.6 * cause + 0.8 * rng.normal(size=300)
watched = np.column_stack([effect, cause])
before = icdh.HNMSearch().fit(watched)
print("\nwatched alone:", *arrows(before), "if turned:", np.nanmax(direction_loss(before)).round(1), "nats")

#    Now somebody sets the cause in a hundred rows. A value that was set says nothing of its causes, but its effects
#    follow. Every row has a condition, and every condition names the variables that it sets.
given = 2.0 * rng.normal(size=100)
rows = np.vstack([watched, np.column_stack([0.6 * given + 0.8 * rng.normal(size=100), given])])
done = icdh.Interventions(["watched"] * 300 + ["set"] * 100, {"watched": [], "set": ["x1"]})
after = icdh.HNMSearch().fit(rows, interventions=done)
print("with an experiment:", *arrows(after), "if turned:", np.nanmax(direction_loss(after)).round(1), "nats")
