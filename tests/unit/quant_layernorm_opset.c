/* quant_layernorm_opset.c - models below opset 17, which spell LayerNormalization in nine nodes:
 * the opset is raised where the target puts Q/DQ in front of the operator, and nowhere else. */
#include "base/buf.h"
#include "quant/quantize_steps.h"
#include "support/build.h"
#include "support/placed.h"
#include "support/spelled.h"
#include "support/test.h"

typedef struct begun {
    qdq_target *t;
    qdq_plan *p;
    /* prepared, and placed */
    qdq_model *m;
    char log[2000];
} begun;

static void record_line(void *ctx, qdq_log_level level, const char *text)
{
    begun *b = ctx;
    size_t n = strlen(b->log);

    if (level <= QDQ_LOG_INFO)
        snprintf(b->log + n, sizeof b->log - n, "%s\n", text);
}

/* Takes m over. `layernorms`: of the target's key, or NULL. */
static begun *begin(qdq_model *m, const char *target, const char *layernorms, const char *passes)
{
    qdq_quantize_opts opts = QDQ_QUANTIZE_OPTS_INIT;
    qdq_error err = QDQ_ERROR_INIT;
    qdq_job job = QDQ_JOB_INIT;
    begun *b = calloc(1, sizeof *b);

    assert_non_null(b);
    job.log = record_line;
    job.ctx = b;
    opts.job = &job;
    opts.passes = passes;
    b->p = qdq_plan_new();
    assert_ok(qdq_target_load(target, &b->t, &err));
    if (layernorms != NULL)
        assert_ok(qdq_target_set(b->t, "layernorm-input", layernorms, &err));
    assert_ok(qdq_quantize_begin(m, b->t, &opts, b->p, &b->m, &err));
    const qdq_quantizing q = {b->m, b->t, .opts = &opts, .plan = b->p};
    assert_ok(qdq_place_for(&q, &err));
    assert_true(qdq_plan_finish(b->p));
    qdq_model_free(m);
    return b;
}

static void end(begun *b)
{
    qdq_model_free(b->m);
    qdq_plan_free(b->p);
    qdq_target_free(b->t);
    free(b);
}

/* --- the whole network ------------------------------------------------------------------------ */

static size_t count_quantized(const qdq_plan *p, const char *op)
{
    const qdq_plan_summary *s = qdq_plan_get_summary(p);

    for (size_t i = 0; i < s->n_quantized; i++)
        if (strcmp(s->quantized[i].what, op) == 0)
            return s->quantized[i].n;
    return 0;
}

/* What each LayerNormalization reads, in order, and whether through Q/DQ. */
static char *describe_norms(const begun *b)
{
    qdq_arena scratch = QDQ_ARENA_INIT;
    qdq_buf out = QDQ_BUF_INIT(1 << 20);

    QDQ_FOR_NODES (n, b->m->graph) {
        bool through = false;

        if (n->op != QDQ_OP_LAYERNORMALIZATION)
            continue;
        for (size_t i = 0; i < b->p->tensors.n; i++)
            through = through ||
                      (strcmp(b->p->tensors.at[i].tensor, qdq_node_in(n, 0)->name) == 0 &&
                       (b->p->tensors.at[i].all || qdq_edges_have(&b->p->tensors.at[i].consumers,
                                                                  qdq_node_label(n, &scratch), 0)));
        qdq_buf_printf(&out, "%s%s\n", qdq_node_in(n, 0)->name, through ? " through Q/DQ" : "");
    }
    qdq_arena_free(&scratch);
    return qdq_buf_take(&out);
}

static void assert_like_opset_17(qdq_model *m17, qdq_model *m13, const char *layernorms,
                                 size_t with_qdq)
{
    assert_int_equal(test_spell_layernorms(m13, 13), 23);
    begun *new = begin(m17, "tensorrt", layernorms, NULL),
          *old = begin(m13, "tensorrt", layernorms, NULL);
    char *a = describe_norms(new), *b = describe_norms(old);
    assert_string_equal(a, b);
    qdq_free(a);
    qdq_free(b);
    assert_int_equal(new->p->opset, 0);
    assert_int_equal(old->p->opset, 17);
    assert_int_equal(old->p->n_layernorms, 23);
    assert_int_equal(test_count_nodes(old->m, QDQ_OP_LAYERNORMALIZATION), 23);
    assert_int_equal(count_quantized(old->p, "LayerNormalization"), with_qdq);
    end(new);
    end(old);
}

