// The namespace around Thrust and CUB in builds that request one.
#pragma once

#ifdef THRUST_CUB_WRAPPED_NAMESPACE
#define PARITY_WRAPPED_BEGIN namespace THRUST_CUB_WRAPPED_NAMESPACE {
#define PARITY_WRAPPED_END }
#else
#define PARITY_WRAPPED_BEGIN
#define PARITY_WRAPPED_END
#endif
