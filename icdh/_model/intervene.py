"""Drawn or observed rows, and their values after interventions.

A fitted model is an invertible structural model: Z_n = mean_n(causes) + scale_n(causes) E_n determines E_n from Z. So
the three steps of a counterfactual, abduction (the noise of every row), action and prediction, need no assumption
beyond those of the fit.

References
----------
Pearl: "Causality: Models, Reasoning, and Inference", 2nd edition, 2009, Theorem 7.1.7.
Peters, Janzing, Schölkopf: "Elements of Causal Inference", 2017, Sections 6.3 and 6.4.
"""

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from icdh._ground.arrays import ByColumn, Floats
from icdh._model.conditionals import has_probabilities, is_confounded, is_of_labels, response, standardised
from icdh._model.hidden import parts
from icdh._table.actions import Action, AsNumbers, actions_of, carry_out

if TYPE_CHECKING:
    from icdh._model.structural import StructuralModel


class Rows(NamedTuple):
    """Observations of a `StructuralModel` without interventions, one variable a row.

    Attributes
    ----------
    values : ndarray, shape (N, M)
        In the units of the data.
    scaled : ndarray, shape (N, M)
        The same, scaled.
    noise : ndarray, shape (N, M)
        The standardised noise of every variable.
    hidden : ndarray, shape (N, M)
        The value of its hidden cause; zero where it has none.
    """

    values: Floats
    scaled: Floats
    noise: Floats
    hidden: Floats


def drawn(model: "StructuralModel", n_rows: int, rng: np.random.Generator) -> Rows:
    """Return rows drawn from a model, causes before effects."""
    values, noise = np.empty((len(model.names), n_rows)), np.empty((len(model.names), n_rows))
    hidden = np.zeros(noise.shape)
    for cause in model.hidden_causes:
        hidden[[model.names.index(child) for child in cause.children]] = rng.standard_normal(n_rows)
    scaled = np.repeat(model.centre[:, np.newaxis], n_rows, axis=1)
    for node in model.causal_order():
        noise[node] = model.noise[node].draw(n_rows, rng)
        scaled[node] = _natural(model, node, scaled, noise[node], hidden[node])
        values[node] = model.in_units(node, scaled[node])
    return Rows(values, scaled, noise, hidden)


def _natural(model: "StructuralModel", node: int, scaled: Floats, noise: Floats, hidden: Floats) -> Floats:
    """Return a variable given its causes, its noise and the value of its hidden cause, all of shape (M,)."""
    given = model.conditionals[node]
    if is_confounded(given):
        mean, scale = given.mean_and_scale_at(model.others_held(node, scaled), hidden)
        natural: Floats = mean + scale * noise
        return natural
    return response(given, model.others_held(node, scaled), noise)


def abducted(model: "StructuralModel", values: Floats, scaled: Floats) -> Rows:
    """Return observed rows with their noise under the model; values and scaled have shape (N, M).

    The noise of a label or a level is not determined: it is NaN. The value of a hidden cause is its mean given the row.
    """
    noise, hidden = np.full_like(scaled, np.nan), np.zeros_like(scaled)
    for node, conditional in enumerate(model.conditionals):
        if not has_probabilities(conditional):
            noise[node] = standardised(conditional, scaled[node], model.others_held(node, scaled))
    for part in parts(model, scaled):
        hidden[part.nodes] = part.posterior.mean
        noise[part.nodes] = part.noise
    return Rows(values, scaled, noise, hidden)


def under(
    model: "StructuralModel", rows: Rows, do: ByColumn[object] | None, as_numbers: AsNumbers | None = None
) -> Floats:
    """Return the rows under an intervention with the noise they have, shape (N, M), in the units of the data.

    Values that the intervention does not reach keep their bits. It must not reach labels and levels of unknown noise.
    """
    values, scaled = rows.values.copy(), rows.scaled.copy()

    def respond(node: int, scaled: Floats) -> Floats:
        if np.isnan(rows.noise[node, 0]):
            _check_set(model, node, node in actions)
            as_set: Floats = scaled[node]
            return as_set
        natural = _natural(model, node, scaled, rows.noise[node], rows.hidden[node])
        values[node] = model.in_units(node, natural)
        return natural

    def on_scaled(node: int, action: Action) -> Action:
        def act(natural: Floats) -> Floats:
            values[node] = action(model.scaling.undo(natural, node))
            return model.scaled_variable(node, values[node])

        return act

    actions = actions_of(do, model.names, values.shape[1], as_numbers)
    carry_out(model.adjacency, {node: on_scaled(node, action) for node, action in actions.items()}, scaled, respond)
    return values


def _check_set(model: "StructuralModel", node: int, is_set: bool) -> None:
    if not is_set:
        kind = "label" if is_of_labels(model.conditionals[node]) else "level"
        raise ValueError(
            f"do reaches {model.names[node]!r}: what the {kind} of a row would have been is not "
            "determined; set it as well, or ask how often each would occur: sample(do=...)"
        )
