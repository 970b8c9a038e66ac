/* text_ways.c - see the header. */
#include "text/text_ways.h"

#include "base/buf.h"
#include "ir/edit.h"
#include "ir/graph_check.h"
#include "ir/qdq_node.h"
#include "ir/shape.h"
#include "quant/half_precision/half_precision.h"
#include "quant/insert/insert.h"
#include "quant/weights/scale_types.h"
#include "quant/weights/smooth_fold.h"
#include "support/survive.h"
#include "support/test.h"
#include "support/text_case.h"
#include "text/text_numbers.h"

enum { MAX_SHAPES = 8, MAX_NAMES = 8 };

/* The words of a line "run:", taken apart in place. */
typedef struct words {
    char text[1024];
    char *rest;
} words;

static char *first_word(words *w, const char *arg)
{
    assert_true(strlen(arg) < sizeof w->text);
    strcpy(w->text, arg);
    return strtok_r(w->text, " ", &w->rest);
}

static char *next_word(words *w)
{
    return strtok_r(NULL, " ", &w->rest);
}

/* "key=value": cuts it in two. */
static char *value_of(char *word)
{
    char *value = strchr(word, '=');

    if (value == NULL)
        fail_msg("'%s': expected KEY=VALUE", word);
    *value = '\0';
    return value + 1;
}

static qdq_job listening(text_result *out)
{
    qdq_job job = QDQ_JOB_INIT;

    job.ctx = out;
    job.log = text_log_warning;
    return job;
}

/* Warnings that have a part in them. */
static size_t count_warnings(const text_result *r, const char *part)
{
    size_t n = 0;

    for (const char *s = r->warnings; (s = strstr(s, part)) != NULL; s++)
        n++;
    return n;
}

static void assert_same_text(const qdq_model *a, const qdq_model *b)
{
    char *one = test_text_of(a), *two = test_text_of(b);

    assert_string_equal(one, two);
    qdq_free(one);
    qdq_free(two);
}

/* --- without Q/DQ ----------------------------------------------------------------------------- */

static qdq_bounds bounds_of(const char *arg)
{
    static const char *const names[] = {[QDQ_BOUNDS_AUTO] = "",
                                        [QDQ_BOUNDS_RESTORE] = "bounds=restore",
                                        [QDQ_BOUNDS_LEAVE] = "bounds=leave"};

    for (size_t i = 0; i < QDQ_COUNT(names); i++)
        if (strcmp(names[i], arg) == 0)
            return (qdq_bounds)i;
    fail_msg("'%s': expected bounds=restore or bounds=leave", arg);
    return QDQ_BOUNDS_AUTO;
}

/* Each node that stays has a warning; twice is once. */
qdq_status text_strip(qdq_model **m, const char *arg, text_result *out, qdq_error *err)
{
    qdq_job job = listening(out);
    qdq_import_opts opts = QDQ_IMPORT_OPTS_INIT;
    qdq_model *stripped = NULL, *again = NULL;
    size_t n_left = 99;

    opts.bounds = bounds_of(arg);
    opts.job = &job;
    QDQ_TRY(qdq_model_strip(*m, &opts, &stripped, &n_left, err));
    assert_int_equal(n_left, count_warnings(out, " stays: "));
    qdq_model_free(*m);
    *m = stripped;
    QDQ_TRY(qdq_model_verify(stripped, err));
    QDQ_TRY(qdq_model_strip(stripped, NULL, &again, NULL, err));
    assert_same_text(stripped, again);
    qdq_model_free(again);
    return QDQ_OK;
}

/* What plans have behind their heads. */
static void assert_same_entries(const qdq_plan *a, const qdq_plan *b)
{
    qdq_error err = QDQ_ERROR_INIT;
    char *one, *two;

    assert_ok(qdq_plan_to_text(a, &one, &err));
    assert_ok(qdq_plan_to_text(b, &two, &err));
    assert_string_equal(strstr(one, "\"tensors\""), strstr(two, "\"tensors\""));
    qdq_free(one);
    qdq_free(two);
}

