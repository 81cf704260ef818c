// The log lines of --log_level INFO and DEBUG about reading and importing a model.
#pragma once

#include "base/log.hpp"
#include "import/importer.hpp"

namespace graft {

void log_read(const RawModel& raw, const StepTime& time);
void log_imported(const Graph& graph, const ImportReport& report, const StepTime& time);

}  // namespace graft
