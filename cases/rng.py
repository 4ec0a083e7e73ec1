"""Random numbers by the generators of the vendors' libraries, which frameworks use instead of kernels."""

from collections.abc import Callable

from parity import reference
from parity.op import NamedCase, Op
from parity.reference import Expected

COUNTS = (1, 2, 3, 4, 5, 7, 8, 63, 64, 65, 255, 256, 257, 1000)
SEEDS = (0, 1, 12345, 2**32 - 1, 2**32, 2**63 + 5, 2**64 - 1)
OFFSETS = (0, 1, 2, 3, 4, 5, 1023)


def generator(
    function: Callable[..., Expected], output: str = "u32", seeds: tuple[int, ...] = SEEDS, *named: NamedCase
) -> Op:
    """Declare a generator. Op and reference function have the same name."""
    name = function.__name__
    params = {"seed": "u64", "offset": "u64", "n": "u32"} if seeds else {"offset": "u64", "n": "u32"}
    return Op(
        f"rng.{name}",
        kernel=f"{name}_{{T}}",
        library=True,
        types=(output,),
        args="",
        params=params,
        shapes="out: n",
        where="n > 0",
        choices={**({"seed": seeds} if seeds else {}), "offset": OFFSETS, "n": COUNTS},
        grid_stride=False,
        reference=function,
        named=named,
    )


philox = generator(
    reference.philox, "u32", SEEDS, NamedCase("counters of more than 32 bits", "seed=7 offset=17179869183 n=9")
)
philox_uniform = generator(reference.philox_uniform, "f32")
xorwow = generator(
    reference.xorwow, "u32", SEEDS, NamedCase("the second numbers of generators", "seed=7 offset=131069 n=9")
)
mrg32k3a_uniform = generator(
    reference.mrg32k3a_uniform,
    "f32",
    SEEDS[:5],
    NamedCase("the second numbers of generators", "seed=7 offset=131069 n=9"),
)
sobol32 = generator(reference.sobol32, "u32", ())
