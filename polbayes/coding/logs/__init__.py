"""Readers of tables and of other engines' logs, as tables whose every cell is text or missing."""

from polbayes.coding.logs.reader import Reader
from polbayes.config.registry import Registry

# By ``imported.format``.
READERS: Registry[Reader] = Registry(
    "polbayes.readers",
    "format",
    {
        "table": "polbayes.coding.logs.reader:TABLE",
        "lm_eval": "polbayes.coding.logs.lm_eval:READER",
        "inspect": "polbayes.coding.logs.inspect_ai:READER",
        "huggingface": "polbayes.coding.logs.huggingface:READER",
    },
)
