// cuda::atomic, cuda::atomic_ref and fences, on clang's atomics of the same scope. cuda::std::atomic has system scope.
#pragma once

#include <atomic>
#include <cstddef>
#include <hip/hip_runtime.h>
#include <parity/compat/cuda_std.h>
#include <parity/compat/scopes.h>
#include <type_traits>

namespace parity_compat {

template <size_t bytes>
struct WordOf {
    static_assert(bytes == 1 || bytes == 2 || bytes == 4 || bytes == 8, "AMD GPUs have atomics of at most 8 bytes");
};
template <>
struct WordOf<1> {
    using type = unsigned char;
};
template <>
struct WordOf<2> {
    using type = unsigned short;
};
template <>
struct WordOf<4> {
    using type = unsigned int;
};
template <>
struct WordOf<8> {
    using type = unsigned long long;
};

// Atomic operations on the value at Self's place().
template <class T, cuda::thread_scope of, class Self>
struct Atomic {
    static_assert(std::is_trivially_copyable_v<T>, "what is atomic is copied byte by byte");
    using value_type = T;
    using Order = std::memory_order;
    static constexpr Order last = std::memory_order_seq_cst;
    static constexpr bool is_always_lock_free = true;
    static constexpr int scope = hip_scope<of>;

#define PARITY_ATOMIC __host__ __device__ __forceinline__
    PARITY_ATOMIC bool is_lock_free() const { return true; }
    PARITY_ATOMIC T load(Order order = last) const {
        return made<T>(__hip_atomic_load(word(), int(order), scope));
    }
    PARITY_ATOMIC void store(T value, Order order = last) const {
        __hip_atomic_store(word(), made<Word>(value), int(order), scope);
    }
    PARITY_ATOMIC T exchange(T value, Order order = last) const {
        return made<T>(__hip_atomic_exchange(word(), made<Word>(value), int(order), scope));
    }
    PARITY_ATOMIC bool compare_exchange_strong(T& expected, T desired, Order same, Order differs) const {
        Word seen = made<Word>(expected);
        const bool done = __hip_atomic_compare_exchange_strong(
            word(), &seen, made<Word>(desired), int(same), int(differs), scope);
        if (!done) expected = made<T>(seen);
        return done;
    }
    PARITY_ATOMIC bool compare_exchange_strong(T& expected, T desired, Order order = last) const {
        return compare_exchange_strong(expected, desired, order, of_load(order));
    }
    PARITY_ATOMIC bool compare_exchange_weak(T& expected, T desired, Order same, Order differs) const {
        return compare_exchange_strong(expected, desired, same, differs);
    }
    PARITY_ATOMIC bool compare_exchange_weak(T& expected, T desired, Order order = last) const {
        return compare_exchange_strong(expected, desired, order);
    }
    PARITY_ATOMIC void wait(T old, Order order = last) const {
        while (made<Word>(load(order)) == made<Word>(old)) {}
    }
    PARITY_ATOMIC void notify_one() const {}
    PARITY_ATOMIC void notify_all() const {}
    PARITY_ATOMIC operator T() const { return load(); }

#define PARITY_ATOMIC_FETCH(name, expression)                                       \
    template <class Value>                                                          \
    PARITY_ATOMIC T fetch_##name(Value given, Order order = last) const {           \
        if constexpr (std::is_pointer_v<T>) {                                       \
            return changed([=](T x) { return T(expression); }, order);              \
        } else {                                                                    \
            return __hip_atomic_fetch_##name(place(), T(given), int(order), scope); \
        }                                                                           \
    }
    PARITY_ATOMIC_FETCH(and, nullptr)
    PARITY_ATOMIC_FETCH(or, nullptr)
    PARITY_ATOMIC_FETCH(xor, nullptr)
    PARITY_ATOMIC_FETCH(min, given < x ? given : x)
    PARITY_ATOMIC_FETCH(max, x < given ? given : x)
    PARITY_ATOMIC_FETCH(add, x + given)
    PARITY_ATOMIC_FETCH(sub, x - given)
#undef PARITY_ATOMIC_FETCH

