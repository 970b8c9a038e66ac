# qdq-worker for other machines: libraries of others are linked statically, and symbols of glibc are
# those of an old version (scripts/old_glibc.sh), so that the program needs glibc QDQ_OLD_GLIBC or
# newer and nothing else. scripts/worker.sh and `make CROSS=...` use this.
option(QDQ_PORTABLE_WORKER "Link qdq-worker so that it needs nothing but an old glibc" OFF)
set(QDQ_ARCHIVES ${PROJECT_BINARY_DIR}/libraries/lib CACHE PATH
  "Folder of libzip.a and libspng.a (scripts/libraries.sh), for QDQ_PORTABLE_WORKER")
set(QDQ_OLD_GLIBC 2.27) # of Ubuntu 18.04, older than what the wheels of ONNX Runtime need

# qdq_find_archive(NAME LIST): appends the path of the archive
function(qdq_find_archive name list)
  set(folders ${QDQ_ARCHIVES} ${JANSSON_LIBDIR} /usr/lib/${CMAKE_LIBRARY_ARCHITECTURE})
  execute_process(COMMAND ${CMAKE_C_COMPILER} -print-file-name=${name} OUTPUT_VARIABLE path
    OUTPUT_STRIP_TRAILING_WHITESPACE)
  foreach(folder IN LISTS folders)
    if(NOT IS_ABSOLUTE "${path}" AND EXISTS ${folder}/${name})
      set(path ${folder}/${name})
    endif()
  endforeach()
  if(NOT IS_ABSOLUTE "${path}")
    message(FATAL_ERROR "QDQ_PORTABLE_WORKER: there is no ${name} in ${folders}")
  endif()
  set(${list} ${${list}} ${path} PARENT_SCOPE)
endfunction()

# `part`: the program, the file with main() aside; `source`: of what replaces later functions.
function(qdq_link_portable program part source)
  if(NOT CMAKE_SYSTEM_NAME STREQUAL "Linux" OR
      NOT CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|aarch64|arm64)$" OR
      NOT CMAKE_C_COMPILER_ID STREQUAL "GNU" OR QDQ_SANITIZE OR QDQ_COVERAGE)
    message(FATAL_ERROR "QDQ_PORTABLE_WORKER: expected GCC for Linux on x86-64 or aarch64, "
      "without QDQ_SANITIZE and QDQ_COVERAGE")
  endif()
  foreach(name jansson xxhash nettle zip spng jpeg z)
    qdq_find_archive(lib${name}.a archives)
  endforeach()
  if(OpenMP_C_FOUND)
    qdq_find_archive(libgomp.a archives)
  endif()
  set(folder ${PROJECT_BINARY_DIR}/old_glibc)
  set(script ${PROJECT_SOURCE_DIR}/scripts/old_glibc.sh)
  add_custom_command(OUTPUT ${folder}/libc.so
    COMMAND sh ${script} ${CMAKE_C_COMPILER} ${QDQ_OLD_GLIBC} ${folder}
    DEPENDS ${script} VERBATIM COMMENT "Making stand-ins for glibc ${QDQ_OLD_GLIBC}")
  target_sources(${program} PRIVATE ${source} ${folder}/libc.so)
  set_source_files_properties(${source} PROPERTIES COMPILE_OPTIONS -fno-builtin) # names are glibc's
  target_include_directories(${program} PRIVATE ${PROJECT_SOURCE_DIR}/include
    ${PROJECT_SOURCE_DIR}/src)
  foreach(name libpthread.so.0 libdl.so.2) # a part of libc since 2.34, which has them all the same
    execute_process(COMMAND ${CMAKE_C_COMPILER} -print-file-name=${name} OUTPUT_VARIABLE path
      OUTPUT_STRIP_TRAILING_WHITESPACE)
    list(APPEND parts ${path})
  endforeach()
  target_link_options(${program} PRIVATE -static-libgcc -L${folder} -Wl,--wrap=__libc_start_main)
  target_link_libraries(${program} PRIVATE qdq_flags $<TARGET_FILE:${part}>
    $<TARGET_FILE:qdq_static> ${archives} m
    -Wl,--push-state,--no-as-needed ${parts} -Wl,--pop-state)
  set_property(TARGET ${program} APPEND PROPERTY LINK_DEPENDS ${folder}/libc.so)
  if(NOT QDQ_LIBRARY)
    add_dependencies(${program} ${part} qdq_static)
    set_property(TARGET ${program} APPEND PROPERTY LINK_DEPENDS ${PROJECT_BINARY_DIR}/libqdq.a
      $<TARGET_FILE:${part}>)
  endif()
endfunction()
