/* processor.c - reads the name of the processor from /proc/cpuinfo or the system. */
#include "base/processor.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cpu.h"

/* Virtual machines hide which processor they run on: one name stands for some with and without
 * VNNI, whose 8-bit kernels differ. */
static const char *missing_kernels(void)
{
    return qdq_cpu_saturates(qdq_cpu_detect()) ? " without VNNI" : "";
}

void qdq_processor_name(char *out, size_t room)
{
    FILE *f = fopen("/proc/cpuinfo", "r");
    char line[1000];

    snprintf(out, room, "unknown processor, %ld cores", sysconf(_SC_NPROCESSORS_ONLN));
    while (f != NULL && fgets(line, sizeof line, f) != NULL) {
        const char *name = strncmp(line, "model name", 10) == 0 ? strchr(line, ':') : NULL;
        if (name == NULL)
            continue;
        line[strcspn(line, "\n")] = '\0';
        snprintf(out, room, "%.200s%s, %ld cores", name + 2, missing_kernels(),
                 sysconf(_SC_NPROCESSORS_ONLN));
        break;
    }
    if (f != NULL)
        fclose(f);
}
