"""Model checking: is a fitted model right, and which of its arrows can be trusted."""

from icdh.diagnostics.result import EdgeCheck, ModelCheck, NodeCheck
from icdh.diagnostics.track_record import TrackRecord

__all__ = ["EdgeCheck", "ModelCheck", "NodeCheck", "TrackRecord"]
