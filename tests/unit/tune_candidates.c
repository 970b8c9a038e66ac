/* tune_candidates.c - models to measure: what quantize would write, in files that share their
 * weights. */
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "quant/quantize_steps.h"
#include "support/build.h"
#include "support/disk.h"
#include "support/test.h"
#include "tune/space/candidates.h"
#include "tune/space/space.h"

static qdq_error err;

static const char cost[] =
    "{\"qdq_sim\": 1, \"error\": 0.01, \"ops\": {"
    "\"Conv\": {\"float_us\": 100, \"int8_us\": 30, \"inputs\": 2, \"output_q\": true}}}";

/* A chain of Conv, saved with its weights beside it, or inside. */
static qdq_model *chain(const char *path, bool external)
{
    const qdq_save_opts so = {sizeof so, external ? QDQ_EXTERNAL_ALWAYS : QDQ_EXTERNAL_NEVER, true,
                              NULL};
    test_builder b = test_build(17);
    qdq_model *m;

    TEST_INPUT(&b, "x", 1, 16, 8, 8);
    test_conv(&b, "c0", "x", 32, 16, 3, 1);
    TEST_NODE(&b, "Relu", "r0", "c0");
    test_conv(&b, "c1", "r0", 32, 32, 3, 1);
    test_conv(&b, "c2", "c1", 32, 32, 3, 1);
    TEST_NODE(&b, "Add", "a", "c2", "r0");
    test_output(&b, "a");
    m = test_built(&b);
    assert_ok(qdq_model_save(m, path, &so, &err));
    qdq_model_free(m);
    assert_ok(qdq_model_load(path, NULL, &m, &err));
    return m;
}

typedef struct setting {
    qdq_model *m, *clean;
    qdq_engine *engine;
    qdq_target *target;
    qdq_plan *head, *all, *rules;
    qdq_quantize_opts opts;
    qdq_space *space;
    qdq_scales known;
    qdq_arena arena;
    char folder[600];
} setting;

static setting set_up_in(const char *folder, qdq_model *m)
{
    setting s = {.m = m, .opts = QDQ_QUANTIZE_OPTS_INIT, .head = qdq_plan_new()};
    qdq_assign a;

    snprintf(s.folder, sizeof s.folder, "%s/candidates", folder);
    assert_int_equal(mkdir(s.folder, 0700), 0);
    s.engine = test_sim(cost);
    assert_ok(qdq_target_load("ort-cpu", &s.target, &err));
    assert_ok(qdq_quantize_begin(s.m, s.target, &s.opts, s.head, &s.clean, &err));
    assert_ok(qdq_space_new(s.clean, s.target, &s.opts, &s.space, &err));
    assert_ok(qdq_space_calibrate(
        s.space, &(qdq_space_scaling){s.head, s.engine, NULL, &s.opts, &s.known, 0}, &err));
    assert_true(qdq_assign_new(&a, s.space->n_groups, &s.arena));
    for (size_t i = 0; i < a.n; i++)
        qdq_assign_set(&a, i, i != 1);
    assert_ok(qdq_space_plan(s.space, &a,
                             &(qdq_space_scaling){s.head, s.engine, NULL, &s.opts, &s.known, 0},
                             &s.rules, &err));
    qdq_assign_set(&a, 1, true);
    assert_ok(qdq_space_plan(s.space, &a,
                             &(qdq_space_scaling){s.head, s.engine, NULL, &s.opts, &s.known, 0},
                             &s.all, &err));
    return s;
}

static setting set_up(qdq_model *m)
{
    return set_up_in(test_dir(), m);
}

/* The folder is empty then, but for what a test has put there. */
static void put_away(setting *s)
{
    assert_int_equal(test_count_files(s->folder), 0);
    assert_int_equal(rmdir(s->folder), 0);
    qdq_plan_free(s->all);
    qdq_plan_free(s->rules);
    qdq_plan_free(s->head);
    qdq_space_free(s->space);
    qdq_scales_free(&s->known);
    qdq_arena_free(&s->arena);
    qdq_model_free(s->clean);
    qdq_target_free(s->target);
    qdq_engine_close(s->engine);
    qdq_model_free(s->m);
}

static const char *in_folder(const setting *s, const char *name)
{
    static char path[2][700];
    static unsigned turn;
    char *to = path[turn++ % 2];

    snprintf(to, sizeof path[0], "%s/%s", s->folder, name);
    return to;
}

static uint64_t size_of(const char *path)
{
    struct stat st;

    assert_int_equal(stat(path, &st), 0);
    return (uint64_t)st.st_size;
}

static void assert_same(qdq_model *a, qdq_model *b)
{
    void *x, *y;
    size_t n, k;

    assert_ok(qdq_model_to_bytes(a, NULL, &x, &n, &err));
    assert_ok(qdq_model_to_bytes(b, NULL, &y, &k, &err));
    assert_int_equal(n, k);
    assert_memory_equal(x, y, n);
    qdq_free(x);
    qdq_free(y);
    qdq_model_free(a);
    qdq_model_free(b);
}

