// {fmt} for host code: declarations only, nothing for the device.
#pragma once

#include <cstddef>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>

namespace fmt {
using std::string_view;
struct format_error : std::runtime_error { using std::runtime_error::runtime_error; };
template <typename T, typename Char = char, typename Enable = void> struct formatter {
  template <typename Context> constexpr auto parse(Context& context) { return context.begin(); }
  template <typename Context> auto format(const T&, Context& context) const { return context.out(); }
};
template <typename T, typename Char = char> struct is_formattable : std::true_type {};
template <typename... A> std::string format(A&&...);
template <typename... A> std::string vformat(A&&...);
template <typename... A> std::string sprintf(A&&...);
template <typename... A> std::string join(A&&...);
template <typename... A> std::string styled(A&&...);
template <typename T> std::string to_string(const T&);
template <typename T> const void* ptr(T);
template <typename... A> void print(A&&...);
template <typename... A> void println(A&&...);
template <typename... A> std::size_t formatted_size(A&&...);
template <typename Out, typename... A> Out format_to(Out, A&&...);
std::string runtime(string_view);
namespace literals {
struct Argument { template <typename T> Argument operator=(T&&) const; };
Argument operator""_a(const char*, std::size_t);
}  // namespace literals
using namespace literals;
}  // namespace fmt
