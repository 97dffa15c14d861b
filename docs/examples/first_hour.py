"""From a table to a report, step by step.

    python first_hour.py [data.csv]

Without a table it takes the 853 cells of Sachs et al. (2005), which come with icdh. It writes model.icdh, graph.csv,
report.html and graph.png into the folder it is run in.
"""

import sys

import numpy as np

import icdh

# %%
# 1. A table: observations in rows, variables in columns. A pandas DataFrame or a numpy array does as well.
table = icdh.files.read_table(sys.argv[1]) if len(sys.argv) > 1 else icdh.datasets.load_sachs().table
names = table.columns or [f"x{i}" for i in range(table.values.shape[1])]
print(f"{len(table.values)} observations of {', '.join(names)}")

# %%
# 2. Learn which variable causes which. Warnings are about the table: constant or repeated columns, few rows, ...
#    Take icdh.ICDH for the procedure of the article. What you know beforehand goes into
#    knowledge=icdh.Knowledge(forbidden=[(cause, effect)], required=[...], tiers=[[early], [late]]).
model = icdh.HNMSearch().fit(table)
print(model.summary())

# %%
# 3. How sure is every edge? Here from the evidence itself; icdh.bootstrap asks resampled rows and takes longer.
sure = icdh.posterior(model, random_state=0)
for edge in sure.edges(level=0.5):
    print(f"{edge.cause} -> {edge.effect}: probability {edge.probability:.2f}")

# %%
# 4. What would happen if one set a variable from outside? Total effects, strongest first:
effects = model.effects()
for effect in effects[:5]:
    print(f"{effect.cause} from {effect.contrast} changes the mean of {effect.effect} by {effect.change:.3g}")

#    One of them in detail, and the first rows of the table as they would have been:
if effects:
    cause, effect = effects[0].cause, effects[0].effect
    column = table.values[:, names.index(cause)]
    curve = model.average_effect(cause, effect, np.quantile(column, [0.1, 0.5, 0.9]))
    for value, mean, std in zip(curve.values, curve.mean, curve.std, strict=True):
        print(f"with {cause} set to {value:.3g}, {effect} has mean {mean:.3g} and standard deviation {std:.3g}")
    relived = model.counterfactual(table.values[:3], do={cause: float(np.median(column))})
    print(f"the first rows with {cause} at its median:", relived.round(2).tolist(), sep="\n")

# %%
# 5. Keep it, and hand it on: icdh.load("model.icdh") answers as `model` does.
model.save("model.icdh")
icdh.files.write_graph("graph.csv", model.adjacency_matrix_, names)
try:
    model.report("report.html", table, ensemble=sure, command=" ".join(sys.argv))
    print("open report.html in a browser")
    figure = model.plot()
    figure.savefig("graph.png")
except ImportError as error:  # Jinja2 or matplotlib is missing
    print(error)
