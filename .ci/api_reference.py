"""Write the API reference: every public name on a page, and no warning.

Run as ``python -W error .ci/api_reference.py FOLDER``; needs the extra ``[docs]``.
"""

import inspect
import sys
from importlib import import_module
from itertools import product
from pathlib import Path

import pdoc

import icdh


def load_names():
    """Load what loads on first use, and give public classes the methods that they inherit from private ones."""
    for module in pages:
        for name in getattr(import_module(module), "__all__", ()):
            thing = getattr(import_module(module), name)
            setattr(import_module(module), name, thing)
            if inspect.isclass(thing):
                inherit(thing)


def inherit(cls):
    for base in cls.__mro__[1:]:
        if base.__module__.startswith("icdh._"):
            for name, member in vars(base).items():
                if not name.startswith("_") and name not in vars(cls):
                    setattr(cls, name, member)


folder = Path(sys.argv[1])
pages = {"icdh": "icdh.html", **{f"icdh.{module}": f"icdh/{module}.html" for module in icdh._MODULES}}
load_names()
pdoc.render.configure(docformat="numpy", show_source=False)
pdoc.pdoc("icdh", output_directory=folder)

methods = ("HNMSearch", "ICDH"), ("fit", "predict", "sample", "effects", "save", "get_params")
missing = []
for module, page in pages.items():
    text = (folder / page).read_text(encoding="utf-8")
    names = getattr(import_module(module), "__all__", ())
    missing += [f"{module}.{name}" for name in names if f'id="{name}"' not in text and f"{module}.{name}" not in pages]
text = (folder / "icdh.html").read_text(encoding="utf-8")
missing += [name for name in map(".".join, product(*methods)) if f'id="{name}"' not in text]
sys.exit(f"not in the reference: {', '.join(missing)}" if missing else 0)
