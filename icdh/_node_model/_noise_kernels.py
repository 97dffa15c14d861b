"""Kernel of the noise: the scales of Student's t distributions."""

# mypy: disable-error-code=no-untyped-def
# Numba infers the types of arguments; docstrings say them, with shapes.

from icdh._ground.jit import REASSOCIATE, kernel


@kernel(fastmath=REASSOCIATE)
def student_scales(squares, degrees_of_freedom, steps, scales):
    """Go on by steps of expectation maximisation to the likeliest squared scale for each number of degrees of freedom.

    ``squares`` (n,) are those of the sample, ``scales`` where to start, in place.
    """
    for k in range(scales.size):
        dof, scale = degrees_of_freedom[k], scales[k]
        for _ in range(steps):
            total = 0.0
            for r in range(squares.size):
                total += squares[r] / (dof * scale + squares[r])
            scale *= (dof + 1.0) * total / squares.size
        scales[k] = scale
