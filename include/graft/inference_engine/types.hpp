// The plain types of the classic extension interface: status codes, exceptions, precisions, layouts.
#pragma once

#include <algorithm>
#include <cassert>
#include <cstdint>
#include <functional>
#include <iostream>
#include <map>
#include <memory>
#include <numeric>
#include <sstream>
#include <string>
#include <vector>

#define INFERENCE_ENGINE_API(TYPE) extern "C" TYPE
#define INFERENCE_ENGINE_API_CPP(TYPE) TYPE
#define INFERENCE_ENGINE_API_CLASS(TYPE) TYPE
#define INFERENCE_EXTENSION_API(TYPE) extern "C" TYPE
#define INFERENCE_ENGINE_DEPRECATED
#define IE_SUPPRESS_DEPRECATED_START
#define IE_SUPPRESS_DEPRECATED_END

#define THROW_IE_EXCEPTION throw InferenceEngine::details::InferenceEngineException(__FILE__, __LINE__)
#define IE_THROW(...) throw InferenceEngine::details::InferenceEngineException(__FILE__, __LINE__, #__VA_ARGS__)
#define IE_ASSERT(EXPRESSION) \
  if (!(EXPRESSION)) THROW_IE_EXCEPTION << "AssertionFailed: " << #EXPRESSION

// Visible, so that classes of users that derive from these need no attribute.
namespace [[gnu::visibility("default")]] InferenceEngine {

using SizeVector = std::vector<size_t>;

enum StatusCode : int {
  OK = 0,
  GENERAL_ERROR = -1,
  NOT_IMPLEMENTED = -2,
  NETWORK_NOT_LOADED = -3,
  PARAMETER_MISMATCH = -4,
  NOT_FOUND = -5,
  OUT_OF_BOUNDS = -6,
  UNEXPECTED = -7,
  REQUEST_BUSY = -8,
  RESULT_NOT_READY = -9,
  NOT_ALLOCATED = -10,
  INFER_NOT_STARTED = -11,
  NETWORK_NOT_READ = -12
};

struct ResponseDesc {
  char msg[4096] = {};
};

struct Version {
  struct {
    int major;
    int minor;
  } apiVersion;
  const char* buildNumber;
  const char* description;
};

union UserValue {
  int v_int;
  float v_float;
  void* v_ptr;
};

namespace details {

// The message is streamed into it: THROW_IE_EXCEPTION << "expected ..." << n.
class InferenceEngineException : public std::exception {
 public:
  InferenceEngineException(const std::string&, int, std::string kind = {}) : message_(std::move(kind)) {
    if (!message_.empty()) message_ = "[" + message_ + "] ";
  }
  explicit InferenceEngineException(std::string message) : message_(std::move(message)) {}
  template <class T>
  InferenceEngineException& operator<<(const T& part) {
    if constexpr (std::is_same_v<T, StatusCode>) {
      if (takes_status_) return takes_status_ = false, status_ = part, *this;
    }
    std::ostringstream out;
    out << part;
    message_ += out.str();
    return *this;
  }
  InferenceEngineException& operator<<(InferenceEngineException& (*manipulator)(InferenceEngineException&)) {
    return manipulator(*this);
  }
  friend InferenceEngineException& as_status(InferenceEngineException& e) { return e.takes_status_ = true, e; }
  const char* what() const noexcept override { return message_.c_str(); }
  bool hasStatus() const { return status_ != OK; }
  StatusCode getStatus() const { return status_; }

 private:
  std::string message_;
  StatusCode status_ = OK;
  bool takes_status_ = false;
};
InferenceEngineException& as_status(InferenceEngineException& e);

class IRelease {
 public:
  virtual ~IRelease() = default;
  virtual void Release() { delete this; }
};

}  // namespace details

using Exception = details::InferenceEngineException;

class Precision {
 public:
  enum ePrecision : uint8_t {
    UNSPECIFIED = 255,
    MIXED = 0,
    FP32 = 10,
    FP16 = 11,
    BF16 = 12,
    FP64 = 13,
    Q78 = 20,
    I16 = 30,
    U8 = 40,
    BOOL = 41,
    I8 = 50,
    U16 = 60,
    I32 = 70,
    BIN = 71,
    I64 = 72,
    U64 = 73,
    U32 = 74,
    CUSTOM = 80
  };

