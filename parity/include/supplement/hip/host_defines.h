// <hip/host_defines.h> for a ROCm that keeps it elsewhere.
#pragma once
#include <hip/amd_detail/host_defines.h>