    template <class Value>
    PARITY_ATOMIC T operator+=(Value given) const { return fetch_add(given) + given; }
    template <class Value>
    PARITY_ATOMIC T operator-=(Value given) const { return fetch_sub(given) - given; }
    PARITY_ATOMIC T operator&=(T given) const { return fetch_and(given) & given; }
    PARITY_ATOMIC T operator|=(T given) const { return fetch_or(given) | given; }
    PARITY_ATOMIC T operator^=(T given) const { return fetch_xor(given) ^ given; }
    PARITY_ATOMIC T operator++() const { return fetch_add(1) + 1; }
    PARITY_ATOMIC T operator--() const { return fetch_sub(1) - 1; }
    PARITY_ATOMIC T operator++(int) const { return fetch_add(1); }
    PARITY_ATOMIC T operator--(int) const { return fetch_sub(1); }

 private:
    using Word = typename WordOf<sizeof(T)>::type;

    PARITY_ATOMIC T* place() const { return static_cast<const Self*>(this)->place(); }
    PARITY_ATOMIC Word* word() const { return reinterpret_cast<Word*>(place()); }
    template <class To, class From>
    static PARITY_ATOMIC To made(From from) {
        To to;
        __builtin_memcpy(&to, &from, sizeof(To));
        return to;
    }
    static constexpr PARITY_ATOMIC Order of_load(Order order) {
        return order == std::memory_order_acq_rel   ? std::memory_order_acquire
               : order == std::memory_order_release ? std::memory_order_relaxed
                                                    : order;
    }
    template <class Change>
    PARITY_ATOMIC T changed(Change change, Order order) const {
        T seen = load(std::memory_order_relaxed);
        while (!compare_exchange_strong(seen, change(seen), order)) {}
        return seen;
    }
};

}  // namespace parity_compat

namespace cuda {

using std::memory_order;
using std::memory_order_acq_rel;
using std::memory_order_acquire;
using std::memory_order_consume;
using std::memory_order_relaxed;
using std::memory_order_release;
using std::memory_order_seq_cst;

template <class T, thread_scope of = thread_scope_system>
struct atomic : parity_compat::Atomic<T, of, atomic<T, of>> {
    atomic() = default;
    __host__ __device__ constexpr atomic(T value) : value(value) {}
    atomic(const atomic&) = delete;
    atomic& operator=(const atomic&) = delete;
    PARITY_ATOMIC T operator=(T given) {
        this->store(given);
        return given;
    }

 private:
    friend parity_compat::Atomic<T, of, atomic>;
    PARITY_ATOMIC T* place() const { return const_cast<T*>(&value); }
    alignas(sizeof(T)) T value;
};

template <class T, thread_scope of = thread_scope_system>
struct atomic_ref : parity_compat::Atomic<T, of, atomic_ref<T, of>> {
    static constexpr size_t required_alignment = sizeof(T);

    __host__ __device__ explicit atomic_ref(T& value) : value(&value) {}
    atomic_ref(const atomic_ref&) = default;
    atomic_ref& operator=(const atomic_ref&) = delete;
    PARITY_ATOMIC T operator=(T given) const {
        this->store(given);
        return given;
    }

 private:
    friend parity_compat::Atomic<T, of, atomic_ref>;
    PARITY_ATOMIC T* place() const { return value; }
    T* value;
};

template <thread_scope of = thread_scope_system>
struct atomic_flag {
    atomic_flag() = default;
    __host__ __device__ constexpr atomic_flag(bool value) : value(value) {}
    PARITY_ATOMIC bool test(memory_order order = memory_order_seq_cst) const { return value.load(order); }
    PARITY_ATOMIC bool test_and_set(memory_order order = memory_order_seq_cst) { return value.exchange(1, order); }
    PARITY_ATOMIC void clear(memory_order order = memory_order_seq_cst) { value.store(0, order); }

 private:
    atomic<unsigned, of> value;
};

PARITY_ATOMIC void atomic_thread_fence(memory_order order, thread_scope = thread_scope_system) {
    __atomic_thread_fence(int(order));
}
PARITY_ATOMIC void atomic_signal_fence(memory_order order) { __atomic_signal_fence(int(order)); }
#undef PARITY_ATOMIC

namespace std {

template <class T>
using atomic = ::cuda::atomic<T>;
template <class T>
using atomic_ref = ::cuda::atomic_ref<T>;
using atomic_flag = ::cuda::atomic_flag<>;
using ::cuda::atomic_signal_fence;
using ::cuda::atomic_thread_fence;

}  // namespace std

}  // namespace cuda