TEST(spelled_convnext_of_opset_13_gets_the_qdq_of_opset_17)
{
    assert_like_opset_17(test_skeleton("convnext_tiny"), test_skeleton("convnext_tiny"), NULL, 19);
    assert_like_opset_17(test_skeleton("convnext_tiny"), test_skeleton("convnext_tiny"), "any", 23);
}

/* --- one LayerNormalization ------------------------------------------------------------------- */

/* x -> MatMul h -> LayerNormalization ln -> MatMul z */
static test_builder norm(void)
{
    test_builder b = test_build(17);

    TEST_INPUT(&b, "x", 2, 64, 32);
    TEST_RANDOM(&b, "w", 32, 32);
    TEST_RANDOM(&b, "gamma", 32);
    TEST_RANDOM(&b, "beta", 32);
    TEST_NODE(&b, "MatMul", "h", "x", "w");
    TEST_NODE(&b, "LayerNormalization", "ln", "h", "gamma", "beta");
    TEST_NODE(&b, "MatMul", "z", "ln", "w");
    test_output(&b, "z");
    return b;
}

static qdq_node *find_node(qdq_model *m, qdq_op op)
{
    QDQ_FOR_NODES (n, m->graph)
        if (n->op == op)
            return n;
    fail_msg("there is no such node");
    return NULL;
}

static qdq_model *spelled(int opset)
{
    test_builder b = norm();

    assert_int_equal(test_spell_layernorms(b.m, opset), 1);
    return test_built(&b);
}

static void assert_stays(begun *b, int opset)
{
    assert_int_equal(b->p->opset, 0);
    assert_int_equal(b->p->n_layernorms, 0);
    assert_int_equal(qdq_model_opset(b->m), opset);
    assert_int_equal(test_count_nodes(b->m, QDQ_OP_LAYERNORMALIZATION), 0);
    end(b);
}

TEST(a_spelled_norm_raises_the_opset_and_says_so)
{
    for (int opset = 13; opset < 17; opset++) {
        char said[200];
        begun *b = begin(spelled(opset), "tensorrt", NULL, NULL);

        assert_int_equal(qdq_model_opset(b->m), 17);
        assert_int_equal(count_quantized(b->p, "LayerNormalization"), 1);
        snprintf(said, sizeof said,
                 "opset %d is raised to 17: 1 LayerNormalization in single nodes", opset);
        assert_non_null(strstr(b->log, said));
        end(b);
    }
}

TEST(below_what_the_target_needs_it_is_raised_once)
{
    begun *b = begin(spelled(11), "tensorrt", NULL, NULL);

    assert_int_equal(b->p->opset, 17);
    assert_int_equal(b->p->n_layernorms, 1);
    end(b);
}

TEST(the_plan_makes_the_same_copy_again)
{
    qdq_error err = QDQ_ERROR_INIT;
    qdq_model *m = spelled(13), *again = NULL, *copy = NULL;
    char *a, *c;

    assert_ok(qdq_model_clone(m, &copy, &err));
    begun *b = begin(copy, "tensorrt", NULL, NULL);
    assert_ok(qdq_quantize_clean(b->p, m, NULL, &again, &err));
    assert_ok(qdq_model_to_text(b->m, &a, &err));
    assert_ok(qdq_model_to_text(again, &c, &err));
    assert_string_equal(a, c);
    qdq_free(a);
    qdq_free(c);
    qdq_model_free(again);
    qdq_model_free(m);
    end(b);
}

TEST(targets_without_qdq_there_leave_the_opset)
{
    assert_stays(begin(spelled(13), "tensorrt", "off", NULL), 13);
    assert_stays(begin(spelled(13), "ort-cpu", NULL, NULL), 13);
    assert_stays(begin(spelled(13), "openvino", NULL, NULL), 13);
}

TEST(without_the_pass_the_opset_stays)
{
    assert_stays(begin(spelled(13), "tensorrt", NULL, QDQ_PASSES_MINIMAL), 13);
}

