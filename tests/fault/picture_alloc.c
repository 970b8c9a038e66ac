/* picture_alloc.c - every allocation on the way to the drawing of a model fails once: what a plan
 * says of nodes and edges, bodies included, the page, the overlay, the metadata, a report with
 * profiles, a tuned model. */
#include "support/alloc_fail.h"

#include "base/fail.h"
#include "qdq/qdq.h"
#include "quant/report/annotate.h"
#include "quant/report/plan_picture.h"
#include "report/page.h"
#include "tune/outcome/outcome.h"
#include "tune/space/space_edges.h"

static bool fill(qdq_plan *p)
{
    qdq_plan_tensor x = {
        .tensor = "x", .qparam = {.type = QDQ_UINT8, .scale = 0.5f}, .rule = "matmul"};
    qdq_plan_weight w = {.tensor = "w", .type = QDQ_INT8, .rule = "matmul"};

    return qdq_plan_add_edge(p, &x.consumers, "fc", 0) &&
           qdq_plan_add_edge(p, &w.consumers, "fc", 1) && QDQ_PUSH(&p->arena, &p->tensors, x) &&
           QDQ_PUSH(&p->arena, &p->weights, w) &&
           QDQ_PUSH(&p->arena, &p->quantized, ((qdq_plan_node){"fc", "MatMul", false}));
}

/* All that is made of a picture. */
static qdq_status write(qdq_plan_picture *x, qdq_arena *arena, qdq_model *m, qdq_error *err)
{
    qdq_buf page = QDQ_BUF_INIT(1 << 20), overlay = QDQ_BUF_INIT(1 << 20);

    x->picture.node[0].block = x->picture.node[1].block = "layer";
    x->picture.node[0].price.measured = "a trial";
    qdq_plan_picture_estimate(x);
    bool ok = qdq_plan_picture_divide(x, arena) && qdq_plan_picture_fuse(x);
    qdq_page_picture(&page, &x->picture);
    qdq_picture_overlay(&overlay, &x->picture);
    ok = ok && !page.failed && !overlay.failed;
    qdq_buf_free(&page);
    qdq_buf_free(&overlay);
    return ok ? qdq_annotate(m, &x->picture, true, err) : qdq_nomem(err);
}

static qdq_status draw(void *ctx, qdq_error *err)
{
    qdq_arena arena = QDQ_ARENA_INIT;
    qdq_plan_picture x;
    qdq_model *m = NULL;
    qdq_plan *p = qdq_plan_new();
    qdq_status st = qdq_model_from_text(test_graph_text("text"), "test", &m, err);

    (void)ctx;
    if (st == QDQ_OK && (p == NULL || !fill(p)))
        st = qdq_nomem(err);
    if (st == QDQ_OK)
        st = qdq_model_infer_shapes(m, err);
    if (st == QDQ_OK)
        st = qdq_plan_picture_make(m, p, NULL, &arena, &x, err);
    if (st == QDQ_OK) {
        assert_int_equal(x.picture.n_nodes, 7);
        st = write(&x, &arena, m, err);
    }
    qdq_arena_free(&arena);
    qdq_plan_free(p);
    qdq_model_free(m);
    return st;
}

TEST(a_drawing_survives_every_allocation_failure)
{
    assert_true(test_every_alloc_fails(draw, NULL) > 30);
}

/* --- a report whose drawing has profiles ------------------------------------------------------ */

typedef struct subject {
    qdq_model *m, *quantized;
    qdq_plan *plan;
    qdq_target *target;
    qdq_engine *engine;
    qdq_data *data;
    const char *overlay;
} subject;

static void open_subject(subject *s)
{
    static char model[4000], w[1000];
    qdq_quantize_opts qo = QDQ_QUANTIZE_OPTS_INIT;
    qdq_error err = QDQ_ERROR_INIT;
    size_t at = 0;

    qo.cpu = QDQ_CPU_VNNI;
    for (int i = 0; i < 72; i++)
        at += (size_t)snprintf(w + at, sizeof w - at, "%s%.2f", i > 0 ? ", " : "",
                               ((i * 37) % 72 - 36) / 36.0);
    snprintf(model, sizeof model,
             "g (float[1,2,6,6] x) => (float[1,4,1,1] y) <float[4,2,3,3] w = {%s}> {"
             " h = Conv<pads = [1, 1, 1, 1]>(x, w) r = Relu(h) y = GlobalAveragePool(r) }",
             w);
    s->m = test_model(model);
    s->overlay = test_path("nodes.json");
    assert_ok(qdq_target_load("ort-cpu", &s->target, &err));
    assert_ok(qdq_engine_open("sim:" QDQ_SOURCE_DIR "/tests/cli/fixtures/sim.json", NULL,
                              &s->engine, &err));
    assert_ok(qdq_data_open("random:1", s->m, NULL, &s->data, &err));
    assert_ok(
        qdq_quantize(s->m, s->target, s->engine, s->data, &qo, &s->plan, &s->quantized, &err));
    assert_true(s->plan->quantized.n > 0);
}