/* The plan, and the model that it is for: applied to that, it is what import finds again. */
qdq_status text_import(qdq_model **m, const char *arg, text_result *out, qdq_error *err)
{
    qdq_job job = listening(out);
    qdq_import_opts opts = QDQ_IMPORT_OPTS_INIT;
    qdq_model *stripped = NULL;

    opts.bounds = bounds_of(arg);
    opts.job = &job;
    QDQ_TRY(qdq_plan_import(*m, &opts, &out->plan, &stripped, err));
    qdq_model_free(*m);
    *m = stripped;
    out->lines = text_quantized_lines(stripped, out->plan);

    qdq_model *applied = NULL;
    qdq_plan *again = NULL;
    QDQ_TRY(qdq_plan_apply(out->plan, stripped, false, NULL, &applied, err));
    QDQ_TRY(qdq_plan_import(applied, NULL, &again, NULL, err));
    assert_same_entries(out->plan, again);
    qdq_plan_free(again);
    qdq_model_free(applied);
    return QDQ_OK;
}

/* `arg` is what a plan has behind its version. */
qdq_status text_insert(qdq_model **m, const char *arg, text_result *out, qdq_error *err)
{
    qdq_job job = listening(out);
    qdq_buf json = QDQ_BUF_INIT(QDQ_BUF_NO_LIMIT);
    qdq_model *before = NULL;
    char *text;

    qdq_buf_printf(&json, "{\"qdq_plan\": 1, %s}", arg);
    text = qdq_buf_take(&json);
    assert_non_null(text);
    qdq_status st = qdq_plan_parse(text, strlen(text), "plan", &out->plan, err);
    qdq_free(text);
    QDQ_TRY(st);
    QDQ_TRY(qdq_model_clone(*m, &before, err));
    st = qdq_insert(*m, out->plan, NULL, &job, err);
    if (st == QDQ_OK)
        st = qdq_model_verify(*m, err);
    if (st == QDQ_OK)
        text_assert_comes_back(before, *m, out->plan);
    qdq_model_free(before);
    return st;
}

/* --- half precision --------------------------------------------------------------------------- */

/* The scale has the type of what Q reads, and of what DQ gives. */
static void assert_scales_follow(const qdq_model *m)
{
    QDQ_FOR_GRAPHS (g, m)
        QDQ_FOR_NODES (n, g) {
            if (n->op == QDQ_OP_QUANTIZELINEAR)
                assert_int_equal(n->in[0].value->type->elem, n->in[1].value->type->elem);
            if (n->op == QDQ_OP_DEQUANTIZELINEAR && qdq_node_int(n, "output_dtype", 0) == 0)
                assert_int_equal(n->out[0]->type->elem, n->in[1].value->type->elem);
        }
}

static qdq_status convert(qdq_model *m, const qdq_plan *p, bool rounds, const qdq_job *job,
                          qdq_error *err)
{
    qdq_map kept = QDQ_MAP_INIT;
    qdq_status st = qdq_model_infer(m, NULL, err);

    if (st == QDQ_OK)
        st = qdq_half_find_kept(m, p, &kept, err);
    if (st == QDQ_OK && rounds)
        st = qdq_half_round_scales(m, &p->half, &kept, err);
    if (st == QDQ_OK)
        st = qdq_half_convert(m, &p->half, &kept, job, err);
    if (st == QDQ_OK)
        st = qdq_model_verify(m, err);
    qdq_map_free(&kept);
    return st;
}

