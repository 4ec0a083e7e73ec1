"""What the names of arguments of Triton kernels and of their host code say about them. This file imports nothing."""

from __future__ import annotations

import re

INDEX = re.compile(
    r"(?i).*(?:idx|ind(?:ex|ices)|indptr|_ids?(?:_|$)|^ids?(?:_|$)|seq_?len|cu_|offset|table|label|target|slot|splits|perm"
    r"|_loc(?:_|$)|(?:^|_)order|num_|_(?:start|end)s?(?:_|$)|(?:start|end)s(?:_|$)|len(?:gth)?s?(?:_|$)|counts?(?:_|$)"
    r"|sizes?(?:_|$)).*"
)
"""Matches tensors of integers: positions, lengths and numbers of something."""
POSITIONS = re.compile(r"(?i).*(?:idx|indices|_ids|indptr|permutation|offsets|starts?|table|cu_\w*|locs?|lens)")
"""Matches attributes of host code that are such tensors, and never single numbers."""
BOUNDS = re.compile(r"(?i).*(?:cu_|offset|indptr|start|splits|_loc(?:_|$)|bins|cumsum).*")
"""Matches tensors whose elements are where something begins."""
LENGTHS = re.compile(r"(?i)(?!.*cu_).*(?:len|count|size|num_).*")
"""Matches tensors whose elements are numbers of something."""
MASK = re.compile(r"(?i).*mask.*")
BYTES = re.compile(r"(?i)(?!.*(?:scale|zero)).*(?:int8|quant|packed|qweight|_q_|nf4|fp4|4bit|2bit).*")
"""Matches tensors of bytes that hold quantized numbers."""
REAL = re.compile(
    r"(?i).*(?:eps|scale|alpha|beta|gamma|lr(?:_|$)|rate|momentum|decay|slope|prob|factor|softcap|smooth|limit"
    r"|temperature|lse).*|p|lo|hi|p_dropout|dropout_p|value|min_val|max_val"
)
"""Matches arguments that are real numbers."""
TENSOR = re.compile(
    r"(?i)(?:d?[xyqkvobw]|d[a-z]{1,3}|.*(?:weight|bias|tensor|input|output|grad|hidden|state|cache|logits).*)"
)
"""Matches arguments that are tensors."""

IEEE = {"tf32": "ieee", "tf32x3": "ieee"}
"""Replaces precisions of products that only some GPUs have."""
