"""The choice of the noise distribution, once a graph is found: Gaussian, or every family's own."""

from collections.abc import Sequence

import numpy as np

from icdh._node_model.cache import FamilyCache
from icdh._node_model.families import Family

FEW_DENIALS = 0.1  # share of the continuous variables up to which noise stays Gaussian


class NoiseChoice:
    """Chooses the noise distribution for ``noise="auto"``, where scores are Gaussian first.

    A wrong graph and too few hidden units leave structure in the residuals, and that looks like heavy tails. So the
    choice comes last, and a few residuals that are not Gaussian do not decide it. On tables of Gaussian noise nearly
    always one variable of ten or none has such residuals, on tables of Laplace noise eight or nine.

    Parameters
    ----------
    noise : {"auto", "gaussian", "student", "free"}
        The parameter of the user.
    """

    def __init__(self, noise: str):
        self.noise = noise

    @property
    def first(self) -> str:
        """The noise distribution before the choice."""
        return "gaussian" if self.noise == "auto" else self.noise

    def __call__(self, scores: FamilyCache, families: Sequence[Family]) -> bool:
        """Let every family of a cache choose its noise if the families of a graph ask for it; return whether so."""
        if scores.noise == self.noise:
            return False
        continuous = [own for own in families if scores.families.has_density(own[0])]
        denials = [scores.families.denies_gaussian_noise(own, scores.fit_of(own)) for own in continuous]
        if not any(denials) or np.mean(denials) <= FEW_DENIALS:
            return False
        scores.noise = "auto"
        return True
