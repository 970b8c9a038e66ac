/* haswell_ort.c - a processor without VNNI, as QEMU emulates one: ONNX Runtime's kernels saturate
 * there, and what is made for that processor does not. The program runs itself under qemu-user,
 * where emulation is slow: models are made outside. */
#include <unistd.h>

#include "base/cpu.h"
#include "numeric/ort_help.h"
#include "quant/plan/plan.h"

enum { CALIBRATE = 32, JUDGE = 2 };

static qdq_error err;

/* --- inside ----------------------------------------------------------------------------------- */

static double sqnr_of(qdq_engine *e, const qdq_model *m, const char *path)
{
    qdq_compare_opts co = QDQ_COMPARE_OPTS_INIT;
    qdq_compare_result *r = NULL;
    qdq_data *test = NULL;
    qdq_model *q = NULL;

    co.count = JUDGE;
    assert_ok(qdq_model_load(path, NULL, &q, &err));
    assert_ok(qdq_data_open(test_corpus("digits/digits_test.npz"), m, NULL, &test, &err));
    assert_ok(qdq_compare(e, m, q, test, &co, &r, &err));
    double db = r->outputs[0].sqnr_db;
    qdq_free(r);
    qdq_data_close(test);
    qdq_model_free(q);
    return db;
}

/* "result CPU DB DB": the processor that is found, and what is left of both models. */
static int inside(const char *a, const char *b)
{
    qdq_model *m = need_model("digits/digits_vit.onnx");
    qdq_engine *e = need_ort();

    printf("result %s %.2f %.2f\n", qdq_cpu_name(qdq_cpu_detect()), sqnr_of(e, m, a),
           sqnr_of(e, m, b));
    qdq_model_free(m);
    return 0;
}

/* --- outside ---------------------------------------------------------------------------------- */

/* Writes digits_vit, made for a processor; the type of its weights. */
static qdq_elem make(qdq_cpu cpu, const char *path)
{
    qdq_quantize_opts opts = QDQ_QUANTIZE_OPTS_INIT;
    qdq_save_opts so = QDQ_SAVE_OPTS_INIT;
    qdq_data *calib = NULL;
    qdq_target *t = NULL;
    qdq_plan *p = NULL;
    qdq_model *m = need_model("digits/digits_vit.onnx"), *q = NULL;

    opts.cpu = cpu;
    opts.samples = CALIBRATE;
    assert_ok(qdq_target_load("ort-cpu", &t, &err));
    assert_ok(qdq_data_open(test_corpus("digits/digits_calib.npz"), m, NULL, &calib, &err));
    assert_ok(qdq_quantize(m, t, need_ort(), calib, &opts, &p, &q, &err));
    assert_string_equal(qdq_plan_get_summary(p)->cpu, qdq_cpu_name(cpu));
    assert_ok(qdq_model_save(q, path, &so, &err));
    qdq_elem type = p->weights.at[0].type;
    qdq_plan_free(p);
    qdq_model_free(q);
    qdq_model_free(m);
    qdq_data_close(calib);
    qdq_target_free(t);
    return type;
}

TEST(weights_for_a_processor_without_vnni_do_not_saturate_there)
{
    char self[2000] = "", command[4200], line[256], cpu[16];
    const char *a = test_path("vnni.onnx"), *b = test_path("avx2.onnx");
    double with = 0, without = 0;
    bool found = false;

    (void)need_ort();
    if (qdq_cpu_detect() == QDQ_CPU_ARM)
        test_missing("an x86-64 processor");
    if (test_is_sanitized()) {
        print_message("skipped: AddressSanitizer does not run under qemu\n");
        skip();
    }
    if (system("command -v qemu-x86_64-static >/dev/null") != 0)
        test_missing("qemu-x86_64-static (package qemu-user-static)");
    assert_int_equal(make(QDQ_CPU_VNNI, a), QDQ_INT8);
    assert_int_equal(make(QDQ_CPU_AVX2, b), QDQ_INT8);
    assert_true(readlink("/proc/self/exe", self, sizeof self - 1) > 0);
    snprintf(command, sizeof command,
             "OMP_NUM_THREADS=1 qemu-x86_64-static -cpu Haswell '%s' '%s' '%s' 2>/dev/null", self,
             a, b);
    FILE *f = popen(command, "r");
    assert_non_null(f);
    while (fgets(line, sizeof line, f) != NULL)
        found |= sscanf(line, "result %15s %lf %lf", cpu, &with, &without) == 3;
    assert_int_equal(pclose(f), 0);
    assert_true(found);
    assert_string_equal(cpu, "avx2");
    if (with > 25)
        fail_msg("full int8 weights have %.2f dB there: do they not saturate any more?", with);
    if (without < 30)
        fail_msg("weights of limited pairs have %.2f dB there, full ones %.2f", without, with);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(weights_for_a_processor_without_vnni_do_not_saturate_there),
    };

    return argc == 3 ? inside(argv[1], argv[2]) : cmocka_run_group_tests(tests, NULL, NULL);
}
