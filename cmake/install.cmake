# What `make install` puts where: the tool, both libraries, public headers, pkg-config and CMake
# package files, man page, completions. All paths inside the installed files are relative, so the
# tree may be moved.
include(CMakePackageConfigHelpers)

set_target_properties(qdq_shared PROPERTIES EXPORT_NAME qdq)
install(TARGETS qdq_shared qdq_static EXPORT qdq_targets
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY include/qdq DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h")

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/qdq)
install(EXPORT qdq_targets NAMESPACE qdq:: DESTINATION ${package_dir} FILE qdq-targets.cmake)
configure_package_config_file(cmake/qdq-config.cmake.in ${PROJECT_BINARY_DIR}/qdq-config.cmake
  INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/qdq-config-version.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/qdq-config.cmake ${PROJECT_BINARY_DIR}/qdq-config-version.cmake
  DESTINATION ${package_dir})

# pkg-config finds its prefix from where the file lies.
if(IS_ABSOLUTE ${CMAKE_INSTALL_LIBDIR} OR IS_ABSOLUTE ${CMAKE_INSTALL_INCLUDEDIR})
  message(FATAL_ERROR
    "CMAKE_INSTALL_LIBDIR and CMAKE_INSTALL_INCLUDEDIR must be relative to the prefix")
endif()
file(RELATIVE_PATH pc_prefix /p/${CMAKE_INSTALL_LIBDIR}/pkgconfig /p)
set(pc_openmp "")
if(OpenMP_C_FOUND)
  set(pc_openmp " ${OpenMP_C_FLAGS}")
endif()
configure_file(cmake/qdq.pc.in ${PROJECT_BINARY_DIR}/qdq.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/qdq.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

# where the tool looks for it: beside itself
install(TARGETS qdq-worker RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
if(TARGET qdq)
  install(TARGETS qdq RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()
install(FILES LICENSE README.md CHANGELOG.md DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(FILES docs/man/qdq.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)

# The engines that set-up unpacked, if it did, with their licences: the installed tool looks for
# them there. In builds below build/ the folder is a link, which would be installed as one.
file(REAL_PATH ${PROJECT_BINARY_DIR}/ort engine_dir)
install(DIRECTORY ${engine_dir}/ DESTINATION ${CMAKE_INSTALL_LIBDIR}/qdq OPTIONAL)
file(REAL_PATH ${PROJECT_BINARY_DIR}/openvino engine_dir)
install(DIRECTORY ${engine_dir}/ DESTINATION ${CMAKE_INSTALL_LIBDIR}/qdq/openvino
  OPTIONAL PATTERN include EXCLUDE)

# Completions are made by the tool itself, from its option tables.
if(TARGET qdq AND NOT CMAKE_CROSSCOMPILING)
  set(completions)
  foreach(shell bash zsh fish)
    set(file ${PROJECT_BINARY_DIR}/completions/qdq.${shell})
    add_custom_command(OUTPUT ${file}
      COMMAND ${CMAKE_COMMAND} -E make_directory ${PROJECT_BINARY_DIR}/completions
      COMMAND qdq __docs ${shell} > ${file}
      DEPENDS qdq VERBATIM COMMENT "Writing ${shell} completion")
    list(APPEND completions ${file})
  endforeach()
  add_custom_target(qdq_completions ALL DEPENDS ${completions})
  install(FILES ${PROJECT_BINARY_DIR}/completions/qdq.bash RENAME qdq
    DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
  install(FILES ${PROJECT_BINARY_DIR}/completions/qdq.zsh RENAME _qdq
    DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions)
  install(FILES ${PROJECT_BINARY_DIR}/completions/qdq.fish
    DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)
endif()
