"""What does it do: a trial, an observational study, a table of labels.

    python effect.py

The tables are public, and their answers are known. Each is given by its counts. The picture,
effect.png, needs matplotlib.
"""

import numpy as np

import icdh
from icdh.files import LabelledTable


def rows_of(columns, counts):
    """Return a table in which each row of cells is repeated as often as it was counted."""
    cells = np.array([row for row, count in counts.items() for _ in range(count)], dtype=object)
    return LabelledTable(cells, columns)


# %%
# 1. A randomised trial needs no covariates. Of 22,071 physicians half took aspirin (Physicians' Health Study, 1989):
#    189 of 11,034 without it had a heart attack, and 104 of 11,037 with it.
trial = rows_of(
    ["aspirin", "attack"],
    {("no", "yes"): 189, ("no", "no"): 10845, ("yes", "yes"): 104, ("yes", "no"): 10933},
)
answer = icdh.effect(trial, "aspirin", "attack", [])
print(answer.summary())
print(f"\nby counting: a difference of {104 / 11037 - 189 / 11034:.5f}")

# %%
# 2. An observational study does: surgeons gave the open operation to the hard cases. It cured 273 of 350
#    kidney stones, the keyhole operation 289 of 350. Yet it is better for small stones and for large ones (Charig et
#    al., 1986).
stones = rows_of(
    ["size", "operation", "cured"],
    {
        ("small", "open", "yes"): 81,
        ("small", "open", "no"): 6,
        ("large", "open", "yes"): 192,
        ("large", "open", "no"): 71,
        ("small", "keyhole", "yes"): 234,
        ("small", "keyhole", "no"): 36,
        ("large", "keyhole", "yes"): 55,
        ("large", "keyhole", "no"): 25,
    },
)
answer = icdh.effect(stones, "operation", "cured", ["size"], contrast=["keyhole", "open"])
share = {"small": 357 / 700, "large": 343 / 700}
known = share["small"] * (81 / 87 - 234 / 270) + share["large"] * (192 / 263 - 55 / 80)
print("", answer.summary(), f"\nby counting within sizes: {known:+.3f}", sep="\n")

# %%
# 3. A table of labels: the women on the Titanic. Each class is compared with the third, the most frequent label.
women = rows_of(
    ["class", "survived"],
    {
        ("first", "yes"): 141,
        ("first", "no"): 4,
        ("second", "yes"): 93,
        ("second", "no"): 13,
        ("third", "yes"): 90,
        ("third", "no"): 106,
        ("crew", "yes"): 20,
        ("crew", "no"): 3,
    },
)
answer = icdh.effect(women, "class", "survived", [])
print()
for each in (answer, *answer.others):
    print(f"women, {each.change}: {each.interval}")
figure = answer.plot()
figure.savefig("effect.png")
print(
    f"by counting: first {141 / 145 - 90 / 196:+.3f}, second {93 / 106 - 90 / 196:+.3f}, crew {20 / 23 - 90 / 196:+.3f}"
)
