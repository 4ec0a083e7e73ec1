// Textures and surfaces: images of one to three dims, and layers of them, that kernels sample, load and store.
#pragma once
#include "memory.h"

// The words of a texture object, for AMD targets and PTX (model/texture.py). AMD's device library reads the extents in words
// 2 and 4 and the sampler, so these have AMD's format (RDNA3 ISA, "Image Resource Descriptor" and "Sampler Resource"). The
// other words have a format of parity, and the bit IMAGE tells them from the descriptor of a buffer.
constexpr u32 IMAGE_WORDS = 8, SAMPLER_AT = 12, TEXTURE_WORDS = 16;
constexpr u32 IMAGE = 3u << 30; // in word 3: the words describe an image
constexpr u32 FORCE_UNNORMALIZED = 1u << 15; // in word 0 of a sampler: coordinates count texels

// A texel has channels of some bits each, of a kind (texels.h).
struct Texel { u32 channels, bits; char kind; };
RUNTIME V<u32> channel(Texel, const V<u32> *texel, u32 number); // as a component of 32 bits
RUNTIME V<u32> one_of(Texel); // the component that stands for a missing fourth channel
// Samples with coordinates of each lane: one for each dim, then the layer. The components are of 32 bits each.
RUNTIME u32 image_sample(Context *, Mask exec, const u32 *image, const u32 *sampler, const V<f32> *at, u32 instruction, V<u32> *out);
// Returns one component of the four texels that a linear filter would use, in the order of both vendors' gathers.
RUNTIME u32 image_gather(Context *, Mask exec, const u32 *image, const u32 *sampler, u32 component, const V<f32> *at, u32 instruction, V<u32> *out);
// Loads and stores texels at whole coordinates. Outside, loads give 0 and stores do nothing.
RUNTIME u32 image_load(Context *, Mask exec, const u32 *image, const V<u32> *at, u32 instruction, V<u32> *out);
RUNTIME u32 image_store(Context *, Mask exec, const u32 *image, const V<u32> *at, u32 instruction, const V<u32> *in);
// Loads `count` components of texel x of linear memory, whose descriptor a buffer instruction has: four words.
RUNTIME u32 image_load_linear(Context *, Mask exec, const u32 *image, In<u32> x, u32 instruction, u32 count, V<u32> *out);

// For PTX: each lane has a separate texture object, at the address `object`.
enum Outside { ZERO_OUTSIDE, CLAMP_OUTSIDE, TRAP_OUTSIDE }; // what an access to a surface outside of it does
RUNTIME u32 texture_sample(Context *, Mask on, In<u64> object, const V<f32> *at, u32 instruction, V<u32> *out);
RUNTIME u32 texture_gather(Context *, Mask on, In<u64> object, u32 component, const V<f32> *at, u32 instruction, V<u32> *out);
RUNTIME u32 texture_load(Context *, Mask on, In<u64> object, const V<u32> *at, u32 instruction, V<u32> *out);
// Accesses `bytes` bytes of a surface; the first coordinate counts bytes.
RUNTIME u32 surface_load(Context *, Mask on, In<u64> object, Outside, const V<u32> *at, u32 bytes, u32 instruction, V<u32> *out);
RUNTIME u32 surface_store(Context *, Mask on, In<u64> object, Outside, const V<u32> *at, u32 bytes, u32 instruction, const V<u32> *in);
// Returns an extent (0: width, 1: height, 2: depth), in texels.
RUNTIME u32 texture_extent(Context *, Mask on, In<u64> object, u32 dim, u32 instruction, V<u32> *out);
