/* text_place.c - see the header. */
#include "text/text_place.h"

#include <math.h>

#include "base/buf.h"
#include "base/random.h"
#include "ir/edit.h"
#include "ir/graph_check.h"
#include "ir/shape.h"
#include "quant/insert/insert.h"
#include "quant/place/place.h"
#include "support/placed.h"
#include "support/test.h"

enum { MAX_WORDS = 16, MAX_LIST = 8 };

/* The words behind "run: place", taken apart in place. */
typedef struct wishes {
    char words[1024];
    qdq_target *target;
    /* kind of processor */
    const char *cpu, *passes;
    /* of all tensors; `distinct`: of the first, twice that of the second, ... */
    double low, high;
    bool distinct;
    /* "w:nan": the last element of a constant */
    char *put;
    qdq_engine_info engine;
    qdq_place_opts opts;
    const char *lists[MAX_WORDS][MAX_LIST + 1];
} wishes;

/* "a,b" as a list that ends with NULL. */
static const char *const *list(char *value, const char **into)
{
    char *rest = NULL;
    size_t n = 0;

    for (char *s = strtok_r(value, ",", &rest); s != NULL; s = strtok_r(NULL, ",", &rest)) {
        assert_true(n < MAX_LIST);
        into[n++] = s;
    }
    return into;
}

/* What `--format dynamic` changes. */
static qdq_status set_dynamic(qdq_target *t, qdq_error *err)
{
    static const qdq_target_change changes[] = {
        {"activation.type", "float"}, {"weight.store", "dynamic"}, {"bias.type", "float"}};

    return qdq_target_set_all(t, changes, QDQ_COUNT(changes), err);
}

/* One word KEY=VALUE: an option of placement, else a key of the target. */
static qdq_status take(wishes *w, size_t i, char *key, char *value, qdq_error *err)
{
    const struct {
        const char *key;
        const char *const **at;
    } lists[] = {{"include", &w->opts.include},
                 {"exclude", &w->opts.exclude},
                 {"op-types", &w->opts.op_types},
                 {"exclude-op-types", &w->opts.exclude_op_types}};

    for (size_t k = 0; k < QDQ_COUNT(lists); k++)
        if (strcmp(lists[k].key, key) == 0) {
            *lists[k].at = list(value, w->lists[i]);
            return QDQ_OK;
        }
    if (strcmp(key, "passes") == 0) {
        w->passes = value;
    } else if (strcmp(key, "cpu") == 0) {
        w->cpu = value;
    } else if (strcmp(key, "range") == 0) {
        assert_int_equal(sscanf(value, "%lf..%lf", &w->low, &w->high), 2);
        w->distinct = strstr(value, ",each") != NULL;
    } else if (strcmp(key, "format") == 0) {
        assert_string_equal(value, "dynamic");
        return set_dynamic(w->target, err);
    } else if (strcmp(key, "put") == 0) {
        w->put = value;
    } else if (strcmp(key, "engine") == 0) {
        w->engine.name = strtok_r(value, "/", &value);
        w->engine.version = value;
        w->opts.engine = &w->engine;
    } else {
        for (char *space = value; (space = strchr(space, '+')) != NULL;)
            *space = ' ';
        return qdq_target_set(w->target, key, value, err);
    }
    return QDQ_OK;
}

static qdq_status take_all(wishes *w, const char *arg, qdq_error *err)
{
    char *rest = NULL, *word;
    size_t n = 0;

    assert_true(strlen(arg) < sizeof w->words);
    strcpy(w->words, arg);
    word = strtok_r(w->words, " ", &rest);
    QDQ_TRY(qdq_target_load(word != NULL ? word : "", &w->target, err));
    while ((word = strtok_r(NULL, " ", &rest)) != NULL) {
        char *value = strchr(word, '=');

        if (value == NULL || n == MAX_WORDS)
            fail_msg("'%s': expected at most %d words KEY=VALUE", word, MAX_WORDS);
        *value = '\0';
        QDQ_TRY(take(w, n++, word, value + 1, err));
    }
    qdq_target *of_cpu;
    QDQ_TRY(qdq_target_for_cpu(w->target, w->cpu != NULL ? w->cpu : "vnni", NULL, &of_cpu, err));
    qdq_target_free(w->target);
    w->target = of_cpu;
    return QDQ_OK;
}

