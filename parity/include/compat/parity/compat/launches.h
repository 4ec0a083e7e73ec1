// Launches with attributes, and the functions of kernels that are launched this way. HIP supports attributes since 7.0,
// without the NVIDIA-specific ones. Only the cooperative attribute has an effect: kernels of a stream run one after
// another, so there is nothing to wait for. AMD GPUs do not have clusters of blocks.
#pragma once

#include <parity/compat/base.h>

// A named enumeration, because an unnamed one makes names of the program ambiguous. The enumerators are CUDA's.
enum parity_launch_attribute_id {
    cudaLaunchAttributeIgnore = 0,
    cudaLaunchAttributeSynchronizationPolicy = 3,
    cudaLaunchAttributeClusterDimension = 4,
    cudaLaunchAttributeClusterSchedulingPolicyPreference = 5,
    cudaLaunchAttributeProgrammaticStreamSerialization = 6,
    cudaLaunchAttributeProgrammaticEvent = 7,
    cudaLaunchAttributeMemSyncDomainMap = 9,
    cudaLaunchAttributeMemSyncDomain = 10,
    cudaLaunchAttributePreferredClusterDimension = 11,
    cudaLaunchAttributeLaunchCompletionEvent = 12,
    cudaLaunchAttributePreferredSharedMemoryCarveout = 14,
};

union parity_launch_attribute_value {
    hipAccessPolicyWindow accessPolicyWindow;
    int cooperative, syncPolicy, clusterSchedulingPolicyPreference, programmaticStreamSerializationAllowed, priority;
    int memSyncDomain;
    unsigned int sharedMemCarveout;
    struct {
        unsigned int x, y, z;
    } clusterDim, preferredClusterDim;
    struct {
        hipEvent_t event;
        int flags, triggerAtBlockStart;
    } programmaticEvent, launchCompletionEvent;
};

struct parity_launch_attribute {
    int id;
    parity_launch_attribute_value val;
};

struct parity_launch_config {
    dim3 gridDim, blockDim;
    size_t dynamicSmemBytes;
    hipStream_t stream;
    parity_launch_attribute* attrs;
    unsigned int numAttrs;
};

inline hipError_t parity_launch(const parity_launch_config* config, const void* kernel, void** arguments) {
    bool cooperative = false;
    for (unsigned int i = 0; i < config->numAttrs; ++i)
        cooperative |= config->attrs[i].id == hipLaunchAttributeCooperative && config->attrs[i].val.cooperative;
    if (!cooperative)
        return hipLaunchKernel(
            kernel, config->gridDim, config->blockDim, arguments, config->dynamicSmemBytes, config->stream);
    return hipLaunchCooperativeKernel(
        kernel, config->gridDim, config->blockDim, arguments, config->dynamicSmemBytes, config->stream);
}

template <class... Expected, class... Given>
hipError_t cudaLaunchKernelEx(const parity_launch_config* config, void (*kernel)(Expected...), Given&&... given) {
    return [&](Expected... each) {
        void* arguments[] = {(void*)&each..., nullptr};
        return parity_launch(config, (const void*)kernel, arguments);
    }(static_cast<Given&&>(given)...);
}

#define hipLaunchAttribute parity_launch_attribute
#define hipLaunchConfig_t parity_launch_config
#define hipLaunchKernelExC parity_launch

PARITY_COMPAT void cudaGridDependencySynchronize() {}
PARITY_COMPAT void cudaTriggerProgrammaticLaunchCompletion() {}
