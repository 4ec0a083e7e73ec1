"""Headers that protoc makes of a project's ``.proto`` files: enumerations for the device, messages for the host."""

from parity.build.builder import build
from parity.porting.protobuf import header_of

PROTO = """
syntax = "proto2";
package nets.layers;  // of layers
import "nets/type.proto";
/* enum Unused { NO = 7; } */
enum Phase { option allow_alias = true; TRAIN = 0; TEST = 0x4 [deprecated = true]; reserved 9; }
message Pooling {
  enum Method { MAX = 0; AVE = 1; default = -2; }
  message Window { optional uint32 size = 1 [default = 3]; }
  extensions 100 to max;
  optional Method method = 1 [default = MAX];
  repeated Window window = 2;
  map<string, int32> counts = 3;
  oneof where { string here = 4; other.Place there = 5; }
  optional Phase class = 6;
}
service Server { rpc Call(Pooling) returns (Pooling) {} }
"""

SOURCE = """
#include <string>
#include "nets/pooling.pb.h"

using namespace nets::layers;
static_assert(Phase_MAX == 4 && TEST == 4 && Pooling::default_ == -2 && nets::WIDE == 2, "");
template <Pooling::Method M>
__device__ float pooled(float a, float b) { return M == Pooling_MAX ? fmaxf(a, b) : (a + b) / nets::WIDE; }

__global__ void pool(float* x) { x[0] = pooled<Pooling::AVE>(x[0], x[1]); }

int forward(const Pooling& given, float* x) {
  Pooling other;
  other.set_method(Pooling::Method_IsValid(1) ? Pooling::MAX : Pooling::AVE);
  other.mutable_window(0)->set_size(given.window(0).size() + given.window_size());
  if (given.has_method() && given.method() == Pooling::AVE && given.class_() == TEST) pool<<<1, 1>>>(x);
  for (const auto& each : given.window()) other.add_window()->CopyFrom(each);
  return other.SerializeAsString() == std::string(given.here());
}
"""


def test_a_source_is_built_with_the_header_that_protoc_would_make(tmp_path, cache):
    (tmp_path / "nets").mkdir()
    (tmp_path / "nets" / "pooling.proto").write_text(PROTO)
    (tmp_path / "nets" / "type.proto").write_text("package nets; enum Width { NARROW = 1; WIDE = 2; }\n")
    (tmp_path / "pool.cu").write_text(SOURCE)
    (one,) = build(tmp_path, ["pool"], ["gfx1100"], cache=cache)
    assert (one.error, len(one.entries)) == (None, 1)
    assert not one.translation.left_out and not one.translation.empty_headers
    assert sorted(each.name for each in one.translation.made) == ["nets/pooling.pb.h", "nets/type.pb.h"]


def test_what_is_unknown_of_a_file_is_passed_over():
    text = header_of(
        "edition = '2023'; extend Other { optional int32 x = 1; } message A { group B = 1 { } option (c) = { d: 1 }; }"
    )
    assert "class A" in text and "int32" not in text
