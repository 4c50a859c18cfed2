"""A `pawl serve` in a folder of its own, and a client of A2A that hides nothing: the standard library alone."""
import http.client
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback

PAWL = os.path.abspath(shutil.which(os.environ.get("PAWL", "pawl")) or "pawl")
FILES = {
    "done.yaml": """
name: done
description: It echoes.
version: 7
input: {type: object, required: [question], properties: {question: {type: string}, n: {type: integer}}}
state: {question: {}, n: {default: 1}, out: {}}
start: a
nodes:
  a: {run: [echo, "{{.question}} {{.n}}"], effect: pure, text: out, artifact: echo.txt, next: end}
output: '.out + "!"'
""",
    "ask.yaml": """
name: ask
state: {question: {}, colour: {}, n: {}}
start: colour
nodes:
  colour: {ask: "Which colour, {{.question}}?", options: [red, green], to: colour, next: gate}
  gate: {ask: "Paint it {{.colour}}?", run: [echo, painted], effect: pure, next: end}
output: .colour
""",
    "two.yaml": """
name: two
state: {a: {}, b: {}, message: {}}
start: [a, b]
nodes:
  a: {ask: "A?", to: a, next: end}
  b: {ask: "B?", to: b, schema: {type: integer}, next: end}
output: '"\\(.a) \\(.b)"'
""",
    "slow.yaml": """
name: slow
state: {message: {}, out: {}}
start: a
nodes:
  a: {run: [echo, first], effect: pure, text: out, artifact: first, next: b}
  b: {run: [sh, -c, 'while [ ! -e "go-$1" ]; do sleep 0.02; done; echo second', sh, "{{.message}}"], effect: pure, text: out, artifact: second, next: end}
""",
    "fails.yaml": """
name: fails
state: {message: {}}
start: a
nodes: {a: {fail: "It cannot be: {{.message}}"}}
""",
    "signs.yaml": """
name: signs
state: {message: {}}
start: a
nodes:
  a: {ask: "Sign?", approvers: ["ada=ed25519:11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo="], run: [echo, hi], effect: pure, next: end}
""",
    "whole.yaml": """
name: whole
state: {a2a: {}, f: {}}
start: a
nodes:
  a: {set: {f: '{raw: "aGk=", mediaType: "text/plain", filename: "output.txt"}'}, artifact: output.txt, next: b}
  b: {set: {f: '{url: "https://example.com/o", mediaType: "text/plain"}'}, artifact: link, next: c}
  c: {set: {f: '{key: "value", count: 42}'}, artifact: data, next: end}
output: '.a2a.parts | length'
""",
    "heeds.yaml": """
name: heeds
state: {message: {}, heard: {}}
start: a
nodes:
  a: {wait: {signal: message}, to: heard, next: end}
output: '.heard.parts[0].text'
""",
    "parent.yaml": """
name: parent
state: {message: {}, out: {}}
start: a
nodes:
  a: {agent: child.yaml, input: "{{.message}}", text: out, artifact: said, next: end}
""",
    "child.yaml": """
agent:
  name: child
  model: script:child-answers.yaml
  tools: [{name: paint, run: [echo, painted], class: exec, effect: pure}]
""",
    "child-answers.yaml": """
- {match: go, after_tool: paint, reply: It is painted}
- {match: go, reply: I paint, tools: [{name: paint, input: {}}]}
""",
    "talker.yaml": """
agent:
  name: talker
  description: It talks.
  model: script:answers.yaml
""",
    "answers.yaml": """
- {match: hello, reply: Hello you}
- {match: again, reply: Once more}
""",
}