static void close_subject(subject *s)
{
    qdq_plan_free(s->plan);
    qdq_model_free(s->quantized);
    qdq_data_close(s->data);
    qdq_engine_close(s->engine);
    qdq_target_free(s->target);
    qdq_model_free(s->m);
}

/* Without the page, so that no outputs are compared. */
static qdq_status report(void *ctx, qdq_error *err)
{
    const subject *s = ctx;
    qdq_report_opts o = QDQ_REPORT_OPTS_INIT;

    o.data = s->data;
    o.count = 1;
    o.target = s->target;
    o.overlay = s->overlay;
    return qdq_report_write(s->m, s->quantized, s->plan, s->engine, &o, NULL, true, err);
}

TEST(a_report_with_profiles_survives_every_allocation_failure)
{
    subject s = {0};

    open_subject(&s);
    assert_true(test_every_alloc_fails(report, &s) > 100);
    close_subject(&s);
}

/* --- the drawing of a tuned model ------------------------------------------------------------- */

typedef struct tuned {
    subject s;
    qdq_space *space;
    qdq_tune_times times;
    qdq_tune_change edges[8];
    /* of the placements that the search began with */
    qdq_tune_step step;
} tuned;

static void open_tuned(tuned *x)
{
    qdq_quantize_opts qo = QDQ_QUANTIZE_OPTS_INIT;
    static double zeros[64];
    qdq_error err = QDQ_ERROR_INIT;

    qo.cpu = QDQ_CPU_VNNI;
    open_subject(&x->s);
    assert_ok(qdq_model_infer_shapes(x->s.m, &err));
    assert_ok(qdq_space_new(x->s.m, x->s.target, &qo, &x->space, &err));
    assert_in_range(x->space->n_edges, 1, 8);
    assert_in_range(x->s.m->graph->values.n, 1, 64);
    for (size_t i = 0; i < 8; i++)
        x->edges[i] =
            (qdq_tune_change){.saved_us = 1, .n_equal = 1, .tried = i % 2 == 0, .turned = 1};
    x->times = (qdq_tune_times){
        .own = zeros, .converted = zeros, .conversions = zeros, .sum = 1, .is_known = true};
    x->step = (qdq_tune_step){
        .phase = QDQ_PHASE_START, .unit = SIZE_MAX, .move = "everything", .accepted = true};
}

static qdq_status draw_tuned(void *ctx, qdq_error *err)
{
    tuned *x = ctx;
    qdq_tune_candidate base = {.times = &x->times};
    qdq_tune_result out = {.verdict = QDQ_TUNED_FLOAT, .baseline_ms = 1, .final_ms = 1};
    qdq_tune_state t = {.task.clean = x->s.m,
                        .task.target = x->s.target,
                        .task.space = x->space,
                        .task.rules = x->s.plan,
                        .run.base = &base,
                        .out = &out,
                        .outcome.edges = x->edges};
    qdq_plan *none = qdq_plan_new();
    qdq_plan_picture p;
    qdq_status st = none != NULL ? QDQ_OK : qdq_nomem(err);

    if (st == QDQ_OK && !QDQ_PUSH(&t.arena, &t.run.steps, x->step))
        st = qdq_nomem(err);
    if (st == QDQ_OK)
        st = qdq_tune_draw(&t, none, &p, err);
    if (st == QDQ_OK) {
        assert_non_null(p.picture.node[0].price.rules); /* float, where the rules quantize */
        assert_non_null(p.picture.node[0].price.measured);
    }
    qdq_arena_free(&t.arena);
    qdq_plan_free(none);
    return st;
}

TEST(the_drawing_of_a_tuned_model_survives_every_allocation_failure)
{
    tuned x = {0};

    open_tuned(&x);
    assert_true(test_every_alloc_fails(draw_tuned, &x) > 10);
    qdq_space_free(x.space);
    close_subject(&x.s);
}
