"""Forward passes: how much goes through a model at once, which is what memory allows."""

import gc
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

T = TypeVar("T")

# Share of the free memory that one forward pass may use.
_SHARE = 0.5


class Portion:
    """How many things to process at once, initially `size`; halved when memory runs out."""

    def __init__(self, size: int) -> None:
        self.size = size

    def over(
        self, count: int, work: Callable[[int, int], T], *, most: int | None = None
    ) -> list[T]:
        """Return ``work(start, stop)`` of stretches that cover ``range(count)`` in order."""
        results: list[T] = []
        start = 0
        while start < count:
            stop = min(start + self.size, start + (most or count), count)
            before = len(results)
            try:
                results.append(work(start, stop))
            except Exception as error:
                if not out_of_memory(error) or stop - start == 1:
                    raise
                self.size = (stop - start) // 2
            # Outside the handler, so that the traceback no longer keeps the failed pass in memory.
            if len(results) > before:
                start = stop
            else:
                release()
        return results


@contextmanager
def inference() -> Iterator[None]:
    """Compute without gradients, and without cuDNN's attention.

    That one is planned anew for every shape, and here nearly every pass has another one.
    """
    import torch
    from torch.nn.attention import SDPBackend, sdpa_kernel

    others = [SDPBackend.FLASH_ATTENTION, SDPBackend.EFFICIENT_ATTENTION, SDPBackend.MATH]
    with torch.inference_mode(), sdpa_kernel(others):
        yield


def out_of_memory(error: Exception) -> bool:
    """Return whether an error says that memory ran out, on any device."""
    import torch

    if isinstance(error, MemoryError | torch.OutOfMemoryError):
        return True
    text = str(error)
    return isinstance(error, RuntimeError) and (
        "out of memory" in text or "can't allocate memory" in text
    )


def release() -> None:
    """Return unused memory to the device."""
    import torch

    gc.collect()
    if torch.cuda.is_available():
        torch.cuda.empty_cache()
    elif torch.backends.mps.is_available():
        torch.mps.empty_cache()


def fitting(device: Any, bytes_each: int, *, most: int) -> int:
    """Return how many things of a size fit into the free memory, 1 to `most`."""
    return max(1, min(most, int(_SHARE * _free(device)) // bytes_each))


def _free(device: Any) -> int:
    import torch

    if device.type == "cuda":
        kept = torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)
        return int(torch.cuda.mem_get_info(device)[0] + kept)
    if device.type == "mps":
        used = torch.mps.driver_allocated_memory()
        return max(0, int(torch.mps.recommended_max_memory()) - int(used))
    # Not every system reports free memory; assume a quarter of a small machine.
    known = {"SC_AVPHYS_PAGES", "SC_PAGE_SIZE"} <= set(getattr(os, "sysconf_names", ()))
    return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") if known else 1 << 31


def kept_bytes(model: Any) -> int:
    """Return about how many bytes the keys and values of a token take."""
    about = model.config.get_text_config()
    heads = getattr(about, "num_attention_heads", None) or 1
    groups = getattr(about, "num_key_value_heads", None) or heads
    width = getattr(about, "hidden_size", 0) * groups // heads
    return int(4 * getattr(about, "num_hidden_layers", 0) * width * model.dtype.itemsize)


def step_bytes(model: Any) -> int:
    """Return about how many bytes it takes to feed a token and read its logits."""
    about = model.config.get_text_config()
    hidden = 16 * getattr(about, "hidden_size", 0) * model.dtype.itemsize
    return int(hidden + 12 * getattr(about, "vocab_size", 1))
