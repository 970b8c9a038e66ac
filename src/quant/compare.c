/* compare.c - runs two models on the same samples and adds up how far apart they are. One sample's outputs of
 * the first model are held at a time, never more; per tensor, the values come in chunks that fit a budget of
 * memory, one pass over the data for each. */
#include "qdq/compare.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/fail.h"
#include "base/map.h"
#include "base/vec.h"
#include "ir/ir.h"
#include "ir/shape.h"
#include "quant/compare_stat.h"

/* Of values exposed in one pass, and of each of the two models: bytes of one sample, and how many. */
#define CHUNK_BYTES ((size_t)128 << 20)

enum { CHUNK_VALUES = 512 };

/* A value that both models have. */
typedef struct common {
    const char *name;
    size_t bytes; /* of one sample, about; 0: not known */
    qdq_compare_stat stat;
    bool left_out; /* the models disagree on its shape, or it has no numbers */
    qdq_array held;
    size_t room;
    bool is_held; /* the first model gave it for this sample */
    bool is_done; /* and the second one, too */
} common;

typedef QDQ_VEC(common) common_vec;

typedef struct comparison {
    qdq_engine *engine;
    const qdq_model *model[2];
    qdq_data *data;
    qdq_compare_opts opts;
    size_t first, end; /* samples */
    qdq_arena arena;
    common_vec outputs, tensors;
    qdq_top1 top1;
    uint64_t done, total; /* samples run, over all passes: for progress */
} comparison;

/* What one pass over the data compares: the models' outputs, or a chunk of inner values. */
typedef struct pass {
    comparison *c;
    common *values;
    size_t n;
    bool inner;
    qdq_map by_name;
    qdq_session *session[2];
    const int64_t *labels; /* of the sample that runs */
    size_t n_labels;
} pass;

/* --- what both have -------------------------------------------------------------------------------------------- */

static qdq_status find_outputs(comparison *c, qdq_error *err)
{
    qdq_io a, b;

    for (size_t i = 0; qdq_model_output(c->model[0], i, &a); i++) {
        bool found = false;

        for (size_t k = 0; !found && qdq_model_output(c->model[1], k, &b); k++)
            found = strcmp(a.name, b.name) == 0;
        if (!found)
            qdq_job_log(c->opts.job, QDQ_LOG_WARNING,
                        "output '%s' of the first model is not in the second: left out", a.name);
        else if (!QDQ_PUSH(&c->arena, &c->outputs, ((common){.name = a.name})))
            return qdq_nomem(err);
    }
    if (c->outputs.n == 0)
        return qdq_fail(err, QDQ_E_FORMAT, "the two models have no output in common");
    return QDQ_OK;
}

static bool is_float_or_unknown(const qdq_value *v)
{
    return v->type == NULL || (v->type->kind == QDQ_TYPE_TENSOR &&
                               (v->type->elem == QDQ_UNDEFINED || qdq_elem_is_float(v->type->elem)));
}

static bool is_known_float(const qdq_value *v)
{
    return v->type != NULL && v->type->kind == QDQ_TYPE_TENSOR && qdq_elem_is_float(v->type->elem);
}

static size_t bytes_of(const qdq_value *v)
{
    int64_t count = 1;
    size_t bytes;

    if (v->type == NULL || v->type->rank < 0)
        return 0;
    for (int i = 0; i < v->type->rank; i++) {
        int64_t dim = v->type->dim[i].value;

        if (dim > 0 && __builtin_mul_overflow(count, dim, &count))
            return SIZE_MAX;
    }
    return qdq_elem_bytes(v->type->elem == QDQ_UNDEFINED ? QDQ_FLOAT : v->type->elem, count, &bytes) ? bytes
                                                                                                     : 0;
}

