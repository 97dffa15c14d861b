"""The private names of fitted models and effects that tests use, so that a move inside the package edits one file."""

from icdh._effect import answer, families
from icdh._effect.answer import adjustment_set
from icdh._effect.estimation import augmented, by_probability, by_regression, natural_spline
from icdh._effect.result import Interval
from icdh._model.conditionals import Constant, Empirical, Gaussian
from icdh._model.effects import AverageEffect, TotalEffect, contrasts_of, reference_of
from icdh._model.structural import StructuralModel