/* As quantize would write it. */
static qdq_model *wanted(const setting *s, const qdq_plan *p)
{
    qdq_model *m;

    assert_ok(qdq_model_clone(s->clean, &m, &err));
    if (p != NULL)
        assert_ok(qdq_quantize_finish(m, p, NULL, NULL, &err));
    return m;
}

/* Read back from a file with its weights inside, so that both have come the same way. */
static qdq_model *reread(qdq_model *m)
{
    const qdq_save_opts so = {sizeof so, QDQ_EXTERNAL_NEVER, true, NULL};
    qdq_model *again;

    assert_ok(qdq_model_save(m, test_path("again.onnx"), &so, &err));
    qdq_model_free(m);
    assert_ok(qdq_model_load(test_path("again.onnx"), NULL, &again, &err));
    return again;
}

static qdq_model *from_file(const setting *s, const char *name)
{
    qdq_model *m;

    assert_ok(qdq_model_load(in_folder(s, name), NULL, &m, &err));
    return m;
}

static qdq_model *candidate(qdq_candidates *c, const qdq_plan *p)
{
    qdq_model *m;

    assert_ok(qdq_candidate_model(c, p, &m, &err));
    return m;
}

static void check_content(qdq_model *m)
{
    setting s = set_up(m);
    const qdq_plan *const plans[] = {s.all, s.rules, NULL, s.all};
    qdq_candidates *c;

    assert_ok(qdq_candidates_open(s.folder, s.clean, NULL, &c, &err));
    for (size_t i = 0; i < 4; i++) {
        assert_same(candidate(c, plans[i]), wanted(&s, plans[i]));
        assert_ok(qdq_candidate_write(c, plans[i], "m.onnx", &err));
        assert_true(size_of(in_folder(&s, "m.onnx")) < 8000);
        assert_same(reread(from_file(&s, "m.onnx")), reread(wanted(&s, plans[i])));
    }
    qdq_candidates_close(c);
    put_away(&s);
}

TEST(a_candidate_is_what_quantize_writes)
{
    check_content(chain(test_path("inside.onnx"), false));
    check_content(chain(test_path("beside.onnx"), true));
}

TEST(a_model_in_memory_gets_its_weights_into_the_folder)
{
    qdq_model *file = chain(test_path("memory.onnx"), false), *m;
    void *data;
    size_t size;

    assert_ok(qdq_model_to_bytes(file, NULL, &data, &size, &err));
    qdq_model_free(file);
    assert_ok(qdq_model_load_bytes(data, size, "memory", NULL, &m, &err));
    qdq_free(data);
    check_content(m);
}

TEST(codes_are_stored_once)
{
    setting s = set_up(chain(test_path("once.onnx"), true));
    qdq_candidates *c;

    assert_ok(qdq_candidates_open(s.folder, s.clean, NULL, &c, &err));
    assert_int_equal(size_of(in_folder(&s, "weights.bin")), 0); /* float weights are linked */
    assert_ok(qdq_candidate_write(c, s.all, "all.onnx", &err));
    uint64_t all = size_of(in_folder(&s, "weights.bin"));
    assert_true(all >= 32 * 16 * 9 + 2 * 32 * 32 * 9 &&
                all < 32 * 16 * 9 + 2 * 32 * 32 * 9 + 3 * 64);
    assert_ok(qdq_candidate_write(c, s.rules, "rules.onnx", &err));
    assert_ok(qdq_candidate_write(c, NULL, "float.onnx", &err));
    assert_ok(qdq_candidate_write(c, s.all, "again.onnx", &err));
    assert_int_equal(size_of(in_folder(&s, "weights.bin")), all);
    qdq_model *m = candidate(c, s.all);
    size_t heap = 0;
    QDQ_FOR_INITS(v, m->graph)
    heap += qdq_mapping_path(v->init->owner) == NULL && v->init->bytes.size >= 1024;
    assert_int_equal(heap, 0);
    qdq_model_free(m);
    qdq_candidates_close(c);
    put_away(&s);
}

TEST(the_weights_of_the_model_are_linked)
{
    setting s = set_up(chain(test_path("linked.onnx"), true));
    struct stat a, b;
    qdq_candidates *c;

    assert_ok(qdq_candidates_open(s.folder, s.clean, NULL, &c, &err));
    assert_int_equal(stat(test_side_file(test_path("linked.onnx")), &a) |
                         stat(in_folder(&s, "original-0.bin"), &b),
                     0);
    assert_int_equal(a.st_ino, b.st_ino);
    qdq_candidates_close(c);
    put_away(&s);
}

static void count_lines(void *ctx, qdq_log_level level, const char *text)
{
    (void)level;
    *(int *)ctx += strstr(text, "are copied") != NULL;
}