/* A copy of a model whose values have types, with the shapes of the data where that is possible. */
static qdq_status typed_copy(comparison *c, const qdq_model *m, qdq_model **out, qdq_error *err)
{
    const qdq_named_array *in;
    qdq_error ignored = QDQ_ERROR_INIT;
    qdq_shape_opts infer = {.job = c->opts.job};
    qdq_input_shape *shapes;
    size_t n;

    *out = NULL;
    QDQ_TRY(qdq_data_get(c->data, c->first, &in, &n, err));
    shapes = qdq_arena_array(&c->arena, n, sizeof *shapes);
    if (shapes == NULL)
        return qdq_nomem(err);
    for (size_t i = 0; i < n; i++) {
        shapes[i] = (qdq_input_shape){.name = in[i].name, .rank = in[i].array.rank};
        memcpy(shapes[i].dim, in[i].array.dim, sizeof shapes[i].dim);
    }
    QDQ_TRY(qdq_model_clone(m, out, err));
    /* Where shapes cannot be fixed, symbolic dimensions count as 1 below: chunks get larger, nothing else. */
    qdq_status st = qdq_model_set_shapes(*out, shapes, n, &ignored);
    if (st != QDQ_OK && st != QDQ_E_NOMEM)
        st = qdq_model_infer(*out, &infer, err);
    else if (st != QDQ_OK)
        st = qdq_nomem(err);
    if (st != QDQ_OK) {
        qdq_model_free(*out);
        *out = NULL;
    }
    return st;
}

static qdq_status collect_tensors(comparison *c, const qdq_model *a, const qdq_model *b, qdq_error *err)
{
    QDQ_FOR_NODES (node, a->graph) {
        for (uint32_t i = 0; i < node->n_out; i++) {
            const qdq_value *x = node->out[i], *y;

            if (x == NULL || (y = qdq_graph_find(b->graph, x->name)) == NULL || y->producer == NULL)
                continue;
            if ((x->n_output > 0 && y->n_output > 0) || qdq_value_const(x) != NULL ||
                qdq_value_const(y) != NULL)
                continue;
            if (!is_float_or_unknown(x) || !is_float_or_unknown(y) ||
                !(is_known_float(x) || is_known_float(y)))
                continue;
            common found = {.name = qdq_arena_strdup(&c->arena, x->name)};
            found.bytes = bytes_of(x) > 0 ? bytes_of(x) : bytes_of(y);
            if (found.name == NULL || !QDQ_PUSH(&c->arena, &c->tensors, found))
                return qdq_nomem(err);
        }
    }
    return QDQ_OK;
}

static qdq_status find_tensors(comparison *c, qdq_error *err)
{
    qdq_model *a, *b;

    QDQ_TRY(typed_copy(c, c->model[0], &a, err));
    qdq_status st = typed_copy(c, c->model[1], &b, err);
    if (st == QDQ_OK)
        st = collect_tensors(c, a, b, err);
    qdq_model_free(a);
    qdq_model_free(b);
    return st;
}

/* --- outputs of a run -------------------------------------------------------------------------------------------- */

static common *find_value(const pass *p, const char *name)
{
    const qdq_map_value *v = qdq_map_get(&p->by_name, name);

    return v != NULL && !p->values[v->num].left_out ? &p->values[v->num] : NULL;
}

static bool same_shape(const qdq_array *a, const qdq_array *b)
{
    if (a->rank != b->rank)
        return false;
    for (int i = 0; i < a->rank; i++)
        if (a->dim[i] != b->dim[i])
            return false;
    return true;
}

static const char *shape_text(const qdq_array *a, char *text, size_t room)
{
    size_t n = 0;

    text[0] = '\0';
    for (int i = 0; i < a->rank && n < room; i++) {
        int written = snprintf(text + n, room - n, "%s%lld", i > 0 ? ", " : "", (long long)a->dim[i]);

        n += written > 0 ? (size_t)written : 0;
    }
    return text;
}

