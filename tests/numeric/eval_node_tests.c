/* eval_node_tests.c - ONNX's own node tests (tests/data/node_tests/ORIGIN.md) through the
 * evaluator: each result is right or refused with a reason, and results.txt lists by operator how
 * many are. UPDATE=1 writes that list anew. Another folder of such models may be the argument. */
#include <dirent.h>
#include <math.h>

#include "ir/edit.h"
#include "opt/eval/eval.h"
#include "support/test.h"

#define FOLDER QDQ_SOURCE_DIR "/tests/data/node_tests"

static const char *folder = FOLDER;

/* One line of the list. */
typedef struct tally {
    /* why "": computed */
    char op[40], why[120];
    int count;
} tally;

typedef struct table {
    tally line[400];
    size_t n;
    int wrong;
} table;

static int compare_tallies(const void *va, const void *vb)
{
    const tally *a = va, *b = vb;
    int order = strcmp(a->op, b->op);

    return order != 0 ? order : strcmp(a->why, b->why);
}

/* Numbers in reasons, which differ from case to case, become '#'. */
static void count(table *t, const char *op, const char *why)
{
    tally new = {.count = 1};
    size_t to = 0;

    snprintf(new.op, sizeof new.op, "%s", op);
    for (const char *p = why; *p != '\0' && to + 1 < sizeof new.why; p++) {
        bool is_digit = *p >= '0' && *p <= '9';

        if (!is_digit)
            new.why[to++] = *p;
        else if (to == 0 || new.why[to - 1] != '#')
            new.why[to++] = '#';
    }
    for (size_t i = 0; i < t->n; i++)
        if (compare_tallies(&t->line[i], &new) == 0) {
            t->line[i].count++;
            return;
        }
    assert_true(t->n < QDQ_COUNT(t->line));
    t->line[t->n++] = new;
}

/* --- one test --------------------------------------------------------------------------------- */

/* Floats: within `relative` of the largest number; everything else exactly. */
static bool is_close(const char *test, const qdq_const *got, const qdq_const *want, double *off)
{
    bool four_digits = strncmp(test, "roialign_", 9) == 0 ||
                       strcmp(test, "averagepool_2d_ceil_last_window_starts_on_pad") == 0;
    double relative = qdq_elem_is_half(got->elem) ? 1e-3 : four_digits ? 2e-4 : 1e-5;
    double largest = 0;

    *off = 0;
    if (!qdq_elem_is_float(got->elem))
        return memcmp(got->data, want->data, got->bytes) == 0;
    for (int64_t i = 0; i < want->count; i++) {
        double w = (double)qdq_elem_float(want->elem, want->data, i);

        if (isfinite(w))
            largest = fmax(largest, fabs(w));
    }
    for (int64_t i = 0; i < want->count; i++) {
        double w = (double)qdq_elem_float(want->elem, want->data, i);
        double g = (double)qdq_elem_float(got->elem, got->data, i);

        if (isfinite(w) && isfinite(g))
            *off = fmax(*off, fabs(g - w) / (largest > 0 ? largest : 1));
        else if (!(isnan(g) && isnan(w)) && !(g == w))
            *off = INFINITY;
    }
    return *off <= relative;
}

static bool has_shape(const qdq_const *got, const qdq_const *want)
{
    return got->elem == want->elem && got->rank == want->rank &&
           (got->rank == 0 ||
            memcmp(got->dim, want->dim, (size_t)got->rank * sizeof *got->dim) == 0);
}

static const qdq_value *find_want(const qdq_graph *g, const qdq_value *v)
{
    char name[200];

    snprintf(name, sizeof name, "%s/want", v->name);
    QDQ_FOR_INITS(w, g)
    {
        if (strcmp(w->name, name) == 0)
            return w;
    }
    fail_msg("%s is missing", name);
    return NULL;
}

static void check_outputs(table *t, const qdq_node *n, const qdq_const *out, qdq_arena *memory)
{
    qdq_error err = QDQ_ERROR_INIT;

    for (uint32_t i = 0; i < n->n_out; i++) {
        qdq_const want;
        const char *why;
        double off;

        if (n->out[i] == NULL)
            continue;
        assert_ok(
            qdq_const_of_tensor(find_want(n->graph, n->out[i])->init, memory, &want, &why, &err));
        assert_null(why);
        if (!has_shape(&out[i], &want)) {
            print_error("%s: output %u has another type or shape\n", n->name, i);
            t->wrong++;
        } else if (!is_close(n->name, &out[i], &want, &off)) {
            print_error("%s: output %u is off by %g\n", n->name, i, off);
            t->wrong++;
        }
    }
}

