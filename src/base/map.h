/* map.h - hash maps that remember the order of insertion. Keys are text (copied by reference: they
 * must outlive the map) or 64-bit integers. Values are pointers or integers in a union. Hashes:
 * xxHash, fixed seed: nothing observable depends on them, iteration goes by insertion. */
#ifndef QDQ_MAP_H
#define QDQ_MAP_H

#include <stddef.h>
#include <stdint.h>

#include "qdq/status.h"

typedef union qdq_map_value {
    void *ptr;
    uint64_t num;
} qdq_map_value;

typedef struct qdq_map_entry {
    /* text maps; NULL in integer maps and in removed entries */
    const char *key;
    size_t key_size;
    /* the key itself in integer maps */
    uint64_t hash;
    bool live;
    qdq_map_value value;
} qdq_map_entry;

typedef struct qdq_map {
    /* in order of insertion, removed ones not live */
    qdq_map_entry *entry;
    size_t n_entry, cap_entry, n_live;
    /* 0: empty; else index + 1 into entry, and above it half of the hash: most misses end here */
    uint64_t *slot;
    size_t n_slot;
} qdq_map;

#define QDQ_MAP_INIT                                                                               \
    {                                                                                              \
        NULL, 0, 0, 0, NULL, 0                                                                     \
    }

/* The value's place, or NULL. Valid until the next put. */
qdq_map_value *qdq_map_get(const qdq_map *m, const char *key);
qdq_map_value *qdq_map_get_n(const qdq_map *m, const char *key, size_t size);
qdq_map_value *qdq_map_get_int(const qdq_map *m, uint64_t key);

/* The place of key's value, zeroed if it is new (then *is_new, which may be NULL); NULL: out of
 * memory. */
qdq_map_value *qdq_map_put(qdq_map *m, const char *key, bool *is_new);
qdq_map_value *qdq_map_put_n(qdq_map *m, const char *key, size_t size, bool *is_new);
qdq_map_value *qdq_map_put_int(qdq_map *m, uint64_t key, bool *is_new);

/* The pointer of a key, or NULL. */
static inline void *qdq_map_get_ptr(const qdq_map *m, const char *key)
{
    const qdq_map_value *v = qdq_map_get(m, key);

    return v != NULL ? v->ptr : NULL;
}

/* Sets the value of a key. False: out of memory, also where that left no key (NULL). */
static inline bool qdq_map_set_ptr(qdq_map *m, const char *key, const void *ptr)
{
    qdq_map_value *v = key != NULL ? qdq_map_put(m, key, NULL) : NULL;

    if (v != NULL)
        v->ptr = (void *)(uintptr_t)ptr;
    return v != NULL;
}
static inline bool qdq_map_set_num(qdq_map *m, const char *key, uint64_t num)
{
    qdq_map_value *v = key != NULL ? qdq_map_put(m, key, NULL) : NULL;

    if (v != NULL)
        v->num = num;
    return v != NULL;
}
/* The same, unless the key is there already. */
static inline bool qdq_map_set_first(qdq_map *m, const char *key, uint64_t num)
{
    return qdq_map_get(m, key) != NULL || qdq_map_set_num(m, key, num);
}

/* Lets the entry that put gave `place` for refer to the same text elsewhere, where it lives on. */
void qdq_map_set_key(qdq_map_value *place, const char *key);

bool qdq_map_remove(qdq_map *m, const char *key);
bool qdq_map_remove_n(qdq_map *m, const char *key, size_t size);
void qdq_map_free(qdq_map *m);

/* for (size_t i = 0; i < m->n_entry; i++) if (m->entry[i].live) ...
 * The body may remove. It may put only if nothing was ever removed: putting closes the gaps. */

#endif /* QDQ_MAP_H */