/* Keeps a copy of the first model's output. */
static qdq_status hold(void *ctx, const char *name, const qdq_array *a, qdq_error *err)
{
    common *v = find_value(ctx, name);

    if (v == NULL)
        return QDQ_OK;
    if (!qdq_elem_is_float(a->elem) && !qdq_elem_is_int(a->elem)) {
        const char *elem = qdq_elem_name(a->elem);

        v->left_out = true;
        qdq_job_log(((pass *)ctx)->c->opts.job, QDQ_LOG_WARNING,
                    "'%s' is %s and cannot be compared: left out", name, elem != NULL ? elem : "?");
        return QDQ_OK;
    }
    if (a->bytes > v->room || v->held.data == NULL) {
        void *data = malloc(a->bytes > 0 ? a->bytes : 1);

        if (data == NULL)
            return qdq_nomem(err);
        free(v->held.data);
        v->held.data = data;
        v->room = a->bytes;
    }
    void *data = v->held.data;
    if (a->bytes > 0)
        memcpy(data, a->data, a->bytes);
    v->held = *a;
    v->held.data = data;
    v->is_held = true;
    return QDQ_OK;
}

static qdq_status count_top1(pass *p, const common *v, const qdq_array *b, qdq_error *err)
{
    const int64_t *labels = p->labels;
    int64_t rows = qdq_top1_rows(&v->held);

    if (labels != NULL && rows > 0 && p->n_labels != (size_t)rows)
        return qdq_fail(err, QDQ_E_FORMAT, "output '%s': %lld rows in a sample, but %zu labels", v->name,
                        (long long)rows, p->n_labels);
    qdq_top1_add(&p->c->top1, &v->held, b, labels);
    return QDQ_OK;
}

/* Compares the second model's output with what was held. */
static qdq_status match(void *ctx, const char *name, const qdq_array *b, qdq_error *err)
{
    pass *p = ctx;
    common *v = find_value(p, name);
    char text[2][200];

    if (v == NULL || !v->is_held)
        return QDQ_OK;
    if (!qdq_elem_is_float(b->elem) && !qdq_elem_is_int(b->elem))
        return qdq_fail(err, QDQ_E_FORMAT, "'%s' has numbers in the first model and none in the second",
                        name);
    v->is_done = true;
    if (!same_shape(&v->held, b)) {
        if (!p->inner)
            return qdq_fail(err, QDQ_E_FORMAT, "output '%s' is [%s] in the first model, [%s] in the second",
                            name, shape_text(&v->held, text[0], sizeof text[0]),
                            shape_text(b, text[1], sizeof text[1]));
        v->left_out = true;
        qdq_job_log(p->c->opts.job, QDQ_LOG_WARNING,
                    "tensor '%s' is [%s] in the first model, [%s] in the second: left out", name,
                    shape_text(&v->held, text[0], sizeof text[0]), shape_text(b, text[1], sizeof text[1]));
        return QDQ_OK;
    }
    qdq_compare_stat_add(&v->stat, &v->held, b);
    return !p->inner && v == p->values ? count_top1(p, v, b, err) : QDQ_OK;
}

/* --- a pass over the data --------------------------------------------------------------------------------------- */

static qdq_status open_session(pass *p, int k, qdq_error *err)
{
    qdq_session_opts opts = QDQ_SESSION_OPTS_INIT;
    const char **names = qdq_arena_array(&p->c->arena, p->n + 1, sizeof *names);

    if (names == NULL)
        return qdq_nomem(err);
    for (size_t i = 0; i < p->n; i++)
        names[i] = p->values[i].name;
    opts.threads = p->c->opts.threads;
    opts.shapes = p->c->opts.shapes;
    opts.n_shapes = p->c->opts.n_shapes;
    opts.expose = p->inner ? names : NULL;
    opts.only_exposed = p->inner;
    opts.fake_quant = p->c->opts.fake_quant;
    return qdq_session_open(p->c->engine, p->c->model[k], &opts, &p->session[k], err);
}

/* A session is opened when it is needed, and closed after the last sample: with one sample, as quantize holds
 * back, the weights of the two models are never in memory at the same time. */
