"""The report: finished results as one HTML page with its figures and tables.

Nothing is estimated here. `write_report` takes `Results` and shows them.
"""

from polbayes.report.results import Results
from polbayes.report.write import write_report

__all__ = ["Results", "write_report"]
