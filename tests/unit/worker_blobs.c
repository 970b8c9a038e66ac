/* worker_blobs.c - the folder of files that other machines have sent. */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/sha256.h"
#include "base/spawn.h"
#include "support/test.h"
#include "worker/worker_blobs.h"

static const char content[] = "{\"qdq_sim\": 1}";
static char hash[65];
static qdq_error err;

/* An empty one. */
static void open_blobs(qdq_worker_blobs *b)
{
    qdq_tempdir_remove(test_path("cache"));
    assert_ok(qdq_worker_blobs_open(b, test_path("cache"), 1 << 20, &err));
    qdq_sha256_text(content, hash);
}

static qdq_status put(const qdq_worker_blobs *b, const char *name, uint64_t size, uint64_t at,
                      size_t bytes, uint64_t *have)
{
    const qdq_worker_piece p = {
        .hash = name, .size = size, .at = at, .data = content + at, .bytes = bytes};

    return qdq_worker_blobs_put(b, &p, have, &err);
}

/* The blob under another name in `folder`. */
static void assert_linked(const qdq_worker_blobs *b, const char *folder)
{
    char *text, path[4300];
    size_t size;
    int dir = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    assert_true(dir >= 0);
    assert_ok(qdq_worker_blobs_link(b, hash, dir, "m.json", &err));
    snprintf(path, sizeof path, "%s/m.json", folder);
    assert_ok(qdq_read_file(path, 1000, &text, &size, &err));
    assert_string_equal(text, content);
    qdq_free(text);
    qdq_fd_close(&dir);
}

TEST(a_file_that_came_in_pieces_gets_another_name)
{
    const size_t size = sizeof content - 1;
    qdq_worker_blobs b;
    uint64_t have;

    open_blobs(&b);
    assert_ok(put(&b, hash, size, 5, size - 5, &have));
    assert_int_equal(have, 0); /* what comes before is missing */
    assert_ok(put(&b, hash, size, 0, 5, &have));
    assert_int_equal(have, 5);
    assert_int_equal(qdq_worker_blobs_size(&b, hash), 5);
    assert_ok(put(&b, hash, size, 5, size - 5, &have));
    assert_int_equal(have, size);
    assert_int_equal(qdq_worker_blobs_size(&b, hash), -1);
    assert_ok(put(&b, hash, size, 0, 5, &have)); /* it was there already */
    assert_int_equal(have, 5);
    assert_linked(&b, test_dir());
    qdq_worker_blobs_close(&b);
}

/* A folder on another file system than the tests' own, or NULL. */
static const char *elsewhere(void)
{
    static const char *const folders[] = {"/dev/shm", "/var/tmp"};
    struct stat here, other;

    assert_int_equal(stat(test_dir(), &here), 0);
    for (size_t i = 0; i < QDQ_COUNT(folders); i++)
        if (access(folders[i], W_OK) == 0 && stat(folders[i], &other) == 0 &&
            here.st_dev != other.st_dev)
            return folders[i];
    return NULL;
}

/* No hard link leads from one file system into another, and some have none at all. */
TEST(where_there_are_no_links_a_file_is_copied)
{
    qdq_tempdir *folder;
    qdq_worker_blobs b;
    uint64_t have;

    if (elsewhere() == NULL)
        skip();
    open_blobs(&b);
    assert_ok(put(&b, hash, sizeof content - 1, 0, sizeof content - 1, &have));
    assert_ok(qdq_tempdir_new(elsewhere(), &folder, &err));
    assert_linked(&b, qdq_tempdir_path(folder));
    int dir = open(qdq_tempdir_path(folder), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_fails(QDQ_E_IO, "m.json: cannot write",
                 qdq_worker_blobs_link(&b, hash, dir, "m.json", &err));
    qdq_fd_close(&dir);
    qdq_tempdir_free(folder);
    qdq_worker_blobs_close(&b);
}

TEST(what_is_no_blob_is_rejected)
{
    qdq_worker_blobs b;
    uint64_t have;
    char path[4300];

    open_blobs(&b);
    assert_fails(QDQ_E_IO, "has no file", qdq_worker_blobs_link(&b, hash, AT_FDCWD, "x", &err));
    assert_fails(QDQ_E_IO, "has no file of this name",
                 qdq_worker_blobs_link(&b, "../x", AT_FDCWD, "x", &err));
    assert_int_equal(qdq_worker_blobs_read(&b, "../x", &err), -1);
    assert_int_equal(qdq_worker_blobs_size(&b, "../x"), 0);
    assert_fails(QDQ_E_FORMAT, "expected a hash", put(&b, "../x", 4, 0, 4, &have));
    assert_fails(QDQ_E_FORMAT, "not in its file of 4 bytes", put(&b, hash, 4, 5, 0, &have));
    assert_fails(QDQ_E_FORMAT, "not in its file of 4 bytes", put(&b, hash, 4, 2, 3, &have));
    assert_fails(QDQ_E_FORMAT, "found a file of hash", put(&b, hash, 4, 0, 4, &have));
    assert_int_equal(qdq_worker_blobs_size(&b, hash), 0);
    /* somebody else's: a pipe, a folder */
    snprintf(path, sizeof path, "%s/parts/%s", test_path("cache"), hash);
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_fails(QDQ_E_IO, "something else than a file", put(&b, hash, 4, 0, 4, &have));
    assert_int_equal(unlink(path), 0);
    assert_int_equal(mkdir(path, 0700), 0);
    assert_fails(QDQ_E_IO, "cannot write", put(&b, hash, 4, 0, 4, &have));
    qdq_worker_blobs_close(&b);
}
