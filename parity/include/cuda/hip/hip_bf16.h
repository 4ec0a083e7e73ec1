#pragma once

#include <cuda_bf16.h>

#define __hip_bfloat16 __nv_bfloat16
