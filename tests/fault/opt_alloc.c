/* opt_alloc.c - every allocation of every pass fails once: no crash, no leak, a message; what is
 * left of the model can be freed. Each pass runs over models that have something for it. */
#include "ir/ir.h"
#include "support/alloc_fail.h"

typedef struct job {
    const char *text, *pass;
} job;

static qdq_status optimize(void *ctx, qdq_error *err)
{
    const job *j = ctx;
    qdq_optimize_opts opts = QDQ_OPTIMIZE_OPTS_INIT;
    qdq_optimize_report *report = NULL;
    qdq_model *m = NULL;
    qdq_status st = qdq_model_from_text(j->text, "t", &m, err);

    opts.passes = j->pass;
    if (st == QDQ_OK)
        st = qdq_model_optimize(m, &opts, &report, err);
    qdq_optimize_report_free(report);
    qdq_model_free(m);
    return st;
}

TEST(every_pass_survives_every_failure)
{
    const char *const texts[] = {test_graph_text("plain"), test_graph_text("nested"),
                                 test_graph_text("composites"), test_graph_text("trained"),
                                 test_graph_text("on_codes")};
    const char *pass;

    for (size_t i = 0; (pass = qdq_pass_name(i, NULL)) != NULL; i++)
        for (size_t k = 0; k < QDQ_COUNT(texts); k++) {
            job j = {texts[k], pass};
            assert_true(test_every_alloc_fails(optimize, &j) > 1);
        }
}

/* The arguments of these passes lead to other code. */
TEST(arguments_of_passes_survive_every_failure)
{
    static const char *const passes[] = {"quantize-bias:float", "quantize-bias:zero-bias+saturate",
                                         "fold-batchnorm:requant-per-tensor",
                                         "fold-batchnorm,fold-weight-quantize,quantize-bias"};

    for (size_t i = 0; i < QDQ_COUNT(passes); i++) {
        job j = {test_graph_text("trained"), passes[i]};
        assert_true(test_every_alloc_fails(optimize, &j) > 1);
    }
}

TEST(the_whole_pipeline_survives_every_failure)
{
    job j = {test_graph_text("nested"), "default"};

    assert_true(test_every_alloc_fails(optimize, &j) > 1);
}

/* Data in typed fields are decoded where they are asked for. */
static qdq_status merge_decoded(void *ctx, qdq_error *err)
{
    static const unsigned char fields[] = {4 << 3 | 2, 8, 0, 0, 0x40, 0x40, 0, 0, 0x80, 0x40};
    qdq_optimize_opts opts = QDQ_OPTIMIZE_OPTS_INIT;
    qdq_model *m = NULL;
    qdq_status st = qdq_model_from_text(ctx, "t", &m, err);

    opts.passes = "merge-equal";
    if (st == QDQ_OK) {
        QDQ_FOR_NODES (n, m->graph)
            if (n->op == QDQ_OP_CONSTANT) {
                qdq_tensor *t = (qdq_tensor *)(uintptr_t)qdq_node_attr(n, "value")->v.t;

                t->storage = QDQ_STORE_WIRE;
                t->wire = (qdq_span){fields, sizeof fields};
            }
        st = qdq_model_optimize(m, &opts, NULL, err);
    }
    if (st == QDQ_OK)
        assert_int_equal(m->graph->n_node, 3);
    qdq_model_free(m);
    return st;
}

/* It must not take nodes that it could not compare for different ones. */
TEST(merging_fails_where_it_lacks_memory_to_compare)
{
    void *text = (void *)(uintptr_t)test_graph_text(__func__);

    assert_true(test_every_alloc_fails(merge_decoded, text) > 1);
}
