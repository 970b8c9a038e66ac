/* jobs_alloc.c - command lines in this process, while allocations fail, and then calls on files:
 * each ends as it should or says what failed, and what it wrote is whole. Engines that run in the
 * worker are another program, which has memory. */
#include "support/alloc_fail.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <jansson.h>

#include "base/file.h"
#include "cli/cli.h"
#include "support/tuned.h"

typedef struct job {
    /* words; $F: the fixtures of tests/cli, $B: the build */
    const char *line;
    /* the exit code without a failure */
    int code;
    /* files and folders, which are removed before each run; NULL: none */
    const char *writes;
    /* times or hashes of a run are in them */
    bool differs;
} job;

static const char fixtures[] = QDQ_SOURCE_DIR "/tests/cli/fixtures";

/* --- one command ------------------------------------------------------------------------------ */

/* The words of the line in static storage; ends with NULL. */
static int split(const char *line, char **argv)
{
    static char text[4000];
    int n = 0;
    size_t size = 0;

    for (const char *c = line; *c != '\0'; c++) {
        const char *more = strncmp(c, "$F", 2) == 0   ? fixtures
                           : strncmp(c, "$B", 2) == 0 ? QDQ_BUILD_DIR
                                                      : NULL;
        size += (size_t)snprintf(text + size, sizeof text - size, "%.*s", more != NULL ? 400 : 1,
                                 more != NULL ? more : c);
        c += more != NULL;
    }
    assert_true(size < sizeof text);
    argv[n++] = (char *)(uintptr_t) "qdq";
    for (char *word = strtok(text, " "); word != NULL; word = strtok(NULL, " "))
        argv[n++] = word;
    argv[n] = NULL;
    return n;
}

static void redirect(int fd, const char *path)
{
    int to = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

    assert_true(to >= 0 && dup2(to, fd) == fd);
    close(to);
}

/* Runs it with its output in files; all that stands here beside it can do without failures. */
static int run_command(const char *line)
{
    char *argv[100];
    const int argc = split(line, argv);

    test_let_allocs_be(true);
    FILE *out = stdout;
    const int fd[2] = {dup(1), dup(2)};
    fflush(out);
    redirect(1, "stdout.txt");
    redirect(2, "stderr.txt");
    test_let_allocs_be(false);
    const int code = cli_run(argc, argv);
    test_let_allocs_be(true);
    if (stdout != out)
        fclose(stdout);
    stdout = out;
    for (int i = 0; i < 2; i++) {
        dup2(fd[i], i + 1);
        close(fd[i]);
    }
    test_let_allocs_be(false);
    return code;
}

/* --- what it leaves --------------------------------------------------------------------------- */

