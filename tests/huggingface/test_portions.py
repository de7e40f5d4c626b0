from unittest.mock import patch

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from polbayes.huggingface.portions import Portion, fitting, out_of_memory

ERRORS = [
    torch.OutOfMemoryError("CUDA out of memory."),
    MemoryError(),
    RuntimeError("MPS backend out of memory (MPS allocated: 1 GB)"),
    RuntimeError("[enforce fail] DefaultCPUAllocator: can't allocate memory: you tried ..."),
]


@given(st.integers(0, 40), st.integers(1, 50), st.integers(1, 20), st.integers(1, 9))
def test_everything_is_done_once_in_order_however_little_fits(count, size, most, memory):
    portion = Portion(size)
    done = []

    def work(start, stop):
        if stop - start > memory:
            raise MemoryError
        done.extend(range(start, stop))
        return stop - start

    with patch("gc.collect"):  # which takes long in a process that holds much
        sizes = portion.over(count, work, most=most)
    assert done == list(range(count))
    assert all(n <= min(size, most, memory) for n in sizes)
    if sizes and min(size, most, count) > memory:
        assert portion.size <= memory  # remembered


@pytest.mark.parametrize("error", ERRORS)
def test_every_device_says_it_in_its_own_words(error):
    assert out_of_memory(error)


def test_other_errors_and_what_cannot_be_halved_are_passed_on():
    assert not out_of_memory(ValueError("out of memory"))

    def fails(start, stop):
        raise RuntimeError("shapes differ")

    with pytest.raises(RuntimeError, match="shapes differ"):
        Portion(4).over(4, fails)

    def never(start, stop):
        raise MemoryError

    portion = Portion(8)
    with pytest.raises(MemoryError):
        portion.over(8, never)
    assert portion.size == 1


def test_as_many_as_fit_into_half_of_the_free_memory(monkeypatch):
    from polbayes.huggingface import portions

    monkeypatch.setattr(portions, "_free", lambda device: 1000)
    assert fitting("cpu", 100, most=64) == 5
    assert fitting("cpu", 1, most=64) == 64
    assert fitting("cpu", 10**6, most=64) == 1


def test_this_machine_says_what_is_free():
    assert fitting(torch.device("cpu"), 1, most=1 << 60) > 1 << 20
