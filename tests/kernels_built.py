"""Looks up the kernels of a built module by name."""


def names(one):
    """Return the kernels' symbols and names."""
    assert not one.error, one.error
    return {name: kernel.name for name, kernel in one.code_object.kernels.items()}


def has(one, *kernels):
    """Return whether a module has all these kernels."""
    assert not one.error, one.error
    return all(one.code_object.symbol(kernel) in one.code_object.kernels for kernel in kernels)
