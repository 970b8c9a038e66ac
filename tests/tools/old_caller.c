/* old_caller.c - what a program compiled against other headers does: every function that takes
 * options, with a struct that ends where memory may not be read, one that is longer and zero
 * behind, and one that is longer and not zero. Arguments: WORKER COSTS. Prints type and size of
 * each. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <qdq/qdq.h>

static const char text[] =
    "<ir_version: 8, opset_import: [\"\" : 17]>\n"
    "g (float[1,4] x) => (float[1,4] y)\n"
    "<float[4,4] w = {1, 2, 3, 4, 5, 6, 7, 8, 1, 2, 3, 4, 5, 6, 7, 8}> { y = MatMul(x, w) }\n";

static qdq_model *model;
static qdq_engine *engine;
static qdq_session *session;
static qdq_target *target;
static qdq_data *data;
static qdq_plan *plan;
static qdq_engine_opts with_worker = QDQ_ENGINE_OPTS_INIT;
static char spec[4096], folder[64];
static unsigned run;

static const char *path(const char *name)
{
    static char buf[200];

    snprintf(buf, sizeof buf, "%s/%u%s", folder, run, name);
    return buf;
}

/* --- the calls: whatever they make goes at once ----------------------------------------------- */

static qdq_status load(const void *o, qdq_error *err)
{
    qdq_model *m = NULL;
    char copy[200];

    snprintf(copy, sizeof copy, "%s", path("load.onnx"));
    qdq_status st = qdq_model_save(model, copy, NULL, err);
    if (st == QDQ_OK)
        st = qdq_model_load(copy, o, &m, err);
    qdq_model_free(m);
    return st;
}

static qdq_status load_bytes(const void *o, qdq_error *err)
{
    qdq_model *m = NULL;
    void *bytes;
    size_t size;
    qdq_status st = qdq_model_to_bytes(model, NULL, &bytes, &size, err);

    if (st == QDQ_OK)
        st = qdq_model_load_bytes(bytes, size, "bytes", o, &m, err);
    qdq_free(bytes);
    qdq_model_free(m);
    return st;
}

static qdq_status save(const void *o, qdq_error *err)
{
    return qdq_model_save(model, path("save.onnx"), o, err);
}

static qdq_status optimize(const void *o, qdq_error *err)
{
    qdq_model *m = NULL;
    qdq_status st = qdq_model_clone(model, &m, err);

    if (st == QDQ_OK)
        st = qdq_model_optimize(m, o, NULL, err);
    qdq_model_free(m);
    return st;
}

static qdq_status is_good(void *ctx, const qdq_model *m, bool *bad, char *why, size_t size,
                          qdq_error *err)
{
    (void)ctx, (void)m, (void)bad, (void)why, (void)size, (void)err;
    return QDQ_OK;
}

static qdq_status bisect(const void *o, qdq_error *err)
{
    qdq_bisect_result *r;
    qdq_status st = qdq_model_bisect(model, o, is_good, NULL, &r, err);

    qdq_free(r);
    return st;
}

static qdq_status open_engine(const void *o, qdq_error *err)
{
    qdq_engine *e = NULL;
    qdq_status st = qdq_engine_open(spec, o, &e, err);

    qdq_engine_close(e);
    return st;
}

static qdq_status open_session(const void *o, qdq_error *err)
{
    qdq_session *s = NULL;
    qdq_status st = qdq_session_open(engine, model, o, &s, err);

    qdq_session_close(s);
    return st;
}

static qdq_status bench(const void *o, qdq_error *err)
{
    qdq_bench_model m;

    return qdq_bench(&session, 1, o, &m, err);
}

static qdq_status open_data(const void *o, qdq_error *err)
{
    qdq_data *d = NULL;
    qdq_status st = qdq_data_open("random:1", model, o, &d, err);

    qdq_data_close(d);
    return st;
}

static qdq_status compare(const void *o, qdq_error *err)
{
    qdq_compare_result *r = NULL;
    qdq_status st = qdq_compare(engine, model, model, data, o, &r, err);

    qdq_free(r);
    return st;
}

static qdq_status compare_layers(const void *o, qdq_error *err)
{
    qdq_compare_layers_result *r = NULL;
    qdq_status st = qdq_compare_layers(engine, model, model, data, o, &r, err);

    qdq_free(r);
    return st;
}

static qdq_status compare_same(const void *o, qdq_error *err)
{
    qdq_same_result *r;
    qdq_status st = qdq_compare_same(engine, model, model, data, o, 0, &r, err);

    qdq_same_result_free(r);
    return st;
}

static qdq_status check(const void *o, qdq_error *err)
{
    qdq_target_check *c = NULL;
    qdq_status st = qdq_model_check_target(model, target, o, &c, err);

    qdq_free(c);
    return st;
}

