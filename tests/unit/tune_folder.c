/* tune_folder.c - the folder of a run: one run at a time, nothing of dead ones stays, and what can
 * be asked of it. */
#include "tune/store/tune_folder.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/disk.h"

static qdq_error err;

static qdq_tune_folder *open_folder(const char *dir)
{
    qdq_tune_folder *f;

    assert_ok(qdq_tune_folder_open(dir, true, NULL, &f, &err));
    return f;
}

static void put(const char *path)
{
    assert_ok(qdq_write_file(path, false, "x", 1, &err));
}

static bool there(const char *path)
{
    return access(path, F_OK) == 0;
}

/* The number of a process that has ended. */
static unsigned long dead(void)
{
    pid_t child = fork();

    if (child == 0)
        _exit(0);
    assert_int_equal(waitpid(child, NULL, 0), child);
    return (unsigned long)child;
}

TEST(a_second_run_in_one_folder_is_refused)
{
    char *dir = strdup(test_path("twice"));
    char want[200];
    qdq_tune_folder *f = open_folder(dir), *g;

    snprintf(want, sizeof want, "twice: another run is at work in this folder (process %ld)",
             (long)getpid());
    assert_fails(QDQ_E_IO, want, qdq_tune_folder_open(dir, false, NULL, &g, &err));
    assert_null(g);
    /* that of the first is untouched */
    assert_true(there(qdq_tempdir_path(qdq_tune_folder_work(f))));
    qdq_tune_folder_close(f, NULL);
    qdq_tune_folder_close(open_folder(dir), NULL);
    free(dir);
}

TEST(what_dead_runs_left_goes_and_nothing_else)
{
    char *dir = strdup(test_path("left"));
    unsigned long process = dead();

    qdq_tune_folder_close(open_folder(dir), NULL);
    assert_int_equal(test_count_files(dir), 3); /* note, logs, region_models */
    assert_int_equal(mkdir(test_path("left/.work-abcdef"), 0700), 0);
    put(test_path("left/.work-abcdef/candidate.onnx"));
    put(test_path("left/.model.onnx.%lx-12.tmp", process));
    put(test_path("left/.model.onnx.HASH.data.%lx-12.tmp", process));
    put(test_path("left/region_models/.0123.onnx.%lx-12.tmp", process));
    const char *held = test_path("left/.model.onnx.%lx-34.tmp", process); /* somebody writes it */
    put(held);
    int lock = open(held, O_RDONLY | O_CLOEXEC);
    assert_int_equal(flock(lock, LOCK_EX), 0);
    put(test_path("left/.notes.%lx-12.tmp", process)); /* of nobody we know */
    put(test_path("left/model.onnx.%lx-12.tmp", process));
    put(test_path("left/.model.onnx.tmp"));
    put(test_path("left/.work-abcdefg"));
    assert_int_equal(mkdir(test_path("left/qdq-models"), 0700), 0);
    assert_int_equal(symlink(test_dir(), test_path("left/.work-link12")), 0);
    qdq_tune_folder_close(open_folder(dir), NULL);
    assert_false(there(test_path("left/.work-abcdef")));
    assert_false(there(test_path("left/.model.onnx.%lx-12.tmp", process)));
    assert_false(there(test_path("left/.model.onnx.HASH.data.%lx-12.tmp", process)));
    assert_int_equal(test_count_files(test_path("left/region_models")), 0);
    assert_int_equal(test_count_files(dir), 3 + 7);
    close(lock);
    free(dir);
}

TEST(a_killed_run_is_told_from_a_living_one)
{
    char *dir = strdup(test_path("killed"));
    qdq_tune_note note;
    int fd[2];
    char byte;

    assert_ok(qdq_tune_note_read(dir, &note, &err));
    assert_false(note.found);
    assert_int_equal(pipe(fd), 0);
    pid_t child = fork();
    if (child == 0) {
        qdq_tune_folder *f;
        if (qdq_tune_folder_open(dir, false, "elsewhere.db", &f, NULL) != QDQ_OK ||
            qdq_tune_folder_began(f, 7, NULL) != QDQ_OK || write(fd[1], "x", 1) != 1)
            _exit(1);
        pause();
    }
    assert_int_equal(read(fd[0], &byte, 1), 1);
    assert_ok(qdq_tune_note_read(dir, &note, &err));
    assert_true(note.found && note.running && note.process == child && note.run == 7);
    assert_true(note.store[0] == '/' && strstr(note.store, "/elsewhere.db") != NULL);
    qdq_tune_note_free(&note);
    kill(child, SIGKILL);
    assert_int_equal(waitpid(child, NULL, 0), child);
    assert_ok(qdq_tune_note_read(dir, &note, &err));
    assert_true(note.found && !note.running);
    assert_null(note.failed);
    qdq_tune_note_free(&note);
    assert_int_equal(test_count_files(dir), 3); /* note, logs, and its work */
    qdq_tune_folder_close(open_folder(dir), "no such engine");
    assert_ok(qdq_tune_note_read(dir, &note, &err));
    assert_string_equal(note.failed, "no such engine");
    assert_true(note.run == 0 && note.store == NULL);
    qdq_tune_note_free(&note);
    close(fd[0]);
    close(fd[1]);
    free(dir);
}

