/* text_groups.c - see the header. */
#include "text/text_groups.h"

#include <math.h>

#include "base/buf.h"
#include "ir/graph_check.h"
#include "ir/shape.h"
#include "support/layers.h"
#include "support/test.h"
#include "tune/extract/group_model.h"
#include "tune/group/keys.h"
#include "tune/isolate/legal_inputs.h"

/* What is asked for, taken apart in place. */
typedef struct question {
    char text[1024];
    uint32_t group;
    bool halo;
    /* of one input, where `shaped` */
    qdq_input_shape shape[QDQ_SHAPE_RANGE];
    bool shaped;
    const char *layer[TEST_MAX_LAYERS + 1];
} question;

/* "x:1,2..8,2..16,2": shapes of an input. */
static void read_shapes(question *q, char *word)
{
    char *at = strchr(word, ':');

    *at = '\0';
    q->shaped = true;
    for (int i = 0; i < QDQ_SHAPE_RANGE; i++) {
        q->shape[i] = (qdq_input_shape){.name = word};
        for (at += i == 0 ? 1 : 2; *at != '.' && *at != '\0'; at += *at == ',') {
            assert_true(q->shape[i].rank < QDQ_MAX_RANK);
            q->shape[i].dim[q->shape[i].rank++] = strtoll(at, &at, 10);
        }
        assert_true(i + 1 == QDQ_SHAPE_RANGE || strncmp(at, "..", 2) == 0);
    }
}

/* "gemm a | gemm b+s"; "-": none. Cuts the text. */
static void read_layers(char *at, const char **layer)
{
    for (size_t n = 0; at != NULL && strcmp(at, "-") != 0; n++) {
        char *bar = strstr(at, " | ");

        assert_true(n < TEST_MAX_LAYERS);
        layer[n] = at;
        if (bar != NULL)
            *bar = '\0';
        at = bar != NULL ? bar + 3 : NULL;
    }
}

/* "2 halo x:1,2..8,2..16,2 of gemm a | gemm b+s" */
static void read_question(question *q, const char *arg)
{
    char *rest = NULL, *layers;

    memset(q, 0, sizeof *q);
    assert_true(strlen(arg) < sizeof q->text);
    strcpy(q->text, arg);
    layers = strstr(q->text, " of ");
    assert_non_null(layers);
    *layers = '\0';
    q->group = (uint32_t)strtoul(strtok_r(q->text, " ", &rest), NULL, 10);
    for (char *word; (word = strtok_r(NULL, " ", &rest)) != NULL;) {
        if (strcmp(word, "halo") == 0)
            q->halo = true;
        else
            read_shapes(q, word);
    }
    read_layers(layers + 4, q->layer);
}

static void print_dims(qdq_buf *to, const qdq_dims_range *d, int which)
{
    qdq_buf_puts(to, "[");
    for (int i = 0; i < d->rank; i++) {
        const long long dim = d->dim[which][i];

        qdq_buf_printf(to, dim < 0 ? "%s?" : "%s%lld", i > 0 ? "," : "", dim);
    }
    qdq_buf_puts(to, "]");
}

/* "u[1,4]..[8,4]..[16,4]; z[2]; halo a b; frozen to" */
static char *describe(const qdq_fusions *f, uint32_t group, const qdq_group_model *g)
{
    qdq_buf to = QDQ_BUF_INIT(QDQ_BUF_NO_LIMIT);
    qdq_arena scratch = QDQ_ARENA_INIT;
    const char *before = "; halo";

    for (uint32_t i = 0; i < g->n_inputs; i++) {
        const qdq_dims_range *d = &g->input[i].dims;

        qdq_buf_printf(&to, "%s%s", i > 0 ? "; " : "", g->input[i].name);
        print_dims(&to, d, QDQ_SHAPE_MIN);
        for (int k = QDQ_SHAPE_OPT; d->dynamic && k <= QDQ_SHAPE_MAX; k++) {
            qdq_buf_puts(&to, "..");
            print_dims(&to, d, k);
        }
    }
    QDQ_FOR_NODES (n, f->g.g)
        if (f->of[n->id] != group && test_is_in_part(f, g->model, n)) {
            qdq_buf_printf(&to, "%s %s", before, qdq_node_label(n, &scratch));
            before = "";
        }
    before = "; frozen";
    QDQ_FOR_INITS(v, g->model->graph)
    {
        const qdq_value *whole = qdq_graph_find(f->g.g, v->name);
        if (whole->init != NULL || qdq_region_is_const(whole))
            continue;
        qdq_buf_printf(&to, "%s %s", before, v->name);
        before = "";
    }
    qdq_arena_free(&scratch);
    return qdq_buf_take(&to);
}

