/* fuzz_target.c - descriptions of targets from hostile text: what was read is read again from its
 * own text, and a key can be set in it or is refused. */
#include <stdlib.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "qdq/quant.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* As a file, as users give it. */
static qdq_status load(const void *data, size_t size, qdq_target **t, qdq_error *err)
{
    const int fd = memfd_create("target", MFD_CLOEXEC);
    char path[60];

    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    if (fd < 0 || write(fd, data, size) != (ssize_t)size)
        abort();
    qdq_status st = qdq_target_load(path, t, err);
    close(fd);
    return st;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    qdq_error err = QDQ_ERROR_INIT;
    qdq_target *t = NULL, *again = NULL;

    if (load(data, size, &t, &err) != QDQ_OK)
        return 0;
    const char *text = qdq_target_text(t);
    if (load(text, strlen(text), &again, &err) != QDQ_OK ||
        strcmp(qdq_target_text(again), text) != 0)
        abort();
    if (qdq_target_set(again, "weight.type", "uint8", &err) != QDQ_OK &&
        strcmp(qdq_target_text(again), text) != 0)
        abort();
    qdq_target_free(again);
    qdq_target_free(t);
    return 0;
}
