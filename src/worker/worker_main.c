/* worker_main.c - the program: puts the process in order, and ends it when the worker client is
 * gone. What is asked and answered is in worker_serve.c. */
#include "worker/worker.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/file.h"
#include "base/spawn.h"
#include "worker/worker_relay.h"

/* An engine that hangs or computes reads no questions, so it would outlive a worker client that was
 * killed: this thread waits for nothing but that. It takes along what the engine has started, and
 * the files of the run. */
static void *watch(void *ctx)
{
    qdq_worker_watch *w = ctx;
    struct pollfd worker_client = {w->fd, POLLRDHUP, 0};

    while (poll(&worker_client, 1, -1) < 0)
        ;
    if (atomic_load(&w->has_work))
        qdq_tempdir_remove(w->work);
    qdq_kill_groups_of(0);
    kill(0, SIGKILL);
    return NULL;
}

static int start_watching(qdq_worker_watch *w)
{
    pthread_attr_t attr;
    pthread_t thread;
    int reason = pthread_attr_init(&attr);

    if (reason != 0)
        return reason;
    /* the usual 8 MiB count where memory is limited */
    pthread_attr_setstacksize(&attr, (size_t)256 * 1024);
    pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
    reason = pthread_create(&thread, &attr, watch, w);
    pthread_attr_destroy(&attr);
    return reason;
}

/* The socket moves out of the way of an engine that reads its standard input. */
static int take_socket(void)
{
    int fd = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    int null = open("/dev/null", O_RDONLY);

    if (fd < 0 || null < 0 || dup2(null, STDIN_FILENO) < 0)
        return -1;
    close(null);
    return fd;
}

/* A system without memory shall end this process first, and not the one that tells of it: that one
 * may well be larger. */
static void be_first_to_go(void)
{
    const int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
    const bool told = fd >= 0 && write(fd, "1000", 4) == 4;

    (void)told; /* without it the system chooses as ever */
    if (fd >= 0)
        close(fd);
}

static bool is_socket(int fd)
{
    int type;
    socklen_t size = sizeof type;

    return getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) == 0;
}

int main(int argc, char **argv)
{
    static qdq_worker_watch watched;
    struct rlimit no_core = {0, 0};

    signal(SIGXFSZ, SIG_IGN); /* a file that grows too large is a write that fails */
    if (argc == 2 && strcmp(argv[1], "--version") == 0) {
        printf("qdq-worker %s\n", qdq_version());
        return 0;
    }
    if (argc == 2 && strcmp(argv[1], "--probe-amx") == 0) {
        setrlimit(RLIMIT_CORE, &no_core);
        return qdq_worker_probe_amx();
    }
    if (argc >= 2 && strcmp(argv[1], "--serve") == 0) {
        setrlimit(RLIMIT_CORE, &no_core);
        return qdq_worker_relay(argc, argv);
    }
    if (argc != 1 || !is_socket(STDIN_FILENO)) {
        fprintf(stderr, "qdq-worker runs inference engines for qdq, which starts it; it is of no "
                        "use by itself\n");
        return 2;
    }
    setvbuf(stdout, NULL, _IOLBF, 0); /* last words must not die in a buffer */
    setrlimit(RLIMIT_CORE, &no_core);
    be_first_to_go();
    watched.fd = take_socket();
    if (watched.fd < 0 || start_watching(&watched) != 0) {
        perror("qdq-worker");
        return 4;
    }
    return qdq_worker_serve(&watched);
}
