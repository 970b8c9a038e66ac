/* replay.c - runs a fuzz target without a fuzzer: every file of the folders given, in order of
 * name, then seeded changes of each, always the same. What a fuzzer once found stays tested in
 * `make check`. It knows nothing of what the target does with the bytes. */
#include "fuzz/change_text.h"

#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MAX_FILE = 1 << 20 };

/* The target gets a block of exactly its size, so that a sanitizer sees a read beyond the end. */
static void run_once(const uint8_t *data, size_t size)
{
    uint8_t *copy = malloc(size > 0 ? size : 1);

    if (copy == NULL)
        exit(1);
    if (size > 0)
        memcpy(copy, data, size);
    LLVMFuzzerTestOneInput(copy, size);
    free(copy);
}

static void run_changed(const uint8_t *data, size_t size, uint64_t *state)
{
    uint8_t *copy = malloc(size);

    if (copy == NULL)
        exit(1);
    memcpy(copy, data, size);
    for (uint64_t left = 1 + qdq_fuzz_random(state) % 4; left > 0; left--) {
        size_t at = (size_t)(qdq_fuzz_random(state) % size);

        switch (qdq_fuzz_random(state) % 4) {
        case 0: /* one bit */
            copy[at] ^= (uint8_t)(1u << (qdq_fuzz_random(state) % 8));
            break;
        case 1: /* any byte */
            copy[at] = (uint8_t)qdq_fuzz_random(state);
            break;
        case 2: /* a number grows out of all bounds */
            memset(copy + at, 0xff, size - at < 8 ? size - at : 8);
            break;
        case 3: /* the end is missing */
            size = at + 1;
            break;
        }
    }
    run_once(copy, size);
    free(copy);
}

/* Of text only: what is changed by words is mostly text that can be read. */
static void run_changed_text(const uint8_t *data, size_t size, uint64_t *state)
{
    size_t max = size + 4096;
    char *copy = malloc(max);

    if (copy == NULL)
        exit(1);
    memcpy(copy, data, size);
    for (uint64_t left = 1 + qdq_fuzz_random(state) % 4; left > 0 && size > 0; left--)
        size = qdq_fuzz_change_text(copy, size, max, state);
    run_once((const uint8_t *)copy, size);
    free(copy);
}

static int run_file(const char *path, uint64_t *state)
{
    static uint8_t data[MAX_FILE];
    FILE *f = fopen(path, "rb");
    size_t size;

    if (f == NULL) {
        perror(path);
        return 1;
    }
    size = fread(data, 1, sizeof data, f);
    fclose(f);
    run_once(data, size);
    for (int i = 0; size > 0 && i < CHANGES_PER_FILE; i++)
        if (i % 4 != 0 && memchr(data, '\0', size) == NULL)
            run_changed_text(data, size, state);
        else
            run_changed(data, size, state);
    return 0;
}

static int not_hidden(const struct dirent *e)
{
    return e->d_name[0] != '.';
}

int main(int argc, char **argv)
{
    unsigned files = 0;
    int bad = 0;

    run_once((const uint8_t *)"", 0);
    for (int i = 1; i < argc; i++) {
        struct dirent **entry = NULL;
        int n = scandir(argv[i], &entry, not_hidden, alphasort);

        for (int k = 0; k < n; k++) {
            char path[4096];
            uint64_t state = 1; /* per file: adding a file changes nothing for the others */

            snprintf(path, sizeof path, "%s/%s", argv[i], entry[k]->d_name);
            bad |= run_file(path, &state);
            files++;
            free(entry[k]);
        }
        free(entry);
    }
    printf("%u files, %u inputs\n", files, 1 + files * (1 + CHANGES_PER_FILE));
    if (files == 0)
        fprintf(stderr, "replay: no input found\n");
    return bad || files == 0;
}
