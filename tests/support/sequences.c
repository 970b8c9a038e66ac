/* sequences.c - samples for made transformers, see support/transformer.h. */
#include <math.h>

#include "base/random.h"
#include "quant/data/npz_write.h"
#include "support/test.h"
#include "support/transformer.h"

enum { MOST_INPUTS = 32, MEL = 80, ENCODED = 10, SUCCESSORS = 4, PADDED = 2 };

/* What one file has, or one run. */
typedef struct part {
    test_family family;
    const test_transformer *size;
    int64_t rows, tokens, past;
    size_t n;
    char names[MOST_INPUTS][48];
    qdq_named_array a[MOST_INPUTS];
} part;

/* A decoder by itself, whose caches are padded in front, as generate() does. */
static bool writes_text(test_family f)
{
    return f == TEST_GPT || f == TEST_LLAMA;
}

static bool has_caches(test_family f)
{
    return writes_text(f) || f == TEST_WHISPER_DECODER || f == TEST_WHISPER_MERGED;
}

static qdq_array *add(part *p, const char *name, qdq_elem elem, int rank, const int64_t *dim)
{
    qdq_array *a = &p->a[p->n].array;

    assert_true(p->n < MOST_INPUTS);
    snprintf(p->names[p->n], sizeof p->names[p->n], "%s", name);
    p->a[p->n].name = p->names[p->n];
    *a = (qdq_array){.elem = elem, .rank = rank};
    for (int i = 0; i < rank; i++)
        a->dim[i] = dim[i];
    a->bytes = (size_t)qdq_array_count(a) * (elem == QDQ_INT64 ? 8 : elem == QDQ_BOOL ? 1 : 4);
    a->data = calloc(1, a->bytes > 0 ? a->bytes : 1);
    assert_non_null(a->data);
    p->n++;
    return a;
}

static qdq_array *find(part *p, const char *name)
{
    for (size_t i = 0; i < p->n; i++)
        if (strcmp(p->a[i].name, name) == 0)
            return &p->a[i].array;
    return NULL;
}

static void free_part(part *p)
{
    for (size_t i = 0; i < p->n; i++)
        free(p->a[i].array.data);
}

/* Every third row has padding, where tokens are left. */
static int64_t padding(int64_t row, int64_t length)
{
    return row % 3 == 1 && length > PADDED + 1 ? PADDED : 0;
}

static void add_ints(part *p, const char *name, int64_t columns)
{
    add(p, name, QDQ_INT64, 2, (int64_t[]){p->rows, columns});
}

static void add_caches(part *p, const char *side, int64_t length)
{
    static const char *const kinds[] = {"key", "value"};
    const test_transformer *s = p->size;
    const int64_t dim[] = {p->rows, s->heads, length, s->width / s->heads};
    char name[48];

    for (int64_t i = 0; i < s->layers; i++)
        for (int k = 0; k < 2; k++) {
            snprintf(name, sizeof name, "past_key_values.%d.%s%s", (int)i, side, kinds[k]);
            add(p, name, QDQ_FLOAT, 4, dim);
        }
}

static void begin(part *p, test_family f, const test_transformer *s, int64_t rows, int64_t tokens,
                  int64_t past)
{
    *p = (part){.family = f, .size = s, .rows = rows, .tokens = tokens, .past = past};
    if (f == TEST_WHISPER_ENCODER) {
        add(p, "input_features", QDQ_FLOAT, 3, (int64_t[]){rows, MEL, 2 * tokens});
        return;
    }
    add_ints(p, "input_ids", tokens);
    if (f == TEST_BERT || writes_text(f) || f == TEST_T5)
        add_ints(p, "attention_mask", past + tokens);
    if (f == TEST_BERT)
        add_ints(p, "token_type_ids", tokens);
    if (f == TEST_T5)
        add_ints(p, "decoder_input_ids", (tokens + 1) / 2);
    if (writes_text(f)) {
        add_ints(p, "position_ids", tokens);
        add_caches(p, "", past);
    }
    if (f == TEST_WHISPER_MERGED)
        add(p, "encoder_hidden_states", QDQ_FLOAT, 3, (int64_t[]){rows, ENCODED, s->width});
    if (f == TEST_WHISPER_DECODER || f == TEST_WHISPER_MERGED) {
        add_caches(p, "decoder.", past);
        add_caches(p, "encoder.", ENCODED);
    }
    if (f == TEST_WHISPER_MERGED)
        memset((void *)add(p, "use_cache_branch", QDQ_BOOL, 1, &rows)->data, past > 0,
               (size_t)rows);
}

/* Smooth along the last axis, as features of sounds are. */
static void fill_smooth(const qdq_array *a, int64_t row, uint64_t seed, const char *name)
{
    const int64_t n = qdq_array_count(a) / a->dim[0], last = a->dim[a->rank - 1];
    qdq_random r = qdq_random_new(qdq_random_nth_seed(seed, (uint64_t)row), name);
    float *x = (float *)a->data + row * n, before = 0;

    for (int64_t i = 0; i < n; i++) {
        before =
            i % last == 0 ? qdq_random_normal(&r) : 0.8F * before + 0.6F * qdq_random_normal(&r);
        x[i] = before;
    }
}

