"""Imported by the server that jobs fork from: imports what they need and compiles the kernels, once for all jobs."""

import logging
import os
from contextlib import suppress
from importlib import import_module

import numpy as np

from paper_reproduction.isolation import SEPARATOR, VARIABLE
from paper_reproduction.methods import METHODS, estimate

COMPILED = ("icdh_two_phase", "hnm_search", "direction", "golem")

for method in os.environ.get(VARIABLE, "").split(SEPARATOR):
    # An error here would end the server; the method's own jobs will tell.
    with suppress(Exception):
        import_module(METHODS[method].path)
        # packages configure the root logger and then print all that anybody logs
        logging.disable(logging.CRITICAL)
        if METHODS[method].module in COMPILED:
            estimate(method, np.random.default_rng(0).normal(size=(60, 2)), 0)
