"""The site: ``python -m sphinx -W docs site``. Its tutorials are the scripts in ``examples``, executed."""

import inspect
import logging
import shutil
import sys
from importlib import import_module
from pathlib import Path

from sphinx.errors import ExtensionError
from sphinx_gallery.scrapers import figure_rst

sys.path.insert(0, str(Path(__file__).parent.parent))

import icdh

project, author, version = "icdh", "icdh contributors", icdh.__version__
html_theme = "furo"
html_title = f"icdh {version}"
extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "numpydoc",
    "sphinx_gallery.gen_gallery",
]
templates_path = ["_templates"]
exclude_patterns = ["scripts", "examples"]
default_role = "autolink"
suppress_warnings = ["config.cache", "ref.python"]  # functions in settings; attributes that many classes have
autodoc_default_options = {"members": True, "inherited-members": "tuple, Exception, BaseException, dict"}
autodoc_typehints = "none"  # numpydoc says it in words
numpydoc_show_class_members = False

logging.getLogger("icdh").setLevel(logging.WARNING)  # Sphinx prints notes
ORDER = ("first_hour", "effect", "knowledge", "how_sure", "what_if", "as_library", "train_it_yourself")
ORDER += ("check_a_gradient",)
scripts = Path(__file__).parent / "scripts"
shutil.rmtree(scripts, ignore_errors=True)
scripts.mkdir()
(scripts / "GALLERY_HEADER.rst").write_text("Tutorials\n=========\n\nEach is a script in `docs/examples`.\n")
for name in ORDER:  # copies, whose first line is a heading: the gallery runs them where they stand
    title, text = (Path(__file__).parent / "examples" / f"{name}.py").read_text(encoding="utf-8").split("\n", 1)
    title = title.removeprefix('"""').rstrip(".")
    (scripts / f"{name}.py").write_text(f'"""\n{title}\n{"=" * len(title)}\n{text}', encoding="utf-8")


def save_picture(block, block_vars, gallery_conf):
    """Show the figure that a block draws."""
    figure = block_vars["example_globals"].pop("figure", None)
    if figure is None:
        return ""
    path = next(block_vars["image_path_iterator"])
    figure.savefig(path, bbox_inches="tight", dpi=120)
    return figure_rst([path], gallery_conf["src_dir"])


def in_order(name):
    """Sort scripts as one reads them."""
    return ORDER.index(Path(name).stem)


sphinx_gallery_conf = {
    "examples_dirs": "scripts",
    "gallery_dirs": "tutorials",
    "filename_pattern": "",
    "within_subsection_order": in_order,
    "image_scrapers": (save_picture,),
    "capture_repr": (),
    "abort_on_example_error": True,
    "download_all_examples": False,
    "show_signature": False,
    "show_memory": False,
}


def skip_fields(app, what, name, member, skip, options):
    """Leave out the fields of named tuples, which the docstring of the class explains."""
    return skip or str(getattr(member, "__doc__", "")).startswith("Alias for field number") or None


def check_names(app, error):
    """Stop where a public name, or a method that an estimator inherits, has no place."""
    shown = set(app.env.domaindata["py"]["objects"])
    things = {f"icdh.{name}": getattr(icdh, name) for name in icdh._PUBLIC}
    for module in icdh._MODULES:
        loaded = import_module(f"icdh.{module}")
        things |= {f"icdh.{module}.{name}": getattr(loaded, name) for name in getattr(loaded, "__all__", ())}
    for estimator in (icdh.HNMSearch, icdh.ICDH):
        methods = inspect.getmembers(estimator, inspect.isfunction)
        things |= {f"icdh.{estimator.__name__}.{name}": method for name, method in methods if not name.startswith("_")}
    missing = {name for name, thing in things.items() if callable(thing)} - shown - {"icdh.knowledge.Knowledge"}
    if error is None and missing:
        raise ExtensionError(f"not in the site: {', '.join(sorted(missing))}")


def setup(app):
    """Listen."""
    app.connect("autodoc-skip-member", skip_fields)
    app.connect("build-finished", check_names)
