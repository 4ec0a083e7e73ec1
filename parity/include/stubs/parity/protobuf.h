// Protocol buffers as host code beside kernels uses them: messages and containers are declared, and nothing is defined.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include <parity/anything.h>

namespace google {
namespace protobuf {
using int32 = int32_t;
using uint32 = uint32_t;
using int64 = int64_t;
using uint64 = uint64_t;
struct Descriptor;
struct FieldDescriptor;
struct EnumDescriptor;
struct Reflection;
class MessageLite {
 public:
  virtual ~MessageLite() = default;
  void Clear();
  bool IsInitialized() const;
  std::size_t ByteSizeLong() const;
  int ByteSize() const;
  std::string SerializeAsString() const;
  bool SerializeToString(std::string*) const;
  bool SerializeToArray(void*, int) const;
  bool ParseFromString(const std::string&);
  bool ParseFromArray(const void*, int);
};
class Message : public MessageLite {
 public:
  std::string DebugString() const;
  std::string ShortDebugString() const;
  const Descriptor* GetDescriptor() const;
  const Reflection* GetReflection() const;
};
template <typename T>
class RepeatedField : public std::vector<T> {
 public:
  int size() const;
  const T& Get(int) const;
  T* Mutable(int);
  void Set(int, const T&);
  void Add(const T&);
  T* Add();
  void Clear();
  void CopyFrom(const RepeatedField&);
  void MergeFrom(const RepeatedField&);
  void Resize(int, const T&);
};
template <typename T>
using RepeatedPtrField = RepeatedField<T>;
template <typename K, typename V>
using Map = std::map<K, V>;
struct TextFormat {
  static bool ParseFromString(const std::string&, Message*);
  static bool PrintToString(const Message&, std::string*);
};
inline void ShutdownProtobufLibrary() {}
}  // namespace protobuf
}  // namespace google
