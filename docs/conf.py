"""Configuration of the documentation."""

project = "polbayes"
author = "the polbayes developers"
extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.mathjax", "numpydoc"]
myst_heading_anchors = 3
myst_enable_extensions = ["deflist"]
# The notebooks hold what they showed when `nox -s notebooks` ran them.
nb_execution_mode = "off"
numpydoc_show_class_members = False
exclude_patterns = ["_build"]
html_theme = "pydata_sphinx_theme"
html_title = "polbayes"
html_theme_options = {
    "show_nav_level": 2,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
}
html_show_sphinx = False
