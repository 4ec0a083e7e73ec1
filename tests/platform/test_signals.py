"""Delayed interrupts."""

import os
import signal
import threading
import time

import pytest

from parity.platform.signals import delay_interrupts


def test_delay_interrupts_delays_signal_of_any_thread():
    over = threading.Event()
    thread = threading.Thread(target=over.wait)
    thread.start()  # receives signals in place of the main thread
    done = False
    try:
        with pytest.raises(KeyboardInterrupt), delay_interrupts():
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(0.01)
            done = True
    finally:
        over.set()
        thread.join()
    assert done