static bool is_folder(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

static void remove_each(const char *names)
{
    char text[400];

    snprintf(text, sizeof text, "%s", names != NULL ? names : "");
    for (char *name = strtok(text, " "); name != NULL; name = strtok(NULL, " ")) {
        if (is_folder(name))
            qdq_tempdir_remove(name);
        else
            unlink(name);
    }
}

/* What is wrong; NULL: nothing. Static storage. */
static const char *find_temporary_file(void)
{
    static char text[400];
    DIR *d = opendir(".");

    assert_non_null(d);
    text[0] = '\0';
    for (const struct dirent *e = readdir(d); e != NULL; e = readdir(d))
        if (strstr(e->d_name, ".tmp") != NULL)
            snprintf(text, sizeof text, "%s is left", e->d_name);
    closedir(d);
    return text[0] != '\0' ? text : NULL;
}

static const char *check_model(const char *path)
{
    static qdq_error err;
    qdq_model *m = NULL;
    const bool whole = access(path, F_OK) != 0 || qdq_model_load(path, NULL, &m, &err) == QDQ_OK;

    qdq_model_free(m);
    return whole ? NULL : err.text;
}

/* A file is as the run without failures wrote it, or not there. */
static const char *check_file(const char *path, const char *first, bool differs)
{
    qdq_error err = QDQ_ERROR_INIT;
    char *a, *b = NULL;
    size_t n, k = 0;
    bool same = true;

    if (access(path, F_OK) != 0)
        return NULL;
    assert_ok(qdq_read_file(path, SIZE_MAX, &a, &n, &err));
    if (access(first, F_OK) != 0) {
        assert_ok(qdq_write_file(first, true, a, n, &err));
    } else if (!differs) {
        assert_ok(qdq_read_file(first, SIZE_MAX, &b, &k, &err));
        same = n == k && memcmp(a, b, n) == 0;
    }
    qdq_free(a);
    qdq_free(b);
    return same ? NULL : "a file is neither missing nor as it should be";
}

static const char *check_all(const job *j)
{
    const char *wrong = find_temporary_file();
    char text[400], path[500];

    snprintf(text, sizeof text, "%s", j->writes != NULL ? j->writes : "");
    for (char *name = strtok(text, " "); name != NULL && wrong == NULL; name = strtok(NULL, " ")) {
        snprintf(path, sizeof path, is_folder(name) ? "%s/model.onnx" : "first/%s", name);
        wrong = is_folder(name) ? check_model(path) : check_file(name, path, j->differs);
    }
    return wrong;
}

/* What it said, as a status. */
static qdq_status read_error(qdq_error *err)
{
    qdq_error other = QDQ_ERROR_INIT;
    char *text;
    size_t n;

    if (qdq_read_file("stderr.txt", SIZE_MAX, &text, &n, &other) != QDQ_OK)
        fail_msg("%s", other.text);
    const char *said = strstr(text, "error: ");
    const qdq_status st =
        said != NULL && strstr(said, "out of memory") != NULL ? QDQ_E_NOMEM : QDQ_E_IO;
    snprintf(err->text, sizeof err->text, "%s", said != NULL ? said : "");
    qdq_free(text);
    return st;
}

static qdq_status run_job(void *ctx, qdq_error *err)
{
    const job *j = ctx;
    qdq_status st = QDQ_OK;

    test_let_allocs_be(true);
    remove_each(j->writes);
    test_let_allocs_be(false);
    const int code = run_command(j->line);
    test_let_allocs_be(true);
    if (code != j->code)
        st = read_error(err);
    const char *wrong = code != j->code && code != 4 ? "that exit code" : check_all(j);
    if (wrong != NULL)
        st = qdq_fail(err, QDQ_E_BUG, "%s: exit code %d: %s", j->line, code, wrong);
    test_let_allocs_be(false);
    return st;
}

/* --- jobs ------------------------------------------------------------------------------------- */

static const char *const before[] = {
    "copy $F/conv.onnxtxt -o conv.onnx -f",
    "copy $F/qat.onnxtxt -o qat.onnx -f",
    "copy $F/untidy.onnxtxt -o untidy.onnx -f",
    "copy $F/linear.onnxtxt -o linear.onnx -f",
    ("quantize conv.onnx -o q.onnx --plan-out plan.json -e sim:sim.json --calib random:1 -f "
     "--no-bench"),
    "targets $F/probes.json --measure -o measured.json -e sim:cost.json -f",
    "calibrate conv.onnx --calib $F/nine.npy --part 1/2 -o p1.json -e sim:sim.json -f",
    "calibrate conv.onnx --calib $F/nine.npy --part 2/2 -o p2.json -e sim:sim.json -f",
    "calibrate conv.onnx --merge p1.json p2.json -o all.json -f",
};

#define SIM      " -e sim:sim.json "
#define TRTEXEC  " -e trtexec --trtexec $B/tests/fake_trtexec "
#define QUANTIZE "quantize conv.onnx -f -o a.onnx --no-bench --calib random:1" SIM

static const job jobs[] = {
    {"--version", 0, NULL, false},
    {"help", 0, NULL, false},
    {"help quantize", 0, NULL, false},
    {"passes", 0, NULL, false},
    {"passes --json", 0, NULL, false},
    {"targets", 0, NULL, false},
    {"targets ort-cpu --json", 0, NULL, false},
    {"targets --compare $F/probes.json measured.json", 0, NULL, false},
    {"engines sim:sim.json --json", 0, NULL, false},
    {"copy conv.onnx -o a.onnxtxt --set-shape image=1x2x6x6", 0, "a.onnxtxt", false},
    {"copy conv.onnx -o a.onnx --external-data always --json", 0, "a.onnx", true},
    {"inspect conv.onnx", 0, NULL, false},
    {"inspect qat.onnx --json", 0, NULL, false},
    {"inspect m.onnx --regions --json", 0, NULL, false},
    {"inspect conv.onnx --groups --json" SIM, 0, NULL, false},
    {"check conv.onnx --json", 0, NULL, false},
    {"check q.onnx --target tensorrt --strict", 1, NULL, false},
    {"check q.onnx --target ort-cpu --json", 0, NULL, false},
    {"check q.onnx --target ort-cpu --json --cpu avx2" SIM, 0, NULL, false},
    {"optimize untidy.onnx -o a.onnx --verify-each --print-changed --report r.json", 0,
     "a.onnx r.json", true},
    {"optimize untidy.onnx -o a.onnx --check random:1 --json --target tensorrt" SIM, 0, "a.onnx",
     false},
    {"strip qat.onnx -o a.onnx", 0, "a.onnx", false},
    {"import qat.onnx -o a.json", 0, "a.json", true},
    {"import conv.onnx --encodings enc.json -o a.json --json", 0, "a.json", true},
    {QUANTIZE, 0, "a.onnx", false},
    {QUANTIZE "--plan-out a.json --report a.html --overlay a.overlay.json --metadata --json", 0,
     "a.onnx a.json a.html a.overlay.json", true},
    {QUANTIZE "--target tensorrt --equalize --method entropy --cache-out a.cache", 0,
     "a.onnx a.cache", false},
    {QUANTIZE "--target openvino --method percentile --rest fp16", 0, "a.onnx", false},
    {QUANTIZE "--format int4 --weight-method awq-full", 0, "a.onnx", false},
    {QUANTIZE "--format int4 --weight-method gptq-refine", 0, "a.onnx", false},
    {QUANTIZE "--min-sqnr 45 --bias-correction=on", 6, NULL, false},
    {"quantize qat.onnx -o a.onnx --no-bench" SIM, 0, "a.onnx", false},
    {"quantize conv.onnx --plan plan.json -o a.onnx --no-bench", 0, "a.onnx", false},
    {"quantize conv.onnx --why c --dry-run --json" SIM, 0, NULL, false},
    {"quantize conv.onnx --config c.yaml", 0, "a.onnx", false},
    {"calibrate conv.onnx --calib $F/nine.npy --part 2/3 --method auto -o a.json" SIM, 0, "a.json",
     false},
    {"calibrate conv.onnx --calib $F/nine.npy --method moving-average -o a.json --json" SIM, 0,
     "a.json", false},
    {"calibrate conv.onnx --merge p2.json p1.json -o a.json --json", 0, "a.json", false},
    {"quantize conv.onnx -o a.onnx --no-bench --no-sqnr --cache all.json" SIM, 0, "a.onnx", false},
    {"compare conv.onnx q.onnx --data random:1 --per-tensor" SIM, 0, NULL, false},
    {"compare conv.onnx q.onnx --data random:1 --per-tensor --json" SIM, 0, NULL, false},
    {"compare $F/sum.onnxtxt $F/sum.onnxtxt --data random:1 -n 2 --state t=s --steps 2" SIM, 0,
     NULL, false},
    {"quantize $F/sum.onnxtxt -o a.onnx --no-bench --calib random:1 --state t=s --steps 2" SIM, 0,
     "a.onnx", false},
    {"extract conv.onnx --group 0 -o a.onnxtxt --json" SIM, 0, "a.onnxtxt", false},
    {"extract conv.onnx --group 2 --halo -o a.onnx" SIM, 0, "a.onnx", false},
    {"bench conv.onnx q.onnx --rounds 2 --json" SIM, 0, NULL, false},
    {"bench conv.onnx --rounds 2" TRTEXEC, 0, NULL, false},
    {"bench $F/sum.onnxtxt $F/sum.onnxtxt --rounds 2 --state t=s --steps 2 --json" SIM, 0, NULL,
     false},
    {"bench $F/decoder.onnxtxt --rounds 1 --data $F/tokens.npy --mask attention_mask "
     "--state present_key=past_key --state present_value=past_value" SIM,
     0, NULL, false},
    {"inspect conv.onnx --groups --json" TRTEXEC, 0, NULL, false},
    {"targets $F/probes.json --measure -o a.json --time 1m -e sim:cost.json", 0, "a.json", true},
    {"autotune m.onnx -o tuned -e sim:sim.json --trials 3", 0, "tuned", true},
    {"autotune m.onnx -o tuned -e sim:sim.json --trials 3", 0, NULL, true},
    {"autotune --status tuned", 0, NULL, true},
    {"autotune $F/decoder.onnxtxt -o steps -e sim:sim.json --trials 1 --calib $F/tokens.npy "
     "--min-sqnr 0 --mask attention_mask --state present_key=past_key "
     "--state present_value=past_value",
     0, "steps", true},
    {"stores tuned/tune.db -o a.db --json", 0, "a.db a.db-wal a.db-shm", true},
    {"autotune m.onnx -o again -e sim:sim.json --pattern-cache tuned/patterns.yaml", 0, "again",
     true},
    {"autotune m.onnx -o cut -e sim:sim.json --mode subgraph --pareto 2 --calib random:1", 0, "cut",
     true},
    {"autotune m.onnx -o apart -e sim:sim.json --mode subgraph --strategy greedy", 0, "apart",
     true},
};

static void write_text(const char *path, const char *text)
{
    qdq_error err = QDQ_ERROR_INIT;

    assert_ok(qdq_write_file(path, true, text, strlen(text), &err));
}

/* The folder that all jobs work in. */
static int set_up(void **state)
{
    qdq_error err = QDQ_ERROR_INIT;
    char path[4000];

    (void)state;
    snprintf(path, sizeof path, "%s:%s", QDQ_BUILD_DIR, getenv("PATH"));
    setenv("PATH", path, 1); /* where the worker is found */
    setenv("XDG_CONFIG_HOME", test_path("config"), 1);
    setenv("OMP_NUM_THREADS", "1", 1);
    setenv("NO_COLOR", "1", 1);
    assert_int_equal(chdir(test_dir()), 0);
    qdq_model *m = test_tuned_model();
    assert_ok(qdq_model_save(m, "m.onnx", NULL, &err));
    qdq_model_free(m);
    write_text("sim.json", "{\"qdq_sim\": 1, \"error\": 0.01, \"ops\": {" TEST_TUNED_OPS
                           ", \"Conv\": {\"float_us\": 100, \"int8_us\": 30, \"inputs\": 2}}}");
    write_text("cost.json", "{\"qdq_sim\": 1, \"default\": {\"float_us\": 10}, \"ops\": {\"Conv\": "
                            "{\"float_us\": 10, \"float_us_per_k\": 50, \"int8_us\": 50, "
                            "\"int8_us_per_k\": 1}}}");
    write_text("enc.json", "{\"version\": \"0.6.1\", \"activation_encodings\": {\"image\": "
                           "[{\"bitwidth\": 8, \"dtype\": \"int\", \"is_symmetric\": \"False\", "
                           "\"offset\": -3, \"scale\": 0.5}]}, \"param_encodings\": {}}");
    write_text("c.yaml", "output: a.onnx\ncalib: 'random:1'\nengine: "
                         "'sim:sim.json'\nbench: false\nexclude: [nothing, 'no.*']\n");
    for (size_t i = 0; i < QDQ_COUNT(before); i++)
        if (run_command(before[i]) != 0)
            fail_msg("%s: %s", before[i], (read_error(&err), err.text));
    return 0;
}

/* The first call of each way leads there once in all jobs together. */
static void every_job_survives(unsigned long (*attempt)(test_attempt, void *))
{
    json_malloc_t json_malloc;
    json_free_t json_free;

    json_get_alloc_funcs(&json_malloc, &json_free);
    json_set_alloc_funcs(malloc, free); /* jansson's allocations fail, too */
    for (size_t i = 0; i < QDQ_COUNT(jobs); i++) {
        job j = jobs[i];
        print_message("%s\n", j.line);
        qdq_tempdir_remove("first");
        assert_int_equal(mkdir("first", 0700), 0);
        attempt(run_job, &j);
    }
    json_set_alloc_funcs(json_malloc, json_free);
}

TEST(every_job_survives_every_allocation_failure)
{
    every_job_survives(test_new_allocs_fail);
}

TEST(every_job_survives_every_failed_call_on_a_file)
{
    every_job_survives(test_new_file_calls_fail);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_job_survives_every_allocation_failure),
        cmocka_unit_test(every_job_survives_every_failed_call_on_a_file),
    };

    return cmocka_run_group_tests(tests, set_up, NULL);
}
