"""Configuration of the documentation."""

project = "polbayes"
author = "the polbayes developers"
extensions = ["myst_parser"]
myst_heading_anchors = 3
exclude_patterns = ["_build"]
html_theme = "alabaster"
html_theme_options = {
    "description": "The political leaning of language models, with its uncertainty"
}
