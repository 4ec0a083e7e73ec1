// Formats of the elements of typed buffers, for the emulator (C++) and for the HSA runtime, which makes descriptors (C).
#pragma once
// `kinds` are in the order of their codes: (n)ormalized unsigned, (N)ormalized signed, (s)caled unsigned, (S)caled signed,
// (u)nsigned, (i)nteger, (f)loat. Source: ISA, "Buffer Resource"; LLVM, SIDefines.h.
struct TexelFormat {
  unsigned channels, bits; // the bits of each channel
  const char *kinds;
  unsigned before10;    // DATA_FORMAT of generation 9
  unsigned in10, later; // the code of the first kind in the unified format of generation 10, and of later ones
};
static const struct TexelFormat TEXEL_FORMATS[] = {
  {1, 8, "nNsSui", 1, 1, 1},     {1, 16, "nNsSuif", 2, 7, 7},    {2, 8, "nNsSui", 3, 14, 14}, {1, 32, "uif", 4, 20, 20},
  {2, 16, "nNsSuif", 5, 23, 23}, {4, 8, "nNsSui", 10, 56, 42},   {2, 32, "uif", 11, 62, 48},
  {4, 16, "nNsSuif", 12, 65, 51}, {3, 32, "uif", 13, 72, 58},    {4, 32, "uif", 14, 75, 61},
};
enum { TEXEL_FORMAT_COUNT = sizeof TEXEL_FORMATS / sizeof *TEXEL_FORMATS };
#define NUM_FORMATS "nNsSui.f" // NUM_FORMAT of generation 9
enum { TEXEL_ZERO, TEXEL_ONE, TEXEL_X = 4 }; // DST_SEL: what a component of the result is; a channel follows TEXEL_X
