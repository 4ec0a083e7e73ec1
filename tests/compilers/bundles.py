"""Writes bundles of code objects."""

import struct


def bundle(images):
    """Return a bundle with these code objects, by target and settings, after an empty entry of the host."""
    entries = {"host-x86_64-unknown-linux-gnu-": b""}
    entries |= {f"hipv4-amdgcn-amd-amdhsa--{target}": content for target, content in images.items()}
    at = 32 + sum(24 + len(name) for name in entries)
    head, body = b"__CLANG_OFFLOAD_BUNDLE__" + struct.pack("<Q", len(entries)), b""
    for name, content in entries.items():
        head += struct.pack("<3Q", at + len(body), len(content), len(name)) + name.encode()
        body += content
    return head + body
