"""Model checking: is a fitted model right, and which of its arrows can be trusted."""

from icdh.diagnostics.result import EdgeCheck, ModelCheck, NodeCheck

__all__ = ["EdgeCheck", "ModelCheck", "NodeCheck"]
