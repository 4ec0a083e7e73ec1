// <hip/host_defines.h> for a ROCm that has it in another folder.
#pragma once
#include <hip/amd_detail/host_defines.h>
