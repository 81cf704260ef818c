// Memory that work leaves allocated each time it is done.
#pragma once

#include <cstdint>
#include <functional>

namespace graft::testing {

// The number of blocks that every round leaves; 0: none. What only the first rounds keep, such as tables, is no leak.
// `live` gives the number of blocks that the process has.
int64_t blocks_left(int64_t (*live)(), const std::function<void()>& work);

}  // namespace graft::testing
