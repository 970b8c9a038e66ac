/* fuzz_yaml.c - configurations from hostile text: read, and every node that comes of it is looked
 * at. */
#include <stdlib.h>
#include <string.h>

#include "base/yaml_read.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Depth is bounded by the reader. */
static void look(const qdq_yaml *n, int depth)
{
    if (depth > 64 || n->line == 0 || n->column == 0 || strlen(n->text) > (1 << 20))
        abort();
    for (const qdq_yaml *i = n->first; i != NULL; i = i->next) {
        if ((i->key != NULL) != (n->kind == QDQ_YAML_MAP))
            abort();
        look(i, depth + 1);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    qdq_error err = QDQ_ERROR_INIT;
    qdq_arena arena = QDQ_ARENA_INIT;
    const qdq_yaml *top = NULL;

    if (qdq_yaml_parse((const char *)data, size, "fuzz", &arena, &top, &err) == QDQ_OK &&
        top != NULL)
        look(top, 0);
    qdq_arena_free(&arena);
    return 0;
}