TEST(what_was_written_is_known_until_somebody_changes_it)
{
    char *dir = strdup(test_path("files"));
    qdq_tune_folder *f = open_folder(dir);

    assert_false(qdq_tune_folder_has(f, "baseline.onnx", "model1"));
    put(test_path("files/baseline.onnx"));
    assert_ok(qdq_tune_folder_wrote(f, "baseline.onnx", "model1", &err));
    qdq_tune_folder_close(f, NULL);
    f = open_folder(dir);
    assert_true(qdq_tune_folder_has(f, "baseline.onnx", "model1"));
    assert_false(qdq_tune_folder_has(f, "baseline.onnx", "model2"));
    assert_false(qdq_tune_folder_has(f, "model.onnx", "model1"));
    assert_ok(qdq_write_file(test_path("files/baseline.onnx"), true, "y", 1, &err));
    assert_false(qdq_tune_folder_has(f, "baseline.onnx", "model1"));
    assert_int_equal(unlink(test_path("files/baseline.onnx")), 0);
    assert_false(qdq_tune_folder_has(f, "baseline.onnx", "model1"));
    qdq_tune_folder_close(f, NULL);
    free(dir);
}

TEST(a_garbled_note_is_begun_anew)
{
    static const char *const garbage[] = {"", "{", "7", "{\"files\": 7}",
                                          "{\"process\": \"x\", \"store\": 1}"};
    char *dir = strdup(test_path("garbled"));
    qdq_tune_note note;

    qdq_tune_folder_close(open_folder(dir), NULL);
    for (size_t i = 0; i < QDQ_COUNT(garbage); i++) {
        assert_ok(
            qdq_write_file(test_path("garbled/.run"), true, garbage[i], strlen(garbage[i]), &err));
        if (qdq_tune_note_read(dir, &note, &err) == QDQ_OK)
            qdq_tune_note_free(&note);
        qdq_tune_folder *f = open_folder(dir);
        put(test_path("garbled/plan.json%zu", i));
        assert_ok(qdq_tune_folder_wrote(f, "plan.json", "p", &err));
        qdq_tune_folder_close(f, NULL);
    }
    free(dir);
}

TEST(a_folder_that_cannot_be_written_to_is_an_error)
{
    const char *disk = test_small_disk(1 << 20);
    char dir[4300];
    qdq_tune_folder *f;

    put(test_path("file"));
    assert_fails(QDQ_E_IO, "file: cannot make the folder",
                 qdq_tune_folder_open(test_path("file"), false, NULL, &f, &err));
    if (disk == NULL) {
        test_missing("a disk of its own");
        return;
    }
    snprintf(dir, sizeof dir, "%s/dir", disk);
    qdq_tune_folder_close(open_folder(dir), NULL);
    assert_true(test_disk_read_only(true));
    assert_fails(QDQ_E_IO, "dir: cannot write into this folder: Read-only file system",
                 qdq_tune_folder_open(dir, false, NULL, &f, &err));
    assert_true(test_disk_read_only(false));
}

TEST(a_note_that_is_a_pipe_is_not_waited_for)
{
    char *dir = strdup(test_path("pipe"));
    qdq_tune_note note;

    assert_int_equal(mkdir(dir, 0777), 0);
    assert_int_equal(mkfifo(test_path("pipe/.run"), 0666), 0);
    assert_fails(QDQ_E_FORMAT, "pipe/.run: found no note", qdq_tune_note_read(dir, &note, &err));
    free(dir);
}

TEST(a_store_is_not_overwritten_by_what_the_run_writes)
{
    char *dir = strdup(test_path("mixed")), *store = strdup(test_path("mixed/./model.onnx"));
    qdq_tune_folder *f;

    assert_fails(QDQ_E_USAGE, "model.onnx: found a store with the name of what a run writes there",
                 qdq_tune_folder_open(dir, false, store, &f, &err));
    qdq_tune_folder_close(open_folder(dir), NULL);
    assert_ok(qdq_tune_folder_open(dir, false, test_path("model.onnx"), &f, &err)); /* elsewhere */
    qdq_tune_folder_close(f, NULL);
    assert_ok(qdq_tune_folder_open(dir, false, "model.onnx", &f, &err)); /* likewise */
    qdq_tune_folder_close(f, NULL);
    free(store);
    free(dir);
}

/* Names of files need not be UTF-8, and are in what is said of them. */
TEST(a_reason_that_is_no_utf8_is_noted)
{
    char *dir = strdup(test_path("bytes"));
    qdq_tune_note note;

    qdq_tune_folder_close(open_folder(dir), "\xff.onnx: no such file");
    assert_ok(qdq_tune_note_read(dir, &note, &err));
    assert_non_null(note.failed);
    assert_string_equal(note.failed, "?.onnx: no such file");
    qdq_tune_note_free(&note);
    free(dir);
}

TEST(a_store_in_a_folder_that_is_no_utf8_is_no_lack_of_memory)
{
    char *dir = strdup(test_path("latin"));
    qdq_tune_folder *f;

    assert_ok(qdq_tune_folder_open(dir, true, "/r\xe9sultats/tune.db", &f, &err));
    qdq_tune_folder_close(f, NULL);
    free(dir);
}

TEST(a_folder_without_a_note_leaves_no_error_behind)
{
    char *dir = strdup(test_path("quiet"));
    qdq_error own = QDQ_ERROR_INIT;
    qdq_tune_folder *f;

    assert_int_equal(qdq_tune_folder_open(dir, true, NULL, &f, &own), QDQ_OK);
    assert_int_equal(own.code, QDQ_OK);
    qdq_tune_folder_close(f, NULL);
    free(dir);
}
