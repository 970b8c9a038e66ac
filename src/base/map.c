/* map.c - open addressing over an array of entries in order of insertion. A removed entry keeps its
 * place, in the array and in the slots, until the next growth: so no probe sequence is ever cut. */
#include "base/map.h"

#include <stdlib.h>
#include <string.h>

#include <xxhash.h>

static uint64_t hash_int(uint64_t key)
{
    return XXH3_64bits(&key, sizeof key);
}

static uint64_t entry_hash(const qdq_map_entry *e)
{
    return e->key == NULL ? hash_int(e->hash) : e->hash;
}

/* What is looked for; `text` is NULL for an integer. */
typedef struct wanted {
    const char *text;
    size_t size;
    /* entry.hash */
    uint64_t stored;
    uint64_t hash;
} wanted;

static wanted want_text(const char *key, size_t size)
{
    uint64_t hash = XXH3_64bits(key, size);

    return (wanted){key, size, hash, hash};
}

static wanted want_int(uint64_t key)
{
    return (wanted){NULL, 0, key, hash_int(key)};
}

static bool is_wanted(const qdq_map_entry *e, const wanted *w)
{
    if (!e->live || e->hash != w->stored || e->key_size != w->size)
        return false;
    if (e->key == NULL || w->text == NULL)
        return e->key == w->text;
    return memcmp(e->key, w->text, w->size) == 0;
}

static uint64_t make_slot(uint64_t hash, size_t index)
{
    return (hash & 0xffffffff00000000u) | (uint64_t)(index + 1);
}

static size_t slot_index(uint64_t slot)
{
    return (size_t)(slot & 0xffffffffu) - 1;
}

/* The slot of the entry, or the empty slot where it belongs. There is always an empty one. */
static uint64_t *find_slot(const qdq_map *m, const wanted *w)
{
    size_t mask = m->n_slot - 1;
    uint64_t tag = w->hash >> 32;

    for (size_t i = w->hash & mask;; i = (i + 1) & mask) {
        uint64_t slot = m->slot[i];
        if (slot == 0 || (slot >> 32 == tag && is_wanted(&m->entry[slot_index(slot)], w)))
            return &m->slot[i];
    }
}

static qdq_map_value *get_entry(const qdq_map *m, wanted w)
{
    if (m->n_live == 0)
        return NULL;
    uint64_t slot = *find_slot(m, &w);
    return slot == 0 ? NULL : &m->entry[slot_index(slot)].value;
}

static void fill_slots(qdq_map *m)
{
    size_t mask = m->n_slot - 1;

    memset(m->slot, 0, m->n_slot * sizeof *m->slot);
    for (size_t e = 0; e < m->n_entry; e++) {
        uint64_t hash = entry_hash(&m->entry[e]);
        size_t i = hash & mask;
        while (m->slot[i] != 0)
            i = (i + 1) & mask;
        m->slot[i] = make_slot(hash, e);
    }
}

/* Closes the gaps of removed entries, then doubles if that did not give a quarter of the room
 * back. */
static bool make_room(qdq_map *m)
{
    size_t cap = m->cap_entry;
    size_t n_slot = m->n_slot;
    uint64_t *slot = m->slot;

    if (cap == 0 || m->n_live >= cap - cap / 4) {
        if (cap > UINT32_MAX / 4)
            return false;
        cap = cap == 0 ? 8 : cap * 2;
        n_slot = cap * 2; /* half of the slots stay empty */
        qdq_map_entry *entry = realloc(m->entry, cap * sizeof *entry);
        if (entry == NULL)
            return false;
        m->entry = entry; /* cap_entry follows when the slots are there too */
        slot = malloc(n_slot * sizeof *slot);
        if (slot == NULL)
            return false;
        free(m->slot);
    }
    size_t n = 0;
    for (size_t e = 0; e < m->n_entry; e++)
        if (m->entry[e].live)
            m->entry[n++] = m->entry[e];
    m->n_entry = n;
    m->cap_entry = cap;
    m->slot = slot;
    m->n_slot = n_slot;
    fill_slots(m);
    return true;
}

static qdq_map_value *put_entry(qdq_map *m, wanted w, bool *is_new)
{
    uint64_t *slot = m->n_slot == 0 ? NULL : find_slot(m, &w);
    bool known = slot != NULL && *slot != 0;

    if (is_new != NULL)
        *is_new = !known;
    if (known)
        return &m->entry[slot_index(*slot)].value;
    if (m->n_entry == m->cap_entry) {
        if (!make_room(m)) {
            if (is_new != NULL)
                *is_new = false;
            return NULL;
        }
        slot = find_slot(m, &w);
    }
    qdq_map_entry *e = &m->entry[m->n_entry];
    *e = (qdq_map_entry){.key = w.text, .key_size = w.size, .hash = w.stored, .live = true};
    *slot = make_slot(w.hash, m->n_entry++);
    m->n_live++;
    return &e->value;
}

qdq_map_value *qdq_map_get_n(const qdq_map *m, const char *key, size_t size)
{
    return get_entry(m, want_text(key, size));
}

qdq_map_value *qdq_map_get(const qdq_map *m, const char *key)
{
    return qdq_map_get_n(m, key, strlen(key));
}

qdq_map_value *qdq_map_get_int(const qdq_map *m, uint64_t key)
{
    return get_entry(m, want_int(key));
}

qdq_map_value *qdq_map_put_n(qdq_map *m, const char *key, size_t size, bool *is_new)
{
    return put_entry(m, want_text(key, size), is_new);
}

qdq_map_value *qdq_map_put(qdq_map *m, const char *key, bool *is_new)
{
    return qdq_map_put_n(m, key, strlen(key), is_new);
}

qdq_map_value *qdq_map_put_int(qdq_map *m, uint64_t key, bool *is_new)
{
    return put_entry(m, want_int(key), is_new);
}

static qdq_map_entry *entry_of(qdq_map_value *value)
{
    return (qdq_map_entry *)(void *)((char *)value - offsetof(qdq_map_entry, value));
}

void qdq_map_set_key(qdq_map_value *place, const char *key)
{
    entry_of(place)->key = key;
}

bool qdq_map_remove_n(qdq_map *m, const char *key, size_t size)
{
    qdq_map_value *value = qdq_map_get_n(m, key, size);

    if (value == NULL)
        return false;
    qdq_map_entry *e = entry_of(value);
    e->live = false;
    e->key = NULL;
    m->n_live--;
    return true;
}

bool qdq_map_remove(qdq_map *m, const char *key)
{
    return qdq_map_remove_n(m, key, strlen(key));
}

void qdq_map_free(qdq_map *m)
{
    free(m->entry);
    free(m->slot);
    *m = (qdq_map)QDQ_MAP_INIT;
}
