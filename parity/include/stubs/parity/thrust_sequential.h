// Thrust's algorithms as a kernel calls them: one thread does all of it, in the order that thrust::seq has.
// Included by thrust.h, in its namespace.
#define PARITY_DEVICE template <class... Arguments> __device__ auto
#define PARITY_POLICY(name) \
  PARITY_DEVICE name(const parity_stub::policy&, Arguments... arguments) { return name(arguments...); }

template <class I>
__device__ auto distance(I first, I last) { return last - first; }
template <class I, class N>
__device__ void advance(I& at, N n) { at = at + n; }

template <class I, class N, class F>
__device__ I for_each_n(I first, N n, F f) {
  for (N i = 0; i < n; ++i, ++first) f(*first);
  return first;
}
template <class I, class F>
__device__ I for_each(I first, I last, F f) {
  for (; first != last; ++first) f(*first);
  return first;
}
template <class I, class O, class F>
__device__ O transform(I first, I last, O out, F f) {
  for (; first != last; ++first, ++out) *out = f(*first);
  return out;
}
template <class I, class J, class O, class F>
__device__ O transform(I first, I last, J other, O out, F f) {
  for (; first != last; ++first, ++other, ++out) *out = f(*first, *other);
  return out;
}
template <class I, class F>
__device__ void tabulate(I first, I last, F f) {
  for (ptrdiff_t i = 0; first != last; ++first, ++i) *first = f(i);
}
template <class I, class O>
__device__ O copy(I first, I last, O out) {
  for (; first != last; ++first, ++out) *out = *first;
  return out;
}
template <class I, class N, class O>
__device__ O copy_n(I first, N n, O out) {
  for (N i = 0; i < n; ++i, ++first, ++out) *out = *first;
  return out;
}
template <class I, class O, class P>
__device__ O copy_if(I first, I last, O out, P keep) {
  for (; first != last; ++first)
    if (keep(*first)) *out = *first, ++out;
  return out;
}
template <class I, class T>
__device__ void fill(I first, I last, const T& value) {
  for (; first != last; ++first) *first = value;
}
template <class I, class N, class T>
__device__ I fill_n(I first, N n, const T& value) {
  for (N i = 0; i < n; ++i, ++first) *first = value;
  return first;
}
template <class I, class T, class D>
__device__ void sequence(I first, I last, T value, D step) {
  for (; first != last; ++first, value = value + step) *first = value;
}
template <class I, class T>
__device__ void sequence(I first, I last, T value) { thrust::sequence(first, last, value, T(1)); }
template <class I>
__device__ void sequence(I first, I last) { thrust::sequence(first, last, std::decay_t<decltype(*first)>(0)); }
template <class I>
__device__ void reverse(I first, I last) {
  for (; first < last && first < --last; ++first) {
    auto kept = *first;
    *first = *last, *last = kept;
  }
}

template <class I, class T, class F>
__device__ T reduce(I first, I last, T value, F f) {
  for (; first != last; ++first) value = f(value, *first);
  return value;
}
template <class I, class T>
__device__ T reduce(I first, I last, T value) { return thrust::reduce(first, last, value, plus<T>()); }
template <class I>
__device__ auto reduce(I first, I last) { return thrust::reduce(first, last, std::decay_t<decltype(*first)>(0)); }
template <class I, class U, class T, class F>
__device__ T transform_reduce(I first, I last, U unary, T value, F f) {
  for (; first != last; ++first) value = f(value, unary(*first));
  return value;
}
template <class I, class J, class T, class F, class G>
__device__ T inner_product(I first, I last, J other, T value, F f, G g) {
  for (; first != last; ++first, ++other) value = f(value, g(*first, *other));
  return value;
}
template <class I, class J, class T>
__device__ T inner_product(I first, I last, J other, T value) {
  for (; first != last; ++first, ++other) value = value + *first * *other;
  return value;
}
template <class I, class O, class F>
__device__ O inclusive_scan(I first, I last, O out, F f) {
  if (first == last) return out;
  auto value = *first;
  for (*out = value, ++first, ++out; first != last; ++first, ++out) *out = value = f(value, *first);
  return out;
}
template <class I, class O>
__device__ O inclusive_scan(I first, I last, O out) {
  return thrust::inclusive_scan(first, last, out, plus<std::decay_t<decltype(*first)>>());
}
template <class I, class O, class T, class F>
__device__ O exclusive_scan(I first, I last, O out, T value, F f) {
  for (; first != last; ++first, ++out) {
    auto next = f(value, *first);  // before *out, which may be *first
    *out = value, value = next;
  }
  return out;
}
template <class I, class O, class T>
__device__ O exclusive_scan(I first, I last, O out, T value) {
  return thrust::exclusive_scan(first, last, out, value, plus<T>());
}
template <class I, class O>
__device__ O exclusive_scan(I first, I last, O out) {
  return thrust::exclusive_scan(first, last, out, std::decay_t<decltype(*first)>(0));
}