static void run(table *t, const qdq_node *n)
{
    const qdq_const *in[QDQ_EVAL_INPUTS];
    qdq_const data[QDQ_EVAL_INPUTS], out[QDQ_EVAL_OUTPUTS];
    qdq_error err = QDQ_ERROR_INIT;
    qdq_arena memory = QDQ_ARENA_INIT;
    const char *why = NULL;

    assert_true(n->n_in <= QDQ_EVAL_INPUTS);
    for (uint32_t i = 0; i < n->n_in && why == NULL; i++) {
        in[i] = NULL;
        if (n->in[i].value == NULL)
            continue;
        assert_ok(qdq_const_of_tensor(n->in[i].value->init, &memory, &data[i], &why, &err));
        in[i] = &data[i];
    }
    if (why == NULL)
        assert_ok(
            qdq_eval_node(n, qdq_graph_opset(n->graph), in, 1 << 26, &memory, out, &why, &err));
    count(t, n->type, why != NULL ? why : "");
    if (why == NULL)
        check_outputs(t, n, out, &memory);
    else if (strcmp(folder, FOLDER) != 0)
        print_message("%s: %s\n", n->name, why);
    qdq_arena_free(&memory);
}

/* --- all tests -------------------------------------------------------------------------------- */

static void run_all(table *t, qdq_model *m)
{
    QDQ_FOR_NODES (n, m->graph)
        run(t, n);
}

static void for_each_model(const char *at, void (*look)(table *t, qdq_model *m), table *t)
{
    DIR *d = opendir(at);
    struct dirent *entry;

    assert_non_null(d);
    while ((entry = readdir(d)) != NULL) {
        qdq_error err = QDQ_ERROR_INIT;
        qdq_model *m = NULL;
        char path[600];

        if (strstr(entry->d_name, ".onnx") == NULL)
            continue;
        snprintf(path, sizeof path, "%s/%s", at, entry->d_name);
        assert_ok(qdq_model_load(path, NULL, &m, &err));
        look(t, m);
        qdq_model_free(m);
    }
    closedir(d);
}

static void print_table(const table *t, FILE *f)
{
    for (size_t i = 0; i < t->n; i++)
        if (t->line[i].why[0] == '\0')
            fprintf(f, "%s %d right\n", t->line[i].op, t->line[i].count);
        else
            fprintf(f, "%s %d refused: %s\n", t->line[i].op, t->line[i].count, t->line[i].why);
}

TEST(each_node_test_of_onnx_is_right_or_refused_with_a_reason)
{
    char *lists[2] = {NULL, NULL};
    static table t;
    size_t size;
    FILE *f;

    for_each_model(folder, run_all, &t);
    qsort(t.line, t.n, sizeof t.line[0], compare_tallies);
    if (getenv("UPDATE") != NULL || strcmp(folder, FOLDER) != 0) {
        f = strcmp(folder, FOLDER) != 0 ? stdout : fopen(FOLDER "/results.txt", "w");
        assert_non_null(f);
        print_table(&t, f);
        assert_int_equal(t.wrong, 0);
        return;
    }
    assert_int_equal(t.wrong, 0);
    f = open_memstream(&lists[0], &size);
    assert_non_null(f);
    print_table(&t, f);
    fclose(f);
    f = fopen(FOLDER "/results.txt", "r");
    assert_non_null(f);
    lists[1] = calloc(1, size + 2);
    assert_non_null(lists[1]);
    assert_true(fread(lists[1], 1, size + 1, f) <= size);
    fclose(f);
    assert_string_equal(lists[0], lists[1]);
    free(lists[0]);
    free(lists[1]);
}

/* --- the report ------------------------------------------------------------------------------- */

static void fold_all(table *t, qdq_model *m)
{
    qdq_error err = QDQ_ERROR_INIT;
    qdq_optimize_opts opts = QDQ_OPTIMIZE_OPTS_INIT;
    qdq_optimize_report *r;
    size_t left = 0, told = 0;

    (void)t;
    QDQ_FOR_NODES (n, m->graph)
        for (uint32_t i = 0; i < n->n_out; i++)
            if (n->out[i] != NULL)
                assert_true(qdq_graph_add_output(m->graph, n->out[i]));
    opts.passes = "lift-constants,fold-constants";
    opts.growth_bytes = 1 << 30;
    assert_ok(qdq_model_optimize(m, &opts, &r, &err));
    for (size_t i = 0; i < r->n_passes; i++)
        for (size_t k = 0; k < r->passes[i].n_refusals; k++)
            told += r->passes[i].refusals[k].n;
    QDQ_FOR_NODES (n, m->graph)
        left += n->op != QDQ_OP_CONSTANT; /* what was computed for an output */
    if (told != left)
        fail_msg("%zu nodes of %s are left, %zu are told", left, m->path, told);
    qdq_optimize_report_free(r);
}

TEST(each_node_test_that_is_not_folded_is_in_the_report)
{
    for_each_model(FOLDER, fold_all, NULL);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_node_test_of_onnx_is_right_or_refused_with_a_reason),
        cmocka_unit_test(each_node_test_that_is_not_folded_is_in_the_report),
    };

    if (argc > 1)
        folder = argv[1];
    return cmocka_run_group_tests(tests, NULL, NULL);
}