/* Twice is once. */
qdq_status text_half(qdq_model **m, const char *arg, text_result *out, qdq_error *err)
{
    qdq_job job = listening(out);
    qdq_plan *p = out->plan = qdq_plan_new();
    bool rounds = false;
    words w;

    assert_non_null(p);
    p->half.type = strcmp(first_word(&w, arg), "bfloat16") == 0 ? QDQ_BFLOAT16 : QDQ_FLOAT16;
    for (char *word; (word = next_word(&w)) != NULL;) {
        if (strcmp(word, "direct-io") == 0) {
            p->half.direct_io = true;
        } else if (strcmp(word, "round-scales") == 0) {
            rounds = true;
        } else {
            qdq_plan_float kept = {"", "", ""};

            kept.node = qdq_arena_strdup(&p->arena, value_of(word));
            assert_string_equal(word, "keep");
            assert_true(QDQ_PUSH(&p->arena, &p->half.keep, kept));
        }
    }
    QDQ_TRY(convert(*m, p, rounds, &job, err));
    assert_scales_follow(*m);
    char *once = test_text_of(*m);
    QDQ_TRY(convert(*m, p, false, &job, err));
    char *twice = test_text_of(*m);
    assert_string_equal(once, twice);
    qdq_free(once);
    qdq_free(twice);
    return QDQ_OK;
}

/* --- a target's findings ---------------------------------------------------------------------- */

static qdq_status load_target(const char *arg, qdq_target **out, qdq_error *err)
{
    words w;
    char *word = first_word(&w, arg);

    QDQ_TRY(qdq_target_load(word != NULL ? word : "", out, err));
    while ((word = next_word(&w)) != NULL) {
        char *value = value_of(word);

        for (char *space = value; (space = strchr(space, '+')) != NULL;)
            *space = ' ';
        QDQ_TRY(qdq_target_set(*out, word, value, err));
    }
    return QDQ_OK;
}

static void print_findings(const qdq_target_check *c, text_result *out)
{
    const struct {
        size_t n;
        const char *what;
    } counts[] = {{c->n_quantizers, "Q and DQ"},
                  {c->n_fused, "in 8 bits"},
                  {c->n_unfused, "not in 8 bits"},
                  {(size_t)c->converted, "converted"},
                  {c->n_weights, "of weights"}};
    qdq_buf list = QDQ_BUF_INIT(QDQ_BUF_NO_LIMIT), sums = QDQ_BUF_INIT(QDQ_BUF_NO_LIMIT);

    for (size_t i = 0; i < c->n; i++) {
        const qdq_target_finding *f = &c->findings[i];

        assert_true(f->why[0] != '\0');
        qdq_buf_printf(&list, "%s%s%s %s", i > 0 ? ", " : "", f->is_error ? "!" : "", f->kind,
                       f->node);
    }
    for (size_t i = 0; i < QDQ_COUNT(counts); i++)
        if (counts[i].n > 0)
            qdq_buf_printf(&sums, "%s%zu %s", sums.size > 0 ? ", " : "", counts[i].n,
                           counts[i].what);
    assert_false(c->proven);
    out->findings = list.size > 0 ? qdq_buf_take(&list) : NULL;
    out->counts = sums.size > 0 ? qdq_buf_take(&sums) : NULL;
}

qdq_status text_findings(qdq_model **m, const char *arg, text_result *out, qdq_error *err)
{
    qdq_target *t = NULL;
    qdq_target_check *c = NULL;
    qdq_status st = load_target(arg, &t, err);

    if (st == QDQ_OK)
        st = qdq_model_check_target(*m, t, NULL, &c, err);
    if (st == QDQ_OK)
        print_findings(c, out);
    else
        assert_null(c);
    qdq_free(c);
    qdq_target_free(t);
    return st;
}

/* --- shapes ----------------------------------------------------------------------------------- */

/* "x:1,3,4". Twice is once; failing, the call leaves the model as it was. */
qdq_status text_shapes(qdq_model **m, const char *arg, text_result *out, qdq_error *err)
{
    qdq_input_shape shapes[MAX_SHAPES];
    const uint64_t edits = (*m)->graph->edits;
    size_t n = 0;
    words w;

    (void)out;
    for (char *word = first_word(&w, arg); word != NULL; word = next_word(&w)) {
        char *dim = strrchr(word, ':');

        assert_true(n < MAX_SHAPES && dim != NULL);
        *dim++ = '\0';
        shapes[n] = (qdq_input_shape){.name = *word != '\0' ? word : NULL};
        for (; *dim != '\0'; shapes[n].rank++) {
            int64_t value = strtoll(dim, &dim, 10);

            if (shapes[n].rank < QDQ_MAX_RANK)
                shapes[n].dim[shapes[n].rank] = value;
            dim += *dim == ',';
        }
        n++;
    }
    qdq_status st = qdq_model_set_shapes(*m, shapes, n, err);
    if (st == QDQ_OK) {
        uint64_t done = (*m)->graph->edits;

        QDQ_TRY(qdq_model_verify(*m, err));
        st = qdq_model_set_shapes(*m, shapes, n, err);
        assert_int_equal((*m)->graph->edits, done);
        return st;
    }
    assert_int_equal((*m)->graph->edits, edits);
    assert_int_equal(qdq_model_set_shapes(*m, shapes, n, NULL), st);
    return st;
}