  Precision() = default;
  Precision(ePrecision value) : value_(value) {}

  operator ePrecision() const noexcept { return value_; }
  explicit operator bool() const noexcept { return value_ != UNSPECIFIED; }
  bool operator!() const noexcept { return value_ == UNSPECIFIED; }
  bool operator==(const Precision& p) const noexcept { return value_ == p.value_; }
  bool operator==(ePrecision p) const noexcept { return value_ == p; }
  bool operator!=(const Precision& p) const noexcept { return value_ != p.value_; }
  bool operator!=(ePrecision p) const noexcept { return value_ != p; }

  const char* name() const noexcept { return row().name; }
  // Bytes per element.
  size_t size() const {
    if (!row().bits) THROW_IE_EXCEPTION << "the precision " << name() << " has no element size";
    return std::max<size_t>(row().bits / 8, 1);
  }
  bool is_float() const noexcept { return value_ == FP32 || value_ == FP16 || value_ == BF16 || value_ == FP64; }
  template <class T>
  bool hasStorageType() const {
    return row().bits && size() == sizeof(T);
  }
  static Precision FromStr(const std::string& name) {
    for (const Row& r : rows())
      if (name == r.name) return r.value;
    return {};
  }

 private:
  struct Row {
    ePrecision value;
    const char* name;
    size_t bits;
  };
  [[gnu::visibility("hidden")]] static const std::vector<Row>& rows() {
    static const std::vector<Row> all{{UNSPECIFIED, "UNSPECIFIED", 0},
                                      {MIXED, "MIXED", 0},
                                      {FP32, "FP32", 32},
                                      {FP16, "FP16", 16},
                                      {BF16, "BF16", 16},
                                      {FP64, "FP64", 64},
                                      {Q78, "Q78", 16},
                                      {I16, "I16", 16},
                                      {U8, "U8", 8},
                                      {BOOL, "BOOL", 8},
                                      {I8, "I8", 8},
                                      {U16, "U16", 16},
                                      {I32, "I32", 32},
                                      {BIN, "BIN", 1},
                                      {I64, "I64", 64},
                                      {U64, "U64", 64},
                                      {U32, "U32", 32},
                                      {CUSTOM, "CUSTOM", 0}};
    return all;
  }
  const Row& row() const {
    for (const Row& r : rows())
      if (r.value == value_) return r;
    return rows()[0];
  }
  ePrecision value_ = UNSPECIFIED;
};

inline std::ostream& operator<<(std::ostream& out, const Precision& p) { return out << p.name(); }
inline std::ostream& operator<<(std::ostream& out, Precision::ePrecision p) { return out << Precision(p).name(); }

template <Precision::ePrecision>
struct PrecisionTrait;
#define GRAFT_PRECISION(NAME, TYPE)        \
  template <>                              \
  struct PrecisionTrait<Precision::NAME> { \
    using value_type = TYPE;               \
  }
GRAFT_PRECISION(FP32, float);
GRAFT_PRECISION(FP64, double);
GRAFT_PRECISION(FP16, int16_t);
GRAFT_PRECISION(BF16, int16_t);
GRAFT_PRECISION(Q78, uint16_t);
GRAFT_PRECISION(I16, int16_t);
GRAFT_PRECISION(U16, uint16_t);
GRAFT_PRECISION(U8, uint8_t);
GRAFT_PRECISION(BOOL, uint8_t);
GRAFT_PRECISION(I8, int8_t);
GRAFT_PRECISION(I32, int32_t);
GRAFT_PRECISION(U32, uint32_t);
GRAFT_PRECISION(I64, int64_t);
GRAFT_PRECISION(U64, uint64_t);
GRAFT_PRECISION(BIN, int8_t);
#undef GRAFT_PRECISION

// Packs up to four precisions into a number for `switch`.
constexpr uint32_t getPrecisionMask(Precision::ePrecision a, Precision::ePrecision b,
                                    Precision::ePrecision c = Precision::MIXED,
                                    Precision::ePrecision d = Precision::MIXED) {
  return static_cast<uint32_t>(a) | static_cast<uint32_t>(b) << 8 | static_cast<uint32_t>(c) << 16 |
         static_cast<uint32_t>(d) << 24;
}

enum Layout : uint8_t {
  ANY = 0,
  NCHW = 1,
  NHWC = 2,
  NCDHW = 3,
  NDHWC = 4,
  OIHW = 64,
  GOIHW = 65,
  OIDHW = 66,
  GOIDHW = 67,
  SCALAR = 95,
  C = 96,
  CHW = 128,
  HWC = 129,
  HW = 192,
  NC = 193,
  CN = 194,
  BLOCKED = 200
};

inline std::ostream& operator<<(std::ostream& out, const Layout& l) {
  constexpr std::pair<Layout, const char*> names[] = {
      {ANY, "ANY"},   {NCHW, "NCHW"},      {NHWC, "NHWC"},   {NCDHW, "NCDHW"},   {NDHWC, "NDHWC"},
      {OIHW, "OIHW"}, {GOIHW, "GOIHW"},    {OIDHW, "OIDHW"}, {GOIDHW, "GOIDHW"}, {SCALAR, "SCALAR"},
      {C, "C"},       {CHW, "CHW"},        {HWC, "HWC"},     {HW, "HW"},         {NC, "NC"},
      {CN, "CN"},     {BLOCKED, "BLOCKED"}};
  for (const auto& [layout, name] : names)
    if (layout == l) return out << name;
  return out << static_cast<int>(l);
}

// How elements lie in memory: block dims in the order of memory, and which logical axis each of them is a part of.
class BlockingDesc {
 public:
  BlockingDesc() = default;
  BlockingDesc(const SizeVector& dims, Layout layout) {
    if (layout == Layout::ANY) return;
    SizeVector order(dims.size());
    std::iota(order.begin(), order.end(), size_t{0});
    bool last = layout == Layout::NHWC || layout == Layout::NDHWC || layout == Layout::HWC;
    size_t channel = layout == Layout::HWC ? 0 : 1;
    if (last && dims.size() > channel)
      std::rotate(order.begin() + static_cast<ptrdiff_t>(channel), order.begin() + static_cast<ptrdiff_t>(channel) + 1,
                  order.end());
    if (layout == Layout::CN && dims.size() == 2) std::swap(order[0], order[1]);
    SizeVector blocks;
    for (size_t axis : order) blocks.push_back(dims[axis]);
    fill(blocks, order);
  }
  BlockingDesc(const SizeVector& blocks, const SizeVector& order) { fill(blocks, order); }
  BlockingDesc(const SizeVector& blocks, const SizeVector& order, size_t offset) : BlockingDesc(blocks, order) {
    offset_ = offset;
  }
  BlockingDesc(const SizeVector& blocks, const SizeVector& order, size_t offset, SizeVector dim_offsets)
      : BlockingDesc(blocks, order, offset) {
    if (dim_offsets.size() != blocks.size()) THROW_IE_EXCEPTION << "expected an offset for each block dimension";
    dim_offsets_ = std::move(dim_offsets);
  }
  BlockingDesc(const SizeVector& blocks, const SizeVector& order, size_t offset, SizeVector dim_offsets,
               SizeVector strides)
      : BlockingDesc(blocks, order, offset, std::move(dim_offsets)) {
    if (strides.size() != blocks.size()) THROW_IE_EXCEPTION << "expected a stride for each block dimension";
    strides_ = std::move(strides);
  }

