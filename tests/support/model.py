"""The private names of fitted models and effects that tests use, so that a move inside the package edits one file."""

from icdh._effect import answer
from icdh._effect.adjustment import adjustment_set, mixture, parent_sets
from icdh._effect.average import Difference
from icdh._effect.result import Interval
from icdh._effect.sample import Estimate, Sample, by_frequency, multiple_of, oriented, robustness_value, sandwich
from icdh._effect.slope import Slope
from icdh._effect.splines import PENALTIES, Ridge, Splines, demeaned, natural_spline
from icdh._model.causal import ModelColumns
from icdh._model.effects import AverageEffect, TotalEffect, contrasts_of, reference_of
from icdh._model.structural import StructuralModel
