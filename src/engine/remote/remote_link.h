/* remote_link.h - a connection to `qdq-worker --serve` on another machine: frames to and fro over
 * the standard streams of a child, made again where it was interrupted. Knows no questions of
 * engines and no files.
 *
 * What comes from there is checked; what is wrong with it ends the connection. */
#ifndef QDQ_REMOTE_LINK_H
#define QDQ_REMOTE_LINK_H

#include "engine/remote/remote_frame.h"
#include "engine/remote/remote_host.h"

typedef struct qdq_remote_link qdq_remote_link;

/* What the device says of itself; texts are as long as the link. */
typedef struct qdq_remote_device {
    const char *version, *processor, *kernels, *machine;
    int threads;
} qdq_remote_device;

/* A frame that is sent: `binary` consists of `size` bytes. Takes the JSON. */
typedef struct qdq_remote_request {
    qdq_frame_kind kind;
    qdq_json_doc *json;
    const void *binary;
    size_t size;
    const qdq_cancel *cancel;
} qdq_remote_request;

/* Connects nothing yet. `host` and timeout_s as for qdq_remote_host_read(). */
qdq_status qdq_remote_link_open(const char *host, double timeout_s, qdq_remote_link **out,
                                qdq_error *err);
/* Ends the child and with it all that it started there. NULL is allowed. */
void qdq_remote_link_close(qdq_remote_link *l);

/* A connection is there afterwards. The first one must succeed at once; later ones are tried with
 * growing pauses until the time limit. QDQ_E_ENGINE: there is none; the text says why. */
qdq_status qdq_remote_link_need(qdq_remote_link *l, const qdq_cancel *cancel, qdq_error *err);

/* Sends a frame and waits for its reply, which is borrowed until the next call. QDQ_E_ENGINE with
 * qdq_remote_link_is_cut(): the connection was interrupted, so that need() and another call may
 * succeed. Other failures are those of the device, or its silence. */
qdq_status qdq_remote_link_call(qdq_remote_link *l, const qdq_remote_request *r,
                                const qdq_frame **reply, qdq_error *err);

bool qdq_remote_link_is_cut(const qdq_remote_link *l);
/* Bytes of a file that one frame shall carry: few after an interruption, so that the next one costs
 * little, and more with each that arrives. */
size_t qdq_remote_link_piece(const qdq_remote_link *l);
/* Pieces of files that have arrived so far. */
unsigned qdq_remote_link_pieces(const qdq_remote_link *l);
/* Interrupts the connection: what runs there ends. */
void qdq_remote_link_cut(qdq_remote_link *l);
/* Number of the connection, from 1: another number is another state of the device. */
unsigned qdq_remote_link_number(const qdq_remote_link *l);
const qdq_remote_device *qdq_remote_link_device(const qdq_remote_link *l);
const qdq_remote_host *qdq_remote_link_host(const qdq_remote_link *l);

#endif /* QDQ_REMOTE_LINK_H */
