#include "utterances.hpp"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <graft/app/archives.hpp>

#include "terminal.hpp"

namespace graft::cli {
namespace {

// A value per utterance or, from another file, one for all of them.
struct UtteranceInput {
  size_t port = 0;
  std::string name;
  std::optional<ArchiveReader> table;
  Tensor fixed;
  bool leads = false;  // its utterances are run, in their order
};

// Rows `from` to `from` + `count` of a matrix; the first and the last row are repeated where it has none.
Tensor rows_of(const Tensor& t, int64_t from, int64_t count) {
  int64_t rows = t.dims()[0], columns = t.dims()[1];
  Tensor out(DType::f32, {count, columns});
  for (int64_t r = 0; r < count; ++r)
    std::copy_n(t.data<float>() + std::clamp<int64_t>(from + r, 0, rows - 1) * columns, columns,
                out.data<float>() + r * columns);
  return out;
}

// The results of the chunks of an utterance, one row per frame.
class JoinedRows {
 public:
  // Without the first `skip` rows, and without those behind the last frame.
  void add(const Tensor& t, const std::string& name, int64_t rows, int64_t skip, int64_t frames) {
    if (t.dims().size() != 2 || t.dims()[0] != rows)
      throw Error(ErrorKind::user, text("output '", name, "': expected a row per frame of the chunk, ", rows, ", got ",
                                        Shape::of(t.dims())));
    columns_ = t.dims()[1];
    Tensor same = t.to(DType::f32);
    for (int64_t r = skip; r < rows && rows_ < frames; ++r, ++rows_)
      values_.insert(values_.end(), same.data<float>() + r * columns_, same.data<float>() + (r + 1) * columns_);
  }
  Tensor take() {
    Tensor out(DType::f32, {rows_, columns_});
    std::copy(values_.begin(), values_.end(), out.data<float>());
    return out;
  }

 private:
  std::vector<float> values_;
  int64_t rows_ = 0, columns_ = 0;
};

class UtteranceRun {
 public:
  UtteranceRun(CompiledModel& compiled, const std::vector<Group>& selected, const UtteranceOptions& o)
      : selected_(selected), o_(o), ports_(compiled.inputs()), request_(compiled.create_infer_request()) {
    for (const std::string& argument : o.inputs) add_input(argument, compiled);
    std::vector<bool> given(ports_.size(), false);
    for (const UtteranceInput& in : inputs_) {
      if (given[in.port]) throw UsageError(text("input '", in.name, "' has more than one value"));
      given[in.port] = true;
    }
    for (size_t i = 0; i < ports_.size(); ++i)
      if (!given[i])
        throw UsageError(text("no value for input '", ports_[i].any_name(), "'"),
                         text("add --input ", quoted_for_shell(ports_[i].any_name()), "=ark:FILE"));
    check_chunk();
    for (const TableArgument& t : o.outputs) writers_.emplace_back(output_of(t.name), ArchiveWriter(t.table));
  }

  void run() {
    UtteranceInput& lead = *std::find_if(inputs_.begin(), inputs_.end(), [](const auto& i) { return i.leads; });
    begin_ = std::chrono::steady_clock::now();
    while (lead.table->next()) {
      std::string key = lead.table->key();
      ++count_;
      try {
        one(key);
      } catch (const Error& e) {
        if (e.kind() == ErrorKind::internal) throw;
        ++failed_;
        clear_progress();
        warn(text("utterance '", key, "' failed: ", e.what()));
      }
      progress();
    }
    clear_progress();
    for (auto& [group, writer] : writers_) writer.close();
    log(LogLevel::info, text("ran ", count_, count_ == 1 ? " utterance" : " utterances", ", ", frames_, " frames"));
    if (!count_) throw Error(ErrorKind::user, "the table has no utterances");
    if (failed_)
      throw Error(ErrorKind::user,
                  text(failed_, " of ", count_, count_ == 1 ? " utterance" : " utterances", " failed"));
  }

