#!/usr/bin/env python3
"""The Model Optimizer's commands: mo.py is `graft convert`, mo_tf.py is `graft convert --framework=tf`, and so on;
extgen.py is `graft extgen`.

The build copies this file next to the program under each of those names.
"""
import os
import signal
import sys

here = os.path.abspath(__file__)
name = os.path.splitext(os.path.basename(here))[0]
command = ["convert", "--mo-report"] + (["--framework=" + name[3:]] if name.startswith("mo_") else [])
if name == "extgen":
    command = ["extgen"]
for folder in (os.path.dirname(here), os.path.dirname(os.path.realpath(here))):
    graft = os.path.join(folder, "graft")
    if os.access(graft, os.X_OK):
        # Python ignores these two, and a program that is executed would inherit that.
        for ignored in (signal.SIGPIPE, signal.SIGXFSZ):
            signal.signal(ignored, signal.SIG_DFL)
        os.execv(graft, [graft] + command + sys.argv[1:])
sys.exit("error: program 'graft' not found next to '%s'" % here)
