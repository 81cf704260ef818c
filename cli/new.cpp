#include "command.hpp"
namespace graft::cli { void add_new(CLI::App&) {} }
