"""Background knowledge: forbidden and required edges. rules <- declared."""

from icdh.knowledge.declared import Knowledge

__all__ = ["Knowledge"]
