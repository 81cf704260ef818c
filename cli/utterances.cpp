#include "utterances.hpp"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <graft/archives.hpp>

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
    for (UtteranceInput& in : inputs_) {
      Tensor t = value_of(in, key);
      if (in.leads && !t.dims().empty()) frames_ += t.dims()[0];
      if (!ports_[in.port].takes(t.dims()))
        throw Error(ErrorKind::user, text("input '", in.name, "': expected shape ", ports_[in.port].shape, ", got ",
                                          Shape::of(t.dims())));
      request_.set_input_tensor(in.port, t);
    }
    request_.reset_state();
    request_.infer();
    for (auto& [group, writer] : writers_) {
      Datum d = gathered(group, [&](size_t port) { return request_.get_output_tensor(port); });
      writer.write(key, d.value);
    }
    if (!writers_.empty() || o_.quiet) return;
    for (const Group& g : selected_) {
      Datum d = gathered(g, [&](size_t port) { return request_.get_output_tensor(port); });
      std::printf("%s  %s  %s\n", key.c_str(), g.name.c_str(), text(d.value.info()).c_str());
    }
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
