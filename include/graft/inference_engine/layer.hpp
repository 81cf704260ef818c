// A layer of the classic extension interface: its parameters as strings, its inputs, outputs and weights.
#pragma once

#include <charconv>

#include "blob.hpp"

namespace [[gnu::visibility("default")]] InferenceEngine {

class CNNLayer;
using CNNLayerPtr = std::shared_ptr<CNNLayer>;
using CNNLayerWeakPtr = std::weak_ptr<CNNLayer>;

// A value between layers: its name, type and shape.
class Data {
 public:
  Data(const std::string& name, const TensorDesc& desc) : name_(name), desc_(desc) {}
  Data(const std::string& name, const SizeVector& dims, Precision precision, Layout layout = Layout::NCHW)
      : Data(name, TensorDesc(precision, dims, layout)) {}

  const std::string& getName() const { return name_; }
  void setName(const std::string& name) { name_ = name; }
  const TensorDesc& getTensorDesc() const { return desc_; }
  const Precision& getPrecision() const { return desc_.getPrecision(); }
  void setPrecision(const Precision& p) { desc_.setPrecision(p); }
  const SizeVector& getDims() const { return desc_.getDims(); }
  void setDims(const SizeVector& dims) { desc_.setDims(dims); }
  Layout getLayout() const { return desc_.getLayout(); }
  void setLayout(Layout l) { desc_.setLayout(l); }
  void reshape(const SizeVector& dims, Layout layout) { desc_.reshape(dims, layout); }
  bool isInitialized() const { return true; }
  // Of a constant input: a layer of type "Const" with the blob "custom". Other values have none.
  CNNLayerWeakPtr& getCreatorLayer() { return creator_; }
  std::map<std::string, CNNLayerPtr>& getInputTo() { return readers_; }

 private:
  std::string name_;
  TensorDesc desc_;
  CNNLayerWeakPtr creator_;
  std::map<std::string, CNNLayerPtr> readers_;
};
using DataPtr = std::shared_ptr<Data>;
using DataWeakPtr = std::weak_ptr<Data>;

struct LayerParams {
  std::string name;
  std::string type;
  Precision precision;
};

class CNNLayer {
 public:
  using Ptr = std::shared_ptr<CNNLayer>;

  std::string name;
  std::string type;
  Precision precision;
  std::vector<DataPtr> outData;
  std::vector<DataWeakPtr> insData;
  Ptr _fusedWith;
  UserValue userValue{};
  std::string affinity;
  std::map<std::string, std::string> params;
  std::map<std::string, Blob::Ptr> blobs;

  explicit CNNLayer(const LayerParams& p) : name(p.name), type(p.type), precision(p.precision) {}
  CNNLayer(const CNNLayer&) = default;
  virtual ~CNNLayer() = default;

  virtual const DataPtr input() const {
    DataPtr first = insData.empty() ? nullptr : insData[0].lock();
    if (!first) THROW_IE_EXCEPTION << "layer " << name << " has no inputs";
    return first;
  }

  // ---- parameters; those with a default return it when the parameter is absent or empty ----
  bool CheckParamPresence(const char* param) const { return params.count(param) > 0; }
  std::string GetParamAsString(const char* param) const {
    auto it = params.find(param);
    if (it == params.end()) THROW_IE_EXCEPTION << "No such parameter name '" << param << "' for layer " << name;
    return it->second;
  }
  std::string GetParamAsString(const char* param, const char* def) const { return given(param) ? *given(param) : def; }
  float GetParamAsFloat(const char* param) const { return number<float>(param, GetParamAsString(param)); }
  float GetParamAsFloat(const char* param, float def) const { return or_default(param, def); }
  int GetParamAsInt(const char* param) const { return number<int>(param, GetParamAsString(param)); }
  int GetParamAsInt(const char* param, int def) const { return or_default(param, def); }
  unsigned int GetParamAsUInt(const char* param) const { return number<unsigned int>(param, GetParamAsString(param)); }
  unsigned int GetParamAsUInt(const char* param, unsigned int def) const { return or_default(param, def); }
  size_t GetParamAsSizeT(const char* param) const { return number<size_t>(param, GetParamAsString(param)); }
  size_t GetParamAsSizeT(const char* param, size_t def) const { return or_default(param, def); }
  bool GetParamAsBool(const char* param) const { return truth(param, GetParamAsString(param)); }
  bool GetParamAsBool(const char* param, bool def) const { return given(param) ? truth(param, *given(param)) : def; }
  bool GetParamsAsBool(const char* param, bool def) const { return GetParamAsBool(param, def); }

  std::vector<float> GetParamAsFloats(const char* param) const { return list<float>(param); }
  std::vector<float> GetParamAsFloats(const char* param, std::vector<float> def) const {
    return given(param) ? list<float>(param) : def;
  }
  std::vector<int> GetParamAsInts(const char* param) const { return list<int>(param); }
  std::vector<int> GetParamAsInts(const char* param, std::vector<int> def) const {
    return given(param) ? list<int>(param) : def;
  }
  std::vector<unsigned int> GetParamAsUInts(const char* param) const { return list<unsigned int>(param); }
  std::vector<unsigned int> GetParamAsUInts(const char* param, std::vector<unsigned int> def) const {
    return given(param) ? list<unsigned int>(param) : def;
  }
  std::vector<std::string> GetParamAsStrings(const char* param, std::vector<std::string> def) const {
    return given(param) ? words(*given(param)) : def;
  }

 private:
  const std::string* given(const char* param) const {
    auto it = params.find(param);
    return it == params.end() || it->second.empty() ? nullptr : &it->second;
  }
  template <class T>
  T or_default(const char* param, T def) const {
    return given(param) ? number<T>(param, *given(param)) : def;
  }
  template <class T>
  T number(const char* param, const std::string& text) const {
    T value{};
    const char *begin = text.data(), *end = begin + text.size();
    while (begin != end && (*begin == ' ' || *begin == '+')) ++begin;
    auto [stop, error] = std::from_chars(begin, end, value);
    while (stop != end && *stop == ' ') ++stop;
    if (error == std::errc() && stop == end) return value;
    // "2.0" is an integer too: typed attributes of a model are written as numbers.
    if constexpr (std::is_integral_v<T>)
      if (double wide = 0;
          std::from_chars(begin, end, wide).ptr == end && wide == static_cast<double>(static_cast<T>(wide)))
        return static_cast<T>(wide);
    THROW_IE_EXCEPTION << "Cannot parse parameter " << param << " from IR for layer " << name << ". Value " << text
                       << " cannot be casted to " << (std::is_integral_v<T> ? "int." : "float.");
  }
  bool truth(const char* param, std::string text) const {
    for (char& c : text) c = static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
    if (text == "true" || text == "false") return text == "true";
    return number<int>(param, text) != 0;
  }
  template <class T>
  std::vector<T> list(const char* param) const {
    std::vector<T> out;
    for (const std::string& word : words(GetParamAsString(param))) out.push_back(number<T>(param, word));
    return out;
  }
  static std::vector<std::string> words(const std::string& text) {
    std::vector<std::string> out;
    std::istringstream in(text);
    for (std::string word; std::getline(in, word, ',');) out.push_back(word);
    return out;
  }
};
using GenericLayer = CNNLayer;

// A layer with weights; `blobs` has the same ones by name.
class WeightableLayer : public CNNLayer {
 public:
  using CNNLayer::CNNLayer;
  Blob::Ptr _weights;
  Blob::Ptr _biases;
};

}  // namespace InferenceEngine
