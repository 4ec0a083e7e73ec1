// CUDA's versions as constants, for uses outside preprocessor conditionals. As macros they stay undefined, as in HIP.
// The value is the version of the API that the translation targets.
#pragma once

#ifndef CUDA_VERSION
constexpr int CUDA_VERSION = 12000;
#endif
#ifndef CUDART_VERSION
constexpr int CUDART_VERSION = 12000;
#endif
