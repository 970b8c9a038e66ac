/* main.c - the process of the tool: its standard streams, and its end. */
#include <fcntl.h>
#include <unistd.h>

#include "cli/cli.h"

/* A model must not be opened as descriptor 1 because the caller closed it: what is missing becomes
 * something that fails on the first use. */
static void fill_standard_streams(void)
{
    for (int fd = 0; fd <= 2; fd++)
        if (fcntl(fd, F_GETFD) == -1 && open("/dev/null", fd == 0 ? O_WRONLY : O_RDONLY) != fd)
            _exit(cli_exit_code(QDQ_E_IO));
}

int main(int argc, char **argv)
{
    fill_standard_streams();
    return cli_run(argc, argv);
}