  const SizeVector& getBlockDims() const { return blocks_; }
  const SizeVector& getOrder() const { return order_; }
  const SizeVector& getOffsetPaddingToData() const { return dim_offsets_; }
  size_t getOffsetPadding() const { return offset_; }
  const SizeVector& getStrides() const { return strides_; }
  bool operator==(const BlockingDesc& o) const = default;

 private:
  void fill(const SizeVector& blocks, const SizeVector& order) {
    if (blocks.size() != order.size()) THROW_IE_EXCEPTION << "expected as many block dimensions as axes in the order";
    blocks_ = blocks, order_ = order;
    dim_offsets_.assign(blocks.size(), 0);
    strides_.assign(blocks.size(), 1);
    for (size_t i = blocks.size(); i-- > 1;) strides_[i - 1] = strides_[i] * blocks[i];
  }
  SizeVector blocks_, strides_, order_, dim_offsets_;
  size_t offset_ = 0;
};

class TensorDesc {
 public:
  TensorDesc() = default;
  TensorDesc(const Precision& precision, SizeVector dims, Layout layout)
      : precision_(precision), dims_(std::move(dims)), layout_(layout), blocking_(dims_, layout) {}
  TensorDesc(const Precision& precision, Layout layout) : precision_(precision), layout_(layout) {}
  TensorDesc(const Precision& precision, SizeVector dims, const BlockingDesc& blocking)
      : precision_(precision), dims_(std::move(dims)), blocking_(blocking) {
    layout_ = Layout::BLOCKED;
    for (Layout l : {getLayoutByDims(dims_), Layout::NHWC, Layout::NDHWC})
      if (bool fits = l == Layout::NHWC ? dims_.size() == 4 : l != Layout::NDHWC || dims_.size() == 5;
          fits && BlockingDesc(dims_, l).getOrder() == blocking_.getOrder() &&
          BlockingDesc(dims_, l).getBlockDims() == blocking_.getBlockDims()) {
        layout_ = l;
        break;
      }
  }

