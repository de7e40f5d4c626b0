"""From free text to stance: the coders, and their application to a dataset.

A coder is a callable ``code(statements, responses)`` that returns for every response its
probabilities over `polbayes.data.dataset.STANCE_CLASSES`, or a row of NaN if it abstains. Its input
is untrusted text, which it only reads.
"""

from polbayes.coding.registry import CODERS, Coder, get_coder
from polbayes.coding.responses import code_responses

__all__ = ["CODERS", "Coder", "code_responses", "get_coder"]
