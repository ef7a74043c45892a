#!/usr/bin/env python3
"""Types into `keyway shell` on a terminal, runs `keyway copy` on one, looks at what they draw.

    tests/shell_on_a_terminal.py target/debug/keyway

Scripts for the shell are tested with the program; what only a terminal has is tested here: line
editing, completion, history, tables as wide as the screen, and how far a copy is. Nothing waits for a time, only for
what must be drawn; it fails if that does not come within a minute.
"""
import fcntl
import os
import pathlib
import pty
import re
import select
import struct
import subprocess
import sys
import tempfile
import termios
import time

SHOP = pathlib.Path(__file__).parent.parent / "crates/cli/tests/program/shop.toml"
PATIENCE = 60
COLUMNS = 60
ESCAPE = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b[=>]|\r")
LEFT, UP, ENTER = "\x1b[D", "\x1b[A", "\r"
CONTROL = {letter: chr(ord(letter) - 64) for letter in "ACDEKRUW"}


class Terminal:
    """A program on a terminal of its own; a shell unless something else is asked for."""

    def __init__(self, program, home, *arguments):
        self.drawn = ""
        self.seen = 0
        self.process, self.terminal = pty.fork()
        if self.process == 0:
            for name in ["COLUMNS", "NO_COLOR", "CLICOLOR_FORCE"]:
                os.environ.pop(name, None)
            os.environ.update(TERM="xterm", HOME=home, XDG_DATA_HOME=home)
            # The size must be there before the program asks for it.
            size(0)
            shell = ["shell", str(SHOP), "--store", "memory:", "--as", "ann"]
            os.execv(program, [program, *(arguments or shell)])

    def type(self, keys):
        os.write(self.terminal, keys.encode())

    def read(self):
        """Reads what is drawn next; false once the program has let go of its terminal."""
        if not select.select([self.terminal], [], [], PATIENCE)[0]:
            raise AssertionError(f"nothing was drawn after:\n{self.drawn}")
        try:
            drawn = os.read(self.terminal, 65536)
        except OSError:
            return False
        self.drawn += ESCAPE.sub("", drawn.decode(errors="replace"))
        return bool(drawn)

    def expect(self, words):
        """Waits until words are drawn after those that were seen last; answers what came before."""
        end = time.monotonic() + PATIENCE
        while words not in self.drawn[self.seen :]:
            if time.monotonic() > end or not self.read():
                raise AssertionError(f"`{words}` was not drawn in:\n{self.drawn[self.seen:]}")
        at = self.drawn.index(words, self.seen)
        before, self.seen = self.drawn[self.seen : at], at + len(words)
        return before

    def answered(self, words):
        """Ends the line; waits for words in its answer, and then for the next prompt."""
        self.type(ENTER)
        before = self.expect(words)
        return before + words + self.expect("shop (ann)> ")

    def end(self):
        while self.read():
            pass
        os.close(self.terminal)
        return os.waitstatus_to_exitcode(os.waitpid(self.process, 0)[1])


def size(terminal):
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, COLUMNS, 0, 0))


def completion(shell):
    shell.expect("`help` lists the commands")
    shell.expect("shop (ann)> ")
    shell.type("get_product ")
    # The arguments stand behind the cursor, and are no part of the line.
    shell.expect("shop=text sku=text")
    shell.type(CONTROL["U"] + "add_product sh\ta sk\t1 ti\tTea pr\t3 st\tn\t")
    shell.expect("state=new ")
    answer = shell.answered("title  Tea")
    assert "shop:a:1" in answer, answer
    # Where several fit, all are shown.
    shell.type(CONTROL["U"] + "get_\t\t")
    shell.expect("get_products")
    # Of those that were shown, the line has what they share.
    shell.type(CONTROL["U"] + "vi\tsku=1 amount=0")
    shell.answered("total  0")


def editing(shell):
    # Typed with mistakes, and mended: in the middle, at the front, and at the end.
    shell.type("view s=1" + LEFT * 2 + "ku" + CONTROL["E"] + " amount=22")
    shell.type(CONTROL["W"] + "amount=4" + CONTROL["A"] + "call ")
    assert "total  4" in shell.answered("total")
    shell.type("view sku=1 and more" + LEFT * 9 + CONTROL["K"])
    assert "total  5" in shell.answered("total")


def interruption(shell):
    shell.type("view sku=1 amount=100")
    shell.expect("amount=100")
    shell.type(CONTROL["C"])
    shell.expect("shop (ann)> ")
    shell.type("count_views sku=1")
    assert "5" in shell.answered("value"), "an interrupted line was run"


def history(shell):
    shell.type(" view sku=1 amount=7")
    assert "total  12" in shell.answered("total")
    # The last line but those with a space in front.
    shell.type(UP)
    shell.expect("count_views sku=1")
    assert "12" in shell.answered("value")
    # And one that is looked for.
    shell.type(CONTROL["R"] + "t=4")
    shell.expect("call view sku=1 amount=4")
    assert "total  16" in shell.answered("total")


def width(shell):
    long = "x" * 200
    shell.type(f"add_product shop=b sku=2 title={long} price=1")
    shell.answered("shop:b:2")
    shell.type("list_products shop=b")
    drawn = shell.answered("sku")
    lines = [line for line in drawn.splitlines() if "shop (ann)" not in line]
    wide = [line for line in lines if len(line) > COLUMNS]
    assert not wide and any("…" in line for line in lines), drawn


def copying(program, home):
    """A bar says how far a copy is, and is gone when it has ended."""
    home = pathlib.Path(home)
    file = home / "shop.toml"
    file.write_text(SHOP.read_text())
    rows = ['{"keyway":1,"keyspace":"shop"}']
    row = '{"collection":"pictures","row":{"sku":"%d","value":"QUJD"}}'
    rows += [row % number for number in range(20_000)] + ['{"end":{"rows":20000}}', ""]
    source, target = f"engine:{home}/source", f"engine:{home}/target"
    importing = [program, "import", str(file), "--store", source]
    subprocess.run(importing, input="\n".join(rows), text=True, check=True, capture_output=True)
    copy = Terminal(program, str(home), "copy", str(file), "--from", source, "--to", target)
    copy.expect("copying")
    copy.expect(" of 4 collections")
    copy.expect("20,000 rows compared, 20,000 copied")
    assert copy.end() == 0, copy.drawn
    assert "collections" not in copy.drawn[copy.seen :], copy.drawn


def main():
    program = os.path.abspath(sys.argv[1])
    with tempfile.TemporaryDirectory() as home:
        shell = Terminal(program, home)
        for part in [completion, editing, interruption, history, width]:
            part(shell)
        shell.type(CONTROL["D"])
        assert shell.end() == 0, shell.drawn
        kept = (pathlib.Path(home) / "keyway/history").read_text()
        assert "count_views sku=1" in kept and "amount=7" not in kept, kept
        # What was typed is there when the shell is started again.
        shell = Terminal(program, home)
        shell.expect("shop (ann)> ")
        shell.type(UP)
        shell.expect("list_products shop=b")
        shell.type(CONTROL["U"] + "exit" + ENTER)
        assert shell.end() == 0, shell.drawn
        copying(program, home)
    print("the shell edits, completes and remembers lines, and a copy says how far it is")


if __name__ == "__main__":
    main()
