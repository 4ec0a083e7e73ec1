// libcu++'s macros for the compilation target: host or device, and NVIDIA architectures if __CUDA_ARCH__ is defined.
#pragma once

#define PARITY_NV_CAT(a, b) PARITY_NV_CAT_(a, b)
#define PARITY_NV_CAT_(a, b) a##b
// A block may have parentheses. Its names are visible only in it.
#define PARITY_NV_BLOCK(...) { PARITY_NV_CAT(PARITY_NV_WITHOUT_, PARITY_NV_PARENTHESES __VA_ARGS__) }
#define PARITY_NV_PARENTHESES(...) PARITY_NV_PARENTHESES __VA_ARGS__
#define PARITY_NV_WITHOUT_PARITY_NV_PARENTHESES
#define _NV_FIRST_ARG(...) PARITY_NV_FIRST(__VA_ARGS__, )
#define PARITY_NV_FIRST(first, ...) first

#if defined(__HIP_DEVICE_COMPILE__) && __HIP_DEVICE_COMPILE__
#define NV_IS_DEVICE PARITY_NV_YES
#define NV_IS_HOST PARITY_NV_NO
#else
#define NV_IS_DEVICE PARITY_NV_NO
#define NV_IS_HOST PARITY_NV_YES
#endif
#define NV_ANY_TARGET PARITY_NV_YES
#define NV_NO_TARGET PARITY_NV_NO
#define NV_HAS_FEATURE_SM_90a PARITY_NV_NO
#define NV_HAS_FEATURE_SM_100a PARITY_NV_NO
#define NV_HAS_FEATURE_SM_120a PARITY_NV_NO

// Expands to the block of the first condition that holds. Arguments: condition, (block), condition, (block)...
#define NV_DISPATCH_TARGET(...) PARITY_NV_OF_1(__VA_ARGS__)
#define NV_IF_TARGET(condition, ...) PARITY_NV_IF(condition, __VA_ARGS__)
#define NV_IF_ELSE_TARGET(condition, ...) PARITY_NV_IF(condition, __VA_ARGS__)
#define PARITY_NV_IF(condition, ...) PARITY_NV_CAT(PARITY_NV_IF_, condition)(__VA_ARGS__)
#define PARITY_NV_IF_PARITY_NV_YES(block, ...) PARITY_NV_BLOCK(block)
#define PARITY_NV_IF_PARITY_NV_NO(block, ...) __VA_OPT__(PARITY_NV_BLOCK(__VA_ARGS__))