static qdq_status run_model(pass *p, int k, size_t i, const qdq_named_array *in, size_t n, qdq_error *err)
{
    qdq_status st = p->session[k] == NULL ? open_session(p, k, err) : QDQ_OK;

    if (st != QDQ_OK)
        return qdq_within(err, st, "%s model", k == 0 ? "first" : "second");
    st = qdq_session_run(p->session[k], in, n, k == 0 ? hold : match, p, err);
    if (st != QDQ_OK)
        return qdq_within(err, st, "%s model, sample %zu", k == 0 ? "first" : "second", i);
    if (i + 1 == p->c->end) {
        qdq_session_close(p->session[k]);
        p->session[k] = NULL;
    }
    return QDQ_OK;
}

static qdq_status run_sample(pass *p, size_t i, qdq_error *err)
{
    const qdq_named_array *in;
    size_t n;

    QDQ_TRY(qdq_job_poll(p->c->opts.job, err));
    QDQ_TRY(qdq_data_get(p->c->data, i, &in, &n, err));
    p->labels = qdq_data_labels(p->c->data, i, &p->n_labels);
    for (size_t k = 0; k < p->n; k++)
        p->values[k].is_held = p->values[k].is_done = false;
    QDQ_TRY(run_model(p, 0, i, in, n, err));
    QDQ_TRY(run_model(p, 1, i, in, n, err));
    for (size_t k = 0; k < p->n; k++)
        if (p->values[k].is_held && !p->values[k].is_done)
            return qdq_fail(err, QDQ_E_ENGINE, "second model, sample %zu: the engine gave no '%s'", i,
                            p->values[k].name);
    qdq_job_progress(p->c->opts.job, "compare", ++p->c->done, p->c->total);
    return QDQ_OK;
}

static qdq_status run_samples(pass *p, qdq_error *err)
{
    for (size_t k = 0; k < p->n; k++) {
        qdq_map_value *v = qdq_map_put(&p->by_name, p->values[k].name, NULL);

        if (v == NULL)
            return qdq_nomem(err);
        v->num = k;
    }
    for (size_t i = p->c->first; i < p->c->end; i++)
        QDQ_TRY(run_sample(p, i, err));
    return QDQ_OK;
}

static qdq_status run_pass(comparison *c, common *values, size_t n, bool inner, qdq_error *err)
{
    pass p = {.c = c, .values = values, .n = n, .inner = inner, .by_name = QDQ_MAP_INIT};
    qdq_status st = run_samples(&p, err);

    qdq_session_close(p.session[0]);
    qdq_session_close(p.session[1]);
    qdq_map_free(&p.by_name);
    for (size_t k = 0; k < n; k++) {
        free(values[k].held.data);
        values[k].held.data = NULL;
    }
    return st;
}

/* How many of the tensors from `at` on go into one pass: at least one. */
static size_t chunk_at(const comparison *c, size_t at)
{
    size_t n = 0, bytes = 0;

    while (at + n < c->tensors.n && n < CHUNK_VALUES) {
        size_t more = c->tensors.at[at + n].bytes;

        if (n > 0 && (more > CHUNK_BYTES || bytes + more > CHUNK_BYTES))
            break;
        bytes += more < CHUNK_BYTES ? more : CHUNK_BYTES;
        n++;
    }
    return n;
}

/* --- the interface ------------------------------------------------------------------------------------------------ */

static size_t count_kept(const common_vec *v)
{
    size_t n = 0;

    for (size_t i = 0; i < v->n; i++)
        n += !v->at[i].left_out;
    return n;
}

/* Results and names go into the block that the caller frees. */
static void write_results(const common_vec *v, qdq_compare_tensor *t, char **text)
{
    for (size_t i = 0; i < v->n; i++) {
        if (v->at[i].left_out)
            continue;
        size_t size = strlen(v->at[i].name) + 1;

        qdq_compare_stat_result(&v->at[i].stat, t);
        memcpy(*text, v->at[i].name, size);
        t++->name = *text;
        *text += size;
    }
}