TEST(what_cannot_be_linked_is_copied_and_the_job_is_told)
{
    const char *other = test_path("other");
    setting s = set_up(chain(test_path("replaced.onnx"), true));
    const char *path = test_side_file(test_path("replaced.onnx"));
    int lines = 0;
    const qdq_job job = {.size = sizeof job, .log = count_lines, .ctx = &lines};
    qdq_candidates *c;

    assert_ok(qdq_write_file(other, true, "other", 5, &err));
    assert_int_equal(rename(other, path), 0); /* what is mapped has no name any more */
    assert_ok(qdq_candidates_open(s.folder, s.clean, &job, &c, &err));
    assert_int_equal(lines, 1);
    assert_ok(qdq_candidate_write(c, s.all, "m.onnx", &err));
    assert_same(reread(from_file(&s, "m.onnx")), reread(wanted(&s, s.all)));
    assert_ok(qdq_candidate_write(c, NULL, "m.onnx", &err));
    assert_same(reread(from_file(&s, "m.onnx")), reread(wanted(&s, NULL)));
    qdq_candidates_close(c);
    put_away(&s);
}

TEST(what_a_run_that_was_cut_off_left_is_replaced)
{
    setting s = set_up(chain(test_path("left.onnx"), true));
    qdq_candidates *c;

    assert_ok(qdq_write_file(in_folder(&s, "weights.bin"), true, "left", 4, &err));
    assert_ok(qdq_write_file(in_folder(&s, "original-0.bin"), true, "left", 4, &err));
    assert_ok(qdq_candidates_open(s.folder, s.clean, NULL, &c, &err));
    assert_ok(qdq_candidate_write(c, s.all, "m.onnx", &err));
    assert_same(reread(from_file(&s, "m.onnx")), reread(wanted(&s, s.all)));
    qdq_candidates_close(c);
    put_away(&s);
}

TEST(a_folder_that_is_not_there_is_an_error_with_its_name)
{
    setting s = set_up(chain(test_path("nowhere.onnx"), true));
    qdq_candidates *c;

    assert_fails(QDQ_E_IO, "nowhere/weights.bin: cannot create",
                 qdq_candidates_open(test_path("nowhere"), s.clean, NULL, &c, &err));
    assert_null(c);
    put_away(&s);
}

/* Codes that did not get onto the disk are no codes: with room again all is as it should be. */
TEST(a_full_disk_costs_that_candidate_alone)
{
    setting s = set_up(chain(test_path("full.onnx"), true));
    qdq_candidates *c;

    assert_ok(qdq_candidates_open(s.folder, s.clean, NULL, &c, &err));
    assert_ok(qdq_candidate_write(c, s.rules, "first.onnx", &err));
    const uint64_t before = size_of(in_folder(&s, "weights.bin"));
    for (size_t limit = before + 100; limit < before + 9300; limit += 4000) {
        test_limit_files(limit);
        qdq_status st = qdq_candidate_write(c, s.all, "m.onnx", &err);
        test_limit_files(SIZE_MAX);
        assert_int_equal(st, QDQ_E_IO);
        assert_non_null(strstr(err.text, "weights.bin: cannot write"));
        assert_int_equal(size_of(in_folder(&s, "weights.bin")), before);
    }
    test_limit_files(100);
    assert_fails(QDQ_E_IO, "m.onnx: cannot write", qdq_candidate_write(c, s.rules, "m.onnx", &err));
    test_limit_files(SIZE_MAX);
    assert_int_not_equal(access(in_folder(&s, "m.onnx"), F_OK), 0);
    assert_ok(qdq_candidate_write(c, s.all, "m.onnx", &err));
    assert_same(reread(from_file(&s, "m.onnx")), reread(wanted(&s, s.all)));
    qdq_candidates_close(c);
    put_away(&s);
}

/* ONNX Runtime reads them, and computes the same. */
TEST(onnx_runtime_runs_a_candidate)
{
    qdq_engine *ort = need_ort();

    setting s = set_up(chain(test_path("run.onnx"), true));
    qdq_compare_opts co = QDQ_COMPARE_OPTS_INIT;
    qdq_compare_result *r;
    qdq_candidates *c;
    qdq_data *data;

    assert_ok(qdq_candidates_open(s.folder, s.clean, NULL, &c, &err));
    assert_ok(qdq_candidate_write(c, s.all, "m.onnx", &err));
    assert_ok(qdq_data_open("random:2", s.m, NULL, &data, &err));
    qdq_model *a = from_file(&s, "m.onnx"), *b = wanted(&s, s.all), *d = candidate(c, s.all);
    assert_ok(qdq_compare(ort, a, b, data, &co, &r, &err));
    assert_true(r->outputs[0].max_abs == 0);
    qdq_free(r);
    assert_ok(qdq_compare(ort, d, b, data, &co, &r, &err));
    assert_true(r->outputs[0].max_abs == 0);
    qdq_free(r);
    qdq_data_close(data);
    qdq_model_free(a);
    qdq_model_free(b);
    qdq_model_free(d);
    qdq_candidates_close(c);
    put_away(&s);
}
