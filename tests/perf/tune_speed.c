/* tune_speed.c - what a trial of the tuner costs beside the engine: the plan of an assignment, and
 * its model as a file; and how long it takes to see what there is to decide. What is promised, 3 ms
 * and 5 ms for a model of 100 MB, is measured here; the limits leave room for a slow, shared
 * machine. No weight is copied: the folder does not grow, and the model is small. */
#include <math.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/random.h"
#include "quant/quantize_steps.h"
#include "support/build.h"
#include "support/test.h"
#include "tune/region/pattern.h"
#include "tune/space/candidates.h"
#include "tune/space/space.h"

static qdq_error err;

static uint64_t size_of(const char *path)
{
    struct stat st;

    assert_int_equal(stat(path, &st), 0);
    return (uint64_t)st.st_size;
}

/* Scales that nobody calibrated: every tensor has one. */
static void make_up_scales(const qdq_space *s, const qdq_quantize_opts *opts, qdq_scales *known)
{
    qdq_plan *p = qdq_plan_new();

    assert_ok(qdq_space_place_all(s, opts, p, &err));
    for (size_t i = 0; i < p->tensors.n; i++)
        p->tensors.at[i].qparam.scale = 0.02f;
    assert_ok(qdq_scales_keep(known, p, &err));
    for (size_t i = 0; i < p->tensors.n; i++)
        p->tensors.at[i].like = NULL;
    assert_ok(qdq_scales_keep(known, p, &err));
    qdq_plan_free(p);
}

TEST(trial_of_resnet50_is_ready_in_milliseconds)
{
    enum { TRIALS = 20 };
    qdq_quantize_opts opts = QDQ_QUANTIZE_OPTS_INIT;
    const char *folder = test_path("candidates"), *bin = test_path("candidates/weights.bin");
    double plan_ms = 0, write_ms = 0, slowest = 0;
    qdq_arena arena = QDQ_ARENA_INIT;
    qdq_random random = qdq_random_new(1, "trials");
    qdq_scales known = {0};
    qdq_model *m = test_skeleton("resnet50"), *clean;
    qdq_plan *head = qdq_plan_new(), *p;
    qdq_candidates *c;
    qdq_target *t;
    qdq_engine *e = need_ort();
    qdq_space *s;
    qdq_assign a;

    assert_int_equal(mkdir(folder, 0700), 0);
    assert_ok(qdq_target_load("ort-cpu", &t, &err));
    assert_ok(qdq_quantize_begin(m, t, &opts, head, &clean, &err));
    double start = test_cpu_seconds() * 1e3;
    assert_ok(qdq_space_new(clean, t, &opts, &s, &err));
    printf("space of %zu groups: %.1f ms\n", s->n_groups, test_cpu_seconds() * 1e3 - start);
    make_up_scales(s, &opts, &known);
    assert_true(qdq_assign_new(&a, s->n_groups, &arena));
    for (size_t i = 0; i < a.n; i++)
        qdq_assign_set(&a, i, true);
    assert_ok(
        qdq_space_plan(s, &a, &(qdq_space_scaling){head, e, NULL, &opts, &known, 0}, &p, &err));
    start = test_cpu_seconds() * 1e3;
    assert_ok(qdq_candidates_open(folder, clean, NULL, &c, &err));
    printf("folder: %.1f ms\n", test_cpu_seconds() * 1e3 - start);
    start = test_cpu_seconds() * 1e3;
    assert_ok(qdq_candidate_write(c, p, "all.onnx", &err));
    printf("first candidate: %.1f ms, %.0f KiB, all weights %.1f MB\n",
           test_cpu_seconds() * 1e3 - start,
           (double)size_of(test_path("candidates/all.onnx")) / 1024, (double)size_of(bin) * 1e-6);
    qdq_plan_free(p);
    const uint64_t before = size_of(bin);
    for (int i = 0; i < TRIALS; i++) {
        for (size_t k = 0; k < a.n; k++)
            qdq_assign_set(&a, k, (qdq_random_u64(&random) & 1) != 0);
        start = test_cpu_seconds() * 1e3;
        assert_ok(
            qdq_space_plan(s, &a, &(qdq_space_scaling){head, e, NULL, &opts, &known, 0}, &p, &err));
        double planned = test_cpu_seconds() * 1e3;
        assert_ok(qdq_candidate_write(c, p, "trial.onnx", &err));
        double written = test_cpu_seconds() * 1e3 - planned;
        plan_ms += planned - start;
        write_ms += written;
        slowest = written > slowest ? written : slowest;
        qdq_plan_free(p);
    }
    printf("a trial: plan %.2f ms, candidate %.2f ms (slowest %.2f)\n", plan_ms / TRIALS,
           write_ms / TRIALS, slowest);
    assert_int_equal(size_of(bin), before);
    assert_true(size_of(test_path("candidates/trial.onnx")) < 1 << 20);
    assert_true(plan_ms / TRIALS < 30 && write_ms / TRIALS < 50);
    qdq_candidates_close(c);
    qdq_scales_free(&known);
    qdq_space_free(s);
    qdq_plan_free(head);
    qdq_target_free(t);
    qdq_model_free(clean);
    qdq_model_free(m);
    qdq_arena_free(&arena);
}