static qdq_status verify(const void *o, qdq_error *err)
{
    qdq_verify_result *r;
    qdq_status st = qdq_verify_engine(model, engine, data, o, &r, err);

    qdq_free(r);
    return st;
}

static qdq_status quantize(const void *o, qdq_error *err)
{
    qdq_plan *p = NULL;
    qdq_status st = qdq_plan_make(model, target, engine, data, o, &p, err);

    qdq_plan_free(p);
    return st;
}

static qdq_status explain(const void *o, qdq_error *err)
{
    return qdq_explain(model, target, o, err);
}

static qdq_status quantize_with(const void *o, const void *goal, qdq_error *err)
{
    qdq_plan *p = NULL;
    qdq_model *m = NULL;
    qdq_goal_result *r = NULL;
    qdq_status st = qdq_quantize_goal(model, target, engine, data, o, goal, &p, &m, &r, err);

    qdq_plan_free(p);
    qdq_model_free(m);
    qdq_goal_result_free(r);
    return st;
}

static qdq_status quantize_goal(const void *o, qdq_error *err)
{
    return quantize_with(NULL, o, err);
}

static qdq_status goal_quantize(const void *o, qdq_error *err)
{
    return quantize_with(o, NULL, err);
}

static qdq_status ptq(const void *o, qdq_error *err)
{
    qdq_ptq_result *r = NULL;
    qdq_status st = qdq_ptq(model, target, engine, data, o, &r, err);

    qdq_ptq_result_free(r);
    return st;
}

static qdq_status ptq_quantize(const void *o, qdq_error *err)
{
    qdq_ptq_opts p = QDQ_PTQ_OPTS_INIT;

    p.quantize = o;
    return ptq(&p, err);
}

static qdq_status ptq_goal(const void *o, qdq_error *err)
{
    qdq_ptq_opts p = QDQ_PTQ_OPTS_INIT;

    p.goal = o;
    return ptq(&p, err);
}

static qdq_status strip(const void *o, qdq_error *err)
{
    qdq_model *m = NULL;
    qdq_status st = qdq_model_strip(model, o, &m, NULL, err);

    qdq_model_free(m);
    return st;
}

static qdq_status encodings(const void *o, qdq_error *err)
{
    static const char none[] = "{\"version\": \"1.0.0\", \"activation_encodings\": [],"
                               " \"param_encodings\": []}";
    qdq_plan *p = NULL;
    qdq_status st = qdq_plan_parse_encodings(none, strlen(none), "none", model, o, &p, err);

    qdq_plan_free(p);
    return st;
}

static qdq_status report(const void *o, qdq_error *err)
{
    return qdq_report_write(model, model, plan, NULL, o, path("report.html"), false, err);
}

static qdq_status regions_of(const void *quant, const void *o, qdq_error *err)
{
    char *out = NULL;
    qdq_status st =
        qdq_regions_print(model, target, quant, o, QDQ_REGIONS_TEXT, true, false, &out, err);

    qdq_free(out);
    return st;
}

static qdq_status regions(const void *o, qdq_error *err)
{
    return regions_of(NULL, o, err);
}

static qdq_status regions_quantize(const void *o, qdq_error *err)
{
    return regions_of(o, NULL, err);
}

static qdq_status fusions(const void *o, qdq_error *err)
{
    qdq_fusion_list *l = NULL;
    qdq_status st = qdq_fusions_list(model, NULL, 0, o, &l, err);

    qdq_fusion_list_free(l);
    return st;
}

static qdq_status extract_with(const void *o, const void *how, qdq_error *err)
{
    qdq_model *m = NULL;
    qdq_status st = qdq_fusion_extract(model, NULL, 0, o, 0, how, &m, NULL, NULL, err);

    qdq_model_free(m);
    return st;
}

static qdq_status extract(const void *o, qdq_error *err)
{
    return extract_with(NULL, o, err);
}

static qdq_status extract_fusions(const void *o, qdq_error *err)
{
    return extract_with(o, NULL, err);
}

static qdq_status measure(const void *o, qdq_error *err)
{
    qdq_target *t = NULL;
    qdq_probe_report *r = NULL;
    qdq_status st = qdq_target_measure(target, o, &t, &r, err);

    qdq_target_free(t);
    qdq_free(r);
    /* of the time that it was given, the machine may leave none for a probe */
    return st == QDQ_E_ENGINE && strstr(err->text, "no time was left") != NULL ? QDQ_OK : st;
}

static qdq_status autotune(const void *o, qdq_error *err)
{
    return qdq_autotune(model, target, data, path("tuned"), o, NULL, err);
}

/* --- options in options ----------------------------------------------------------------------- */

