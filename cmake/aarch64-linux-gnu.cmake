# Toolchain file: Debian's cross compiler for aarch64, and libraries of its packages for arm64
# (scripts/setup.sh --cross aarch64). `make CROSS=aarch64-linux-gnu` uses it.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)

# Libraries and headers lie in the multiarch folders of this system; programs are this system's.
set(CMAKE_FIND_ROOT_PATH /usr/aarch64-linux-gnu)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(ENV{PKG_CONFIG_LIBDIR} /usr/lib/aarch64-linux-gnu/pkgconfig:/usr/share/pkgconfig)
set(CMAKE_IGNORE_PREFIX_PATH /usr/local)

# Tests run in this program: `make check CROSS=aarch64-linux-gnu QEMU=PROGRAM`.
set(QDQ_EMULATOR qemu-aarch64-static CACHE STRING "Program that runs programs for aarch64")
set(CMAKE_CROSSCOMPILING_EMULATOR ${QDQ_EMULATOR})