/* --- parts ------------------------------------------------------------------------------------ */

/* "x,z y": from x and z to y; "-": none. */
qdq_status text_extract(qdq_model **m, const char *arg, text_result *out, qdq_error *err)
{
    const char *names[2][MAX_NAMES];
    size_t n[2] = {0, 0};
    qdq_model *part = NULL;
    words w;

    (void)out;
    char *word[] = {first_word(&w, arg), next_word(&w)};
    assert_non_null(word[1]);
    for (int i = 0; i < 2; i++) {
        char *rest = NULL;

        for (char *s = strtok_r(word[i], ",", &rest); s != NULL; s = strtok_r(NULL, ",", &rest))
            if (strcmp(s, "-") != 0) {
                assert_true(n[i] < MAX_NAMES);
                names[i][n[i]++] = s;
            }
    }
    qdq_status st = qdq_model_extract(*m, names[0], n[0], names[1], n[1], &part, err);
    if (st != QDQ_OK) {
        assert_null(part);
        return st;
    }
    qdq_model_free(*m);
    *m = part;
    return qdq_model_verify(part, err);
}

/* --- what ends engines ------------------------------------------------------------------------ */

/* The first error that the verifier's findings have is the same; to the verifier it is none, so
 * that such a model can be copied and mended. */
qdq_status text_domains(qdq_model **m, const char *arg, text_result *out, qdq_error *err)
{
    qdq_error other = QDQ_ERROR_INIT;
    qdq_status st = qdq_model_check_domains(*m, err);
    qdq_finding *f = NULL;
    size_t n = 0, i = 0;

    (void)arg;
    (void)out;
    assert_int_equal(qdq_model_verify(*m, &other), QDQ_OK);
    assert_int_equal(qdq_model_check(*m, &f, &n, &other), QDQ_OK);
    while (i < n && !f[i].is_error)
        i++;
    assert_int_equal(i < n, st != QDQ_OK);
    if (i < n)
        assert_string_equal(f[i].text, err->text);
    qdq_free(f);
    return st;
}

/* --- opsets ----------------------------------------------------------------------------------- */

/* Types of outputs are those of the file, and our evaluator gives the same numbers. */
static void raise_once(void *ctx, int from, int to)
{
    const qdq_shape_opts strict = {false, true, NULL};
    qdq_error err = QDQ_ERROR_INIT;
    qdq_model *before = NULL, *after = NULL;
    int computed = 0;

    assert_ok(qdq_model_clone(ctx, &before, &err));
    assert_ok(qdq_model_set_opset_version(before, "", from, &err));
    before->ir_version = from < 9 ? 4 : 8; /* constants that are no inputs */
    assert_ok(qdq_model_clone(before, &after, &err));
    assert_ok(qdq_model_set_opset(after, to, &err));
    assert_int_equal(qdq_model_opset(after), to);
    assert_ok(qdq_model_verify(after, &err));
    assert_ok(qdq_model_infer(after, &strict, &err));
    const char *other = text_other_numbers(before, after, &computed);
    if (other != NULL)
        fail_msg("raised from %d to %d, '%s' has other numbers", from, to, other);
    qdq_model_free(before);
    qdq_model_free(after);
}

qdq_status text_raise_each(qdq_model **m, const char *arg, text_result *out, qdq_error *err)
{
    (void)out;
    (void)err;
    text_each_raise(arg, raise_once, *m);
    return QDQ_OK;
}