/* The number that a scale or zero point of Q and DQ gets; NAN: v is none. */
static double number_of(const qdq_value *v)
{
    QDQ_FOR_USES (u, v)
        if (u->node->op == QDQ_OP_QUANTIZELINEAR || u->node->op == QDQ_OP_DEQUANTIZELINEAR)
            return u->index == 1 ? 0.5 : u->index == 2 ? 0 : NAN;
    return NAN;
}

/* `number`, or random ones in -1..1; where they are whole in -100..100, or 0..6 for small types. */
static qdq_tensor *fill_tensor(qdq_model *m, const qdq_type *type, double number, uint64_t seed)
{
    qdq_random random = qdq_random_new(seed, NULL);
    int64_t dims[QDQ_MAX_RANK];
    void *data;

    for (int k = 0; k < type->rank; k++)
        dims[k] = type->dim[k].value;
    qdq_tensor *t = qdq_tensor_new(m, type->elem, type->rank, dims, &data);
    assert_non_null(t);
    for (int64_t k = 0; k < t->count; k++) {
        double x = isnan(number) ? 2 * qdq_random_uniform(&random) - 1 : number;

        assert_true(qdq_elem_is_int(type->elem)
                        ? qdq_elem_put_int(type->elem, data, k, (int64_t)(100 * x)) ||
                              qdq_elem_put_int(type->elem, data, k, k % 7)
                        : qdq_elem_put_float(type->elem, data, k, x));
    }
    return t;
}

/* Names nodes after their first results, and gives data to what nothing produces. */
void text_complete(qdq_model *m)
{
    qdq_graph *g = m->graph;
    uint64_t seed = 1;

    QDQ_FOR_NODES (n, g)
        if (n->name[0] == '\0' && n->n_out > 0 && n->out[0] != NULL)
            assert_true(qdq_node_set_name(n, n->out[0]->name));
    for (size_t i = 0; i < g->values.n; i++) {
        qdq_value *v = g->values.at[i];

        if (!v->dead && !v->is_input && v->producer == NULL && v->init == NULL && v->type != NULL &&
            v->type->kind == QDQ_TYPE_TENSOR)
            assert_true(qdq_value_set_init(v, fill_tensor(m, v->type, number_of(v), seed++)));
    }
}

static void put(const qdq_model *m, char *where)
{
    char *colon = strchr(where, ':');

    assert_non_null(colon);
    *colon = '\0';
    qdq_tensor *t = qdq_graph_find(m->graph, where)->init;
    ((float *)(uintptr_t)t->bytes.data)[t->count - 1] = strtof(colon + 1, NULL);
}

/* Those that read quantized values. */
char *text_quantized_lines(const qdq_model *m, const qdq_plan *p)
{
    char *all = test_describe_placement(m, p), *to = all;

    for (char *line = all, *next; *line != '\0'; line = next) {
        size_t n = strcspn(line, "\n") + 1;

        next = line + n;
        if (memchr(line, '(', n) != NULL) {
            memmove(to, line, n);
            to += n;
        }
    }
    *to = '\0';
    return all;
}

void text_log_warning(void *ctx, qdq_log_level level, const char *text)
{
    text_result *p = ctx;
    size_t n = strlen(p->warnings);

    if (level == QDQ_LOG_WARNING)
        snprintf(p->warnings + n, sizeof p->warnings - n, "\n%s", text);
}

static qdq_status insert(qdq_model *m, const wishes *w, qdq_plan *p, qdq_error *err)
{
    for (size_t i = 0; i < p->tensors.n; i++) {
        qdq_plan_tensor *t = &p->tensors.at[i];
        const double times = w->distinct ? (double)(i + 1) : 1;
        const qdq_qscheme scheme = {.type = t->qparam.type,
                                    .symmetric = t->qparam.type == QDQ_INT8};

        if (!t->known)
            assert_true(
                qdq_qparam_from_range(&scheme, w->low * times, w->high * times, &t->qparam));
    }
    QDQ_TRY(qdq_insert(m, p, NULL, NULL, err));
    return qdq_model_verify(m, err);
}

/* Placed once more, a model that was placed is left as it is. */
static qdq_status expect_nothing_to_add(qdq_model *m, const wishes *w, qdq_error *err)
{
    qdq_plan *again = qdq_plan_new();

    QDQ_TRY(qdq_model_infer(m, NULL, err));
    QDQ_TRY(qdq_place(m, w->target, &w->opts, again, err));
    if (again->tensors.n + again->weights.n > 0)
        fail_msg("the second time, '%s' is quantized",
                 again->tensors.n > 0 ? again->tensors.at[0].tensor : again->weights.at[0].tensor);
    qdq_plan_free(again);
    return QDQ_OK;
}

