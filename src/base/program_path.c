/* program_path.c - finds programs that belong to the running one. */
#include "base/program_path.h"

#include <string.h>
#include <unistd.h>

const char *qdq_find_program(qdq_arena *arena, const char *name)
{
    char exe[4096];
    ssize_t n = readlink("/proc/self/exe", exe, sizeof exe - 1);

    exe[n > 0 ? n : 0] = '\0';
    const char *slash = strrchr(exe, '/');
    const char *beside =
        slash == NULL ? name : qdq_arena_printf(arena, "%.*s/%s", (int)(slash - exe), exe, name);
    return beside == NULL || access(beside, X_OK) == 0 ? beside : name;
}
