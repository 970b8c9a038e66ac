/* remote_frame.h - what travels between this machine and a device: frames of a kind, a JSON object
 * and bytes. Knows neither side.
 *
 * A frame is 16 bytes of head ("qd", the kind, 0, the size of the JSON in four bytes and of the
 * bytes in eight, least significant first), the JSON, the bytes. Each question has one reply; the
 * device sends heartbeats meanwhile.
 *
 *   kind  question, members                            reply, members
 *   H     hello: protocol [major, minor], version      protocol, version, processor, kernels,
 *                                                      machine, threads
 *   V     have: blobs, a list of hashes                sizes: how much of each is there; -1: all
 *   P     put: blob, size, at; the bytes from there    size: what is there now
 *   S     start: starts a process of the engine        (none)
 *   A     ask: question, deadline, place, exchange;    answer, output; the bytes of its outputs
 *         the bytes of its arrays                      or end, text, n_cause, output
 *   E     end: lets the process end                    fine
 *
 * A blob is named by its SHA-256, 64 digits. `place` says which members of the question become
 * files there: [{to, index, name, prefix, blob, parts}, ...], worker_place.c. `F` is a reply to any
 * question: code and text say what failed. `.` is a heartbeat. */
#ifndef QDQ_REMOTE_FRAME_H
#define QDQ_REMOTE_FRAME_H

#include "base/json_write.h"

/* Versions with the same major work together if the minors differ by at most 1. The minor counts
 * new members and questions, also of remote_message.h. */
enum { QDQ_FRAME_MAJOR = 1, QDQ_FRAME_MINOR = 0 };

enum {
    QDQ_FRAME_HEAD = 16,
    /* of one `put`, at most */
    QDQ_FRAME_PIECE = 4 * 1024 * 1024
};
#define QDQ_FRAME_JSON_MAX   ((uint64_t)256 << 20)
#define QDQ_FRAME_BINARY_MAX ((uint64_t)1 << 30)

typedef enum qdq_frame_kind {
    QDQ_FRAME_HELLO = 'H',
    QDQ_FRAME_HAVE = 'V',
    QDQ_FRAME_PUT = 'P',
    QDQ_FRAME_START = 'S',
    QDQ_FRAME_ASK = 'A',
    QDQ_FRAME_END = 'E',
    QDQ_FRAME_FAILED = 'F',
    QDQ_FRAME_HEARTBEAT = '.'
} qdq_frame_kind;

typedef struct qdq_frame {
    qdq_frame_kind kind;
    /* an object; NULL: there is no frame */
    json_t *json;
    /* borrowed from what was read, until the next bytes are appended to it */
    const unsigned char *binary;
    size_t size;
} qdq_frame;

/* Appends head and JSON of a frame, behind which `binary` bytes follow. b->failed: no memory, or
 * larger than a frame may be. */
void qdq_frame_put(qdq_buf *b, qdq_frame_kind kind, const json_t *json, uint64_t binary);

/* Takes a frame from the beginning of what has arrived; frame->json NULL and *used 0: it is not
 * there as a whole. QDQ_E_FORMAT: this is no frame. frame->json goes to json_decref(). */
qdq_status qdq_frame_take(const char *data, size_t size, size_t *used, qdq_frame *frame,
                          qdq_error *err);

/* Is this the name of a blob? */
bool qdq_frame_is_hash(const char *text);

#endif /* QDQ_REMOTE_FRAME_H */