class Served:
    def __init__(self, files, *options, folder=None):
        self.folder = folder or tempfile.mkdtemp(prefix="pawl-a2a-")
        self.files, self.options = files, options
        self.env = {k: v for k, v in os.environ.items() if not k.startswith(("PAWL", "XDG_", "CLAUDE_"))}
        self.env.update(HOME=self.folder + "/home", XDG_CONFIG_HOME=self.folder + "/home/.config", TZ="UTC", LC_ALL="C")
        os.makedirs(self.env["HOME"], exist_ok=True)
        for name, text in FILES.items():
            with open(os.path.join(self.folder, name), "w") as f:
                f.write(text)
        self.p = None
        self.start()

    def pawl(self, *words):
        return subprocess.run([PAWL, *words], cwd=self.folder, env=self.env, capture_output=True, text=True, timeout=120)

    def start(self):
        said = os.path.join(self.folder, "served")
        with open(said, "w") as f:
            self.p = subprocess.Popen([PAWL, "serve", "--listen", "127.0.0.1:0", *self.options, *self.files], cwd=self.folder, env=self.env, stderr=f)
        end = time.time() + 60
        while True:
            with open(said) as f:
                found = re.search(r"serving on http://127.0.0.1:(\d+)\n.*token is in (\S+)\n", f.read(), re.S)
            if found:
                break
            if self.p.poll() is not None or time.time() > end:
                with open(said) as f:
                    raise AssertionError("no server: " + f.read())
            time.sleep(0.01)
        self.port = int(found[1])
        with open(found[2]) as f:
            self.token = f.read().strip()

    def kill(self):
        self.p.send_signal(signal.SIGKILL)
        self.p.wait()

    def stop(self):
        if self.p.poll() is None:
            self.p.send_signal(signal.SIGTERM)
        return self.p.wait(60)

    def end(self):
        self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)

    def go(self, name):
        open(os.path.join(self.folder, "go-" + name), "w").close()

    def raw(self, method, path, body=None, token=True, timeout=60, **headers):
        c = http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout)
        h = {k.replace("_", "-"): v for k, v in headers.items()}
        if body is not None:
            h.setdefault("Content-Type", "application/json")
        if token:
            h["Authorization"] = "Bearer " + (self.token if token is True else token)
        c.request(method, path, body if body is None or isinstance(body, (bytes, str)) else json.dumps(body), h)
        r = c.getresponse()
        r.connection = c        # open as long as the reply
        return r

    def json(self, method, path, body=None, **more):
        r = self.raw(method, path, body, **more)
        text = r.read()
        return r.status, (json.loads(text) if text else None)

    def rpc(self, name, params=None, path="/", id=1, **more):
        body = {"jsonrpc": "2.0", "id": id, "method": name}
        if params is not None:
            body["params"] = params
        status, reply = self.json("POST", path, body, **more)
        is_(status, 200)
        is_(reply["jsonrpc"], "2.0")
        is_(json.dumps(reply["id"]), json.dumps(id))
        return reply

    def result(self, name, params=None, **more):
        reply = self.rpc(name, params, **more)
        if "result" not in reply:
            raise AssertionError("%s: %s" % (name, reply))
        return reply["result"]

    def error(self, code, name, params=None, **more):
        reply = self.rpc(name, params, **more)
        if reply.get("error", {}).get("code") != code:
            raise AssertionError("%s: %d is due, and not %s" % (name, code, json.dumps(reply)[:1000]))
        return reply["error"]

    def events(self, name, params, path="/", id="s", **more):
        r = self.raw("POST", path, {"jsonrpc": "2.0", "id": id, "method": name, "params": params}, **more)
        is_(r.status, 200)
        return Events(r, id)

    def task(self, text="x", path="/", old=False, wait=True, **more):
        """A task that is begun; as a client of 1.0, or 0.3."""
        if old:
            return self.result("message/send", {"message": message(text, old=True, **more), "configuration": {"blocking": wait}}, path=path)
        return self.result("SendMessage", {"message": message(text, **more), "configuration": {"returnImmediately": not wait}}, path=path)["task"]


class Events:
    """A stream: `for id, result in events`. JSON-RPC is taken off."""

    def __init__(self, r, id):
        self.r, self.id, self.last = r, id, None

    def __iter__(self):
        if not self.r.headers["Content-Type"].startswith("text/event-stream"):
            raise AssertionError("no stream: %s" % self.r.read())
        at = None
        for line in self.r:
            line = line.decode().rstrip("\n")
            if line.startswith("id: "):
                at = line[4:]
            elif line.startswith("data: "):
                v = json.loads(line[6:])
                if self.id is not None:
                    is_(v["id"], self.id)
                    v = v["result"] if "result" in v else v
                self.last = at
                yield at, v

    def all(self):
        return list(self)

    def close(self):
        self.r.connection.sock and self.r.connection.sock.close()
        self.r.close()


def message(text, old=False, parts=None, **more):
    part = {"kind": "text", "text": text} if old else {"text": text}
    m = {"messageId": "m-1", "role": "user" if old else "ROLE_USER", "parts": parts if parts is not None else [part]}
    if old:
        m["kind"] = "message"
    m.update(more)
    return m


def said(event):
    """An event in few words: state, or artifact, with its text."""
    v = event
    if "statusUpdate" in v or v.get("kind") == "status-update":
        s = v.get("statusUpdate", v)["status"]
        return s["state"].replace("TASK_STATE_", "").lower().replace("_", "-") + text_of(s.get("message"))
    if "artifactUpdate" in v or v.get("kind") == "artifact-update":
        a = v.get("artifactUpdate", v)["artifact"]
        return a["name"] + "=" + a["parts"][0].get("text", "?")
    return "task"


def text_of(m):
    return "" if m is None else ":" + " ".join(p.get("text", "?") for p in m["parts"])


def is_(got, due):
    if got != due:
        raise AssertionError("%r is due, and not %r" % (due, got))


def has(whole, part):
    if part not in whole:
        raise AssertionError("%r is not in %r" % (part, whole))


def main(tests):
    """Runs them, or those that the arguments name; the last line is a tally."""
    passed = failed = skipped = 0
    for name, fn in tests:
        if len(sys.argv) > 1 and not any(word in name for word in sys.argv[1:]):
            continue
        try:
            why = fn()
        except Exception:
            failed += 1
            print("FAILED  %s" % name)
            traceback.print_exc(file=sys.stdout)
        else:
            passed, skipped = passed + (why is None), skipped + (why is not None)
            if why is not None:
                print("skipped %s: %s" % (name, why))
    print("%d passed, %d failed, %d skipped" % (passed, failed, skipped))
    sys.exit(1 if failed or passed + skipped == 0 else 0)
