# shellcheck disable=SC1090,SC2034
source <(qdq __docs bash)
complete_words() {
    COMP_WORDS=("$@")
    COMP_CWORD=$(($# - 1))
    _qdq qdq "${*: -1}" "${COMP_WORDS[COMP_CWORD - 1]}" 2>/dev/null
    echo "$*: ${COMPREPLY[*]}"
}
touch model.onnx
complete_words qdq co
complete_words qdq help ext
complete_words qdq copy --ext
complete_words qdq copy --external-data ''
complete_words qdq quantize --no-
complete_words qdq quantize --samples ''
complete_words qdq bench mod
complete_words qdq autotune --preset ''
complete_words qdq autotune --region-builder s
complete_words qdq quantize --autot
