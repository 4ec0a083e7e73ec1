// Thrust's algorithms inside a kernel: one thread executes them, in the order that thrust::seq defines. Included by
// thrust.h, inside its namespace.
namespace parity_stub {
template <class I> using value_of = std::decay_t<decltype(*std::declval<I&>())>;
struct before {
  template <class A, class B> __device__ bool operator()(const A& a, const B& b) const { return a < b; }
};
struct sum {
  template <class A, class B> __device__ auto operator()(const A& a, const B& b) const { return a + b; }
};
struct product {
  template <class A, class B> __device__ auto operator()(const A& a, const B& b) const { return a * b; }
};
}  // namespace parity_stub

template <class I> __device__ auto distance(I first, I last) { return last - first; }
template <class I, class N> __device__ void advance(I& at, N n) { at = at + n; }
template <class I, class N, class F> __device__ I for_each_n(I first, N n, F f) {
  for (N i = 0; i < n; ++i, ++first) f(*first);
  return first;
}
template <class I, class F> __device__ I for_each(I first, I last, F f) {
  for (; first != last; ++first) f(*first);
  return first;
}
template <class I, class O, class F> __device__ O transform(I first, I last, O out, F f) {
  for (; first != last; ++first, ++out) *out = f(*first);
  return out;
}
template <class I, class J, class O, class F> __device__ O transform(I first, I last, J other, O out, F f) {
  for (; first != last; ++first, ++other, ++out) *out = f(*first, *other);
  return out;
}
template <class I, class F> __device__ void tabulate(I first, I last, F f) {
  for (ptrdiff_t i = 0; first != last; ++first, ++i) *first = f(i);
}
template <class I, class O, class P> __device__ O copy_if(I first, I last, O out, P keep) {
  for (; first != last; ++first) if (keep(*first)) *out = *first, ++out;
  return out;
}
template <class I, class O>
__device__ O copy(I first, I last, O out) { return thrust::copy_if(first, last, out, [](const auto&) { return true; }); }
template <class I, class N, class O> __device__ O copy_n(I first, N n, O out) {
  for (N i = 0; i < n; ++i, ++first, ++out) *out = *first;
  return out;
}
template <class I, class N, class T>
__device__ I fill_n(I first, N n, const T& value) { return thrust::for_each_n(first, n, [&](auto& x) { x = value; }); }
template <class I, class T> __device__ void fill(I first, I last, const T& value) { thrust::fill_n(first, last - first, value); }
template <class I, class T = parity_stub::value_of<I>, class D = T>
__device__ void sequence(I first, I last, T value = T(0), D step = D(1)) {
  for (; first != last; ++first, value = value + step) *first = value;
}
template <class I> __device__ void reverse(I first, I last) {
  for (; first < last && first < --last; ++first) {
    auto kept = *first;
    *first = *last, *last = kept;
  }
}

template <class I, class U, class T, class F> __device__ T transform_reduce(I first, I last, U unary, T value, F f) {
  for (; first != last; ++first) value = f(value, unary(*first));
  return value;
}
template <class I, class T = parity_stub::value_of<I>, class F = plus<T>> __device__ T reduce(I first, I last, T value = T(0), F f = F()) {
  for (; first != last; ++first) value = f(value, *first);
  return value;
}
template <class I, class J, class T, class F = parity_stub::sum, class G = parity_stub::product>
__device__ T inner_product(I first, I last, J other, T value, F f = F(), G g = G()) {
  for (; first != last; ++first, ++other) value = f(value, g(*first, *other));
  return value;
}
template <class I, class O, class F = plus<parity_stub::value_of<I>>> __device__ O inclusive_scan(I first, I last, O out, F f = F()) {
  if (first == last) return out;
  auto value = *first;
  for (*out = value, ++first, ++out; first != last; ++first, ++out) *out = value = f(value, *first);
  return out;
}
template <class I, class O, class T = parity_stub::value_of<I>, class F = plus<T>>
__device__ O exclusive_scan(I first, I last, O out, T value = T(0), F f = F()) {
  for (; first != last; ++first, ++out) {
    auto next = f(value, *first);  // read before writing *out, which may be *first
    *out = value, value = next;
  }
  return out;
}

