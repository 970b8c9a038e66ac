/* heads.h - made networks whose outputs hold boxes in pixels and scores to 1, as detectors have
 * them, and made images for them. Weights and images are seeded random numbers: the same on every
 * machine. */
#ifndef QDQ_TEST_HEADS_H
#define QDQ_TEST_HEADS_H

#include "qdq/data.h"
#include "qdq/model.h"

typedef struct test_head {
    /* boxes go from 0 to this; 0: 640 */
    float pixels;
    /* outputs "boxes" and "scores"; else "detections", boxes and scores joined by a Concat */
    bool is_apart;
    /* a linear layer reads what is joined, too: output "embedding" */
    bool has_reader;
} test_head;

/* A convolutional backbone with two levels, each with a head for boxes and one for 80 classes, as
 * YOLOv8's. "x" [1, 3, 64, 64] -> "detections" [1, 80, 84], "boxes" [1, 80, 4], "scores" [1, 80,
 * 80]. */
qdq_model *test_detector(const test_head *h);

/* A layer of a decoder and its heads, as DETR's, for 91 classes.
 * "x" [1, 50, 64] -> "detections" [1, 50, 95], "boxes" [1, 50, 4], "scores" [1, 50, 91]. */
qdq_model *test_detr(const test_head *h);

/* Writes `n` images, or memories, for one of the two. */
qdq_status test_head_write(const qdq_model *m, uint64_t seed, size_t n, const char *path,
                           qdq_error *err);

#endif /* QDQ_TEST_HEADS_H */
