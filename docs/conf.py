"""How Sphinx builds the documentation: `make docs`."""

from __future__ import annotations

import os
import sys
from pathlib import Path

# Examples run in the documentation's own process: one thread each, and no window.
os.environ.setdefault("MPLBACKEND", "Agg")

import unconfused

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "_ext"))

project = "unconfused"
author = "The unconfused developers"
copyright = author
version = release = unconfused.__version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "myst_parser",
    "numpydoc",
    "short_docstrings",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
    "sphinx-mathjax-offline",
]
exclude_patterns = ["_build"]
# Files that sphinx-gallery writes beside its pages are no pages themselves.
exclude_patterns += ["auto_examples/**.ipynb", "auto_examples/**.py", "auto_examples/**.md5"]
templates_path = ["_templates"]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}

myst_enable_extensions = ["colon_fence", "dollarmath", "deflist"]
myst_heading_anchors = 3

# Names in single backticks are code, and links where they are ours.
default_role = "py:obj"
toc_object_entries_show_parents = "hide"
autodoc_typehints = "none"
autosummary_generate = True
numpydoc_show_class_members = False
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

# Methods that every scikit-learn estimator has; its own documentation says what they do.
autosummary_context = {
    "not_listed": [
        "densify",
        "get_metadata_routing",
        "get_params",
        "set_params",
        "sparsify",
        "set_fit_request",
        "set_output",
        "set_partial_fit_request",
        "set_score_request",
    ],
    # Classes with properties worth a paragraph each.
    "with_properties": ["ConfusionEstimate", "AnnotatorEstimate", "LabelIssues", "Votes"],
    "fields": [
        "annotator",
        "annotator_counts",
        "annotator_matrices",
        "annotators",
        "caveat",
        "class_prior",
        "classes",
        "consensus",
        "counts",
        "history",
        "item",
        "items",
        "label",
        "matrix",
        "n_iter",
        "observed",
        "posterior",
        "probability",
        "row",
        "suggested",
    ],
}

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "auto_examples",
    "filename_pattern": "/plot_",
    "backreferences_dir": "api/shown_in",
    "doc_module": ("unconfused",),
    "within_subsection_order": "FileNameSortKey",
    "image_scrapers": ("matplotlib",),
    "matplotlib_animations": False,
    "min_reported_time": 5,
    "show_memory": False,
    "show_signature": False,
    "remove_config_comments": True,
    "download_all_examples": False,
    "abort_on_example_error": False,
    "thumbnail_size": (480, 360),
    "image_srcset": ["2x"],
}

html_theme = "pydata_sphinx_theme"
html_title = "unconfused"
html_logo = html_favicon = "_static/logo.svg"
html_static_path = ["_static"]
html_css_files = ["unconfused.css"]
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {
    "logo": {"text": "unconfused"},
    "navigation_with_keys": False,
    "show_toc_level": 2,
    "header_links_before_dropdown": 6,
    "footer_start": ["copyright"],
    "footer_end": ["theme-version"],
    "secondary_sidebar_items": ["page-toc"],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
# The front page and pages without neighbours need no column for them.
html_sidebars = {"index": [], "quick_start": [], "installation": [], "theory": [], "changes": []}
