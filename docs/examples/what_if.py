"""What would happen if: effects of interventions, and counterfactuals.

    python what_if.py

The table is simulated: a dose raises a level, the level raises an answer, and age acts on both. The picture,
what_if.png, needs matplotlib.
"""

import numpy as np

import icdh
from icdh.files import LabelledTable

rng = np.random.default_rng(0)
n = 600
age = rng.normal(size=n)
dose = 0.8 * age + rng.normal(size=n)  # the old get more
level = np.tanh(dose) + (0.2 + 0.1 * np.abs(dose)) * rng.normal(size=n)
answer = level - age + 0.3 * rng.normal(size=n)  # and fare worse
table = LabelledTable(np.column_stack([age, dose, level, answer]), ["age", "dose", "level", "answer"])
tiers = icdh.Knowledge(tiers=[["age"], ["dose"], ["level"], ["answer"]])  # here the order is known
model = icdh.HNMSearch(knowledge=tiers).fit(table)
print(model.summary())

# %%
# 1. Seeing is not doing: who got more fared worse, because of their age. Setting the dose helps.
seen = np.polyfit(dose, answer, 1)[0]
low, high = model.average_effect("dose", "answer", [-0.5, 0.5]).mean
print(f"\none more unit of dose: {seen:+.2f} where it is seen, {high - low:+.2f} where it is set")
print(f"the truth: {np.tanh(0.5) - np.tanh(-0.5):+.2f}")

# %%
# 2. The same with an interval, for one standard deviation of the dose, by the covariates that the graph asks for.
print(icdh.effect(table, "dose", "answer", model=model).summary())

figure = model.average_effect("dose", "answer", np.linspace(-2, 2, 41)).plot()
figure.savefig("what_if.png")

# %%
# 3. All pairs at once: what one standard deviation of the cause does to the mean of the effect.
for effect in model.effects():
    print(f"{effect.cause} on {effect.effect}: {effect.change:+.2f}, spread times {effect.spread_ratio:.2f}")

# %%
# 4. New rows from another world, in which the dose is set, or raised by one.
set_to = model.sample(1000, random_state=0, do={"dose": 1.0})
raised = model.sample(1000, random_state=0, do={"dose": icdh.Shift(1.0)})
print("\nmean answer with the dose at 1:", set_to[:, 3].mean().round(2), "raised by 1:", raised[:, 3].mean().round(2))

# %%
# 5. These very rows, each with its own noise, had the dose been zero.
before, after = table.values[:3, 3], model.counterfactual(table.values[:3], do={"dose": 0.0})[:, 3]
print("answers of the first rows:", before.round(2), "and with the dose at zero:", after.round(2))
