"""Makes the binding from the public headers: no struct is written twice.

    declare.py INCLUDE_DIR OUT_DIR

OUT_DIR/_qdq.c is the extension module (cffi, API mode: the compiler checks each declaration against
the headers). OUT_DIR/_records.py has a class for each struct that is a result of a function.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

import cffi

import records

COMMENT = re.compile(r"/\*.*?\*/", re.S)
INIT = re.compile(r"#define QDQ_(\w+)_INIT\b")
NUMBER = re.compile(r"#define (QDQ_\w+)\s+(.+)$")


def read_headers(folder: Path) -> str:
    """The text of qdq.h and all that it includes, each header once, includes first."""
    seen: set[str] = set()
    parts: list[str] = []

    def add(name: str) -> None:
        if name in seen:
            return
        seen.add(name)
        text = (folder / name).read_text()
        for other in re.findall(r'^#include "(\w+\.h)"', text, re.M):
            add(other)
        parts.append(text)

    add("qdq.h")
    return "\n".join(parts)


def drop_conditions(text: str) -> str:
    """Without what is between #if and #endif, but for the include guards."""
    out: list[str] = []
    depth = 0
    for line in text.split("\n"):
        word = line.replace("# ", "#").split(" ")[0]
        if word in ("#if", "#ifdef") or (word == "#ifndef" and not line.endswith("_H")):
            depth += 1
        elif word == "#ifndef" or (word == "#endif" and depth == 0) or line.startswith("#include"):
            pass
        elif word == "#endif":
            depth -= 1
        elif depth == 0:
            out.append(line)
    return "\n".join(out)


def expand_lists(text: str) -> str:
    """With the lists of the headers written out: LIST(EACH) has the text of EACH for each entry."""
    macros = {
        name: (params.split(", "), body)
        for name, params, body in re.findall(
            r"^#define (QDQ_\w+)\(([\w, ]+)\)((?:.*\\\n)*.*)$", text, re.M
        )
    }

    def apply(name: str, arguments: list[str]) -> str:
        params, body = macros[name]
        for param, argument in zip(params, arguments):
            body = re.sub(rf"(##)?\b{param}\b", argument, body)
        return body.replace("\\\n", " ")

    def expand(match: re.Match[str]) -> str:
        entries, each = apply(match.group(1), [match.group(2)]), match.group(2)
        return re.sub(rf"{each}\((.*?)\)", lambda m: apply(each, m.group(1).split(", ")), entries)

    return re.sub(r"^ +(QDQ_\w+)\((QDQ_\w+)\)$", expand, text, flags=re.M)


def take_macros(text: str) -> tuple[str, list[str], list[str]]:
    """The text without #define; declarations of those that are constants; structs with _INIT."""
    constants: list[str] = []
    inits: list[str] = []

    def take(match: re.Match[str]) -> str:
        line = match.group(0).replace("\\\n", " ")
        init = INIT.match(line)
        number = NUMBER.match(line)
        if init is not None:
            inits.append(f"qdq_{init.group(1).lower()}")
        elif number is not None:
            name, value = number.group(1), number.group(2).strip()
            if value.startswith('"'):
                constants.append(f"static char *const {name};")
            elif re.fullmatch(r"[\d().<\s]+", value):
                found = eval(value)  # a literal of our own headers
                kind = "static const double %s;" if isinstance(found, float) else "#define %s %d"
                constants.append(kind % ((name,) if isinstance(found, float) else (name, found)))
        return ""

    return re.sub(r"^#define (?:.*\\\n)*.*$", take, text, flags=re.M), constants, inits


def find_callbacks(text: str) -> list[str]:
    """A Python function for each pointer to a function that the headers know."""
    out: list[str] = []
    for body, struct in re.findall(r"typedef struct \w+ \{(.*?)\n\} (\w+);", text, re.S):
        for result, name, args in re.findall(
            r"^\s+([\w\s\*]+?)\(\*(\w+)\)\(([^)]*)\);", body, re.M
        ):
            out.append(f"{result} {struct}_{name}_python({args});")
    for result, name, args in re.findall(
        r"^typedef ([\w\s\*]+?)\(\*(\w+)\)\(([^)]*)\);", text, re.M
    ):
        out.append(f"{result} {name}_python({args});")
    return [" ".join(line.split()) for line in out]


def main() -> None:
    include, out = Path(sys.argv[1]), Path(sys.argv[2])
    headers = read_headers(include / "qdq")
    text = drop_conditions(COMMENT.sub(" ", headers))
    text, constants, inits = take_macros(expand_lists(text))
    text = re.sub(r"\bQDQ_(API|MUST_USE)\b|QDQ_PRINTF\([^)]*\)", "", text)
    setters = [f"void {name}_python_init({name} *o)" for name in inits]
    callbacks = find_callbacks(text)
    ffi = cffi.FFI()
    ffi.cdef(
        "\n".join(constants)
        + text
        + "\n".join(f"{line};" for line in setters)
        + '\nextern "Python" {\n'
        + "\n".join(callbacks)
        + "\n}\n"
    )
    source = ["#include <qdq/qdq.h>"]
    for line, name in zip(setters, inits):
        macro = f"{name.upper()}_INIT"
        source.append(f"static {line} {{ *o = ({name}){macro}; }}")
    ffi.set_source("_qdq", "\n".join(source))
    out.mkdir(parents=True, exist_ok=True)
    ffi.emit_c_code(str(out / "_qdq.c"))
    (out / "_records.py").write_text(records.write(drop_conditions(headers)))


if __name__ == "__main__":
    main()