static bool is_qdq(const qdq_node *n)
{
    return n->op == QDQ_OP_QUANTIZELINEAR || n->op == QDQ_OP_DEQUANTIZELINEAR ||
           n->op == QDQ_OP_DYNAMICQUANTIZELINEAR;
}

/* A Gemm that reads its weight transposed comes back as one that does not: along another axis. */
static bool is_transposed(const qdq_node *n)
{
    return n->op == QDQ_OP_GEMM && qdq_node_int(n, "transB", 0) != 0;
}

/* The operators of all graphs, but Q/DQ, are the same, in their order. */
static void assert_same_operators(const qdq_model *a, const qdq_model *b)
{
    const qdq_model *of[] = {a, b};
    char *text[2];

    for (int i = 0; i < 2; i++) {
        qdq_buf to = QDQ_BUF_INIT(QDQ_BUF_NO_LIMIT);

        QDQ_FOR_GRAPHS (g, of[i])
            QDQ_FOR_NODES (n, g)
                if (!is_qdq(n))
                    qdq_buf_printf(&to, "%s ", n->type);
        qdq_buf_puts(&to, ".");
        text[i] = qdq_buf_take(&to);
    }
    assert_string_equal(text[0], text[1]);
    qdq_free(text[0]);
    qdq_free(text[1]);
}

static void assert_same_dims(const qdq_model *before, const qdq_model *after)
{
    QDQ_FOR_INITS(v, before->graph)
    {
        const qdq_value *w = qdq_graph_find(after->graph, v->name);

        if (v->init == NULL || w == NULL || w->init == NULL)
            continue;
        assert_int_equal(w->init->rank, v->init->rank);
        assert_memory_equal(w->init->dim, v->init->dim,
                            (size_t)v->init->rank * sizeof *v->init->dim);
    }
}

void text_assert_comes_back(const qdq_model *before, const qdq_model *m, qdq_plan *p)
{
    qdq_error err = QDQ_ERROR_INIT;
    qdq_plan *copy, *again;
    qdq_model *stripped, *imported, *applied;
    size_t n_left;
    char *text;

    QDQ_FOR_NODES (n, before->graph)
        if (is_qdq(n) || is_transposed(n))
            return;
    p->model = p->target = p->created_by = p->clean = "";
    assert_ok(qdq_plan_to_text(p, &text, &err));
    assert_ok(qdq_plan_parse(text, strlen(text), "plan", &copy, &err));
    assert_ok(qdq_plan_import(m, NULL, &again, &imported, &err));
    assert_ok(qdq_plan_apply(again, imported, false, NULL, &applied, &err));
    assert_same_operators(applied, m);
    char *want = test_plan_essence(copy), *have = test_plan_essence(again);
    assert_string_equal(have, want);
    assert_ok(qdq_model_strip(m, NULL, &stripped, &n_left, &err));
    assert_int_equal(n_left, 0);
    assert_ok(qdq_model_verify(stripped, &err));
    assert_same_operators(stripped, before);
    assert_same_dims(before, stripped);
    qdq_free(want);
    qdq_free(have);
    qdq_free(text);
    qdq_plan_free(copy);
    qdq_plan_free(again);
    qdq_model_free(stripped);
    qdq_model_free(imported);
    qdq_model_free(applied);
}

/* "2 tensors, 1 biases, 3 left float, 2 Conv before": entries, and what the model had in 8 bits. */
static char *describe_counts(const qdq_plan *p)
{
    const struct {
        size_t n;
        const char *what;
    } counts[] = {{p->tensors.n, "tensors"},
                  {p->weights.n, "weights"},
                  {p->biases.n, "biases"},
                  {p->left_float.n, "left float"}};
    const qdq_plan_summary *s = qdq_plan_get_summary(p);
    qdq_buf to = QDQ_BUF_INIT(QDQ_BUF_NO_LIMIT);

    for (size_t i = 0; i < QDQ_COUNT(counts); i++)
        if (counts[i].n > 0)
            qdq_buf_printf(&to, "%s%zu %s", to.size > 0 ? ", " : "", counts[i].n, counts[i].what);
    for (size_t i = 0; i < s->n_existing; i++)
        qdq_buf_printf(&to, "%s%zu %s before", to.size > 0 ? ", " : "", s->existing[i].n,
                       s->existing[i].what);
    return to.size > 0 ? qdq_buf_take(&to) : NULL;
}

