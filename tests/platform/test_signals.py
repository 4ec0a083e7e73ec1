"""Interrupts that are put off."""

import os
import signal
import threading
import time

import pytest

from parity.platform.signals import delay_interrupts


def test_an_interrupt_waits_whichever_thread_takes_it():
    over = threading.Event()
    thread = threading.Thread(target=over.wait)
    thread.start()  # it takes signals, which the main thread then does not
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