static qdq_status autotune_with(qdq_tune_opts o, qdq_error *err)
{
    o.engine = spec;
    if (o.engine_opts == NULL)
        o.engine_opts = &with_worker;
    o.preset = QDQ_TUNE_QUICK;
    return autotune(&o, err);
}

static qdq_status tune_quantize(const void *o, qdq_error *err)
{
    qdq_tune_opts t = QDQ_TUNE_OPTS_INIT;

    t.quantize = o;
    return autotune_with(t, err);
}

static qdq_status tune_goal(const void *o, qdq_error *err)
{
    qdq_tune_opts t = QDQ_TUNE_OPTS_INIT;

    t.goal = o;
    return autotune_with(t, err);
}

static qdq_status tune_engine(const void *o, qdq_error *err)
{
    qdq_tune_opts t = QDQ_TUNE_OPTS_INIT;

    t.engine_opts = o;
    return autotune_with(t, err);
}

static qdq_status tune_details(const void *o, qdq_error *err)
{
    qdq_tune_opts t = QDQ_TUNE_OPTS_INIT;

    t.details = o;
    return autotune_with(t, err);
}

static qdq_status tune_regions(const void *o, qdq_error *err)
{
    qdq_tune_details d = QDQ_TUNE_DETAILS_INIT;

    d.regions = o;
    return tune_details(&d, err);
}

static qdq_status measure_engine(const void *o, qdq_error *err)
{
    qdq_probe_opts p = QDQ_PROBE_OPTS_INIT;

    p.engine = spec;
    p.time_s = 0.5;
    p.engine_opts = o;
    return measure(&p, err);
}

static qdq_status job(const void *o, qdq_error *err)
{
    qdq_quantize_opts q = QDQ_QUANTIZE_OPTS_INIT;

    q.job = o;
    return quantize(&q, err);
}

/* --- the table -------------------------------------------------------------------------------- */

static const qdq_load_opts of_load = QDQ_LOAD_OPTS_INIT;
static const qdq_save_opts of_save = QDQ_SAVE_OPTS_INIT;
static const qdq_optimize_opts of_optimize = QDQ_OPTIMIZE_OPTS_INIT;
static const qdq_engine_opts of_engine = QDQ_ENGINE_OPTS_INIT;
static const qdq_session_opts of_session = QDQ_SESSION_OPTS_INIT;
static qdq_bench_opts of_bench = QDQ_BENCH_OPTS_INIT;
static const qdq_data_opts of_data = QDQ_DATA_OPTS_INIT;
static const qdq_compare_opts of_compare = QDQ_COMPARE_OPTS_INIT;
static const qdq_check_opts of_check = QDQ_CHECK_OPTS_INIT;
static const qdq_verify_opts of_verify = QDQ_VERIFY_OPTS_INIT;
static const qdq_quantize_opts of_quantize = QDQ_QUANTIZE_OPTS_INIT;
static const qdq_goal_opts of_goal = QDQ_GOAL_OPTS_INIT;
static const qdq_ptq_opts of_ptq = QDQ_PTQ_OPTS_INIT;
static const qdq_import_opts of_import = QDQ_IMPORT_OPTS_INIT;
static const qdq_report_opts of_report = QDQ_REPORT_OPTS_INIT;
static const qdq_region_opts of_region = QDQ_REGION_OPTS_INIT;
static const qdq_fusion_opts of_fusion = QDQ_FUSION_OPTS_INIT;
static const qdq_fusion_extract_opts of_extract = QDQ_FUSION_EXTRACT_OPTS_INIT;
static qdq_probe_opts of_probe = QDQ_PROBE_OPTS_INIT;
static qdq_tune_opts of_tune = QDQ_TUNE_OPTS_INIT;
static const qdq_tune_details of_details = QDQ_TUNE_DETAILS_INIT;
static const qdq_job of_job = QDQ_JOB_INIT;

typedef qdq_status (*call_fn)(const void *opts, qdq_error *err);

#define WITH(type, init) "qdq_" #type, &(init), sizeof(init)

