"""Explanations of the codes OP3xx to OP5xx: proofs, builds, packages and files."""

from __future__ import annotations

TEXTS = {
    "OP301": """
        The backward was compared with a numerical derivative in float64 and differs from it by more than the error
        that the comparison itself can make. The report names the input, one element, both values and, where exactly
        one pattern fits, the cause. The usual ones: a sign, a missing factor, a mask with >= for >, a sum over
        broadcast axes left out, a saved value overwritten.

          next    the report's `rerun` line repeats just this check with the same seed
        """,
    "OP302": """
        A row crashed: a C kernel that left its arrays, an assertion of a library, memory that ran out. The message has
        the signal and the line where Python was, which for a C row is the one that registered it. An op with a C row
        is verified in a process of its own, with `--jobs` or `--timeout` every op is; the others go on.

          next    the report's `rerun` line; a debugger sees more, in one process:
                  gdb --args python -c "import opsdk, relu; opsdk.verify(relu.relu)"
        """,
    "OP401": """
        A row in a compiled language did not compile. The op's other rows still run: opsdk chooses among the rows
        that serve a place and dtype, and the reference row always works.
        """,
    "OP402": """
        C rows are compiled on first launch with $OPSDK_CC, $CC, or the first of cc, gcc and clang on the PATH.

          either  apt install gcc                   (macOS: xcode-select --install)
          or      build the rows ahead of time, so that your users need no compiler: docs/packages.md
        """,
    "OP403": """
        What is compiled is kept in $OPSDK_CACHE_DIR, or in opsdk's folder in your cache folder, ~/.cache on Linux;
        where that cannot be written, or others may write to it, in a temporary folder until the process ends. Here
        neither can: the disk is full, a quota or a limit of file sizes is reached, or both are read-only.

          right   make room, or export OPSDK_CACHE_DIR=/some/folder/of/yours
        """,
    "OP411": """
        Numba compiles a typed subset of Python. The first line of the message is Numba's own reason; its whole text
        is the cause of the error. Often a variable is a number on one line and an array on another.

          wrong   acc = 0.0
                  for i in range(len(x)): acc += x[i]        x is 2-d, so x[i] is a row
          right   for i in range(x.size): acc += x.flat[i]
        """,
    "OP501": """
        Numba, cffi and the other frameworks are loaded only where they are needed. The message says which extra of
        opsdk installs the one that is missing.
        """,
    "OP510": """
        A TARGET is one of: relu.py (every op of the file), relu.py:relu, module:op, package, namespace::name, a bare
        name, or the id that a finding prints. A loose file needs no package and no installation.

        The same code is for what else a command is told to use or write: a file of --peers, a size for --n, a report
        that `opsdk report` reads, a folder that cannot be written. The message says which it is and what was expected.
        """,
    "OP511": """
        The file or module that defines the op raised while it was loaded, or is not Python. The message gives the
        error's own text and the last of your lines that ran. `opsdk --traceback check …` shows all of it. What opsdk
        refuses in a definition is told under its own code instead.
        """,
    "OP512": """
        `opsdk new` makes a folder of its own, and changes none that is there. The name of the package has to be one
        that can be imported: lower-case letters, digits and _, no word of Python, and no package that is there already.
        """,
}
