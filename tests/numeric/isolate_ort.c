/* isolate_ort.c - isolated groups on ONNX Runtime: every part of the joined model runs, and its
 * layers are found. */
#include <math.h>

#include "ir/edit.h"
#include "ort_help.h"
#include "quant/quantize_steps.h"
#include "support/isolated.h"
#include "tune/isolate/part_times.h"

static qdq_error err;

/* Layers by their names alone, as the tuner asks ONNX Runtime for them. qdq_free(*out) */
static void profile(qdq_engine *e, const qdq_model *m, const qdq_input_shape *shapes,
                    size_t n_shapes, qdq_layer **out, size_t *n)
{
    qdq_session_opts opts = QDQ_SESSION_OPTS_INIT;
    qdq_named_array *in;
    qdq_session *session;
    size_t n_in;

    opts.profile = true;
    opts.shapes = shapes;
    opts.n_shapes = n_shapes;
    assert_ok(qdq_session_open(e, m, &opts, &session, &err));
    assert_ok(qdq_random_inputs(session, 1, &in, &n_in, &err));
    assert_ok(qdq_session_profile(session, in, n_in, 20, out, n, &err));
    qdq_free(in);
    qdq_session_close(session);
    for (size_t i = 0; i < *n; i++) {
        (*out)[i].conversion = false;
        (*out)[i].n_nodes = 0;
        (*out)[i].tensor = "";
    }
}

static void time_parts(qdq_engine *e, test_isolated *s, const qdq_plan *plan, qdq_group_time *out)
{
    qdq_parts *p = test_isolated_parts(s, plan, NULL);
    qdq_layer *layer;
    size_t n;

    profile(e, p->model, p->shape.at, p->shape.n, &layer, &n);
    assert_ok(qdq_parts_time(p, layer, n, NAN, out, &err));
    qdq_free(layer);
    qdq_parts_free(p);
}

static void time_whole(qdq_engine *e, test_isolated *s, const qdq_plan *plan, qdq_group_time *out)
{
    static const qdq_input_shape usual = {"x", 4, {2, 3, 16, 16}};
    qdq_tune_times times;
    qdq_layer *layer;
    qdq_model *m;
    size_t n;

    assert_ok(qdq_model_clone(s->clean, &m, &err));
    assert_true(qdq_graph_name_nodes(m->graph)); /* ONNX Runtime tells them by their names */
    if (plan != NULL)
        assert_ok(qdq_quantize_finish(m, plan, NULL, NULL, &err));
    profile(e, m, &usual, s->range->has_shapes ? 1 : 0, &layer, &n);
    assert_ok(qdq_tune_attribute(s->clean->graph, layer, n, &s->arena, &times, &err));
    for (uint32_t i = 0; i < s->f->n; i++)
        out[i] = qdq_group_time_of(s->f, i, &times);
    qdq_free(layer);
    qdq_model_free(m);
}

TEST(every_part_is_timed_with_and_without_qdq_and_has_the_kernels_of_the_whole_model)
{
    qdq_engine *e = need_ort();
    qdq_group_time none[TEST_MOST_PARTS], all[TEST_MOST_PARTS], whole[2][TEST_MOST_PARTS];

    for (int64_t batch = 0; batch < 2; batch++) {
        test_isolated s = test_isolate(test_isolated_network(batch), e);
        qdq_plan *plan = test_isolated_plan(&s);
        time_parts(e, &s, NULL, none);
        time_parts(e, &s, plan, all);
        time_whole(e, &s, NULL, whole[0]);
        time_whole(e, &s, plan, whole[1]);
        for (uint32_t i = 0; i < s.f->n; i++) {
            if (s.f->at[i].linear == 0)
                continue;
            print_message("group %u: float %.1f us, codes %.1f + %.1f us, %.1f us at the border, "
                          "%.1f and %.1f layers, %.1f and %.1f in the whole model\n",
                          (unsigned)i, none[i].own, all[i].own, all[i].inside, all[i].border,
                          none[i].rows, all[i].rows, whole[0][i].rows, whole[1][i].rows);
            assert_true(none[i].own > 0 && all[i].own > 0);
            assert_false(qdq_group_time_differs(&none[i], &whole[0][i]));
            assert_false(qdq_group_time_differs(&all[i], &whole[1][i]));
            assert_true(all[i].border > none[i].border);
        }
        qdq_plan_free(plan);
        test_isolated_free(&s);
    }
}
