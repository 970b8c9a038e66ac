/* isolate_ort.c - isolated groups on ONNX Runtime: every part of the joined model runs, and its
 * layers are found. */
#include <math.h>

#include "ort_help.h"
#include "support/isolated.h"
#include "tune/isolate/score.h"

static qdq_error err;

static void score(qdq_engine *e, test_isolated *s, const qdq_plan *plan, qdq_part_score *out)
{
    qdq_session_opts opts = QDQ_SESSION_OPTS_INIT;
    qdq_parts *p = test_isolated_parts(s, plan, NULL);
    qdq_named_array *in;
    qdq_session *session;
    qdq_layer *layer;
    size_t n_in, n;

    opts.layers = true;
    opts.shapes = p->shape.at;
    opts.n_shapes = p->shape.n;
    assert_ok(qdq_session_open(e, p->model, &opts, &session, &err));
    assert_ok(qdq_random_inputs(session, 1, &in, &n_in, &err));
    assert_ok(qdq_session_layers(session, in, n_in, 20, &layer, &n, &err));
    assert_ok(qdq_parts_score(p, layer, n, NAN, out, &err));
    qdq_free(layer);
    qdq_free(in);
    qdq_session_close(session);
    qdq_parts_free(p);
}

TEST(every_part_is_scored_with_and_without_qdq)
{
    qdq_engine *e = test_ort();
    qdq_part_score none[TEST_MOST_PARTS], all[TEST_MOST_PARTS];

    if (e == NULL) {
        test_missing("ONNX Runtime");
        return;
    }
    for (int64_t batch = 0; batch < 2; batch++) {
        test_isolated s = test_isolate(test_isolated_network(batch), e);
        qdq_plan *plan = test_isolated_plan(&s);
        qdq_arena arena = QDQ_ARENA_INIT;
        qdq_group_layers *there;
        assert_ok(qdq_count_group_layers(s.f, NULL, 0, &arena, &there, &err));
        score(e, &s, NULL, none);
        score(e, &s, plan, all);
        for (uint32_t i = 0; i < s.f->n; i++) {
            if (s.f->at[i].linear == 0)
                continue;
            assert_true(none[i].known && all[i].known);
            assert_true(none[i].own_us >= 0 && all[i].own_us >= 0);
            assert_true(none[i].qdq_us == 0 && none[i].boundary_qdq_us == 0);
            assert_true(all[i].boundary_qdq_us <= all[i].qdq_us);
            assert_false(qdq_part_mismatches(&none[i], &there[i]));
            print_message("group %u: float %.1f us, codes %.1f + %.1f us (%.1f at the border), %u "
                          "and %u layers\n",
                          (unsigned)i, none[i].own_us, all[i].own_us, all[i].qdq_us,
                          all[i].boundary_qdq_us, (unsigned)none[i].layers,
                          (unsigned)all[i].layers);
        }
        qdq_arena_free(&arena);
        qdq_plan_free(plan);
        test_isolated_free(&s);
    }
}