template <class I, class P>
__device__ I find_if(I first, I last, P is) {
  while (first != last && !is(*first)) ++first;
  return first;
}
template <class I, class T>
__device__ I find(I first, I last, const T& value) {
  while (first != last && !(*first == value)) ++first;
  return first;
}
template <class I, class P>
__device__ ptrdiff_t count_if(I first, I last, P is) {
  ptrdiff_t n = 0;
  for (; first != last; ++first) n += is(*first) ? 1 : 0;
  return n;
}
template <class I, class T>
__device__ ptrdiff_t count(I first, I last, const T& value) {
  ptrdiff_t n = 0;
  for (; first != last; ++first) n += *first == value ? 1 : 0;
  return n;
}
template <class I, class P>
__device__ bool any_of(I first, I last, P is) { return thrust::find_if(first, last, is) != last; }
template <class I, class P>
__device__ bool none_of(I first, I last, P is) { return !thrust::any_of(first, last, is); }
template <class I, class P>
__device__ bool all_of(I first, I last, P is) {
  for (; first != last; ++first)
    if (!is(*first)) return false;
  return true;
}
template <class I, class J>
__device__ bool equal(I first, I last, J other) {
  for (; first != last; ++first, ++other)
    if (!(*first == *other)) return false;
  return true;
}
template <class I, class C>
__device__ I min_element(I first, I last, C less) {
  I found = first;
  for (; first != last; ++first)
    if (less(*first, *found)) found = first;
  return found;
}
template <class I>
__device__ I min_element(I first, I last) { return thrust::min_element(first, last, less<std::decay_t<decltype(*first)>>()); }
template <class I, class C>
__device__ I max_element(I first, I last, C less) {
  I found = first;
  for (; first != last; ++first)
    if (less(*found, *first)) found = first;
  return found;
}
template <class I>
__device__ I max_element(I first, I last) { return thrust::max_element(first, last, less<std::decay_t<decltype(*first)>>()); }

template <class I, class T, class C>
__device__ I lower_bound(I first, I last, const T& value, C less) {
  for (ptrdiff_t n = last - first; n > 0;) {
    const I middle = first + n / 2;
    if (less(*middle, value)) first = middle + 1, n -= n / 2 + 1;
    else n /= 2;
  }
  return first;
}
template <class I, class T>
__device__ I lower_bound(I first, I last, const T& value) {
  return thrust::lower_bound(first, last, value, [](const auto& a, const auto& b) { return a < b; });
}
template <class I, class T, class C>
__device__ I upper_bound(I first, I last, const T& value, C less) {
  for (ptrdiff_t n = last - first; n > 0;) {
    const I middle = first + n / 2;
    if (!less(value, *middle)) first = middle + 1, n -= n / 2 + 1;
    else n /= 2;
  }
  return first;
}
template <class I, class T>
__device__ I upper_bound(I first, I last, const T& value) {
  return thrust::upper_bound(first, last, value, [](const auto& a, const auto& b) { return a < b; });
}
template <class I, class T>
__device__ bool binary_search(I first, I last, const T& value) {
  const I at = thrust::lower_bound(first, last, value);
  return at != last && !(value < *at);
}

// Stable, as thrust::seq's are, with few comparisons where little is out of order.
template <class I, class V, class C>
__device__ void stable_sort_by_key(I first, I last, V values, C less) {
  const ptrdiff_t n = last - first;
  for (ptrdiff_t i = 1; i < n; ++i) {
    auto key = first[i];
    auto value = values[i];
    ptrdiff_t at = i;
    for (; at > 0 && less(key, first[at - 1]); --at) first[at] = first[at - 1], values[at] = values[at - 1];
    first[at] = key, values[at] = value;
  }
}
template <class I, class V>
__device__ void stable_sort_by_key(I first, I last, V values) {
  thrust::stable_sort_by_key(first, last, values, less<std::decay_t<decltype(*first)>>());
}
template <class I, class C>
__device__ void stable_sort(I first, I last, C less) {
  const ptrdiff_t n = last - first;
  for (ptrdiff_t i = 1; i < n; ++i) {
    auto key = first[i];
    ptrdiff_t at = i;
    for (; at > 0 && less(key, first[at - 1]); --at) first[at] = first[at - 1];
    first[at] = key;
  }
}
template <class I>
__device__ void stable_sort(I first, I last) { thrust::stable_sort(first, last, less<std::decay_t<decltype(*first)>>()); }
template <class I, class... C>
__device__ void sort(I first, I last, C... less) { thrust::stable_sort(first, last, less...); }
template <class I, class V, class... C>
__device__ void sort_by_key(I first, I last, V values, C... less) { thrust::stable_sort_by_key(first, last, values, less...); }
template <class I>
__device__ I unique(I first, I last) {
  if (first == last) return last;
  I kept = first;
  while (++first != last)
    if (!(*kept == *first)) *++kept = *first;
  return ++kept;
}
template <class I, class P>
__device__ I remove_if(I first, I last, P is) {
  I kept = first;
  for (; first != last; ++first)
    if (!is(*first)) *kept = *first, ++kept;
  return kept;
}

#define PARITY_POLICIES(_)                                                                                              \
  _(for_each_n) _(for_each) _(transform) _(tabulate) _(copy) _(copy_n) _(copy_if) _(fill) _(fill_n) _(sequence)         \
  _(reverse) _(reduce) _(transform_reduce) _(inner_product) _(inclusive_scan) _(exclusive_scan) _(find_if) _(find)      \
  _(count_if) _(count) _(any_of) _(none_of) _(all_of) _(equal) _(min_element) _(max_element) _(lower_bound)             \
  _(upper_bound) _(binary_search) _(stable_sort_by_key) _(stable_sort) _(sort) _(sort_by_key) _(unique) _(remove_if)
PARITY_POLICIES(PARITY_POLICY)
#undef PARITY_POLICIES
#undef PARITY_POLICY
#undef PARITY_DEVICE