/* --- what Q and DQ say -------------------------------------------------------------------------
 */

static char *describe_params(const qdq_params *p)
{
    qdq_buf to = QDQ_BUF_INIT(QDQ_BUF_NO_LIMIT);

    qdq_buf_printf(&to, "%s, %lld scale%s", qdq_elem_name(p->codes), (long long)p->count,
                   p->count == 1 ? "" : "s");
    if (p->axis >= 0)
        qdq_buf_printf(&to, " along %d", p->axis);
    if (p->block > 0)
        qdq_buf_printf(&to, " of blocks of %lld", (long long)p->block);
    qdq_buf_printf(&to, ", the last %g with zero point %d%s", (double)p->scale[p->count - 1],
                   (int)qdq_params_zero(p, p->count - 1), p->positive ? "" : ", some are 0");
    return qdq_buf_take(&to);
}

/* Of the node n. Its data is its first input where that is constant, else unknown. */
qdq_status text_params(qdq_model **m, const char *arg, text_result *out, qdq_error *err)
{
    qdq_arena memory = QDQ_ARENA_INIT;
    const qdq_node *found = NULL;
    const char *why = NULL;
    qdq_params p;

    (void)arg;
    QDQ_FOR_NODES (n, (*m)->graph)
        if (strcmp(n->name, "n") == 0)
            found = n;
    assert_non_null(found);
    const qdq_value *x = qdq_node_in(found, 0);
    QDQ_TRY(qdq_params_read(found, qdq_value_const(x), &memory, &p, &why, err));
    if (why == NULL) {
        assert_true(qdq_params_equal(&p, &p));
        out->counts = describe_params(&p);
    } else {
        out->refusal = strdup(why);
    }
    qdq_arena_free(&memory);
    return QDQ_OK;
}

/* Q and DQ have the type of their scale. */
qdq_status text_scale_types(qdq_model **m, const char *arg, text_result *out, qdq_error *err)
{
    (void)arg;
    (void)out;
    return qdq_check_scale_types(*m, err);
}

/* --- smoothing -------------------------------------------------------------------------------- */

/* Where a division of x by a number for each of 4 channels can go. */
qdq_status text_smooth(qdq_model **m, const char *arg, text_result *out, qdq_error *err)
{
    qdq_buf to = QDQ_BUF_INIT(QDQ_BUF_NO_LIMIT);
    qdq_smooth_fold f;

    (void)arg;
    QDQ_TRY(qdq_model_infer(*m, NULL, err));
    (void)qdq_smooth_find_fold(qdq_graph_find((*m)->graph, "x"), 4, &f);
    for (size_t i = 0; i < f.n; i++)
        qdq_buf_printf(&to, "%s%s along %d", i > 0 ? ", " : "",
                       f.part[i].node->in[f.part[i].input].value->name, f.part[i].axis);
    if (f.n > 0)
        out->counts = qdq_buf_take(&to);
    else if (f.node != NULL && f.node->n_out > 0)
        qdq_buf_printf(&to, "%s: %s", f.node->out[0]->name, f.reason);
    else
        qdq_buf_puts(&to, f.reason);
    if (f.n == 0)
        out->refusal = qdq_buf_take(&to);
    return QDQ_OK;
}

/* --- the text form ---------------------------------------------------------------------------- */

/* What is printed reads as the same. */
qdq_status text_text(qdq_model **m, const char *arg, text_result *out, qdq_error *err)
{
    char *once = test_text_of(*m);
    qdq_model *again = test_model(once);

    (void)arg;
    (void)out;
    (void)err;
    assert_same_text(*m, again);
    qdq_model_free(again);
    qdq_free(once);
    return QDQ_OK;
}

/* --- odd models ------------------------------------------------------------------------------- */

qdq_status text_survive(qdq_model **m, const char *arg, text_result *out, qdq_error *err)
{
    (void)out;
    (void)err;
    assert_true(*arg == '\0' || strcmp(arg, "ort") == 0);
    test_survives_all(*m, "the graph");
    return QDQ_OK;
}
