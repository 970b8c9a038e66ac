/* link_breaker.c - stands between qdq and a command as a link that fails: it hands bytes on and,
 * after a number of them that a seed decides, ends the command.
 *
 *   link_breaker STATE SEED CUTS MEAN COMMAND...
 *
 * STATE is a file with the number of connections so far. The first CUTS of them are cut after up to
 * 2 * MEAN bytes; every other one is closed, and the rest killed. Later ones hold. -CUTS: they are
 * not cut, but the last of these bytes is changed. MEAN 0: all bytes are held back from the first
 * on, as by a device that hangs. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

typedef struct way {
    int from, to;
    char data[65536];
    size_t size, sent;
} way;

static unsigned long count_connection(const char *path)
{
    unsigned long n = 0;
    FILE *f = fopen(path, "r");

    if (f != NULL) {
        if (fscanf(f, "%lu", &n) != 1)
            n = 0;
        fclose(f);
    }
    f = fopen(path, "w");
    if (f == NULL) {
        perror(path);
        exit(3);
    }
    fprintf(f, "%lu\n", n + 1);
    fclose(f);
    return n;
}

static uint64_t mix(uint64_t x)
{
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

static pid_t start(char **argv, int *to, int *from)
{
    int in[2], out[2];

    if (pipe(in) != 0 || pipe(out) != 0)
        exit(3);
    pid_t pid = fork();
    if (pid == 0) {
        dup2(in[0], STDIN_FILENO);
        dup2(out[1], STDOUT_FILENO);
        close(in[0]), close(in[1]), close(out[0]), close(out[1]);
        execvp(argv[0], argv);
        perror(argv[0]);
        _exit(127);
    }
    close(in[0]);
    close(out[1]);
    *to = in[1];
    *from = out[0];
    return pid;
}

/* Takes at most `left` bytes, and hands them on; `flip`: the last of them is another one. False:
 * one of the two sides is gone. */
static int hand_on(way *w, uint64_t *left, uint64_t flip)
{
    ssize_t n = read(w->from, w->data, *left < sizeof w->data ? (size_t)*left : sizeof w->data);

    if (n <= 0)
        return 0;
    if (flip != 0 && (uint64_t)n == *left)
        w->data[n - 1] = (char)(w->data[n - 1] ^ (1 << flip % 8));
    for (ssize_t sent = 0; sent < n;) {
        ssize_t k = write(w->to, w->data + sent, (size_t)(n - sent));
        if (k <= 0)
            return 0;
        sent += k;
    }
    *left -= (uint64_t)n;
    return 1;
}

int main(int argc, char **argv)
{
    way ways[2] = {{.from = STDIN_FILENO}, {.to = STDOUT_FILENO}};
    int status = 0;

    if (argc < 6)
        return 2;
    signal(SIGPIPE, SIG_IGN);
    const int flips = argv[3][0] == '-';
    const unsigned long number = count_connection(argv[1]),
                        cuts = strtoul(argv[3] + flips, NULL, 10);
    const uint64_t mean = strtoul(argv[4], NULL, 10), seed = strtoul(argv[2], NULL, 10);
    uint64_t left = UINT64_MAX;

    if (mean == 0)
        for (;;)
            pause();
    if (number < cuts)
        left = 1 + mix(seed * 1000003 + number) % (2 * mean);
    pid_t pid = start(argv + 5, &ways[0].to, &ways[1].from);
    struct pollfd fds[2] = {{STDIN_FILENO, POLLIN, 0}, {ways[1].from, POLLIN, 0}};
    while (left > 0 && poll(fds, 2, -1) > 0) {
        int up = 1;
        for (int i = 0; i < 2 && up && left > 0; i++)
            if (fds[i].revents != 0)
                up = hand_on(&ways[i], &left, flips ? number + seed + 1 : 0);
        if (!up)
            break;
        if (flips && left == 0)
            left = UINT64_MAX;
    }
    if (left == 0 && number % 2 == 1)
        kill(pid, SIGKILL);
    close(ways[0].to);
    close(ways[1].from);
    close(STDOUT_FILENO);
    close(STDIN_FILENO);
    waitpid(pid, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
