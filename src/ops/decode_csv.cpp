#include "number_text.hpp"
#include "strings.hpp"

namespace graft {
namespace {

struct DecodeCsv {
  std::string field_delim = ",", na_value;
  bool use_quote_delim = true;
  std::vector<int64_t> select_cols;
  static constexpr std::tuple schema{
      attr("field_delim", &DecodeCsv::field_delim, "the character between fields"),
      attr("use_quote_delim", &DecodeCsv::use_quote_delim,
           "whether \" begins and ends a field that may hold other delimiters"),
      attr("na_value", &DecodeCsv::na_value, "text that is taken as an empty field"),
      attr("select_cols", &DecodeCsv::select_cols, "columns to decode, ascending; all if empty").at_least(0)};
};

void decode_csv_infer(Infer& ctx, const DecodeCsv& a) {
  strings_expect(ctx);
  size_t fields = ctx.inputs() - 1;
  if (ctx.outputs() != fields) fail("expected one default per field (", ctx.outputs(), "), got ", fields);
  if (a.field_delim.size() != 1) fail("expected a field_delim of one character, got '", a.field_delim, "'");
  if (!a.select_cols.empty() && a.select_cols.size() != fields)
    fail("expected ", fields, " columns in select_cols, one per field, got ", a.select_cols.size());
  for (size_t i = 1; i < a.select_cols.size(); ++i)
    if (a.select_cols[i] <= a.select_cols[i - 1]) fail("expected ascending select_cols, got ", a.select_cols);
  for (size_t i = 0; i < fields; ++i) {
    DType t = ctx.type(i + 1);
    if (t != DType::f32 && t != DType::f64 && t != DType::i32 && t != DType::i64 && t != DType::string &&
        t != DType::undefined)
      fail("expected fields of type f32, f64, i32, i64 or string, got ", t);
    if (Dim n = ctx.shape(i + 1).elements(); !n.can_be(0) && !n.can_be(1))
      fail("expected at most one default for field ", i, ", got ", n);
    ctx.output(i, t, ctx.shape(0));
  }
}

// The fields of one line, as RFC 4180 describes them; line breaks are allowed in quotes, and skipped before a field.
class CsvLine {
 public:
  CsvLine(std::string_view line, const DecodeCsv& a)
      : s_(line), delimiter_(a.field_delim.at(0)), quotes_(a.use_quote_delim) {}
  std::vector<std::string> fields() {
    std::vector<std::string> out;
    bool more = !s_.empty();
    while (more) {
      while (at_ < s_.size() && is_break(s_[at_])) ++at_;
      if (at_ == s_.size() && (out.empty() || s_.back() != delimiter_)) break;
      out.push_back(quotes_ && at_ < s_.size() && s_[at_] == '"' ? quoted() : plain());
      more = at_ < s_.size();
      if (more) ++at_;  // the delimiter; an empty field may follow
    }
    return out;
  }

 private:
  static bool is_break(char c) { return c == '\n' || c == '\r'; }
  std::string plain() {
    size_t end = std::min(s_.find(delimiter_, at_), s_.size());
    std::string_view field = s_.substr(at_, end - at_);
    if (field.find_first_of(quotes_ ? "\"\r\n" : "\r\n") != field.npos)
      fail("expected quotes around a field with quotes or line breaks, got '", field, "'");
    at_ = end;
    return std::string(field);
  }
  std::string quoted() {
    std::string out;
    for (++at_; at_ < s_.size(); ++at_) {
      if (s_[at_] != '"') out += s_[at_];
      else if (at_ + 1 < s_.size() && s_[at_ + 1] == '"') out += s_[at_++];
      else break;
    }
    if (at_ == s_.size()) fail("expected a quote at the end of the field '", out, "'");
    ++at_;
    if (at_ < s_.size() && s_[at_] != delimiter_) fail("expected a delimiter behind the quoted field '", out, "'");
    return out;
  }
  std::string_view s_;
  char delimiter_;
  bool quotes_;
  size_t at_ = 0;
};

// One output: the field of each record, or its default.
class CsvColumn {
 public:
  CsvColumn(Run& ctx, size_t field)
      : ctx_(ctx), field_(field), fallback_(ctx.input(field + 1)), y_(ctx.output(field)) {}
  void set(int64_t record, const std::string& text, const std::string& none) {
    bool empty = text.empty() || text == none;
    if (empty && fallback_.size() == 0)
      fail("expected a value of field ", field_, ", which has no default, in record ", record);
    if (y_.type() == DType::string) ctx_.store(y_, record, empty ? string_of(fallback_, 0) : std::string_view(text));
    else if (y_.type() == DType::f32) number<float>(record, text, empty);
    else if (y_.type() == DType::f64) number<double>(record, text, empty);
    else if (y_.type() == DType::i32) number<int32_t>(record, text, empty);
    else number<int64_t>(record, text, empty);
  }

 private:
  template <class T>
  void number(int64_t record, const std::string& text, bool empty) {
    std::optional<T> v = empty ? fallback_.data<T>()[0] : number_from<T>(text);
    if (!v)
      fail("expected a number of type ", y_.type(), " in field ", field_, " of record ", record, ", got '", text, "'");
    y_.data<T>()[record] = *v;
  }
  Run& ctx_;
  size_t field_;
  TensorView fallback_;
  OutputView y_;
};

void decode_csv_run(Run& ctx, const DecodeCsv& a) {
  TensorView x = ctx.input(0);
  std::vector<CsvColumn> columns;
  for (size_t i = 0; i < ctx.outputs(); ++i) columns.emplace_back(ctx, i);
  for (int64_t r = 0; r < x.size(); ++r) {
    std::vector<std::string> fields = CsvLine(string_of(x, r), a).fields();
    if (a.select_cols.empty() && fields.size() != columns.size())
      fail("expected as many fields as defaults (", columns.size(), ") in record ", r, ", got ", fields.size());
    for (size_t i = 0; i < columns.size(); ++i) {
      size_t from = a.select_cols.empty() ? i : static_cast<size_t>(a.select_cols[i]);
      if (from >= fields.size())
        fail("expected column ", from, " in record ", r, ", which has ", fields.size(), " fields");
      columns[i].set(r, fields[from], a.na_value);
    }
  }
}

std::vector<Value> tf_decode_csv(Builder& layer) {
  std::vector<Value> inputs;
  for (size_t i = 0; i < layer.inputs(); ++i) inputs.push_back(layer.input(i));
  layer.has("OUT_TYPE");  // those of the defaults
  if (inputs.size() < 2) fail("expected records and at least one default, got ", inputs.size(), " inputs");
  return layer.make("DecodeCSV@graft", inputs,
                    {{"field_delim", layer.get<std::string>("field_delim", ",")},
                     {"na_value", layer.get<std::string>("na_value", "")},
                     {"use_quote_delim", layer.get<bool>("use_quote_delim", true)},
                     {"select_cols", layer.get<std::vector<int64_t>>("select_cols", {})}},
                    inputs.size() - 1, {});
}

}  // namespace

Definitions define_decode_csv() {
  return op<DecodeCsv>("DecodeCSV", "graft")
      .doc(
          "The fields of lines of comma-separated values, one output per field; a default without elements requires a "
          "value")
      .inputs("records, record_defaults...")
      .outputs("fields...")
      .infer(decode_csv_infer)
      .linear()
      .reference(decode_csv_run)
      .import(tensorflow("DecodeCSV").expand(tf_decode_csv));
}

}  // namespace graft