#define PARITY_NV_OF_1(condition, block, ...) PARITY_NV_CAT(PARITY_NV_OF_1_, condition)(block, __VA_ARGS__)
#define PARITY_NV_OF_1_PARITY_NV_YES(block, ...) PARITY_NV_BLOCK(block)
#define PARITY_NV_OF_1_PARITY_NV_NO(block, ...) __VA_OPT__(PARITY_NV_OF_2(__VA_ARGS__))
#define PARITY_NV_OF_2(condition, block, ...) PARITY_NV_CAT(PARITY_NV_OF_2_, condition)(block, __VA_ARGS__)
#define PARITY_NV_OF_2_PARITY_NV_YES(block, ...) PARITY_NV_BLOCK(block)
#define PARITY_NV_OF_2_PARITY_NV_NO(block, ...) __VA_OPT__(PARITY_NV_OF_3(__VA_ARGS__))
#define PARITY_NV_OF_3(condition, block, ...) PARITY_NV_CAT(PARITY_NV_OF_3_, condition)(block, __VA_ARGS__)
#define PARITY_NV_OF_3_PARITY_NV_YES(block, ...) PARITY_NV_BLOCK(block)
#define PARITY_NV_OF_3_PARITY_NV_NO(block, ...) __VA_OPT__(PARITY_NV_OF_4(__VA_ARGS__))
#define PARITY_NV_OF_4(condition, block, ...) PARITY_NV_CAT(PARITY_NV_OF_4_, condition)(block, __VA_ARGS__)
#define PARITY_NV_OF_4_PARITY_NV_YES(block, ...) PARITY_NV_BLOCK(block)
#define PARITY_NV_OF_4_PARITY_NV_NO(block, ...) __VA_OPT__(PARITY_NV_OF_5(__VA_ARGS__))
#define PARITY_NV_OF_5(condition, block, ...) PARITY_NV_CAT(PARITY_NV_OF_5_, condition)(block, __VA_ARGS__)
#define PARITY_NV_OF_5_PARITY_NV_YES(block, ...) PARITY_NV_BLOCK(block)
#define PARITY_NV_OF_5_PARITY_NV_NO(block, ...) __VA_OPT__(PARITY_NV_OF_6(__VA_ARGS__))
#define PARITY_NV_OF_6(condition, block, ...) PARITY_NV_CAT(PARITY_NV_OF_6_, condition)(block, __VA_ARGS__)
#define PARITY_NV_OF_6_PARITY_NV_YES(block, ...) PARITY_NV_BLOCK(block)
#define PARITY_NV_OF_6_PARITY_NV_NO(block, ...) __VA_OPT__(PARITY_NV_OF_7(__VA_ARGS__))
#define PARITY_NV_OF_7(condition, block, ...) PARITY_NV_CAT(PARITY_NV_OF_7_, condition)(block, __VA_ARGS__)
#define PARITY_NV_OF_7_PARITY_NV_YES(block, ...) PARITY_NV_BLOCK(block)
#define PARITY_NV_OF_7_PARITY_NV_NO(block, ...) __VA_OPT__(PARITY_NV_OF_8(__VA_ARGS__))
#define PARITY_NV_OF_8(condition, block, ...) PARITY_NV_CAT(PARITY_NV_OF_8_, condition)(block, __VA_ARGS__)
#define PARITY_NV_OF_8_PARITY_NV_YES(block, ...) PARITY_NV_BLOCK(block)
#define PARITY_NV_OF_8_PARITY_NV_NO(block, ...) __VA_OPT__(PARITY_NV_OF_9(__VA_ARGS__))

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 350
#define NV_PROVIDES_SM_35 PARITY_NV_YES
#else
#define NV_PROVIDES_SM_35 PARITY_NV_NO
#endif
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ == 350
#define NV_IS_EXACTLY_SM_35 PARITY_NV_YES
#else
#define NV_IS_EXACTLY_SM_35 PARITY_NV_NO
#endif
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 370
#define NV_PROVIDES_SM_37 PARITY_NV_YES
#else
#define NV_PROVIDES_SM_37 PARITY_NV_NO
#endif
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ == 370
#define NV_IS_EXACTLY_SM_37 PARITY_NV_YES
#else
#define NV_IS_EXACTLY_SM_37 PARITY_NV_NO
#endif
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 500
#define NV_PROVIDES_SM_50 PARITY_NV_YES
#else
#define NV_PROVIDES_SM_50 PARITY_NV_NO
#endif
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ == 500
#define NV_IS_EXACTLY_SM_50 PARITY_NV_YES
#else
#define NV_IS_EXACTLY_SM_50 PARITY_NV_NO
#endif
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 520
#define NV_PROVIDES_SM_52 PARITY_NV_YES
#else
#define NV_PROVIDES_SM_52 PARITY_NV_NO
#endif
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ == 520
#define NV_IS_EXACTLY_SM_52 PARITY_NV_YES
#else
#define NV_IS_EXACTLY_SM_52 PARITY_NV_NO
#endif
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 530
#define NV_PROVIDES_SM_53 PARITY_NV_YES
#else
#define NV_PROVIDES_SM_53 PARITY_NV_NO
#endif
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ == 530
#define NV_IS_EXACTLY_SM_53 PARITY_NV_YES
#else
#define NV_IS_EXACTLY_SM_53 PARITY_NV_NO
#endif
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 600
#define NV_PROVIDES_SM_60 PARITY_NV_YES
#else
#define NV_PROVIDES_SM_60 PARITY_NV_NO
#endif
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ == 600
#define NV_IS_EXACTLY_SM_60 PARITY_NV_YES
#else
#define NV_IS_EXACTLY_SM_60 PARITY_NV_NO
#endif
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 610
#define NV_PROVIDES_SM_61 PARITY_NV_YES
#else
#define NV_PROVIDES_SM_61 PARITY_NV_NO
#endif
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ == 610
#define NV_IS_EXACTLY_SM_61 PARITY_NV_YES
#else
#define NV_IS_EXACTLY_SM_61 PARITY_NV_NO
#endif
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 620
#define NV_PROVIDES_SM_62 PARITY_NV_YES
#else
#define NV_PROVIDES_SM_62 PARITY_NV_NO
#endif
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ == 620
#define NV_IS_EXACTLY_SM_62 PARITY_NV_YES
#else
#define NV_IS_EXACTLY_SM_62 PARITY_NV_NO
#endif
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 700
#define NV_PROVIDES_SM_70 PARITY_NV_YES
#else
#define NV_PROVIDES_SM_70 PARITY_NV_NO
#endif
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ == 700
#define NV_IS_EXACTLY_SM_70 PARITY_NV_YES
#else
#define NV_IS_EXACTLY_SM_70 PARITY_NV_NO
#endif
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 720
#define NV_PROVIDES_SM_72 PARITY_NV_YES
#else
#define NV_PROVIDES_SM_72 PARITY_NV_NO
#endif
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ == 720
#define NV_IS_EXACTLY_SM_72 PARITY_NV_YES
#else
#define NV_IS_EXACTLY_SM_72 PARITY_NV_NO
#endif
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 750
#define NV_PROVIDES_SM_75 PARITY_NV_YES
#else
#define NV_PROVIDES_SM_75 PARITY_NV_NO
#endif
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ == 750
#define NV_IS_EXACTLY_SM_75 PARITY_NV_YES
#else
#define NV_IS_EXACTLY_SM_75 PARITY_NV_NO
#endif
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
#define NV_PROVIDES_SM_80 PARITY_NV_YES
#else
#define NV_PROVIDES_SM_80 PARITY_NV_NO
#endif
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ == 800
#define NV_IS_EXACTLY_SM_80 PARITY_NV_YES
#else
#define NV_IS_EXACTLY_SM_80 PARITY_NV_NO
#endif
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 860
#define NV_PROVIDES_SM_86 PARITY_NV_YES
#else
#define NV_PROVIDES_SM_86 PARITY_NV_NO
#endif
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ == 860
#define NV_IS_EXACTLY_SM_86 PARITY_NV_YES
#else
#define NV_IS_EXACTLY_SM_86 PARITY_NV_NO
#endif
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 870
#define NV_PROVIDES_SM_87 PARITY_NV_YES
#else
#define NV_PROVIDES_SM_87 PARITY_NV_NO
#endif
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ == 870
#define NV_IS_EXACTLY_SM_87 PARITY_NV_YES
#else
#define NV_IS_EXACTLY_SM_87 PARITY_NV_NO
#endif
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 890
#define NV_PROVIDES_SM_89 PARITY_NV_YES
#else
#define NV_PROVIDES_SM_89 PARITY_NV_NO
#endif
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ == 890
#define NV_IS_EXACTLY_SM_89 PARITY_NV_YES
#else
#define NV_IS_EXACTLY_SM_89 PARITY_NV_NO
#endif
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
#define NV_PROVIDES_SM_90 PARITY_NV_YES
#else
#define NV_PROVIDES_SM_90 PARITY_NV_NO
#endif
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ == 900
#define NV_IS_EXACTLY_SM_90 PARITY_NV_YES
#else
#define NV_IS_EXACTLY_SM_90 PARITY_NV_NO
#endif
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 1000
#define NV_PROVIDES_SM_100 PARITY_NV_YES
#else
#define NV_PROVIDES_SM_100 PARITY_NV_NO
#endif
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ == 1000
#define NV_IS_EXACTLY_SM_100 PARITY_NV_YES
#else
#define NV_IS_EXACTLY_SM_100 PARITY_NV_NO
#endif
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 1010
#define NV_PROVIDES_SM_101 PARITY_NV_YES
#else
#define NV_PROVIDES_SM_101 PARITY_NV_NO
#endif
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ == 1010
#define NV_IS_EXACTLY_SM_101 PARITY_NV_YES
#else
#define NV_IS_EXACTLY_SM_101 PARITY_NV_NO
#endif
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 1030
#define NV_PROVIDES_SM_103 PARITY_NV_YES
#else
#define NV_PROVIDES_SM_103 PARITY_NV_NO
#endif
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ == 1030
#define NV_IS_EXACTLY_SM_103 PARITY_NV_YES
#else
#define NV_IS_EXACTLY_SM_103 PARITY_NV_NO
#endif
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 1100
#define NV_PROVIDES_SM_110 PARITY_NV_YES
#else
#define NV_PROVIDES_SM_110 PARITY_NV_NO
#endif
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ == 1100
#define NV_IS_EXACTLY_SM_110 PARITY_NV_YES
#else
#define NV_IS_EXACTLY_SM_110 PARITY_NV_NO
#endif
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 1200
#define NV_PROVIDES_SM_120 PARITY_NV_YES
#else
#define NV_PROVIDES_SM_120 PARITY_NV_NO
#endif
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ == 1200
#define NV_IS_EXACTLY_SM_120 PARITY_NV_YES
#else
#define NV_IS_EXACTLY_SM_120 PARITY_NV_NO
#endif
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 1210
#define NV_PROVIDES_SM_121 PARITY_NV_YES
#else
#define NV_PROVIDES_SM_121 PARITY_NV_NO
#endif
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ == 1210
#define NV_IS_EXACTLY_SM_121 PARITY_NV_YES
#else
#define NV_IS_EXACTLY_SM_121 PARITY_NV_NO
#endif
