// Macros for each of several arguments, and for what stands in parentheses or not.
#pragma once

#define PARITY_CAT(a, b) PARITY_CAT_(a, b)
#define PARITY_CAT_(a, b) a##b

// The argument without parentheses around it, if there are some.
#define PARITY_BARE(...) PARITY_BARE_1(PARITY_TAKE __VA_ARGS__)
#define PARITY_BARE_1(...) PARITY_BARE_2(__VA_ARGS__)
#define PARITY_BARE_2(...) PARITY_NO_##__VA_ARGS__
#define PARITY_TAKE(...) PARITY_TAKE __VA_ARGS__
#define PARITY_NO_PARITY_TAKE

// macro(given, each) for each of the arguments.
#define PARITY_EACH(macro, given, ...) __VA_OPT__(PARITY_4(PARITY_EACH_1(macro, given, __VA_ARGS__)))
#define PARITY_PARENTHESES ()
#define PARITY_EACH_1(macro, given, each, ...) \
  macro(given, each) __VA_OPT__(PARITY_EACH_AGAIN PARITY_PARENTHESES(macro, given, __VA_ARGS__))
#define PARITY_EACH_AGAIN() PARITY_EACH_1
#define PARITY_4(...) PARITY_3(PARITY_3(PARITY_3(PARITY_3(__VA_ARGS__))))
#define PARITY_3(...) PARITY_2(PARITY_2(PARITY_2(PARITY_2(__VA_ARGS__))))
#define PARITY_2(...) PARITY_1(PARITY_1(PARITY_1(PARITY_1(__VA_ARGS__))))
#define PARITY_1(...) __VA_ARGS__
