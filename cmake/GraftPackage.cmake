# The package that extensions and applications find: one for the build tree, one to be installed.
include(CMakePackageConfigHelpers)
include(GNUInstallDirs)

set(GRAFT_INCLUDE_DIR ${PROJECT_SOURCE_DIR}/include)
set(GRAFT_LIBRARY ${CMAKE_LIBRARY_OUTPUT_DIRECTORY}/libgraft.so)
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/GraftConfig.cmake.in ${PROJECT_BINARY_DIR}/cmake/GraftConfig.cmake
  INSTALL_DESTINATION ${PROJECT_BINARY_DIR}/cmake INSTALL_PREFIX ${PROJECT_BINARY_DIR} PATH_VARS GRAFT_INCLUDE_DIR GRAFT_LIBRARY)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/cmake/GraftConfigVersion.cmake COMPATIBILITY SameMajorVersion)

set(GRAFT_INCLUDE_DIR ${CMAKE_INSTALL_INCLUDEDIR})
set(GRAFT_LIBRARY ${CMAKE_INSTALL_LIBDIR}/libgraft.so)
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/GraftConfig.cmake.in ${PROJECT_BINARY_DIR}/install/GraftConfig.cmake
  INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/Graft PATH_VARS GRAFT_INCLUDE_DIR GRAFT_LIBRARY)
install(FILES ${PROJECT_BINARY_DIR}/install/GraftConfig.cmake ${PROJECT_BINARY_DIR}/cmake/GraftConfigVersion.cmake
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/Graft)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/graft DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
# For `graft --include-dir`, which looks beside the program's folder.
file(CREATE_LINK ${PROJECT_SOURCE_DIR}/include ${PROJECT_BINARY_DIR}/include SYMBOLIC)
# What the guides use of $GRAFT_SOURCE.
install(DIRECTORY ${PROJECT_SOURCE_DIR}/examples DESTINATION ${CMAKE_INSTALL_DATADIR}/graft PATTERN __pycache__ EXCLUDE)
install(FILES ${PROJECT_SOURCE_DIR}/scripts/onnx_writer.py ${PROJECT_SOURCE_DIR}/scripts/caffe_writer.py
  DESTINATION ${CMAKE_INSTALL_DATADIR}/graft/scripts)
# Relative to the file itself, so that an installation can be moved.
file(RELATIVE_PATH GRAFT_PC_PREFIX /prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig /prefix)
configure_file(${PROJECT_SOURCE_DIR}/cmake/graft.pc.in ${PROJECT_BINARY_DIR}/install/graft.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/install/graft.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

file(RELATIVE_PATH GRAFT_LIBRARY_FROM_BIN /prefix/${CMAKE_INSTALL_BINDIR} /prefix/${CMAKE_INSTALL_LIBDIR})
set_target_properties(graft PROPERTIES INSTALL_RPATH "$ORIGIN/${GRAFT_LIBRARY_FROM_BIN}")
install(TARGETS graft graft_shared)
