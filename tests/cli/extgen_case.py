"""What the tests of the extension generator share: questions answered from a pipe or a terminal, configuration files."""
import json
import os
import pty
import select
import subprocess

from harness import Case, built, patience


class ExtgenCase(Case):
    def extgen(self, *arguments, answers=None, program="graft"):
        """Runs extgen in the folder of the case; `answers` come through a pipe, one per line."""
        words = [built("bin", "graft"), "extgen"] if program == "graft" else ["python3", built("bin", program)]
        p = subprocess.run(words + list(arguments), cwd=self.folder, capture_output=True, text=True, timeout=patience(60),
                           input="".join(a + "\n" for a in answers or []))
        p.all = p.stdout + p.stderr
        return p

    def made(self, *arguments, answers=None, **more):
        r = self.extgen(*arguments, answers=answers, **more)
        self.assertEqual(r.returncode, 0, r.all)
        return r

    def config(self, name="config.json", **parts):
        return self.write(name, json.dumps(parts, indent=1))

    def from_config(self, *arguments, **parts):
        self.config(**parts)
        return self.made("config.json", "--force", *arguments)

    def files(self, *names):
        """All files below a folder that are not empty, and their paths relative to it."""
        top = self.path(*names)
        found = [os.path.relpath(os.path.join(d, f), top) for d, _, fs in os.walk(top) for f in fs]
        return sorted(f for f in found if os.path.getsize(os.path.join(top, f)) > 0)

    def read(self, *names):
        with open(self.path(*names)) as f:
            return f.read()

    def terminal(self, *arguments, answers):
        """Runs extgen on a terminal: each answer is typed when the program waits for it. The status and all that was shown."""
        main, other = pty.openpty()
        p = subprocess.Popen([built("bin", "graft"), "extgen", *arguments], cwd=self.folder, stdin=other, stdout=other, stderr=other, close_fds=True)
        os.close(other)
        shown, answers = b"", list(answers)
        while True:
            ready, _, _ = select.select([main], [], [], 20)
            if not ready:
                p.kill()
                raise AssertionError("no answer to: " + shown.decode())
            try:
                block = os.read(main, 65536)
            except OSError:
                block = b""
            if not block:
                break
            shown += block
            if shown.endswith(b"> ") and answers:
                os.write(main, (answers.pop(0) + "\n").encode())
        os.close(main)
        return p.wait(), shown.decode()
