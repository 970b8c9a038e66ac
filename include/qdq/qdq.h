/* qdq/qdq.h - all of the public interface, and a one-page tour.
 *
 *     qdq_model  *model = NULL;
 *     qdq_engine *engine = NULL;
 *     qdq_target *target = NULL;
 *     qdq_data   *data = NULL;
 *     qdq_ptq_result *result = NULL;
 *     qdq_error   err = QDQ_ERROR_INIT;
 *
 *     if (qdq_model_load("model.onnx", NULL, &model, &err) != QDQ_OK ||           model.h
 *         qdq_engine_open("ort", NULL, &engine, &err) != QDQ_OK ||                engine.h
 *         qdq_target_load("ort-cpu", &target, &err) != QDQ_OK ||                  quant.h
 *         qdq_data_open("calib.npz", model, NULL, &data, &err) != QDQ_OK ||       data.h
 *         qdq_ptq(model, target, engine, data, NULL, &result, &err) != QDQ_OK ||      ptq.h
 *         qdq_model_save(result->model, "model.qdq.onnx", NULL, &err) != QDQ_OK)
 *         fprintf(stderr, "%s\n", err.text);
 *
 * Where Q/DQ make it faster is found by measuring, in place of qdq_ptq(), and left in a
 * folder:
 *
 *     qdq_autotune(model, target, data, "tuned", NULL, NULL, &err)                 tune.h
 *
 * Objects are freed with their own function, each of which allows NULL; text and arrays that a call
 * hands over are freed with qdq_free(). Nothing is global: different objects may be used by
 * different threads. */
#ifndef QDQ_QDQ_H
#define QDQ_QDQ_H

#include "check.h"
#include "compare.h"
#include "data.h"
#include "engine.h"
#include "goal.h"
#include "model.h"
#include "parts.h"
#include "pass.h"
#include "probe.h"
#include "ptq.h"
#include "quant.h"
#include "report.h"
#include "sequence.h"
#include "statistics.h"
#include "status.h"
#include "tensor.h"
#include "tune.h"

#endif /* QDQ_QDQ_H */
