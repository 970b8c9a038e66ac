/* trt_alloc.c - every allocation fails once while what trtexec writes is read, mapped to a model
 * and handed over. */
#include "base/fail.h"
#include "engine/trt/trt_args.h"
#include "engine/trt/trt_log.h"
#include "engine/trt/trt_result.h"
#include "support/alloc_fail.h"

static const char layers[] =
    "{\"Layers\":[{\"Name\":\"/l0/MatMul + "
    "/l0/Relu\",\"LayerType\":\"gemm\",\"Inputs\":[{\"Name\":\"x\",\"Dimensions\":[1,"
    "-1],\"Format/Datatype\":\"Half\"}],\"Outputs\":[{\"Name\":\"b\"}]},{\"Name\":\"k [profile "
    "1]\"},{\"Name\":\"k\","
    "\"Metadata\":\"[ONNX Layer: /l.1/Neg]\\u001f[ONNX Layer: cut ... "
    "off]\",\"Inputs\":[{\"Name\":\"b\"}],\"Outputs\":[{"
    "\"Name\":\"y\"}]},{\"Name\":\"/l_1/Neg_myl0_1\"}],\"Bindings\":[\"x\"]}";
static const char profile[] =
    "[{\"count\":9},{\"name\":\"k\",\"averageMs\":1},{\"name\":\"z\",\"averageMs\":1}]";
static const char times[] = "[{\"computeMs\":1},{\"computeMs\":2}]";

static qdq_status read_all(const qdq_model *m, qdq_arena *arena, qdq_layer **l, qdq_layer **g,
                           qdq_error *err)
{
    qdq_trt_layers info;
    qdq_trt_profile p;
    qdq_trt_user user;
    const char *text;
    double *ms;
    size_t n;

    QDQ_TRY(qdq_trt_layers_parse(layers, sizeof layers - 1, 0, arena, &info, err));
    QDQ_TRY(qdq_trt_profile_parse(profile, sizeof profile - 1, arena, &p, err));
    QDQ_TRY(qdq_trt_times_parse(times, sizeof times - 1, 10, 0, 0, arena, &ms, &n, err));
    QDQ_TRY(qdq_trt_user_parse("--a='b c' --optShapes='x:0':1x2,y:3", arena, &user, err));
    QDQ_TRY(qdq_trt_shapes_print(&user.opt, arena, &text, err));
    if (qdq_trt_help_options("  --onnx  x", 11, arena, &n) == NULL)
        return qdq_nomem(err);
    QDQ_TRY(qdq_trt_make_profile(&info, &p, l, &n, err));
    return qdq_trt_make_groups(&info, &p, m->graph, NULL, g, &n, err);
}

static qdq_status attempt(void *ctx, qdq_error *err)
{
    qdq_arena arena = QDQ_ARENA_INIT;
    qdq_layer *l = NULL;
    qdq_layer *g = NULL;
    qdq_status st = read_all(ctx, &arena, &l, &g, err);

    qdq_free(l);
    qdq_free(g);
    qdq_arena_free(&arena);
    return st;
}

static qdq_status list_shapes(void *ctx, qdq_error *err)
{
    qdq_trtexec_shapes *x = NULL;
    qdq_status st = qdq_trtexec_shapes_read("--minShapes=x:1 --shapes=x:2,y:3 --fp16", &x, err);

    (void)ctx;
    assert_true((st == QDQ_OK) == (x != NULL));
    qdq_free(x);
    return st;
}

TEST(nothing_is_lost_when_memory_runs_out)
{
    qdq_model *m = test_graph(__func__);

    assert_true(test_every_alloc_fails(attempt, m) > 10);
    assert_true(test_every_alloc_fails(list_shapes, NULL) > 1);
    qdq_model_free(m);
}
