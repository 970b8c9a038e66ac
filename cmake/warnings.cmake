# One place for warnings and sanitizers: every target links qdq_flags.
add_library(qdq_flags INTERFACE)
target_compile_options(qdq_flags INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wstrict-prototypes -Wmissing-prototypes -Wvla
  -Wwrite-strings -Wformat=2 -Wswitch-enum
  # a leftover use of float arithmetic in double is harmless here, a lost bit in an index is not
  -Wno-sign-conversion -Wno-float-conversion)
target_compile_definitions(qdq_flags INTERFACE _GNU_SOURCE)
if(QDQ_WERROR)
  target_compile_options(qdq_flags INTERFACE -Werror)
endif()
if(QDQ_SANITIZE)
  target_compile_options(qdq_flags INTERFACE -fsanitize=address,undefined -fno-omit-frame-pointer
    -fno-sanitize-recover=all
    -g1 # lines for traces; all of it would be gigabytes of test programs
    -O1 # with checks in every line, -O2 compiles for twice as long and finds no more
    -Wno-format-truncation # guesses at -O1 what -O2 knows, and the other build warns
    -UNDEBUG) # assertions of our own belong to the checks
  target_compile_definitions(qdq_flags INTERFACE QDQ_ARENA_MALLOC)
  # The checks' tables hold half a million addresses, which a program that loads anywhere writes at
  # each start: a quarter of the start, and tests start thousands of programs.
  target_link_options(qdq_flags INTERFACE -fsanitize=address,undefined
    -Wl,--as-needed # else a worker loads SQLite and OpenMP, which it never calls
    $<$<STREQUAL:$<TARGET_PROPERTY:TYPE>,EXECUTABLE>:-no-pie>)
endif()
if(QDQ_FUZZ)
  if(NOT CMAKE_C_COMPILER_ID MATCHES Clang)
    message(FATAL_ERROR "QDQ_FUZZ needs clang: cmake -DCMAKE_C_COMPILER=clang")
  endif()
  target_compile_options(qdq_flags INTERFACE -fsanitize=fuzzer-no-link)
endif()