static const struct {
    const char *type;
    const void *init;
    size_t size;
    call_fn call;
} calls[] = {
    {WITH(load_opts, of_load), load},
    {WITH(load_opts, of_load), load_bytes},
    {WITH(save_opts, of_save), save},
    {WITH(optimize_opts, of_optimize), optimize},
    {WITH(optimize_opts, of_optimize), bisect},
    {WITH(engine_opts, of_engine), open_engine},
    {WITH(engine_opts, with_worker), tune_engine},
    {WITH(engine_opts, with_worker), measure_engine},
    {WITH(session_opts, of_session), open_session},
    {WITH(bench_opts, of_bench), bench},
    {WITH(data_opts, of_data), open_data},
    {WITH(compare_opts, of_compare), compare},
    {WITH(compare_opts, of_compare), compare_layers},
    {WITH(compare_opts, of_compare), compare_same},
    {WITH(check_opts, of_check), check},
    {WITH(verify_opts, of_verify), verify},
    {WITH(quantize_opts, of_quantize), quantize},
    {WITH(quantize_opts, of_quantize), explain},
    {WITH(quantize_opts, of_quantize), goal_quantize},
    {WITH(quantize_opts, of_quantize), regions_quantize},
    {WITH(quantize_opts, of_quantize), tune_quantize},
    {WITH(goal_opts, of_goal), quantize_goal},
    {WITH(goal_opts, of_goal), tune_goal},
    {WITH(ptq_opts, of_ptq), ptq},
    {WITH(quantize_opts, of_quantize), ptq_quantize},
    {WITH(goal_opts, of_goal), ptq_goal},
    {WITH(import_opts, of_import), strip},
    {WITH(import_opts, of_import), encodings},
    {WITH(report_opts, of_report), report},
    {WITH(region_opts, of_region), regions},
    {WITH(region_opts, of_region), tune_regions},
    {WITH(fusion_opts, of_fusion), fusions},
    {WITH(fusion_opts, of_fusion), extract_fusions},
    {WITH(fusion_extract_opts, of_extract), extract},
    {WITH(probe_opts, of_probe), measure},
    {WITH(tune_opts, of_tune), autotune},
    {WITH(tune_details, of_details), tune_details},
    {WITH(job, of_job), job},
};

/* A copy of the first `size` bytes, behind which nothing may be read. */
static void *at_the_edge(const void *opts, size_t size)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    unsigned char *p =
        mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (p == MAP_FAILED || mprotect(p + page, page, PROT_NONE) != 0)
        abort();
    return memcpy(p + page - size, opts, size);
}

static int failed;

static void expect(size_t i, const char *what, const void *opts, bool good, const char *part)
{
    qdq_error err = QDQ_ERROR_INIT;

    run++;
    qdq_status st = calls[i].call(opts, &err);
    if (good ? st != QDQ_OK : st != QDQ_E_USAGE || strstr(err.text, part) == NULL) {
        printf("FAIL %s, call %zu, %s: %s: %s\n", calls[i].type, i, what, qdq_status_name(st),
               err.text);
        failed = 1;
    }
}

static void try_all(size_t i)
{
    struct {
        union {
            size_t size;
            unsigned char bytes[2000];
        } of;
    } longer = {{0}};

    expect(i, "as it is", at_the_edge(calls[i].init, calls[i].size), true, "");
    memcpy(longer.of.bytes, calls[i].init, calls[i].size);
    longer.of.size = sizeof longer;
    expect(i, "longer, zero", &longer, true, "");
    longer.of.bytes[sizeof longer - 1] = 1;
    expect(i, "longer, not zero", &longer, false, calls[i].type);
    longer.of.size = 0;
    expect(i, "no size", &longer, false, calls[i].type);
    printf("%s %zu\n", calls[i].type, calls[i].size);
}

static void prepare(const char *costs)
{
    qdq_error err = QDQ_ERROR_INIT;

    snprintf(spec, sizeof spec, "sim:%s", costs);
    snprintf(folder, sizeof folder, "/tmp/qdq-old-caller-XXXXXX");
    if (mkdtemp(folder) == NULL || qdq_model_from_text(text, "m", &model, &err) != QDQ_OK ||
        qdq_engine_open(spec, NULL, &engine, &err) != QDQ_OK ||
        qdq_session_open(engine, model, NULL, &session, &err) != QDQ_OK ||
        qdq_target_load("ort-cpu", &target, &err) != QDQ_OK ||
        qdq_data_open("random:1", model, NULL, &data, &err) != QDQ_OK ||
        qdq_plan_make(model, target, engine, data, NULL, &plan, &err) != QDQ_OK) {
        fprintf(stderr, "old_caller: %s\n", err.text);
        exit(1);
    }
    of_bench.rounds = 6;
    of_probe.engine = of_tune.engine = spec;
    of_probe.engine_opts = of_tune.engine_opts = &with_worker;
    of_probe.time_s = 0.5;
    of_tune.preset = QDQ_TUNE_QUICK;
}

int main(int argc, char **argv)
{
    if (argc != 3)
        return 2;
    setvbuf(stdout, NULL, _IOLBF, 0);
    with_worker.worker = argv[1];
    prepare(argv[2]);
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++)
        try_all(i);
    qdq_plan_free(plan);
    qdq_data_close(data);
    qdq_target_free(target);
    qdq_session_close(session);
    qdq_engine_close(engine);
    qdq_model_free(model);
    printf("%s\n", folder);
    return failed;
}