static void expect_no_errors(const qdq_model *m)
{
    qdq_error err = QDQ_ERROR_INIT;
    qdq_finding *f;
    size_t n;

    assert_ok(qdq_model_check(m, &f, &n, &err));
    for (size_t i = 0; i < n; i++)
        if (f[i].is_error)
            fail_msg("%s", f[i].text);
    qdq_free(f);
}

/* The model of a group, or why there is none. */
static qdq_status make(qdq_model **m, const qdq_fusions *f, const question *q,
                       const qdq_shape_range *range, text_result *out, qdq_error *err)
{
    const qdq_group_model_opts opts = {.halo = q->halo, .range = range};
    qdq_group_model *g = NULL;
    qdq_status st = qdq_group_model_make(f, q->group, &opts, &g, err);

    if (st != QDQ_OK) {
        assert_null(g);
        return st;
    }
    if (g->model == NULL) {
        out->refusal = strdup(g->why);
    } else {
        expect_no_errors(g->model);
        out->counts = describe(f, q->group, g);
        QDQ_TRY(qdq_model_clone(g->model, m, err));
    }
    qdq_group_model_free(g);
    return QDQ_OK;
}

qdq_status text_group(qdq_model **m, const char *arg, text_result *out, qdq_error *err)
{
    qdq_model *whole = *m, *part = NULL;
    qdq_shape_range_opts shapes = {0};
    qdq_shape_range *range;
    qdq_fusions *f;
    question q;

    read_question(&q, arg);
    test_layers l = test_layers_of(q.layer);
    QDQ_TRY(qdq_model_infer(whole, NULL, err));
    QDQ_TRY(qdq_fusions_find(whole, l.at, l.n, NULL, &f, err));
    if (q.shaped)
        shapes = (qdq_shape_range_opts){{&q.shape[0], &q.shape[1], &q.shape[2]}, {1, 1, 1}};
    QDQ_TRY(qdq_shape_range_open(whole, &shapes, &range, err));
    qdq_status st = make(&part, f, &q, range, out, err);
    qdq_shape_range_close(range);
    qdq_fusions_free(f);
    test_layers_free(&l);
    if (part != NULL) {
        qdq_model_free(whole);
        *m = part;
    }
    return st;
}

/* Of the group that gives y, alone. */
qdq_status text_legal_inputs(qdq_model **m, const char *arg, text_result *out, qdq_error *err)
{
    qdq_arena arena = QDQ_ARENA_INIT;
    qdq_shape_range *range;
    qdq_group_model *g;
    qdq_fusions *f;
    const char *why;

    (void)arg;
    QDQ_TRY(qdq_model_infer(*m, NULL, err));
    QDQ_TRY(qdq_fusions_find(*m, NULL, 0, NULL, &f, err));
    QDQ_TRY(qdq_shape_range_open(*m, NULL, &range, err));
    const qdq_group_model_opts opts = {.range = range};
    const qdq_node *n = qdq_graph_find((*m)->graph, "y")->producer;
    QDQ_TRY(qdq_group_model_make(f, f->of[n->id], &opts, &g, err));
    if (g->model == NULL)
        fail_msg("%s", g->why);
    QDQ_TRY(qdq_legal_inputs(g, &arena, &why, err));
    out->findings = *why != '\0' ? strdup(why) : NULL;
    qdq_arena_free(&arena);
    qdq_group_model_free(g);
    qdq_shape_range_close(range);
    qdq_fusions_free(f);
    return QDQ_OK;
}

/* "5 us"; nothing where that is not known. */
static void put_time(qdq_buf *to, const char *before, double x, const char *unit)
{
    if (!isnan(x))
        qdq_buf_printf(to, "%s%.9g%s", before, x, unit);
}

/* "0.2 exact, 2 layers of l, 15 us, 2 us of conversions, 1 linear: a(x w) b(a)": the key of the
 * group, and the first instance of it that has the same around it; nodes in the order of the key.
 */
