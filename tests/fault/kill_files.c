/* kill_files.c - the tool is killed before and after each system call by which it ships files: what
 * is there is then old or new, never between, and the next run ends as if nothing had happened. */
#include "support/killed.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/file.h"
#include "base/json_read.h"
#include "base/side_name.h"
#include "support/tuned.h"

static qdq_error err;

static const char tool[] = QDQ_BUILD_DIR "/qdq";

enum { ALWAYS_AGAIN = 8 }; /* of tuning runs every 8th is run again: they take longer */

/* --- folders ---------------------------------------------------------------------------------- */

static bool is_dots(const char *name)
{
    return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

static void copy_file(const char *from, const char *to)
{
    char *data;
    size_t size;

    assert_ok(qdq_read_file(from, 1 << 28, &data, &size, &err));
    assert_ok(qdq_write_file(to, true, data, size, &err));
    qdq_free(data);
}

/* Its plain files; folders in it are left out. */
static void copy_folder(const char *from, const char *to)
{
    DIR *dir = opendir(from);
    char a[600], b[600];
    struct stat st;

    qdq_tempdir_remove(to);
    assert_int_equal(mkdir(to, 0700), 0);
    assert_non_null(dir);
    for (const struct dirent *e = readdir(dir); e != NULL; e = readdir(dir)) {
        snprintf(a, sizeof a, "%s/%s", from, e->d_name);
        snprintf(b, sizeof b, "%s/%s", to, e->d_name);
        if (!is_dots(e->d_name) && stat(a, &st) == 0 && S_ISREG(st.st_mode))
            copy_file(a, b);
    }
    closedir(dir);
}

static void run(const char *const *argv, const char *folder)
{
    pid_t pid = fork();
    int status;

    if (pid == 0) {
        int null = open("/dev/null", O_RDWR);
        if (chdir(folder) == 0 && dup2(null, 1) >= 0 && dup2(null, 2) >= 0)
            execv(argv[0], (char *const *)(uintptr_t)argv);
        _exit(127);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    if (status != 0)
        fail_msg("%s %s in %s: status %x", argv[0], argv[1], folder, (unsigned)status);
}

static bool same_file(const char *a, const char *b)
{
    char *x, *y;
    size_t n, m;

    if (access(a, F_OK) != 0 || access(b, F_OK) != 0)
        return access(a, F_OK) == access(b, F_OK);
    assert_ok(qdq_read_file(a, 1 << 28, &x, &n, &err));
    assert_ok(qdq_read_file(b, 1 << 28, &y, &m, &err));
    const bool same = n == m && memcmp(x, y, n) == 0;
    qdq_free(x);
    qdq_free(y);
    return same;
}

/* That file of the folder as it is in one of two others. */
static bool is_old_or_new(const char *name, const char *folder, const char *before,
                          const char *after)
{
    char now[600], old[600], fresh[600];

    snprintf(now, sizeof now, "%s/%s", folder, name);
    snprintf(old, sizeof old, "%s/%s", before, name);
    snprintf(fresh, sizeof fresh, "%s/%s", after, name);
    return same_file(now, old) || same_file(now, fresh);
}

/* A model that loads, whose external data have the hash that their name says, and that is old or
 * new. Since the name of the data is in the model, the same model has the same data. */
static void assert_model(const char *name, const char *folder, const char *before,
                         const char *after, const char *where)
{
    qdq_model *m = NULL;
    qdq_finding *found;
    char path[600];
    size_t n;

    snprintf(path, sizeof path, "%s/%s", folder, name);
    if (qdq_model_load(path, NULL, &m, &err) != QDQ_OK)
        fail_msg("%s: %s", where, err.text);
    assert_ok(qdq_model_check(m, &found, &n, &err));
    if (n > 0)
        fail_msg("%s: %s: %s", where, name, found[0].text);
    qdq_free(found);
    qdq_model_free(m);
    if (!is_old_or_new(name, folder, before, after))
        fail_msg("%s: %s is neither old nor new", where, name);
}

static unsigned count_temps(const char *folder)
{
    DIR *dir = opendir(folder);
    unsigned n = 0;

    assert_non_null(dir);
    for (const struct dirent *e = readdir(dir); e != NULL; e = readdir(dir))
        n += strstr(e->d_name, ".tmp") != NULL;
    closedir(dir);
    return n;
}

/* The same names, and models and side files with the same content. */
static void assert_same_models(const char *folder, const char *other, const char *where)
{
    DIR *dir = opendir(folder);
    unsigned n = 0;

    assert_non_null(dir);
    for (const struct dirent *e = readdir(dir); e != NULL; e = readdir(dir)) {
        size_t model;
        n++;
        if (strstr(e->d_name, ".onnx") == NULL)
            continue;
        if (!is_old_or_new(e->d_name, folder, other, other))
            fail_msg("%s: %s differs in the end", where, e->d_name);
        (void)qdq_side_digits(e->d_name, &model);
    }
    closedir(dir);
    dir = opendir(other);
    for (const struct dirent *e = readdir(dir); e != NULL; e = readdir(dir))
        n--;
    closedir(dir);
    if (n != 0)
        fail_msg("%s: not as many files as without a kill", where);
}

/* --- models ----------------------------------------------------------------------------------- */

/* Three MatMul, two of whose weights are worth a side file; `first` tells models apart. */
static void write_model(const char *path, int first)
{
    enum { WIDTH = 24 };
    qdq_buf b = QDQ_BUF_INIT(QDQ_BUF_NO_LIMIT);

    qdq_buf_printf(
        &b, "<ir_version: 8, opset_import: [\"\" : 17]>\ng (float[1,%d] x) => (float[1,%d] y)\n<",
        WIDTH, WIDTH);
    for (int i = 0; i < 3; i++) {
        qdq_buf_printf(&b, "%sfloat[%d,%d] w%d = {", i > 0 ? ", " : "", WIDTH, WIDTH, i);
        for (int k = 0; k < WIDTH * WIDTH; k++)
            qdq_buf_printf(&b, "%s%.3f", k > 0 ? ", " : "",
                           ((k * 37 + i + first) % 101 - 50) / 100.0);
        qdq_buf_puts(&b, "}");
    }
    qdq_buf_puts(
        &b,
        ">\n{\n  [m0] a = MatMul(x, w0)\n  [r0] ra = Relu(a)\n  [m1] b = MatMul(ra, w1)\n  [r1] "
        "rb = Relu(b)\n"
        "  [m2] y = MatMul(rb, w2)\n}\n");
    assert_ok(qdq_write_file(path, true, b.data, b.size, &err));
    qdq_buf_free(&b);
}

/* --- quantize -f ------------------------------------------------------------------------------ */

static bool every_call(const char *path)
{
    return strncmp(path, "/dev/", 5) != 0 || strncmp(path, "/dev/shm/", 9) == 0;
}

TEST(quantize_leaves_the_old_model_or_the_new)
{
    const char *const plan[] = {tool, "quantize", "m.onnxtxt",  "-q",        "-e", "sim:sim.json",
                                "-o", "q.onnx",   "--plan-out", "plan.json", NULL};
    const char *const old[] = {
        tool, "copy", "other.onnxtxt", "-o", "q.onnx", "-f", "--external-data", "always", NULL};
    const char *const fresh[] = {tool,     "quantize",        "m.onnxtxt", "-q",
                                 "--plan", "plan.json",       "-o",        "q.onnx",
                                 "-f",     "--external-data", "always",    NULL};
    char before[300], after[300], now[300], where[200];
    unsigned stop = 0;
    int status;

    if (!test_can_trace())
        return;
    snprintf(before, sizeof before, "%s", test_path("quantize_before"));
    snprintf(after, sizeof after, "%s", test_path("quantize_after"));
    snprintf(now, sizeof now, "%s", test_path("quantize_now"));
    assert_int_equal(mkdir(before, 0700), 0);
    write_model(test_path("quantize_before/m.onnxtxt"), 0);
    write_model(test_path("quantize_before/other.onnxtxt"), 1);
    copy_file(QDQ_SOURCE_DIR "/tests/data/sim_basic.json", test_path("quantize_before/sim.json"));
    run(plan, before);
    run(old, before);
    copy_folder(before, after);
    run(fresh, after);
    assert_false(is_old_or_new("q.onnx", after, before, before));
    for (;; stop++) {
        copy_folder(before, now);
        if (!test_kill_at(fresh, now, every_call, stop, where, &status))
            break;
        assert_model("q.onnx", now, before, after, where);
        run(fresh, now);
        if (count_temps(now) != 0)
            fail_msg("%s: temporary files are left behind the next run", where);
        assert_model("q.onnx", now, after, after, where);
    }
    print_message("quantize was killed at %u stops\n", stop);
    assert_int_equal(status, 0);
    assert_true(stop > 20);
    assert_same_models(now, after, "not killed");
}

/* --- a run's folder --------------------------------------------------------------------------- */

static const char *const models[] = {"model.onnx", "baseline.onnx"};
static const char *const others[] = {"plan.json", "report.json", "report.html", "patterns.yaml"};

/* About one of the files that are shipped, its temporary file, its side file, or the folder
 * itself. */
static bool shipping_call(const char *path)
{
    const char *base = qdq_base_name(path);

    if (*base == '.')
        base++;
    for (size_t i = 0; i < QDQ_COUNT(models); i++)
        if (strncmp(base, models[i], strlen(models[i])) == 0)
            return strstr(path, "/.work-") == NULL;
    for (size_t i = 0; i < QDQ_COUNT(others); i++)
        if (strncmp(base, others[i], strlen(others[i])) == 0)
            return true;
    return strcmp(base, "run") == 0 && path[strlen(path) - 4] != '.'; /* not the note, ".run" */
}

/* The report holds times of the run: whole is what ends as it should. */
static void assert_whole(const char *folder, const char *name, const char *where)
{
    char path[600], *text;
    size_t size;

    snprintf(path, sizeof path, "%s/%s", folder, name);
    assert_ok(qdq_read_file(path, 1 << 24, &text, &size, &err));
    if (strstr(name, ".json") != NULL) {
        json_t *j = NULL;
        if (qdq_json_parse(text, size, name, &j, &err) != QDQ_OK)
            fail_msg("%s: %s", where, err.text);
        json_decref(j);
    } else if (strstr(name, ".html") != NULL && strstr(text, "</html>") == NULL)
        fail_msg("%s: half of %s", where, name);
    else if (size == 0 || text[size - 1] != '\n')
        fail_msg("%s: half of %s", where, name);
    qdq_free(text);
}

static void assert_run_folder(const char *folder, const char *before, const char *after,
                              const char *where)
{
    for (size_t i = 0; i < QDQ_COUNT(models); i++)
        assert_model(models[i], folder, before, after, where);
    if (!is_old_or_new("plan.json", folder, before, after))
        fail_msg("%s: plan.json is neither old nor new", where);
    for (size_t i = 0; i < QDQ_COUNT(others); i++)
        assert_whole(folder, others[i], where);
}

/* As copy_folder(), with the folders inside in which a run works. */
static void copy_run(const char *from, const char *to)
{
    char a[600], b[600];

    qdq_tempdir_remove(to);
    assert_int_equal(mkdir(to, 0700), 0);
    snprintf(b, sizeof b, "%s/run", to);
    snprintf(a, sizeof a, "%s/run", from);
    copy_folder(a, b);
    snprintf(b, sizeof b, "%s/run/logs", to);
    assert_int_equal(mkdir(b, 0700), 0);
    snprintf(a, sizeof a, "%s/m.onnxtxt", from);
    snprintf(b, sizeof b, "%s/m.onnxtxt", to);
    copy_file(a, b);
    snprintf(a, sizeof a, "%s/sim.json", from);
    snprintf(b, sizeof b, "%s/sim.json", to);
    copy_file(a, b);
}

TEST(a_run_s_folder_holds_the_old_files_or_the_new)
{
#define TUNE "-o", "run", "-e", "sim:sim.json", "-q", "-f", "--external-data", "always", NULL
    const char *const old[] = {tool, "autotune", "other.onnxtxt", TUNE};
    const char *const fresh[] = {tool, "autotune", "m.onnxtxt", TUNE};
    char before[300], after[300], now[300], where[200], inner[3][400];
    unsigned stop = 0;
    int status;

    if (!test_can_trace())
        return;
    snprintf(before, sizeof before, "%s", test_path("tune_before"));
    snprintf(after, sizeof after, "%s", test_path("tune_after"));
    snprintf(now, sizeof now, "%s", test_path("tune_now"));
    assert_int_equal(mkdir(before, 0700) | mkdir(after, 0700), 0);
    write_model(test_path("tune_before/m.onnxtxt"), 0);
    write_model(test_path("tune_before/other.onnxtxt"), 1);
    copy_file(QDQ_SOURCE_DIR "/tests/data/sim_basic.json", test_path("tune_before/sim.json"));
    run(fresh, before); /* the store has all that the run below measures */
    run(old, before);
    copy_run(before, after);
    run(fresh, after);
    snprintf(inner[0], sizeof inner[0], "%s/run", now);
    snprintf(inner[1], sizeof inner[1], "%s/run", before);
    snprintf(inner[2], sizeof inner[2], "%s/run", after);
    assert_false(is_old_or_new("model.onnx", inner[2], inner[1], inner[1]));
    for (;; stop++) {
        copy_run(before, now);
        if (!test_kill_at(fresh, now, shipping_call, stop, where, &status))
            break;
        assert_run_folder(inner[0], inner[1], inner[2], where);
        if (stop % ALWAYS_AGAIN != 0)
            continue;
        run(fresh, now);
        assert_run_folder(inner[0], inner[2], inner[2], where);
        if (count_temps(inner[0]) != 0)
            fail_msg("%s: temporary files are left behind the next run", where);
    }
    print_message("autotune was killed at %u stops\n", stop);
    assert_int_equal(status, 0);
    assert_true(stop > 20);
}

/* --- a system that refuses ptrace ------------------------------------------------------------- */

static const char alone[] = "--first-alone";

/* As in containers: each ptrace() of this process and of those it starts is EPERM. */
static bool refuse_ptrace(void)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_ptrace, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const struct sock_fprog filter = {QDQ_COUNT(code), code};

    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0;
}

/* The exit code of this program with the first test alone, where ptrace is refused; *text: all that
 * it prints. */
static int run_without_ptrace(const char *require, char *text, size_t size)
{
    int status, fd[2];
    size_t used = 0;

    assert_int_equal(pipe(fd), 0);
    const pid_t pid = fork();
    if (pid == 0) {
        setenv("QDQ_TEST_REQUIRE", require, 1);
        dup2(fd[1], STDOUT_FILENO);
        dup2(fd[1], STDERR_FILENO);
        if (refuse_ptrace())
            execl("/proc/self/exe", "test", alone, (char *)NULL);
        _exit(127);
    }
    close(fd[1]);
    for (ssize_t n; used < size - 1 && (n = read(fd[0], text + used, size - 1 - used)) > 0;)
        used += (size_t)n;
    text[used] = '\0';
    close(fd[0]);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    if (WEXITSTATUS(status) == 127)
        test_missing("seccomp");
    return WEXITSTATUS(status);
}

TEST(where_ptrace_is_refused_ci_fails_and_others_skip_aloud)
{
    char text[10000];

    assert_int_equal(run_without_ptrace("1", text, sizeof text), 1);
    assert_non_null(
        strstr(text, "ptrace is missing, and QDQ_TEST_REQUIRE=1 says that it must be there"));
    assert_int_equal(run_without_ptrace("0", text, sizeof text), 0);
    assert_non_null(strstr(text, "SKIPPED: ptrace is missing"));
}

int main(int argc, char **argv)
{
    const struct CMUnitTest first[] = {cmocka_unit_test(quantize_leaves_the_old_model_or_the_new)};
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(quantize_leaves_the_old_model_or_the_new),
        cmocka_unit_test(a_run_s_folder_holds_the_old_files_or_the_new),
        cmocka_unit_test(where_ptrace_is_refused_ci_fails_and_others_skip_aloud),
    };

    setenv("ASAN_OPTIONS", "detect_leaks=0", 1); /* which does not work under ptrace */
    if (argc == 2 && strcmp(argv[1], alone) == 0)
        return cmocka_run_group_tests(first, NULL, NULL);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
