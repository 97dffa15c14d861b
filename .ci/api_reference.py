"""Write the API reference: every public name on a page, and no warning.

Run as ``python -W error .ci/api_reference.py FOLDER``; needs the extra ``[docs]``.
"""

import sys
from importlib import import_module
from pathlib import Path

import pdoc

import icdh

for name in icdh.__all__:  # they load on first use
    setattr(icdh, name, getattr(icdh, name))
folder = Path(sys.argv[1])
pdoc.render.configure(docformat="numpy", show_source=False)
pdoc.pdoc("icdh", output_directory=folder)

pages = {"icdh": "icdh.html", **{f"icdh.{module}": f"icdh/{module}.html" for module in icdh._MODULES}}
missing = []
for module, page in pages.items():
    text = (folder / page).read_text(encoding="utf-8")
    names = getattr(import_module(module), "__all__", ())
    missing += [f"{module}.{name}" for name in names if f'id="{name}"' not in text and f"{module}.{name}" not in pages]
sys.exit(f"not in the reference: {', '.join(missing)}" if missing else 0)
