#!/usr/bin/env python3
"""What no compiler checks about this code base, as a test.

usage: scripts/tidy.py [--self-test]

Looks at every tracked file, prints `file:line: what is wrong`, then how many checks passed and
failed; exits with 1 if any failed. `--self-test` shows each check a file that it must refuse and
one that it must let pass.
"""

import os
import re
import subprocess
import sys

FILE_LINES_MAX = 420
FUNCTION_LINES_MAX = 80
LINE_COLUMNS_MAX = 100

# Folders that must not know certain things: a prefix, what they must not name, and why.
WALLS = [
    (
        "common/src/wire/",
        r"\bstd::(?:net|io|fs|thread|time)\b|\bclock::|\b(?:mio|socket2)::",
        "the wire does no I/O and reads no clock",
    ),
    ("common/", r"\becho_(?:server|client)\b", "common names neither program"),
    ("server/", r"\becho_client\b", "the server does not know the client"),
    ("client/src/", r"\becho_server\b", "the client knows the server only in tests"),
]

LEFTOVERS = re.compile(
    r"\b(?:TODO|FIXME|XXX)\b|\b(?:todo|unimplemented|dbg)!|#\[\s*ignore\b"
)

# Comments, strings and characters, none of which hold code. A lifetime is not a character.
NO_CODE = re.compile(
    r"""//[^\n]*|/\*.*?\*/|\bb?r(\#*)".*?"\1|"(?:\\.|[^"\\])*"|'(?:\\[^\n']+|\\'|[^'\\\n])'""",
    re.DOTALL,
)
FUNCTION = re.compile(r"\bfn\s+(\w+)")
TEST_MODULE = re.compile(r"#\[cfg\((?:test|all\(test\b)[^\n]*\n(?:\s*#\[[^\n]*\n)*\s*mod\s")


def line_of(text, position):
    return text.count("\n", 0, position) + 1


def only_code(text):
    """The text with everything that is not code blanked out, at the same lines."""
    return NO_CODE.sub(lambda found: re.sub(r"[^\n]", " ", found.group()), text)


def file_length(path, text):
    lines = len(text.splitlines())
    if lines > FILE_LINES_MAX:
        yield lines, f"{lines} lines, at most {FILE_LINES_MAX}: does it have two subjects?"


def module_doc(path, text):
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith("//!"):
            return
        if line.strip() and not line.startswith(("#!", "// SPDX")):
            break
    else:
        number = 1
    yield number, "the file does not begin with a `//!` line that says what is in it"


def line_width(path, text):
    for number, line in enumerate(text.splitlines(), 1):
        if len(line) > LINE_COLUMNS_MAX:
            yield number, f"{len(line)} columns, at most {LINE_COLUMNS_MAX}"


def end_of_function(code, position):
    """Where the body that begins behind `position` ends; None for a mere declaration."""
    depth = 0
    in_body = False
    for at in range(position, len(code)):
        char = code[at]
        if char == ";" and depth == 0:
            return None
        if char in "([{":
            in_body = in_body or (char == "{" and depth == 0)
            depth += 1
        elif char in ")]}":
            depth -= 1
            if depth == 0 and in_body:
                return at
    return None


def function_length(path, text):
    if "/tests/" in path:
        return
    code = only_code(text)
    tests = TEST_MODULE.search(code)
    for found in FUNCTION.finditer(code[: tests.start() if tests else len(code)]):
        end = end_of_function(code, found.end())
        if end is None:
            continue
        lines = code.count("\n", found.start(), end) + 1
        if lines > FUNCTION_LINES_MAX:
            number = line_of(code, found.start())
            yield number, f"`{found.group(1)}` has {lines} lines, at most {FUNCTION_LINES_MAX}"


def leftovers(path, text):
    for found in LEFTOVERS.finditer(text):
        yield line_of(text, found.start()), f"left over: {found.group()}"


def tabs(path, text):
    for found in re.finditer("\t", text):
        yield line_of(text, found.start()), "a raw tab"


def trailing_blanks(path, text):
    for number, line in enumerate(text.split("\n"), 1):
        if line != line.rstrip():
            yield number, "blanks at the end of the line"


def final_newline(path, text):
    if text and not text.endswith("\n"):
        yield line_of(text, len(text)), "the last line has no end"


def walls(path, text):
    code = only_code(text)
    for prefix, forbidden, why in WALLS:
        if path.startswith(prefix):
            for found in re.finditer(forbidden, code):
                yield line_of(code, found.start()), f"names {found.group()}: {why}"


# Each check, and the kinds of files that it looks at.
CHECKS = [
    (file_length, (".rs",)),
    (module_doc, (".rs",)),
    (line_width, (".rs",)),
    (function_length, (".rs",)),
    (leftovers, (".rs", ".md", ".sh", ".toml")),
    (tabs, (".rs", ".py", ".toml")),
    (trailing_blanks, (".rs", ".md", ".sh", ".py", ".toml")),
    (final_newline, (".rs", ".md", ".sh", ".py", ".toml")),
    (walls, (".rs",)),
]


