"""Figures that answer to the reader, as Vega-Lite specifications; the page draws them."""
