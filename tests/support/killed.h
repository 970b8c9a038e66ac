/* killed.h - a program that is killed at a system call: what would a crash there leave behind? */
#ifndef QDQ_KILLED_H
#define QDQ_KILLED_H

#include "support/test.h"

#include <sys/types.h>

/* Does this system call count? `path`: what it is about, the first if there are two. */
typedef bool test_counts_call(const char *path);

/* Runs a program in `folder`, its output to /dev/null, until the stop-th stop (from 0): one before
 * and one after each system call that writes to a file, renames, links, unlinks or syncs, of all
 * its threads, not of programs that it starts. It is killed there, and *where (may be NULL) names
 * the call. True: killed; false: it ended before, with *status. Fails the test if it cannot be run;
 * test_can_trace() comes first. */
bool test_kill_at(const char *const *argv, const char *folder, test_counts_call *counts,
                  unsigned stop, char where[200], int *status);

/* Where the system refuses ptrace, calls test_missing() and returns false. */
bool test_can_trace(void);

#endif /* QDQ_KILLED_H */