/* Conv, Relu, Conv, Add, Relu, ...: as large as asked for. */
static qdq_model *residual_chain(long nodes)
{
    test_builder b = test_build(17);
    qdq_value *x = TEST_INPUT(&b, "x", 1, 16, 8, 8);
    qdq_value *w = TEST_RANDOM(&b, "w", 16, 16, 1, 1);

    for (long i = 0; i < nodes; i += 5) {
        static const char *const ops[] = {"Conv", "Relu", "Conv", "Add", "Relu"};
        qdq_value *start = x;

        for (int k = 0; k < 5; k++) {
            char name[32];
            const char *out = name;

            snprintf(name, sizeof name, "n%ld", i + k);
            qdq_node *n =
                qdq_graph_add_node(b.g, NULL, "", ops[k], name, ops[k][0] == 'R' ? 1 : 2, 1, &out);
            assert_non_null(n);
            qdq_node_set_in(n, 0, x);
            if (ops[k][0] != 'R')
                qdq_node_set_in(n, 1, k == 3 ? start : w);
            x = n->out[0];
        }
    }
    test_output(&b, x->name);
    return test_built(&b);
}

/* Processor milliseconds of regions, patterns and slots, in this order. */
static void take_apart(const qdq_model *m, const qdq_target *t, double ms[3], size_t *n_groups)
{
    qdq_quantize_opts opts = QDQ_QUANTIZE_OPTS_INIT;
    const qdq_region_opts how = QDQ_REGION_OPTS_INIT;
    double start = test_cpu_seconds() * 1e3, at[3];
    qdq_regions *r;
    qdq_patterns *p;
    qdq_space *s;

    assert_ok(qdq_regions_find(m, &how, &r, &err));
    at[0] = test_cpu_seconds() * 1e3;
    assert_ok(qdq_patterns_find(r, &p, &err));
    at[1] = test_cpu_seconds() * 1e3;
    assert_ok(qdq_space_new(m, t, &opts, &s, &err));
    at[2] = test_cpu_seconds() * 1e3;
    for (int i = 0; i < 3; i++)
        ms[i] = at[i] - (i == 0 ? start : at[i - 1]);
    *n_groups = s->n_groups;
    qdq_space_free(s);
    qdq_patterns_free(p);
    qdq_regions_free(r);
}

/* The limits leave room for a slow, shared machine: 50 ms and 1 s are promised on ort-cpu, and what
 * `make bench` prints. */
TEST(regions_and_slots_of_large_graphs_are_found_in_linear_time)
{
    static const char *const targets[] = {"ort-cpu", "tensorrt"};
    static const long sizes[] = {6000, 100000};
    static const double limits_ms[] = {250, 5000};
    const bool is_bench = getenv("QDQ_BENCH") != NULL; /* `make bench` sets it */

    for (size_t i = 0; i < 4; i++) {
        qdq_model *m = residual_chain(sizes[i / 2]);
        double least[3] = {0}, sum = INFINITY;
        size_t n_groups = 0;
        qdq_target *t;

        assert_ok(qdq_target_load(targets[i % 2], &t, &err));
        /* the least of three; as a test, the first that is fast enough */
        for (int round = 0; round < 3 && (is_bench || !(sum < limits_ms[i / 2])); round++) {
            double ms[3];
            take_apart(m, t, ms, &n_groups);
            if (ms[0] + ms[1] + ms[2] < sum) {
                memcpy(least, ms, sizeof ms);
                sum = ms[0] + ms[1] + ms[2];
            }
        }
        printf("%s, %ld nodes: regions %.1f ms, patterns %.1f ms, %zu groups %.1f ms, together "
               "%.1f ms\n",
               targets[i % 2], sizes[i / 2], least[0], least[1], n_groups, least[2], sum);
        assert_true(n_groups >= (size_t)sizes[i / 2] / 5 * 3);
        assert_true(sum < limits_ms[i / 2]);
        qdq_target_free(t);
        qdq_model_free(m);
    }
}
