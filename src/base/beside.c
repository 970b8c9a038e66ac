/* beside.c - finds programs that belong to the running one. */
#include "base/beside.h"

#include <string.h>
#include <unistd.h>

const char *qdq_program_beside(qdq_arena *arena, const char *name)
{
    char exe[4096];
    ssize_t n = readlink("/proc/self/exe", exe, sizeof exe - 1);

    exe[n > 0 ? n : 0] = '\0';
    const char *slash = strrchr(exe, '/');
    const char *beside =
        slash == NULL ? name : qdq_arena_printf(arena, "%.*s/%s", (int)(slash - exe), exe, name);
    return beside == NULL || access(beside, X_OK) == 0 ? beside : name;
}
