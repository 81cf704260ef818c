# What all targets share, and the one way to make a part of the library.

add_library(graft_flags INTERFACE)
target_compile_options(graft_flags INTERFACE -Wall -Wextra -Wpedantic -Werror -Wno-missing-field-initializers -fno-math-errno)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # GCC 12 warns about string concatenation (bug 105651) and growing vectors (bug 105562) that are fine, and takes sources of
  # a unity batch for headers.
  target_compile_options(graft_flags INTERFACE -Wno-restrict -Wno-array-bounds -Wno-stringop-overflow -Wno-stringop-overread
                                               -Wno-subobject-linkage)
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  target_compile_options(graft_flags INTERFACE -Wno-deprecated-declarations)  # GCC 12's own std::stable_sort
endif()
# Index checks of the standard library: files decide what is indexed, and the cost cannot be measured.
target_compile_definitions(graft_flags INTERFACE _GLIBCXX_ASSERTIONS)
target_link_libraries(graft_flags INTERFACE Threads::Threads)
if(GRAFT_SANITIZE)
  target_compile_options(graft_flags INTERFACE -fsanitize=${GRAFT_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer -g1)
  target_link_options(graft_flags INTERFACE -fsanitize=${GRAFT_SANITIZE})
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    target_compile_options(graft_flags INTERFACE -Wno-maybe-uninitialized)  # wrong about instrumented code
  endif()
endif()

# Compiles the sources of a target several at once (GRAFT_UNITY): reading the headers, and compiling their inline functions,
# takes more than half of the time of a small source. Large batches are for sources that compile quickly by themselves.
function(graft_batches target size)
  set_target_properties(${target} PROPERTIES UNITY_BUILD ${GRAFT_UNITY} UNITY_BUILD_BATCH_SIZE ${size})
endfunction()

# For code that runs a few times for each model or command, never for each element: compiles in half of the time.
function(graft_cold)
  foreach(target IN LISTS ARGN)
    target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-Og>)
  endforeach()
endfunction()

# graft_part(FOLDER SOURCES... LINKS...): a folder of src as a static library that links only what stands before it. The
# target of devices/cpu is graft_devices_cpu.
function(graft_part folder)
  cmake_parse_arguments(PARSE_ARGV 1 part "" "" "SOURCES;LINKS")
  string(REPLACE "/" "_" name ${folder})
  add_library(graft_${name} STATIC ${part_SOURCES})
  target_include_directories(graft_${name} PUBLIC ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/include)
  target_link_libraries(graft_${name} PUBLIC ${part_LINKS} PRIVATE graft_flags)
  graft_batches(graft_${name} 16)
endfunction()

# graft_table(VARIABLE ENTRY PREFIX LIST): a source that enters definitions. ENTRY(host) collects PREFIX_<name>() for every
# name of the list; "a/b" is PREFIX_a_b in a/b.cpp. VARIABLE gets the sources: the table and the files.
function(graft_table variable entry prefix)
  set(declarations "")
  set(calls "")
  set(sources ${CMAKE_CURRENT_BINARY_DIR}/table.cpp)
  foreach(name IN LISTS ARGN)
    string(REPLACE "/" "_" symbol ${name})
    string(APPEND declarations "Definitions ${prefix}_${symbol}();\n")
    string(APPEND calls "  ops += ${prefix}_${symbol}();\n")
    list(APPEND sources ${name}.cpp)
  endforeach()
  file(CONFIGURE OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/table.cpp @ONLY CONTENT
"// Made by graft_table in cmake/GraftTargets.cmake.
#include <graft/extension.hpp>

namespace graft {
@declarations@
static Definitions @entry@_define() {
  Definitions ops;
@calls@  return ops;
}
const graft_extension* @entry@(const graft_host* h) {
  return enter<@entry@_define>(h, \"graft\", \"@PROJECT_VERSION@\");
}

}  // namespace graft
")
  set(${variable} ${sources} PARENT_SCOPE)
endfunction()
