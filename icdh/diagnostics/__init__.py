"""Model checking: is a fitted model right, and which of its arrows can be trusted."""

from icdh.diagnostics.records import EdgeCheck, NodeCheck
from icdh.diagnostics.result import ModelCheck
from icdh.diagnostics.track_record import TrackRecord

__all__ = ["EdgeCheck", "ModelCheck", "NodeCheck", "TrackRecord"]