 private:
  void add_input(const std::string& argument, CompiledModel& compiled) {
    UtteranceInput in;
    std::optional<TableArgument> t = TableArgument::parse(argument);
    size_t equals = argument.find('=');
    in.name = t ? t->name : equals == argument.npos ? "" : argument.substr(0, equals);
    in.port = in.name.empty() ? inputs_.size() : as_usage([&] { return find_input(in.name); });
    if (in.port >= ports_.size()) throw UsageError(text("expected at most ", ports_.size(), " inputs, got more"));
    if (in.name.empty()) in.name = ports_[in.port].any_name();
    if (t) {
      in.table.emplace(t->table, o_.limits);
      in.leads = std::none_of(inputs_.begin(), inputs_.end(), [](const auto& i) { return i.leads; });
    } else {
      InputOptions one;
      one.given = {argument};
      one.limits = o_.limits;
      Group g = compiled.input_groups().at(in.port);
      std::vector<Datum> values = make_inputs(one, {g}, ports_);
      in.fixed = values.at(0).value;
    }
    inputs_.push_back(std::move(in));
  }

  size_t find_input(const std::string& name) const {
    if (auto port = position_of(ports_, name)) return *port;
    std::vector<std::string> names;
    for (const Port& p : ports_) names.push_back(p.any_name());
    throw UsageError(text("the model has no input '", name, "'"), text("inputs: ", join(names, ", ")));
  }
  const Group& output_of(const std::string& name) const {
    for (const Group& g : selected_)
      if (g.name == name) return g;
    throw UsageError(text("the model has no output '", name, "'"));
  }

  Tensor value_of(UtteranceInput& in, const std::string& key) {
    if (!in.table) return in.fixed;
    Tensor t = in.leads ? in.table->value() : in.table->find(key);
    if (!t) throw Error(ErrorKind::user, text("the table of input '", in.name, "' has no such utterance"));
    const Shape& s = ports_[in.port].shape;
    // An i-vector is a vector in its table and a matrix with one row in the model.
    if (t.dims().size() == 1 && s.ranked() && s.rank() == 2) t = t.reshaped({1, t.dims()[0]});
    return t.to(ports_[in.port].type == DType::undefined ? DType::f32 : ports_[in.port].type);
  }

  void one(const std::string& key) {
    std::vector<Tensor> values;
    for (UtteranceInput& in : inputs_) {
      values.push_back(value_of(in, key));
      if (in.leads && !values.back().dims().empty()) frames_ += values.back().dims()[0];
    }
    request_.reset_state();
    std::vector<Group> chosen;
    for (auto& [group, writer] : writers_) chosen.push_back(group);
    if (writers_.empty()) chosen = selected_;
    std::vector<Tensor> results = o_.streaming ? in_chunks(values, chosen) : whole(values, chosen);
    for (size_t i = 0; i < writers_.size(); ++i) writers_[i].second.write(key, results[i]);
    if (!writers_.empty() || o_.quiet) return;
    for (size_t i = 0; i < chosen.size(); ++i)
      std::printf("%s  %s  %s\n", key.c_str(), chosen[i].name.c_str(), text(results[i].info()).c_str());
  }

  std::vector<Tensor> whole(const std::vector<Tensor>& values, const std::vector<Group>& chosen) {
    for (size_t i = 0; i < inputs_.size(); ++i) {
      const Port& port = ports_[inputs_[i].port];
      if (!port.takes(values[i].dims()))
        throw Error(ErrorKind::user, text("input '", inputs_[i].name, "': expected shape ", port.shape, ", got ",
                                          Shape::of(values[i].dims())));
      request_.set_input_tensor(inputs_[i].port, values[i]);
    }
    request_.infer();
    std::vector<Tensor> out;
    for (const Group& g : chosen)
      out.push_back(gathered(g, [&](size_t port) { return request_.get_output_tensor(port); }).value);
    return out;
  }

