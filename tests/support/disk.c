/* disk.c - small disks in memory, in a mount namespace that ends with the program. */
#include "support/disk.h"

#include <dirent.h>
#include <glob.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>

static char disk[4200];

/* Else the private folder that it is in could not be removed. */
static void unmount(void)
{
    umount2(disk, MNT_DETACH);
}

const char *test_small_disk(size_t room)
{
    char options[64];

    snprintf(disk, sizeof disk, "%s/disk", test_dir());
    snprintf(options, sizeof options, "size=%zu,mode=0700", room);
    if (mkdir(disk, 0700) != 0)
        return NULL;
    /* Whoever is not root may still be it in a namespace of their own. */
    if (unshare(CLONE_NEWNS) != 0 && unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0)
        return NULL;
    if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
        mount("tmpfs", disk, "tmpfs", MS_NOSUID | MS_NODEV, options) != 0)
        return NULL;
    atexit(unmount);
    return disk;
}

bool test_disk_read_only(bool yes)
{
    return mount(NULL, disk, NULL,
                 MS_REMOUNT | MS_BIND | MS_NOSUID | MS_NODEV | (yes ? MS_RDONLY : 0), NULL) == 0;
}

void test_limit_files(size_t size)
{
    struct rlimit limit;

    signal(SIGXFSZ, SIG_IGN); /* writing then fails with EFBIG instead */
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
    limit.rlim_cur = size == SIZE_MAX ? limit.rlim_max : (rlim_t)size;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

unsigned test_count_files(const char *folder)
{
    DIR *dir = opendir(folder);
    unsigned n = 0;

    if (dir == NULL)
        fail_msg("%s: no such folder", folder);
    for (const struct dirent *e = readdir(dir); e != NULL; e = readdir(dir))
        n += strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0;
    closedir(dir);
    return n;
}

const char *test_side_file(const char *model)
{
    static char path[4200];
    char pattern[4300];
    glob_t found;

    snprintf(pattern, sizeof pattern, "%s.[0-9a-f]*.data", model);
    int rc = glob(pattern, 0, NULL, &found);
    if (rc != 0 && rc != GLOB_NOMATCH)
        fail_msg("%s: glob failed", pattern);
    if (rc == 0 && found.gl_pathc != 1)
        fail_msg("%s: %zu files, at most one is wanted", pattern, found.gl_pathc);
    if (rc == 0)
        snprintf(path, sizeof path, "%s", found.gl_pathv[0]);
    globfree(&found);
    return rc == 0 ? path : NULL;
}
