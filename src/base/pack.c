/* pack.c - a struct and all that it points to in one block. */
#include "base/pack.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Room for n bytes that any type may begin at. */
static size_t whole(size_t n)
{
    const size_t align = _Alignof(max_align_t);

    return (n + align - 1) / align * align;
}

void *qdq_pack_array(qdq_pack *p, void *from, size_t n, size_t size)
{
    void *to = from;

    if (from == NULL)
        return NULL;
    if (p->at != NULL)
        to = memcpy(p->at + p->used, from, n * size);
    p->used += whole(n * size);
    return to;
}

const char *qdq_pack_string(qdq_pack *p, const char *text)
{
    return text == NULL ? NULL : qdq_pack_array(p, (void *)(uintptr_t)text, strlen(text) + 1, 1);
}

const char **qdq_pack_strings(qdq_pack *p, const char *const *text, size_t n)
{
    const char **to = qdq_pack_array(p, (void *)(uintptr_t)text, n, sizeof *to);

    for (size_t i = 0; i < n; i++) {
        const char *copy = qdq_pack_string(p, text[i]);
        if (to != text)
            to[i] = copy;
    }
    return to;
}

static void fill_all(qdq_pack *p, void *list, size_t n, size_t size,
                     void (*fill)(qdq_pack *p, void *to))
{
    for (size_t i = 0; i < n; i++)
        fill(p, (char *)list + i * size);
}

void *qdq_pack_list(void *from, size_t n, size_t size, void (*fill)(qdq_pack *p, void *to))
{
    const size_t head = whole(n * size);
    qdq_pack p = {.used = head};

    fill_all(&p, from, n, size, fill);
    p = (qdq_pack){malloc(p.used + 1), head}; /* a list may be empty */
    if (p.at == NULL)
        return NULL;
    if (n > 0)
        fill_all(&p, memcpy(p.at, from, n * size), n, size, fill);
    return p.at;
}

void *qdq_pack_struct(void *from, size_t size, void (*fill)(qdq_pack *p, void *to))
{
    return qdq_pack_list(from, 1, size, fill);
}