  // Feeds the utterance with its context, chunk by chunk, and joins the results.
  std::vector<Tensor> in_chunks(const std::vector<Tensor>& values, const std::vector<Group>& chosen) {
    auto is_lead = [](const UtteranceInput& in) { return in.leads; };
    auto lead = static_cast<size_t>(std::find_if(inputs_.begin(), inputs_.end(), is_lead) - inputs_.begin());
    const std::vector<int64_t>& dims = values[lead].dims();
    if (dims.size() != 2 || dims[0] < 1)
      throw Error(ErrorKind::user, text("input '", inputs_[lead].name,
                                        "': expected a matrix with a row per frame, got shape ", Shape::of(dims)));
    auto [left, right] = *o_.streaming;
    int64_t frames = dims[0], all = left + frames + right, fixed = fixed_rows(lead),
            size = fixed      ? fixed
                   : o_.chunk ? o_.chunk
                              : all;
    std::vector<JoinedRows> joined(chosen.size());
    for (int64_t at = 0; at < all; at += size) {
      int64_t rows = fixed ? fixed : std::min(size, all - at);
      std::vector<Tensor> parts = values;
      for (size_t i = 0; i < values.size(); ++i)
        if (i == lead || (values[i].dims().size() == 2 && values[i].dims()[0] == frames && fixed_rows(i) == fixed))
          parts[i] = rows_of(values[i], at - left, rows);
      std::vector<Tensor> results = whole(parts, chosen);
      for (size_t i = 0; i < results.size(); ++i)
        joined[i].add(results[i], chosen[i].name, rows, std::max<int64_t>(left + right - at, 0), frames);
    }
    std::vector<Tensor> out;
    for (JoinedRows& j : joined) out.push_back(j.take());
    return out;
  }

  // The number of rows that an input requires; 0: any.
  int64_t fixed_rows(size_t input) const {
    const Shape& s = ports_[inputs_[input].port].shape;
    return s.ranked() && s.rank() == 2 && s[0].known() ? s[0].value() : 0;
  }
  void check_chunk() const {
    for (size_t i = 0; i < inputs_.size(); ++i)
      if (int64_t rows = fixed_rows(i); inputs_[i].leads && o_.chunk && rows && rows != o_.chunk)
        throw UsageError(text("--chunk ", o_.chunk, ": input '", inputs_[i].name, "' takes ", rows, " frames"));
  }

  bool shows_progress() const { return !o_.quiet && ::isatty(STDERR_FILENO); }
  void progress() {
    if (!shows_progress()) return;
    auto now = std::chrono::steady_clock::now();
    if (now - shown_ < std::chrono::milliseconds(100)) return;
    shown_ = now;
    double seconds = std::chrono::duration<double>(now - begin_).count();
    std::fprintf(raw_stderr(), "\r%zu utterances, %lld frames, %.0f frames/s", count_, static_cast<long long>(frames_),
                 static_cast<double>(frames_) / std::max(seconds, 1e-9));
    std::fflush(raw_stderr());
  }
  void clear_progress() const {
    if (shows_progress()) std::fprintf(raw_stderr(), "\r\x1b[K");
  }

  const std::vector<Group>& selected_;
  const UtteranceOptions& o_;
  std::vector<Port> ports_;
  InferRequest request_;
  std::vector<UtteranceInput> inputs_;
  std::vector<std::pair<Group, ArchiveWriter>> writers_;
  size_t count_ = 0, failed_ = 0;
  int64_t frames_ = 0;
  std::chrono::steady_clock::time_point begin_, shown_;
};

}  // namespace

std::optional<TableArgument> TableArgument::parse(const std::string& argument) {
  if (is_archive_name(argument)) return TableArgument{"", argument};
  // The name ends before a table; it may contain '='.
  for (size_t at = argument.find('='); at != argument.npos; at = argument.find('=', at + 1))
    if (is_archive_name(std::string_view(argument).substr(at + 1)))
      return TableArgument{argument.substr(0, at), argument.substr(at + 1)};
  return std::nullopt;
}

void run_utterances(CompiledModel& compiled, const std::vector<Group>& selected, const UtteranceOptions& options) {
  UtteranceRun(compiled, selected, options).run();
}

}  // namespace graft::cli