TEST(a_model_without_a_norm_keeps_its_opset)
{
    test_builder b = test_build(13);

    TEST_INPUT(&b, "x", 1, 16, 8, 8);
    test_conv(&b, "c1", "x", 32, 16, 3, 1);
    TEST_NODE(&b, "Relu", "y", "c1");
    test_output(&b, "y");
    assert_stays(begin(test_built(&b), "tensorrt", NULL, NULL), 13);
}

/* --- what is no LayerNormalization, or not only one ------------------------------------------- */

TEST(epsilon_per_channel_is_no_reason_to_raise)
{
    test_builder b = norm();
    qdq_node *root;

    test_spell_layernorms(b.m, 13);
    TEST_RANDOM(&b, "many", 32);
    root = find_node(b.m, QDQ_OP_SQRT);
    qdq_node_set_in(qdq_node_in(root, 0)->producer, 1, qdq_graph_find(b.g, "many"));
    assert_stays(begin(test_built(&b), "tensorrt", NULL, NULL), 13);
}

TEST(means_over_other_axes_are_no_reason_to_raise)
{
    const int64_t first = 1;
    test_builder b = norm();

    test_spell_layernorms(b.m, 13);
    QDQ_FOR_NODES (n, b.g)
        if (n->op == QDQ_OP_REDUCEMEAN)
            assert_true(qdq_node_set_ints(n, "axes", &first, 1));
    assert_stays(begin(test_built(&b), "tensorrt", NULL, NULL), 13);
}

/* What two norms share, and what leaves the model, must be there afterwards, too. */
TEST(parts_that_are_read_elsewhere_are_no_reason_to_raise)
{
    static const qdq_op inside[] = {QDQ_OP_REDUCEMEAN, QDQ_OP_SUB, QDQ_OP_POW, QDQ_OP_SQRT};

    for (size_t i = 0; i < 2 * QDQ_COUNT(inside); i++) {
        test_builder b = norm();

        test_spell_layernorms(b.m, 13);
        const char *name = find_node(b.m, inside[i / 2])->out[0]->name;
        if (i % 2 == 0) {
            test_output(&b, name);
        } else {
            TEST_NODE(&b, "Neg", "other", name);
            test_output(&b, "other");
        }
        assert_stays(begin(test_built(&b), "tensorrt", NULL, NULL), 13);
    }
}

/* The body's Sub and all behind it, with the mean outside. */
TEST(a_norm_across_the_border_of_a_body_is_no_reason_to_raise)
{
    const char *text = test_graph_text(__func__);

    assert_stays(begin(test_model(text), "tensorrt", NULL, NULL), 13);
}

TEST(an_operator_that_cannot_be_raised_keeps_the_opset_and_is_named)
{
    test_builder b = norm();

    test_spell_layernorms(b.m, 13);
    qdq_node *n = TEST_NODE(&b, "Strange", "odd", "z");
    test_output(&b, "odd");
    assert_true(qdq_node_set_name(n, "odd"));
    begun *done = begin(test_built(&b), "tensorrt", NULL, NULL);
    assert_non_null(strstr(done->log, "opset 13 cannot be raised: node"));
    assert_non_null(
        strstr(done->log, "; the inputs of 1 LayerNormalization in single nodes get no Q/DQ"));
    assert_stays(done, 13);
}

/* --- --why ------------------------------------------------------------------------------------ */

TEST(why_says_of_the_node_that_the_opset_was_raised)
{
    qdq_quantize_opts opts = QDQ_QUANTIZE_OPTS_INIT;
    qdq_error err = QDQ_ERROR_INIT;
    qdq_model *m = spelled(13);
    qdq_target *t = NULL;
    bool said = false;
    size_t n;

    opts.why = qdq_why_new("ln");
    assert_ok(qdq_target_load("tensorrt", &t, &err));
    assert_ok(qdq_explain(m, t, &opts, &err));
    const qdq_why_note *notes = qdq_why_notes(opts.why, &n);
    for (size_t i = 0; i < n; i++)
        said = said || (strcmp(notes[i].rule, "fuse-layernorm") == 0 && notes[i].holds &&
                        strstr(notes[i].verdict, "opset is raised to 17") != NULL);
    assert_true(said);
    qdq_why_free(opts.why);
    qdq_target_free(t);
    qdq_model_free(m);
}
