# Targets, engines and passes are completed.
# shellcheck disable=SC1090,SC2034
source <(qdq __docs bash)
complete_words() {
    COMP_WORDS=("$@")
    COMP_CWORD=$(($# - 1))
    _qdq qdq "${*: -1}" "${COMP_WORDS[COMP_CWORD - 1]}" 2>/dev/null
    echo "$*: ${COMPREPLY[*]}"
}
complete_words qdq quantize --target o
complete_words qdq bench --engine o
complete_words qdq optimize --passes def
qdq __docs zsh | grep -c "'--target=.*(.*ort-cpu.*)'"
qdq __docs fish | grep -c -- "-l target .* -a '.*ort-cpu"