static qdq_status make_result(const comparison *c, qdq_compare_result **out, qdq_error *err)
{
    size_t n_outputs = count_kept(&c->outputs), n_tensors = count_kept(&c->tensors), text_size = 0;
    const qdq_top1 *t = &c->top1;

    for (size_t i = 0; i < c->outputs.n; i++)
        text_size += strlen(c->outputs.at[i].name) + 1;
    for (size_t i = 0; i < c->tensors.n; i++)
        text_size += strlen(c->tensors.at[i].name) + 1;
    size_t numbers = (n_outputs + n_tensors) * sizeof(qdq_compare_tensor);
    qdq_compare_result *r = calloc(1, sizeof *r + numbers + text_size);
    if (r == NULL)
        return qdq_nomem(err);
    char *text = (char *)(r + 1) + numbers;
    r->outputs = (qdq_compare_tensor *)(void *)(r + 1);
    r->n_outputs = n_outputs;
    r->tensors = r->outputs + n_outputs;
    r->n_tensors = n_tensors;
    write_results(&c->outputs, r->outputs, &text);
    write_results(&c->tensors, r->tensors, &text);
    r->top1_agreement = t->rows > 0 ? (double)t->same / (double)t->rows : NAN;
    r->accuracy_a = t->labelled > 0 ? (double)t->right_a / (double)t->labelled : NAN;
    r->accuracy_b = t->labelled > 0 ? (double)t->right_b / (double)t->labelled : NAN;
    r->samples = c->end - c->first;
    *out = r;
    return QDQ_OK;
}

static qdq_status find_range(comparison *c, qdq_error *err)
{
    size_t n = qdq_data_count(c->data);

    if (c->opts.first >= n || c->opts.count > n - c->opts.first)
        return qdq_fail(err, QDQ_E_USAGE, "samples %zu to %zu, the data have %zu", c->opts.first,
                        c->opts.first + c->opts.count, n);
    c->first = c->opts.first;
    c->end = c->opts.count > 0 ? c->first + c->opts.count : n;
    return QDQ_OK;
}

static qdq_status compare(comparison *c, qdq_compare_result **out, qdq_error *err)
{
    size_t passes = 1;

    QDQ_TRY(find_range(c, err));
    QDQ_TRY(find_outputs(c, err));
    if (c->opts.per_tensor) {
        if ((qdq_engine_get_info(c->engine)->capabilities & QDQ_CAN_EXPOSE) == 0)
            return qdq_fail(err, QDQ_E_UNSUPPORTED, "engine %s cannot show inner tensors",
                            qdq_engine_get_info(c->engine)->name);
        QDQ_TRY(find_tensors(c, err));
        for (size_t at = 0; at < c->tensors.n; at += chunk_at(c, at))
            passes++;
    }
    c->total = (uint64_t)passes * (c->end - c->first);
    QDQ_TRY(run_pass(c, c->outputs.at, c->outputs.n, false, err));
    for (size_t at = 0, n; at < c->tensors.n; at += n) {
        n = chunk_at(c, at);
        QDQ_TRY(run_pass(c, c->tensors.at + at, n, true, err));
    }
    if (count_kept(&c->outputs) == 0)
        return qdq_fail(err, QDQ_E_FORMAT, "no output of the two models can be compared");
    return make_result(c, out, err);
}

qdq_status qdq_compare(qdq_engine *e, const qdq_model *a, const qdq_model *b, qdq_data *d,
                       const qdq_compare_opts *opts, qdq_compare_result **out, qdq_error *err)
{
    static const qdq_compare_opts defaults = QDQ_COMPARE_OPTS_INIT;
    comparison c = {.engine = e, .model = {a, b}, .data = d, .arena = QDQ_ARENA_INIT};

    *out = NULL;
    c.opts = opts != NULL ? *opts : defaults;
    qdq_status st = compare(&c, out, err);
    qdq_arena_free(&c.arena);
    return st;
}
