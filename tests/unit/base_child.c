/* base_child.c - programs run to their end. */
#include "support/test.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/child.h"
#include "base/file.h"
#include "base/spawn.h"

static double now_s(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* Runs `sh -c script`; the caller frees the result. */
static qdq_child_result shell(const char *script, qdq_child_opts opts)
{
    const char *const argv[] = {"sh", "-c", script, NULL};
    qdq_error err = QDQ_ERROR_INIT;
    qdq_child_result r;

    opts.argv = argv;
    if (opts.max_output == 0)
        opts.max_output = 10000;
    assert_ok(qdq_child_run(&opts, &r, &err));
    return r;
}

TEST(output_and_exit_code_come_back)
{
    qdq_child_result r = shell("echo one; echo two >&2; exit 3", (qdq_child_opts){0});

    assert_int_equal(r.exit_code, 3);
    assert_int_equal(r.signal, 0);
    assert_string_equal(r.out, "one\n");
    assert_string_equal(r.err, "two\n");
    assert_int_equal(r.out_size, 4);
    assert_false(r.timed_out);
    assert_false(r.truncated);
    qdq_child_result_free(&r);
    assert_null(r.out);
    qdq_child_result_free(&r);
}

TEST(a_killed_child_says_which_signal)
{
    qdq_child_result r = shell("echo before; kill -SEGV $$", (qdq_child_opts){0});

    assert_int_equal(r.exit_code, -1);
    assert_int_equal(r.signal, SIGSEGV);
    assert_string_equal(r.out, "before\n");
    qdq_child_result_free(&r);
}

TEST(arguments_pass_through_no_shell)
{
    static const char *const argv[] = {"printf", "%s|", "a b", "$HOME", "*", ";exit", "", NULL};
    qdq_child_opts opts = {.argv = argv, .max_output = 1000};
    qdq_error err = QDQ_ERROR_INIT;
    qdq_child_result r;

    assert_ok(qdq_child_run(&opts, &r, &err));
    assert_string_equal(r.out, "a b|$HOME|*|;exit||");
    qdq_child_result_free(&r);
}

TEST(folder_and_environment_are_given)
{
    static const char *const env[] = {"QDQ_A=1", "PATH=/usr/bin:/bin", NULL};
    qdq_child_result r =
        shell("pwd -P; echo $QDQ_A-$HOME", (qdq_child_opts){.cwd = "/", .env = env});

    assert_string_equal(r.out, "/\n1-\n");
    qdq_child_result_free(&r);
    setenv("QDQ_B", "from the caller", 1);
    r = shell("echo $QDQ_B", (qdq_child_opts){0});
    assert_string_equal(r.out, "from the caller\n");
    qdq_child_result_free(&r);
}

TEST(standard_input_is_empty)
{
    qdq_child_result r = shell("cat; echo done", (qdq_child_opts){0});

    assert_string_equal(r.out, "done\n");
    qdq_child_result_free(&r);
}

TEST(output_beyond_the_limit_is_dropped_and_does_not_block)
{
    qdq_child_result r = shell("head -c 3000000 /dev/zero | tr '\\0' x; echo end >&2; exit 5",
                               (qdq_child_opts){.max_output = 1000});

    assert_int_equal(r.exit_code, 5); /* it was read to its end */
    assert_true(r.truncated);
    assert_int_equal(r.out_size, 1000);
    assert_int_equal(strlen(r.out), 1000);
    assert_string_equal(r.err, "end\n");
    qdq_child_result_free(&r);
}

TEST(output_of_the_limit_is_not_truncated)
{
    qdq_child_result r = shell("printf 12345", (qdq_child_opts){.max_output = 5});

    assert_false(r.truncated);
    assert_string_equal(r.out, "12345");
    qdq_child_result_free(&r);
}

TEST(large_output_on_both_streams_does_not_deadlock)
{
    qdq_child_result r = shell("head -c 1000000 /dev/zero >&2; head -c 1000000 /dev/zero",
                               (qdq_child_opts){.max_output = 2000000, .deadline_s = 60});

    assert_int_equal(r.exit_code, 0);
    assert_int_equal(r.out_size, 1000000);
    assert_int_equal(r.err_size, 1000000);
    qdq_child_result_free(&r);
}

TEST(the_deadline_ends_it_softly)
{
    double start = now_s();
    qdq_child_result r =
        shell("trap 'echo asked; exit 9' TERM; echo up; while :; do sleep 0.01; done",
              (qdq_child_opts){.deadline_s = 0.3});

    assert_true(r.timed_out);
    assert_int_equal(r.exit_code, 9);
    assert_string_equal(r.out, "up\nasked\n");
    assert_true(now_s() - start < 2);
    qdq_child_result_free(&r);
}

TEST(who_ignores_the_deadline_is_killed_with_all_it_started)
{
    double start = now_s();
    qdq_child_result r =
        shell("trap '' TERM; sleep 60 & echo $!; sleep 60", (qdq_child_opts){.deadline_s = 0.1});

    assert_true(r.timed_out);
    assert_int_equal(r.signal, SIGKILL);
    assert_true(now_s() - start > 2);
    assert_true(now_s() - start < 5);
    pid_t grandchild = (pid_t)strtol(r.out, NULL, 10);
    assert_true(grandchild > 0);
    /* until whoever inherited it has reaped it */
    for (int i = 0; i < 200 && kill(grandchild, 0) == 0; i++) {
        char path[64], text[8] = "";
        snprintf(path, sizeof path, "/proc/%d/stat", (int)grandchild);
        FILE *f = fopen(path, "r");
        if (f == NULL || fscanf(f, "%*d %*s %7s", text) != 1 || text[0] == 'Z')
            i = 200; /* dead, only not taken away */
        if (f != NULL)
            fclose(f);
        usleep(10000);
        assert_int_not_equal(i, 199);
    }
    qdq_child_result_free(&r);
}

TEST(what_stays_behind_does_not_hold_us)
{
    double start = now_s();
    /* it holds our pipes */
    qdq_child_result r = shell("sleep 60 & echo started", (qdq_child_opts){0});

    assert_int_equal(r.exit_code, 0);
    assert_string_equal(r.out, "started\n");
    assert_true(now_s() - start < 5);
    qdq_child_result_free(&r);
}

TEST(a_program_that_closes_its_output_is_waited_for)
{
    qdq_child_result r = shell("exec >&- 2>&-; sleep 0.2; exit 4", (qdq_child_opts){0});

    assert_int_equal(r.exit_code, 4);
    qdq_child_result_free(&r);
}

static void assert_does_not_start(const qdq_child_opts *opts, qdq_status code, const char *part)
{
    qdq_error err = QDQ_ERROR_INIT;
    qdq_child_result r;

    assert_fails(code, part, qdq_child_run(opts, &r, &err));
    assert_null(r.out);
    assert_null(r.err);
}

TEST(what_cannot_be_started_is_named)
{
    static const char *const absent[] = {"qdq-no-such-program", NULL};
    static const char *const no_path[] = {"/nowhere/trtexec", NULL};
    static const char *const folder[] = {"/tmp", NULL};
    static const char *const good[] = {"true", NULL};
    static const char *const none[] = {NULL};

    assert_does_not_start(&(qdq_child_opts){.argv = absent}, QDQ_E_IO,
                          "qdq-no-such-program: cannot start it: No such file");
    assert_does_not_start(&(qdq_child_opts){.argv = no_path}, QDQ_E_IO,
                          "/nowhere/trtexec: cannot start it");
    assert_does_not_start(&(qdq_child_opts){.argv = folder}, QDQ_E_IO,
                          "cannot start it: Permission denied");
    assert_does_not_start(&(qdq_child_opts){.argv = good, .cwd = "/nowhere"}, QDQ_E_IO,
                          "true: cannot run in '/nowhere': no such folder");
    assert_does_not_start(&(qdq_child_opts){.argv = none}, QDQ_E_USAGE,
                          "no program to run is named");
    assert_does_not_start(&(qdq_child_opts){0}, QDQ_E_USAGE, "no program to run is named");
}

static void *cancel_soon(void *flag)
{
    usleep(100000);
    qdq_cancel_set(flag);
    return NULL;
}

TEST(cancel_kills_it)
{
    static const char *const argv[] = {"sh", "-c", "trap '' TERM; sleep 60 & sleep 60", NULL};
    qdq_cancel *flag = qdq_cancel_new();
    pthread_t thread;
    double start = now_s();

    assert_int_equal(pthread_create(&thread, NULL, cancel_soon, flag), 0);
    assert_does_not_start(&(qdq_child_opts){.argv = argv, .cancel = flag}, QDQ_E_INTERRUPTED,
                          "sh: interrupted");
    pthread_join(thread, NULL);
    assert_true(now_s() - start < 5);
    assert_does_not_start(&(qdq_child_opts){.argv = argv, .cancel = flag}, QDQ_E_INTERRUPTED,
                          "interrupted");
    qdq_cancel_free(flag);
}

TEST(signals_our_caller_ignores_or_blocks_work_in_the_child)
{
    sigset_t set, before;

    signal(SIGPIPE, SIG_IGN);
    sigfillset(&set);
    pthread_sigmask(SIG_BLOCK, &set, &before);
    qdq_child_result r = shell("kill -PIPE $$; exit 1", (qdq_child_opts){0});
    assert_int_equal(r.signal, SIGPIPE);
    qdq_child_result_free(&r);
    r = shell("sleep 60", (qdq_child_opts){.deadline_s = 0.05});
    assert_int_equal(r.signal, SIGTERM);
    qdq_child_result_free(&r);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    signal(SIGPIPE, SIG_DFL);
}

TEST(a_lost_exit_status_is_an_error_not_a_hang)
{
    static const char *const argv[] = {"true", NULL};

    signal(SIGCHLD, SIG_IGN);
    assert_does_not_start(&(qdq_child_opts){.argv = argv}, QDQ_E_IO,
                          "true: its exit status is lost");
    signal(SIGCHLD, SIG_DFL);
}

static unsigned count_open(void)
{
    unsigned n = 0;

    for (int fd = 0; fd < 256; fd++)
        n += lseek(fd, 0, SEEK_CUR) != -1 || errno != EBADF;
    return n;
}

TEST(no_descriptor_is_lost)
{
    static const char *const absent[] = {"qdq-no-such-program", NULL};
    unsigned before = count_open();

    for (int i = 0; i < 3; i++) {
        qdq_child_result r = shell("exit 0", (qdq_child_opts){0});
        qdq_child_result_free(&r);
        assert_does_not_start(&(qdq_child_opts){.argv = absent}, QDQ_E_IO, "cannot start");
    }
    assert_int_equal(count_open(), before);
}

TEST(the_child_gets_no_descriptors_of_ours)
{
    qdq_error err = QDQ_ERROR_INIT;
    qdq_mapping *m = NULL;

    assert_ok(qdq_write_file(test_path("mapped"), false, "x", 1, &err));
    assert_ok(qdq_mapping_open(test_path("mapped"), &m, &err));
    qdq_child_result r = shell("ls -l /proc/self/fd", (qdq_child_opts){0});
    assert_null(strstr(r.out, "mapped"));
    qdq_child_result_free(&r);
    qdq_mapping_unref(m);
}

TEST(missing_standard_streams_do_no_harm)
{
    int saved[3];

    fflush(stdout);
    for (int fd = 0; fd < 3; fd++) {
        saved[fd] = fcntl(fd, F_DUPFD_CLOEXEC, 10);
        close(fd);
    }
    qdq_child_result r = shell("echo out; echo err >&2", (qdq_child_opts){0});
    for (int fd = 0; fd < 3; fd++) {
        dup2(saved[fd], fd);
        close(saved[fd]);
    }
    assert_string_equal(r.out, "out\n");
    assert_string_equal(r.err, "err\n");
    qdq_child_result_free(&r);
}

TEST(of_much_output_the_end_is_kept_and_the_log_has_its_limit)
{
    const char *path = test_path("log");
    int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
    qdq_child_result r = shell(
        "yes 12345678 | head -c 5000000; echo; echo last words; echo problem >&2",
        (qdq_child_opts){.keep_last = true, .max_output = 1000, .log = fd, .max_log = 200000});

    assert_true(fd > 2);
    assert_int_equal(r.exit_code, 0);
    assert_true(r.truncated);
    assert_int_equal(r.out_size, 1000);
    assert_string_equal(r.out + 1000 - 11, "last words\n");
    assert_string_equal(r.err, "problem\n");
    assert_int_equal(lseek(fd, 0, SEEK_END), 200000);
    close(fd);
    qdq_child_result_free(&r);
}

TEST(programs_that_a_process_started_can_be_ended_with_it)
{
    const char *const argv[] = {"sleep", "1000", NULL};
    int null = open("/dev/null", O_WRONLY), status = 0;
    pid_t pid = 0;

    assert_true(null > 2);
    assert_int_equal(
        qdq_spawn(&(qdq_spawn_opts){.argv = argv, .in = -1, .out = null, .err = null}, &pid), 0);
    close(null);
    qdq_kill_groups_of(0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    qdq_kill_groups_of(pid); /* of nobody: nothing happens */
}