static void fill_ids(int64_t *ids, int64_t n, const test_transformer *s, qdq_random *r)
{
    for (int64_t i = 0; i < n; i++)
        ids[i] = i == 0 ? (int64_t)(qdq_random_u64(r) % (uint64_t)s->vocabulary)
                        : test_successor(s->vocabulary, ids[i - 1], qdq_random_u64(r) % SUCCESSORS);
}

/* Row `row` but for caches of its own; `ids` are of the whole sequence, `number` is its. */
static void fill_row(part *p, int64_t row, const int64_t *ids, uint64_t seed, int64_t number)
{
    const int64_t all = p->past + p->tokens, pad = padding(number, all);

    for (size_t i = 0; i < p->n; i++) {
        const qdq_array *a = &p->a[i].array;
        const char *name = p->a[i].name;
        int64_t *x = a->elem == QDQ_INT64 ? (int64_t *)a->data + row * a->dim[1] : NULL;

        if (x == NULL) {
            if (strstr(name, "encoder") != NULL || strcmp(name, "input_features") == 0)
                fill_smooth(a, row, qdq_random_nth_seed(seed, (uint64_t)number), name);
            continue;
        }
        for (int64_t c = 0; c < a->dim[1]; c++)
            if (strcmp(name, "attention_mask") == 0)
                x[c] = writes_text(p->family) ? c >= pad : c < all - pad;
            else if (strcmp(name, "position_ids") == 0)
                x[c] = p->past + c > pad ? p->past + c - pad : 0;
            else if (strcmp(name, "token_type_ids") == 0)
                x[c] = c >= a->dim[1] / 2;
            else
                x[c] = ids[p->past + c];
    }
}

typedef struct caches {
    part *files;
    size_t n;
    /* of the files */
    int64_t row;
} caches;

/* An output present.I.key: its first steps are the cache of a shorter sequence. */
static qdq_status keep_cache(void *ctx, const char *name, const qdq_array *a, qdq_error *err)
{
    const caches *c = ctx;
    char past[64];

    (void)err;
    if (strncmp(name, "present.", 8) != 0 || strstr(name, "encoder") != NULL)
        return QDQ_OK;
    snprintf(past, sizeof past, "past_key_values.%s", name + 8);
    for (size_t f = 0; f < c->n; f++) {
        const qdq_array *to = find(&c->files[f], past);

        assert_non_null(to);
        for (int64_t h = 0; h < a->dim[1]; h++)
            memcpy((float *)to->data + ((c->row * to->dim[1] + h) * to->dim[2]) * to->dim[3],
                   (const float *)a->data + h * a->dim[2] * a->dim[3],
                   (size_t)(to->dim[2] * to->dim[3]) * sizeof(float));
    }
    return QDQ_OK;
}

/* A sequence as long as the longest file wants, run whole: row c->row of every file. */
static qdq_status make_row(qdq_session *session, const test_sequences *s, int64_t longest,
                           caches *c, qdq_error *err)
{
    const part *like = &c->files[0];
    qdq_random r = qdq_random_new(qdq_random_nth_seed(s->seed, (uint64_t)c->row), "sequence");
    int64_t *ids = calloc((size_t)longest, sizeof *ids);
    qdq_status st = QDQ_OK;
    part whole;

    assert_non_null(ids);
    fill_ids(ids, longest, like->size, &r);
    for (size_t f = 0; f < c->n; f++)
        fill_row(&c->files[f], c->row, ids, s->seed, c->row);
    if (session != NULL) {
        begin(&whole, like->family, like->size, 1, longest, 0);
        fill_row(&whole, 0, ids, s->seed, c->row);
        st = qdq_session_run(session, whole.a, whole.n, keep_cache, c, err);
        free_part(&whole);
    }
    free(ids);
    return st;
}

qdq_status test_sequences_write(test_family f, const test_transformer *size,
                                const test_sequences *s, const qdq_model *m, qdq_engine *e,
                                const char *folder, qdq_error *err)
{
    qdq_session *session = NULL;
    int64_t longest = 0;
    caches c = {0};

    while (s->lengths[c.n] >= 0)
        c.n++;
    c.files = calloc(c.n, sizeof *c.files);
    assert_non_null(c.files);
    for (size_t i = 0; i < c.n; i++) {
        const int64_t past = has_caches(f) ? s->lengths[i] : 0,
                      tokens = has_caches(f) ? s->tokens : s->lengths[i];

        begin(&c.files[i], f, size, (int64_t)s->n, tokens, past);
        longest = past + tokens > longest ? past + tokens : longest;
    }
    qdq_status st = has_caches(f) ? qdq_session_open(e, m, NULL, &session, err) : QDQ_OK;
    for (; c.row < (int64_t)s->n && st == QDQ_OK; c.row++)
        st = make_row(session, s, longest, &c, err);
    for (size_t i = 0; i < c.n && st == QDQ_OK; i++) {
        char path[4096];

        snprintf(path, sizeof path, "%s/%04lld.npz", folder, (long long)s->lengths[i]);
        st = qdq_npz_write(path, c.files[i].a, c.files[i].n, err);
    }
    qdq_session_close(session);
    for (size_t i = 0; i < c.n; i++)
        free_part(&c.files[i]);
    free(c.files);
    return st;
}
