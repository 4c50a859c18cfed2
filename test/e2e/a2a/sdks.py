"""The SDKs of A2A, for JavaScript and Python, as clients of a real server. Skipped where they cannot be had."""
import os
import shutil
import subprocess

from served import Served, is_, main

HERE = os.path.dirname(os.path.abspath(__file__))
SEEN = {"send": "TASK_STATE_COMPLETED echo.txt output 1", "get": "true 0", "asks": "TASK_STATE_INPUT_REQUIRED Which colour, dear?", "answer": "task Paint it red?",
        "over": "TASK_STATE_COMPLETED red", "cancel": "TASK_STATE_CANCELED", "none": "TaskNotFoundError", "late": "TaskNotCancelableError"}


def peer(name):
    r = subprocess.run([os.path.join(HERE, "../../tools/peer"), name], capture_output=True, text=True)
    return (r.stdout.strip(), None) if r.returncode == 0 else (None, r.stdout.strip() or "it is not got")


def check(words, more):
    s = Served(["done.yaml", "ask.yaml", "slow.yaml"])
    try:
        if more:
            os.symlink(more, os.path.join(s.folder, "node_modules"))
            shutil.copy(words[1], os.path.join(s.folder, "client.mjs"))
            words = [words[0], "client.mjs", *words[2:]]
        words = [w.replace("URL", "http://127.0.0.1:%d" % s.port).replace("TOKEN", s.token) for w in words]
        r = subprocess.run(words, cwd=s.folder, capture_output=True, text=True, timeout=110)
        is_((r.returncode, r.stderr[-1500:] if r.returncode else ""), (0, ""))
        lines = [line.split(" ", 1) for line in r.stdout.splitlines()]
        got = {k: v.replace("True", "true").replace("JsonRpc", "").replace("Rest", "").replace("? task", "?") for k, v in lines}
        is_({k: got.get(k) for k in SEEN}, SEEN)
        is_({got.get(k, "true") for k in ("card", "watched")}, {"true"})
    finally:
        s.end()


def of_js(kind):
    def test():
        folder, why = peer("a2a-js")
        return why or check(["node", os.path.join(HERE, "client.mjs"), "URL", "TOKEN", kind], folder + "/node_modules")
    return "N2: the SDK for JavaScript, %s" % kind, test


def of_python(binding):
    def test():
        folder, why = peer("a2a-python")
        return why or check([folder + "/bin/python", os.path.join(HERE, "client.py"), "URL", "TOKEN", binding], None)
    return "N2: the SDK for Python, %s" % binding, test


if __name__ == "__main__":
    main([of_js("jsonrpc"), of_js("rest"), of_js("old"), of_python("JSONRPC"), of_python("HTTP+JSON")])
