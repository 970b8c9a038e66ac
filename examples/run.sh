#!/bin/sh
# run.sh PROGRAM... - runs an example as a test. Without ONNX Runtime (exit status 5) it is skipped,
# loudly; with
# QDQ_TEST_REQUIRE=1 that is a failure.
"$@"
status=$?
if [ $status -eq 5 ] && [ "${QDQ_TEST_REQUIRE:-0}" != 1 ]; then
    echo "SKIPPED: ONNX Runtime is missing" >&2
    exit 77
fi
exit $status
