"""The data of a code object, from the directives of its listing."""

import pytest

from parity.emulator.amdgpu.data_sections import data_image
from parity.errors import UsageError

LISTING = """\
\t.text
kernel:
\ts_endpgm
\t.section\t.rodata,"a",@progbits
\t.p2align\t6, 0x0
\t.amdhsa_kernel kernel
\t\t.amdhsa_group_segment_fixed_size 256
\t.end_amdhsa_kernel
\t.section\t.rodata,"a",@progbits
\t.globl\ttable
\t.p2align\t4, 0x0
table:
\t.long\t0x3f800000                      ; float 1
\t.short\t65535                           ; 0xffff
\t.byte\t7                                ; 0x7
\t.size\ttable, 7

\t.type\ttext,@object
text:
\t.ascii\t"a\\001\\"\\377"
\t.asciz\t"end"
\t.size\ttext, 8

\t.data
\t.p2align\t3, 0x0
variable:
\t.quad\t-2
\t.size\tvariable, 8
\t.bss
room:
\t.zero\t5
\t.section\t.debug_str,"MS",@progbits,1
\t.asciz\t"not data"
"""


def test_image_has_constants_and_variables():
    image = data_image(LISTING)
    assert image.symbols == {"table": 0, "text": 7, "variable": 16, "room": 24}
    assert image.content[:7] == b"\x00\x00\x80\x3f\xff\xff\x07"
    assert image.content[7:15] == b'a\x01"\xffend\0'
    assert image.content[16:] == (2**64 - 2).to_bytes(8, "little") + bytes(5)
    assert list(image.writable) == [0] * 16 + [1] * 13


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (".quad\t-2", ".quad\ttable-text", "listing line 27: .quad table-text is not a number"),
        (".short\t65535", ".uleb128\t65535", "listing line 14: parity does not know the directive .uleb128"),
    ],
)
def test_image_with_unknown_directive_raises_usage_error(old, new, message):
    assert old in LISTING
    with pytest.raises(UsageError, match=message):
        data_image(LISTING.replace(old, new))


def test_image_of_listing_without_data_is_empty():
    assert data_image("\t.text\nkernel:\n\ts_endpgm\n").content == b""