  void reshape(const SizeVector& dims, Layout layout = Layout::ANY) {
    dims_ = dims;
    if (layout != Layout::ANY) layout_ = layout;
    blocking_ = BlockingDesc(dims_, layout_);
  }
  void reshape(const SizeVector& dims, const BlockingDesc& blocking) { *this = TensorDesc(precision_, dims, blocking); }

  SizeVector& getDims() { return dims_; }
  const SizeVector& getDims() const noexcept { return dims_; }
  void setDims(const SizeVector& dims) {
    if (layout_ == Layout::BLOCKED || dims.size() != dims_.size()) layout_ = getLayoutByDims(dims);
    dims_ = dims, blocking_ = BlockingDesc(dims_, layout_);
  }
  Layout getLayout() const { return layout_; }
  void setLayout(Layout l) { layout_ = l, blocking_ = BlockingDesc(dims_, l); }
  const Precision& getPrecision() const { return precision_; }
  void setPrecision(const Precision& p) { precision_ = p; }
  const BlockingDesc& getBlockingDesc() const { return blocking_; }
  bool operator==(const TensorDesc& o) const {
    return precision_ == o.precision_ && dims_ == o.dims_ && layout_ == o.layout_ && blocking_ == o.blocking_;
  }

  // Where the element at a logical position lies, in elements.
  size_t offset(const SizeVector& position) const {
    if (layout_ == Layout::ANY) THROW_IE_EXCEPTION << "a tensor of layout ANY has no offsets";
    const SizeVector &blocks = blocking_.getBlockDims(), &order = blocking_.getOrder();
    SizeVector rest = position;
    size_t at = blocking_.getOffsetPadding();
    for (size_t i = order.size(); i-- > 0;) {
      // The first block of an axis takes all that is left of its index.
      bool first = std::find(order.begin(), order.begin() + static_cast<ptrdiff_t>(i), order[i]) ==
                   order.begin() + static_cast<ptrdiff_t>(i);
      size_t index = first ? rest[order[i]] : rest[order[i]] % blocks[i];
      rest[order[i]] = first ? 0 : rest[order[i]] / blocks[i];
      at += (index + blocking_.getOffsetPaddingToData()[i]) * blocking_.getStrides()[i];
    }
    return at;
  }
  // The same for the logical position number `l`, the last axis counting fastest.
  size_t offset(size_t l) const {
    SizeVector position(dims_.size());
    for (size_t i = dims_.size(); i-- > 0;) position[i] = l % dims_[i], l /= dims_[i];
    return offset(position);
  }
  static Layout getLayoutByDims(const SizeVector& dims) {
    constexpr Layout by_rank[] = {Layout::SCALAR, Layout::C, Layout::NC, Layout::CHW, Layout::NCHW, Layout::NCDHW};
    return dims.size() < std::size(by_rank) ? by_rank[dims.size()] : Layout::BLOCKED;
  }

 private:
  Precision precision_;
  SizeVector dims_;
  Layout layout_ = Layout::ANY;
  BlockingDesc blocking_;
};

}  // namespace InferenceEngine
