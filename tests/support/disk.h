/* disk.h - disks that are full, for tests of what is left behind then. */
#ifndef QDQ_DISK_H
#define QDQ_DISK_H

#include "support/test.h"

/* A folder on a disk of its own with about `room` bytes (whole pages), gone with the program; NULL
 * where the system gives us none, and test_limit_files() has to do. At most one in a program. */
const char *test_small_disk(size_t room);

/* Mounts that disk to be read only, or as before. */
bool test_disk_read_only(bool yes);

/* No file may grow beyond `size` from now on: writing fails as on a full disk. SIZE_MAX: no limit
 * again. */
void test_limit_files(size_t size);

/* Entries of a folder, "." and ".." left out; fails the test if there is no such folder. */
unsigned test_count_files(const char *folder);

/* The only file of external data with our form of name beside a model; NULL: there is none. Fails
 * the test if there are several. Static storage. */
const char *test_side_file(const char *model);

#endif /* QDQ_DISK_H */
