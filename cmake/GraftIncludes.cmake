# The include rules of ARCHITECTURE.md's folder table, checked in every build where a source has changed.
find_package(Python3 COMPONENTS Interpreter)
if(Python3_FOUND)
  file(GLOB_RECURSE checked ${PROJECT_SOURCE_DIR}/include/*.h* ${PROJECT_SOURCE_DIR}/src/*.cpp ${PROJECT_SOURCE_DIR}/src/*.hpp
    ${PROJECT_SOURCE_DIR}/cli/*.cpp ${PROJECT_SOURCE_DIR}/cli/*.hpp)
  set(script ${PROJECT_SOURCE_DIR}/scripts/check_includes.py)
  set(stamp ${PROJECT_BINARY_DIR}/includes.checked)
  add_custom_command(OUTPUT ${stamp} VERBATIM COMMENT "Checking includes against the folder table"
    COMMAND Python3::Interpreter ${script} --quiet COMMAND ${CMAKE_COMMAND} -E touch ${stamp}
    DEPENDS ${checked} ${script} ${PROJECT_SOURCE_DIR}/ARCHITECTURE.md ${PROJECT_SOURCE_DIR}/src/CMakeLists.txt)
  add_custom_target(graft_includes ALL DEPENDS ${stamp})
endif()
