/* old_glibc.c - what a program needs that is linked with stand-ins of an old glibc
 * (scripts/old_glibc.sh) by a newer system's compiler: how it starts, and the functions that came
 * later. Must know nothing else of qdq: it is compiled for such programs only. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* --- start (glibc 2.34 changed it) ------------------------------------------------------------ */

typedef int main_fn(int argc, char **argv, char **env);
typedef void start_fn(int argc, char **argv, char **env);

/* of the linker, and of crti.o */
extern start_fn *const __init_array_start[];
extern start_fn *const __init_array_end[];
void _init(void);

int __real___libc_start_main(main_fn *run, int argc, char **argv, start_fn *init,
                             void (*fini)(void), void (*loader_fini)(void), void *stack);
int __wrap___libc_start_main(main_fn *run, int argc, char **argv, start_fn *init,
                             void (*fini)(void), void (*loader_fini)(void), void *stack);

/* The newer start file leaves constructors to the library; the older library leaves them to the
 * start file. */
static void run_constructors(int argc, char **argv, char **env)
{
    _init();
    for (size_t i = 0; i < (size_t)(__init_array_end - __init_array_start); i++)
        __init_array_start[i](argc, argv, env);
}

int __wrap___libc_start_main(main_fn *run, int argc, char **argv, start_fn *init,
                             void (*fini)(void), void (*loader_fini)(void), void *stack)
{
    return __real___libc_start_main(run, argc, argv, init != NULL ? init : run_constructors, fini,
                                    loader_fini, stack);
}

/* --- functions that came later ---------------------------------------------------------------- */

/* 2.33: before, headers had them. On both 64-bit architectures the kernel's struct is the same. */
int stat(const char *path, struct stat *out)
{
    return (int)syscall(SYS_newfstatat, AT_FDCWD, path, out, 0);
}

int lstat(const char *path, struct stat *out)
{
    return (int)syscall(SYS_newfstatat, AT_FDCWD, path, out, AT_SYMLINK_NOFOLLOW);
}

int fstat(int fd, struct stat *out)
{
    return (int)syscall(SYS_fstat, fd, out);
}

int fstatat(int fd, const char *path, struct stat *out, int flags)
{
    return (int)syscall(SYS_newfstatat, fd, path, out, flags);
}

/* 2.32 */
const char *sigabbrev_np(int number)
{
    static const char *const names[] = {
        [SIGHUP] = "HUP",   [SIGINT] = "INT",   [SIGQUIT] = "QUIT", [SIGILL] = "ILL",
        [SIGTRAP] = "TRAP", [SIGABRT] = "ABRT", [SIGBUS] = "BUS",   [SIGFPE] = "FPE",
        [SIGKILL] = "KILL", [SIGUSR1] = "USR1", [SIGSEGV] = "SEGV", [SIGUSR2] = "USR2",
        [SIGPIPE] = "PIPE", [SIGALRM] = "ALRM", [SIGTERM] = "TERM", [SIGXCPU] = "XCPU",
        [SIGXFSZ] = "XFSZ", [SIGSYS] = "SYS"};

    return number > 0 && (size_t)number < sizeof names / sizeof *names ? names[number] : NULL;
}

/* 2.29: the system's, where it has it; else whoever wants another folder for a child gets an
 * error. */
int posix_spawn_file_actions_addchdir_np(posix_spawn_file_actions_t *actions, const char *folder)
{
    typedef int addchdir_fn(posix_spawn_file_actions_t * actions, const char *folder);
    void *found = dlsym(RTLD_DEFAULT, "posix_spawn_file_actions_addchdir_np");

    return found == NULL ? ENOSYS : (*(addchdir_fn **)&found)(actions, folder);
}

/* 2.28 */
int renameat2(int from_fd, const char *from, int to_fd, const char *to, unsigned flags)
{
    return (int)syscall(SYS_renameat2, from_fd, from, to_fd, to, flags);
}
