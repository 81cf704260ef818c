// Blobs of the classic extension interface: tensors over Graft's memory, or with memory of their own.
#pragma once

#include "types.hpp"

namespace [[gnu::visibility("default")]] InferenceEngine {

// Memory of a blob. Nothing is locked here; the name is that of the interface.
template <class T>
class LockedMemory {
 public:
  explicit LockedMemory(void* p) : p_(p) {}
  template <class S>
  S as() const {
    return static_cast<S>(p_);
  }
  template <class S>
  operator S*() const {
    return static_cast<S*>(p_);
  }
  template <class I>
  requires(!std::is_void_v<T> && std::is_integral_v<I>) auto& operator[](I i) const { return static_cast<T*>(p_)[i]; }
  bool operator==(const void* p) const { return p_ == p; }

 private:
  void* p_;
};

class Blob {
 public:
  using Ptr = std::shared_ptr<Blob>;
  using CPtr = std::shared_ptr<const Blob>;

  explicit Blob(const TensorDesc& desc) : tensorDesc(desc) {}
  virtual ~Blob() = default;

  template <class T>
  bool is() const noexcept {
    return dynamic_cast<const T*>(this) != nullptr;
  }
  template <class T>
  T* as() noexcept {
    return dynamic_cast<T*>(this);
  }
  template <class T>
  const T* as() const noexcept {
    return dynamic_cast<const T*>(this);
  }

  virtual const TensorDesc& getTensorDesc() const noexcept { return tensorDesc; }
  virtual TensorDesc& getTensorDesc() noexcept { return tensorDesc; }
  // In elements and in bytes.
  virtual size_t size() const noexcept {
    const SizeVector& d = tensorDesc.getDims();
    return std::accumulate(d.begin(), d.end(), size_t{1}, std::multiplies<size_t>());
  }
  virtual size_t byteSize() const noexcept { return size() * element_size(); }
  virtual size_t element_size() const noexcept { return tensorDesc.getPrecision().size(); }
  Precision precision() const noexcept { return tensorDesc.getPrecision(); }
  Precision type() const noexcept { return tensorDesc.getPrecision(); }
  Layout layout() const noexcept { return tensorDesc.getLayout(); }

  virtual void allocate() {
    owned_.assign(byteSize() + 64, 0);
    auto address = reinterpret_cast<uintptr_t>(owned_.data());
    memory_ = owned_.data() + (64 - address % 64) % 64;
  }
  virtual bool deallocate() {
    bool had = !owned_.empty();
    owned_.clear(), memory_ = nullptr;
    return had;
  }
  virtual LockedMemory<void> buffer() { return LockedMemory<void>(memory_); }
  virtual LockedMemory<const void> cbuffer() const { return LockedMemory<const void>(memory_); }

  // Uses the memory of somebody else, who keeps it alive.
  void use_memory(void* p) { owned_.clear(), memory_ = p; }

 protected:
  TensorDesc tensorDesc;
  void* memory_ = nullptr;

 private:
  Blob(const Blob&) = delete;
  std::vector<unsigned char> owned_;
};

template <class T>
std::shared_ptr<T> as(const Blob::Ptr& blob) {
  return std::dynamic_pointer_cast<T>(blob);
}
template <class T>
std::shared_ptr<const T> as(const Blob::CPtr& blob) {
  return std::dynamic_pointer_cast<const T>(blob);
}

class MemoryBlob : public Blob {
 public:
  using Ptr = std::shared_ptr<MemoryBlob>;
  using CPtr = std::shared_ptr<const MemoryBlob>;
  using Blob::Blob;
  LockedMemory<void> rwmap() { return LockedMemory<void>(memory_); }
  LockedMemory<const void> rmap() const { return LockedMemory<const void>(memory_); }
  LockedMemory<void> wmap() { return LockedMemory<void>(memory_); }
};

template <class T>
class TBlob : public MemoryBlob {
 public:
  using Ptr = std::shared_ptr<TBlob<T>>;
  explicit TBlob(const TensorDesc& desc) : MemoryBlob(desc) {}
  TBlob(const TensorDesc& desc, T* memory, size_t elements = 0) : MemoryBlob(desc) {
    if (!memory && size()) THROW_IE_EXCEPTION << "expected the memory of a blob, got a null pointer";
    if (elements && elements < size())
      THROW_IE_EXCEPTION << "expected memory for " << size() << " elements, got " << elements;
    use_memory(const_cast<std::remove_const_t<T>*>(memory));
  }
  size_t element_size() const noexcept override { return sizeof(T); }
  LockedMemory<T> data() { return LockedMemory<T>(memory_); }
  LockedMemory<const T> readOnly() const { return LockedMemory<const T>(memory_); }
  T* begin() { return static_cast<T*>(memory_); }
  T* end() { return begin() + size(); }
  const T* begin() const { return static_cast<const T*>(memory_); }
  const T* end() const { return begin() + size(); }
};

using BlobMap = std::map<std::string, Blob::Ptr>;

template <class T>
typename TBlob<T>::Ptr make_shared_blob(const TensorDesc& desc) {
  return std::make_shared<TBlob<T>>(desc);
}
template <class T>
typename TBlob<T>::Ptr make_shared_blob(const TensorDesc& desc, T* memory, size_t elements = 0) {
  return std::make_shared<TBlob<T>>(desc, memory, elements);
}
template <class Type, class... Args>
Blob::Ptr make_shared_blob(Args&&... args) requires std::is_base_of_v<Blob, Type> {
  return std::make_shared<Type>(std::forward<Args>(args)...);
}

// A blob without memory whose class is that of the precision.
inline Blob::Ptr make_blob_with_precision(const TensorDesc& desc) {
  switch (desc.getPrecision()) {
#define GRAFT_BLOB(NAME) \
  case Precision::NAME: return std::make_shared<TBlob<PrecisionTrait<Precision::NAME>::value_type>>(desc)
    GRAFT_BLOB(FP32);
    GRAFT_BLOB(FP64);
    GRAFT_BLOB(FP16);
    GRAFT_BLOB(BF16);
    GRAFT_BLOB(I16);
    GRAFT_BLOB(U16);
    GRAFT_BLOB(U8);
    GRAFT_BLOB(BOOL);
    GRAFT_BLOB(I8);
    GRAFT_BLOB(I32);
    GRAFT_BLOB(U32);
    GRAFT_BLOB(I64);
    GRAFT_BLOB(U64);
#undef GRAFT_BLOB
    default: THROW_IE_EXCEPTION << "blobs of precision " << desc.getPrecision() << " are not supported";
  }
}

}  // namespace InferenceEngine
