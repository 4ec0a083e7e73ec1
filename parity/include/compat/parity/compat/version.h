// CUDA's versions as constants: what code asks of them outside of conditionals of the preprocessor, where they stay
// undefined, as in HIP. The number is that of the API that the translation is for.
#pragma once

#ifndef CUDA_VERSION
constexpr int CUDA_VERSION = 12000;
#endif
#ifndef CUDART_VERSION
constexpr int CUDART_VERSION = 12000;
#endif