template <class I, class P> __device__ I find_if(I first, I last, P is) {
  while (first != last && !is(*first)) ++first;
  return first;
}
template <class I, class T>
__device__ I find(I first, I last, const T& value) { return thrust::find_if(first, last, [&](const auto& x) { return x == value; }); }
template <class I, class P> __device__ ptrdiff_t count_if(I first, I last, P is) {
  ptrdiff_t n = 0;
  for (; first != last; ++first) n += is(*first) ? 1 : 0;
  return n;
}
template <class I, class T>
__device__ ptrdiff_t count(I first, I last, const T& value) { return thrust::count_if(first, last, [&](const auto& x) { return x == value; }); }
template <class I, class P> __device__ bool any_of(I first, I last, P is) { return thrust::find_if(first, last, is) != last; }
template <class I, class P> __device__ bool none_of(I first, I last, P is) { return !thrust::any_of(first, last, is); }
template <class I, class P>
__device__ bool all_of(I first, I last, P is) { return thrust::none_of(first, last, [&](const auto& x) { return !is(x); }); }
template <class I, class J> __device__ bool equal(I first, I last, J other) {
  for (; first != last; ++first, ++other) if (!(*first == *other)) return false;
  return true;
}
template <class I, class C = parity_stub::before> __device__ I min_element(I first, I last, C less = C()) {
  I found = first;
  for (; first != last; ++first) if (less(*first, *found)) found = first;
  return found;
}
template <class I, class C = parity_stub::before> __device__ I max_element(I first, I last, C less = C()) {
  return thrust::min_element(first, last, [&](const auto& a, const auto& b) { return less(b, a); });
}

// The first element of a partitioned range for which the condition is false.
namespace parity_stub {
template <class I, class P> __device__ I partition_point(I first, I last, P holds) {
  for (ptrdiff_t n = last - first; n > 0;) {
    const I middle = first + n / 2;
    if (holds(*middle)) first = middle + 1, n -= n / 2 + 1;
    else n /= 2;
  }
  return first;
}
}  // namespace parity_stub
template <class I, class T, class C = parity_stub::before> __device__ I lower_bound(I first, I last, const T& value, C less = C()) {
  return parity_stub::partition_point(first, last, [&](const auto& x) { return less(x, value); });
}
template <class I, class T, class C = parity_stub::before> __device__ I upper_bound(I first, I last, const T& value, C less = C()) {
  return parity_stub::partition_point(first, last, [&](const auto& x) { return !less(value, x); });
}
template <class I, class T> __device__ bool binary_search(I first, I last, const T& value) {
  const I at = thrust::lower_bound(first, last, value);
  return at != last && !(value < *at);
}

// Insertion sort, which is stable as thrust::seq requires. Values move with their keys.
template <class I, class V, class C = parity_stub::before> __device__ void stable_sort_by_key(I first, I last, V values, C less = C()) {
  for (ptrdiff_t i = 1, n = last - first; i < n; ++i) {
    auto key = first[i];
    auto value = values[i];
    ptrdiff_t at = i;
    for (; at > 0 && less(key, first[at - 1]); --at) first[at] = first[at - 1], values[at] = values[at - 1];
    first[at] = key, values[at] = value;
  }
}
template <class I, class C = parity_stub::before> __device__ void stable_sort(I first, I last, C less = C()) {
  for (ptrdiff_t i = 1, n = last - first; i < n; ++i) {
    auto key = first[i];
    ptrdiff_t at = i;
    for (; at > 0 && less(key, first[at - 1]); --at) first[at] = first[at - 1];
    first[at] = key;
  }
}
template <class I, class... C> __device__ void sort(I first, I last, C... less) { thrust::stable_sort(first, last, less...); }
template <class I, class V, class... C>
__device__ void sort_by_key(I first, I last, V values, C... less) { thrust::stable_sort_by_key(first, last, values, less...); }
template <class I> __device__ I unique(I first, I last) {
  if (first == last) return last;
  I kept = first;
  while (++first != last) if (!(*kept == *first)) *++kept = *first;
  return ++kept;
}
template <class I, class P>
__device__ I remove_if(I first, I last, P is) { return thrust::copy_if(first, last, first, [&](const auto& x) { return !is(x); }); }

#define PARITY_POLICY(name)    \
  template <class... Arguments> \
  __device__ auto name(const parity_stub::policy&, Arguments... arguments) { return name(arguments...); }
#define PARITY_POLICIES(_)                                                                                              \
  _(for_each_n) _(for_each) _(transform) _(tabulate) _(copy) _(copy_n) _(copy_if) _(fill) _(fill_n) _(sequence)         \
  _(reverse) _(reduce) _(transform_reduce) _(inner_product) _(inclusive_scan) _(exclusive_scan) _(find_if) _(find)      \
  _(count_if) _(count) _(any_of) _(none_of) _(all_of) _(equal) _(min_element) _(max_element) _(lower_bound)             \
  _(upper_bound) _(binary_search) _(stable_sort_by_key) _(stable_sort) _(sort) _(sort_by_key) _(unique) _(remove_if)
PARITY_POLICIES(PARITY_POLICY)
#undef PARITY_POLICIES
#undef PARITY_POLICY