def tracked_files():
    # A checkout may belong to somebody else than the one who checks it.
    listing = subprocess.run(
        ["git", "-c", "safe.directory=*", "ls-files", "-z"], check=True, capture_output=True
    )
    paths = listing.stdout.decode().split("\0")
    return [path for path in paths if path and os.path.isfile(path)]


def check_tree():
    passed = failed = 0
    for path in tracked_files():
        applicable = [check for check, kinds in CHECKS if path.endswith(kinds)]
        if not applicable:
            continue
        try:
            with open(path, encoding="utf-8", newline="") as file:
                text = file.read()
        except UnicodeDecodeError:
            print(f"{path}:1: the file is not UTF-8")
            failed += 1
            continue
        for check in applicable:
            faults = list(check(path, text))
            for number, what in faults:
                print(f"{path}:{number}: {what}")
            passed, failed = (passed, failed + 1) if faults else (passed + 1, failed)
    print(f"tidy: {passed} passed, {failed} failed")
    return failed == 0 and passed > 0


def long_function(lines, indent=""):
    body = f"{indent}    step();\n" * (lines - 2)
    return f"{indent}fn long(a: [u8; 4]) -> u8 {{\n{body}{indent}}}\n"


def self_tests():
    """For each check: texts with the line that it must refuse, and texts that it must let pass."""
    doc = "//! What is in here.\n"
    in_tests = "#[cfg(test)]\nmod tests {\n" + long_function(200, "    ") + "}\n"
    tricky = '    let text = "}"; // }\n    let c = \'}\'; let s: &\'a str = r#"}"#;\n'
    wire, server = "common/src/wire/x.rs", "server/src/x.rs"
    return {
        file_length: ([("a.rs", doc * 421, 421)], [("a.rs", doc * 420)]),
        module_doc: (
            [("a.rs", "use x;\n" + doc, 1), ("a.rs", "", 1), ("a.rs", "#![no_main]\nx\n", 2)],
            [("a.rs", doc), ("a.rs", "#![no_main]\n\n" + doc)],
        ),
        line_width: ([("a.rs", doc + "x" * 101, 2)], [("a.rs", "é" * 100)]),
        function_length: (
            [
                (server, doc + long_function(81), 2),
                (server, long_function(81).replace("    step();\n", tricky, 1), 1),
                (server, "trait T { fn a(b: [u8; 2]); }\n" + long_function(81), 2),
                (server, "/// fn doc() {\n" + long_function(81), 2),
            ],
            [
                (server, long_function(80)),
                (server, long_function(40) * 3),
                (server, doc + in_tests),
                ("server/tests/it/x.rs", long_function(200)),
            ],
        ),
        leftovers: (
            [
                ("a.rs", f"{doc}// {word} later\n", 2)
                for word in ["TO" + "DO", "FIX" + "ME", "X" + "XX", "to" + "do!()", "db" + "g!(x)"]
                + ["unim" + "plemented!()", "#[ig" + "nore]", "#[ig" + 'nore = "x"]']
            ],
            [("a.rs", "// to do, XXXL, a fixmeup\n")],
        ),
        tabs: ([("a.rs", doc + "\tx\n", 2)], [("a.rs", '"\\t"\n')]),
        trailing_blanks: (
            [("a.md", "a\nb \n", 2), ("a.md", "a\r\n", 1)],
            [("a.md", "a\n\nb\n")],
        ),
        final_newline: ([("a.md", "a\nb", 2)], [("a.md", "a\n"), ("a.md", "")]),
        walls: (
            [
                (wire, doc + "use std::net::TcpStream;\n", 2),
                (wire, doc + "let t = clock::now_ns();\n", 2),
                ("common/src/x.rs", "use echo_server::x;\n", 1),
                (server, "use echo_client::x;\n", 1),
                ("client/src/x.rs", "use echo_server::x;\n", 1),
            ],
            [
                (wire, "//! Unlike std::net this is pure.\n"),
                (server, "use std::net::TcpStream;\n"),
                ("client/tests/it/x.rs", "use echo_server::x;\n"),
            ],
        ),
    }


def self_test():
    passed = failed = 0
    tests = self_tests()
    for check, _ in CHECKS:
        bad, good = tests[check]
        expected = [(path, text, [line]) for path, text, line in bad]
        expected += [(path, text, []) for path, text in good]
        for path, text, lines in expected:
            found = [line for line, _ in check(path, text)]
            if found == lines:
                passed += 1
            else:
                print(f"{check.__name__}: lines {found}, expected {lines}, for {text[:60]!r}")
                failed += 1
    print(f"tidy --self-test: {passed} passed, {failed} failed")
    return failed == 0


def main(arguments):
    if arguments not in ([], ["--self-test"]):
        print(f"tidy: {arguments} is not known; allowed: none, or --self-test", file=sys.stderr)
        return 2
    os.chdir(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    return 0 if (self_test() if arguments else check_tree()) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
