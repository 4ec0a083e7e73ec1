"""Plans a run, executes it in isolated worker processes, judges each case, and writes records.

Where to look:

* ``judging`` decides whether one column computes a case correctly, and ``library_judging`` whether a library does;
  ``worker`` runs a case on all columns.
* ``cross_vendor`` and ``parity.compare.arbitration`` decide whether CUDA or AMD is wrong.
* ``processes`` starts worker processes and kills those that exceed their time limit; ``execution`` retries their cases.
"""