static void put_group(qdq_buf *to, const qdq_fusions *f, const qdq_fusion_keys *k, uint32_t group)
{
    const qdq_fusion_key *key = &k->at[k->of[group]];
    const qdq_key_instance *own = key->instance, *first = key->instance;
    const qdq_fusion *at = &f->at[group];
    qdq_arena scratch = QDQ_ARENA_INIT;

    while (own->group != group)
        own++;
    while (memcmp(first->around, own->around, sizeof own->around) != 0)
        first++;
    qdq_buf_printf(to, "%u.%u %s%s", (unsigned)k->of[group], (unsigned)(first - key->instance),
                   qdq_fusion_source_name(at->source), at->cut ? " cut" : "");
    if (at->layers > 0)
        qdq_buf_printf(to, ", %u layers of %s", (unsigned)at->layers, at->layer);
    put_time(to, ", ", at->us, " us");
    put_time(to, ", ", at->converts_us, " us of conversions");
    qdq_buf_printf(to, ", %u linear:", (unsigned)at->linear);
    for (uint32_t n = 0; n < key->n_nodes; n++) {
        qdq_buf_printf(to, " %s(", qdq_node_label(own->node[n], &scratch));
        for (uint32_t i = 0; i < own->node[n]->n_in; i++) {
            const qdq_value *in = qdq_node_in(own->node[n], own->input[n][i]);

            qdq_buf_printf(to, "%s%s", i > 0 ? " " : "", in != NULL ? in->name : "-");
        }
        qdq_buf_puts(to, ")");
    }
    qdq_buf_puts(to, "\n");
    qdq_arena_free(&scratch);
}

/* Keys are the same each time. */
static void assert_same_keys(const qdq_fusions *f, const qdq_fusion_keys *k)
{
    qdq_error err = QDQ_ERROR_INIT;
    qdq_fusion_keys *again;

    assert_ok(qdq_fusion_keys_find(f, &again, &err));
    assert_int_equal(again->n, k->n);
    for (uint32_t i = 0; i < k->n; i++) {
        assert_string_equal(again->at[i].hash, k->at[i].hash);
        assert_int_equal(strlen(k->at[i].hash), 64);
    }
    qdq_fusion_keys_free(again);
}

/* "2 keys of 15 us, 20 us; all 42 us, unknown 5 us, conversions 2 us; matched 0.75, covered 1" */
static qdq_status describe_fusions(const qdq_fusions *f, text_result *out, qdq_error *err)
{
    qdq_buf lines = QDQ_BUF_INIT(QDQ_BUF_NO_LIMIT), sums = QDQ_BUF_INIT(QDQ_BUF_NO_LIMIT);
    qdq_fusion_keys *k;

    QDQ_TRY(qdq_fusion_keys_find(f, &k, err));
    assert_same_keys(f, k);
    for (uint32_t i = 0; i < f->n; i++)
        put_group(&lines, f, k, i);
    qdq_buf_printf(&sums, "%u keys", (unsigned)k->n);
    for (uint32_t i = 0; i < k->n; i++)
        put_time(&sums, i > 0 ? ", " : " of ", k->at[i].us, " us");
    put_time(&sums, "; all ", f->us, " us");
    put_time(&sums, ", unknown ", f->unknown_us, " us");
    put_time(&sums, ", conversions ", f->converted_us, " us");
    put_time(&sums, "; matched ", f->matched, "");
    put_time(&sums, ", covered ", f->covered, "");
    out->lines = lines.size > 0 ? qdq_buf_take(&lines) : NULL;
    out->counts = qdq_buf_take(&sums);
    qdq_fusion_keys_free(k);
    return QDQ_OK;
}

/* Every node is in one group, and no way leaves a group and comes back. */
qdq_status text_fusions(qdq_model **m, const char *arg, text_result *out, qdq_error *err)
{
    const char *layer[TEST_MAX_LAYERS + 1] = {NULL};
    char text[1024];
    qdq_fusions *f = NULL;

    assert_true(strncmp(arg, "of ", 3) == 0 && strlen(arg) < sizeof text);
    strcpy(text, arg + 3);
    read_layers(text, layer);
    test_layers l = test_layers_of(layer);
    QDQ_TRY(qdq_model_infer(*m, NULL, err));
    qdq_status st = qdq_fusions_find(*m, l.at, l.n, NULL, &f, err);
    if (st == QDQ_OK) {
        out->findings = *test_fusions_text(f) != '\0' ? strdup(test_fusions_text(f)) : NULL;
        test_fusions_sound(f);
        st = describe_fusions(f, out, err);
    } else {
        assert_null(f);
    }
    qdq_fusions_free(f);
    test_layers_free(&l);
    return st;
}