static qdq_status place(qdq_model *m, wishes *w, bool with_insert, text_result *out, qdq_error *err)
{
    if (w->put != NULL)
        put(m, w->put);
    if (w->passes != NULL)
        QDQ_TRY(qdq_model_run_passes(m, w->passes, err));
    QDQ_TRY(qdq_model_infer(m, NULL, err));
    QDQ_TRY(qdq_place(m, w->target, &w->opts, out->plan, err));
    assert_true(qdq_plan_finish(out->plan));
    out->lines = text_quantized_lines(m, out->plan);
    out->counts = describe_counts(out->plan);
    if (!with_insert)
        return QDQ_OK;
    qdq_model *before;
    QDQ_TRY(qdq_model_clone(m, &before, err));
    QDQ_TRY(insert(m, w, out->plan, err));
    text_assert_comes_back(before, m, out->plan);
    qdq_model_free(before);
    return expect_nothing_to_add(m, w, err);
}

qdq_status text_place(qdq_model *m, const char *arg, bool with_insert, text_result *out,
                      qdq_error *err)
{
    wishes w = {.low = -1, .high = 1};
    qdq_job job = QDQ_JOB_INIT;
    qdq_status st;

    job.ctx = out;
    job.log = text_log_warning;
    w.opts.job = &job;
    out->plan = qdq_plan_new();
    assert_non_null(out->plan);
    st = take_all(&w, arg, err);
    if (st == QDQ_OK)
        st = place(m, &w, with_insert, out, err);
    qdq_target_free(w.target);
    return st;
}

void text_result_free(text_result *p)
{
    qdq_plan_free(p->plan);
    qdq_free(p->lines);
    qdq_free(p->findings);
    qdq_free(p->counts);
    qdq_free(p->refusal);
}

const char *text_reason(const qdq_plan *p, const char *node)
{
    for (size_t i = 0; i < p->left_float.n; i++)
        if (strcmp(p->left_float.at[i].node, node) == 0)
            return p->left_float.at[i].reason;
    return "-";
}

typedef struct printed {
    char text[512];
    size_t n;
} printed;

QDQ_PRINTF(2, 3)
static void add(printed *to, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    to->n += (size_t)vsnprintf(to->text + to->n, sizeof to->text - to->n, fmt, ap);
    va_end(ap);
    assert_true(to->n < sizeof to->text);
}

const char *text_format(const qdq_plan *p, const char *tensor)
{
    static printed out;

    out = (printed){.text = "-"};
    for (size_t i = 0; i < p->tensors.n; i++) {
        const qdq_plan_tensor *t = &p->tensors.at[i];

        if (strcmp(t->tensor, tensor) != 0)
            continue;
        add(&out, "%s%s", out.n > 0 ? "; " : "", qdq_elem_name(t->qparam.type));
        if (t->known)
            add(&out, ", scale %g (%s)", t->qparam.scale, t->origin);
        if (t->known && t->qparam.zero_point != 0)
            add(&out, ", zero point %d", (int)t->qparam.zero_point);
        if (t->like != NULL)
            add(&out, ", as %s", t->like);
        if (t->group != NULL)
            add(&out, ", group %s", t->group);
        add(&out, t->all ? ", for all" : "");
    }
    for (size_t i = 0; i < p->weights.n; i++) {
        const qdq_plan_weight *w = &p->weights.at[i];

        if (strcmp(w->tensor, tensor) != 0)
            continue;
        add(&out, "%s%s", out.n > 0 ? "; " : "", qdq_elem_name(w->type));
        add(&out, w->axis < 0 ? ", one scale" : ", axis %d", w->axis);
        if (w->block > 0)
            add(&out, ", blocks of %d", (int)w->block);
        add(&out, w->store == QDQ_WEIGHT_AS_NBITS     ? ", nbits"
                  : w->store == QDQ_WEIGHT_AS_DYNAMIC ? ", dynamic"
                                                      : "");
    }
    for (size_t i = 0; i < p->biases.n; i++)
        if (strcmp(p->biases.at[i].tensor, tensor) == 0)
            add(&out, "%sint32, %s times %s", out.n > 0 ? "; " : "", p->biases.at[i].activation,
                p->biases.at[i].weight);
    return out.text;
}

const char *text_quantized(const qdq_plan *p)
{
    static printed out;

    out = (printed){.text = "-"};
    for (size_t i = 0; i < p->quantized.n; i++)
        add(&out, "%s%s%s", i > 0 ? " " : "", p->quantized.at[i].node,
            p->quantized.at[i].preserved ? " (preserved)" : "");
    return out.text;
}
