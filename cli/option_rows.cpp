#include "option_rows.hpp"

namespace graft::cli {

void add_list(CLI::App& app, const std::string& names, std::vector<std::string>& to, const std::string& help,
              const char* notation, const char* group) {
  app.add_option_function<std::vector<std::string>>(
         names,
         [&to](const std::vector<std::string>& given) {
           for (const std::string& list : given)
             for (std::string_view item : split(list, ','))
               if (!trim(item).empty()) to.emplace_back(trim(item));
         },
         help)
      ->type_name(notation)
      ->group(group)
      ->allow_extra_args(false);
}

}  // namespace graft::cli
