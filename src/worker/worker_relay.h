/* worker_relay.h - the program as the far end of a link: `qdq-worker --serve`. */
#ifndef QDQ_WORKER_RELAY_H
#define QDQ_WORKER_RELAY_H

/* Reads `--serve` and its options, and answers frames (engine/remote/remote_frame.h) from the
 * standard input on the standard output until that ends: 0. 2: the command line or what arrives is
 * malformed. */
int qdq_worker_relay(int argc, char **argv);

#endif /* QDQ_WORKER_RELAY_H */
