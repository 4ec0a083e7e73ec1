"""parity's Python interface, as one would use it in a notebook: run three kernels, filter failures, pivot with pandas.

``python examples/notebook.py`` in a checkout, or in the folder of a project of your own with other kernels named.
"""

import parity

KERNELS = ("affine_f32", "affine_f16", "fill_f32")

run = parity.Run.of(*KERNELS, targets=["gfx1100", "gfx90a"], settings=parity.Settings(examples=10))
cases = run.build().execute().frame()

print("cases by verdict")
print(cases.groupby(["kernel", "verdict"], observed=True).size().unstack(fill_value=0))

print("\nfailures")
failures = cases[cases.verdict == "fail"]
print(failures[["kernel", "target", "failure", "case"]].to_string(index=False) if len(failures) else "none")

print("\nmachine instructions, the longest case")
print(cases.pivot_table("instructions", index="kernel", columns="target", aggfunc="max", observed=True))
