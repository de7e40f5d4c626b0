import signal
import threading

import pytest

from polbayes.fit.sampling.interruption import postponed


def interrupted(times):
    """Interrupt a block so often; return how far it came, and whether the end was raised."""
    reached = 0
    try:
        with postponed():
            for _ in range(times):
                signal.raise_signal(signal.SIGINT)
                reached += 1
    except KeyboardInterrupt:
        return reached, True
    return reached, False


def test_the_first_is_raised_at_the_end():
    assert interrupted(1) == (1, True)


def test_the_second_is_raised_where_it_came():
    assert interrupted(2) == (1, True)


def test_none_is_raised_where_none_came():
    assert interrupted(0) == (0, False)


def test_the_handler_is_put_back():
    before = signal.getsignal(signal.SIGINT)
    with postponed():
        assert signal.getsignal(signal.SIGINT) is not before
    assert signal.getsignal(signal.SIGINT) is before
    with pytest.raises(ValueError, match="spoilt"), postponed():
        raise ValueError("spoilt")
    assert signal.getsignal(signal.SIGINT) is before


def test_other_threads_are_left_alone():
    found = []

    def work():
        with postponed():
            found.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert found == [signal.getsignal(signal.SIGINT)]
