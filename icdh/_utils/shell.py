"""The one door from the core to the shell: a fitted model and its effects draw themselves, and write their page.

What draws and writes is loaded here, when it is asked for. Nothing else in the core may reach into the shell.
"""

from importlib import import_module
from types import ModuleType
from typing import Literal


def shell(room: Literal["plotting", "report"]) -> ModuleType:
    """Return a room of the shell: `icdh.plotting` or `icdh.report`."""
    return import_module(f"icdh.{room}")
