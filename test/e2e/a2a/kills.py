"""The server is killed with -9 amid tasks, 30 times, with PAWL_TEST_ALL or --all 200 times. Its clients come back with Last-Event-ID, and send again what
was not replied. Then no task is at work for ever, no event is lost or doubled, and nothing was begun or answered twice (N2, N3, E16)."""
import http.client
import json
import os
import random
import sys
import threading
import time

from served import FILES, Events, Served, is_, main, message, said

ALL = "--all" in sys.argv or os.environ.get("PAWL_TEST_ALL", "0") not in ("", "0")
KILLS, CLIENTS = 200 if ALL else 30, 4
if "--all" in sys.argv:
    sys.argv.remove("--all")

FILES["steps.yaml"] = """
name: steps
state: {message: {}, colour: {}, out: {}}
start: a
nodes:
  a: {run: [sh, -c, "sleep 0.03; echo one"], effect: pure, text: out, artifact: one, next: b}
  b: {run: [sh, -c, "sleep 0.03; echo two"], effect: pure, text: out, artifact: two, next: ask}
  ask: {ask: "Which colour?", to: colour, next: c}
  c: {run: [sh, -c, "sleep 0.03; echo $1", sh, "{{.colour}}"], effect: pure, text: out, artifact: three, next: end}
output: '"\\(.message) \\(.colour)"'
"""
DUE = ["working", "one=one", "two=two", "input-required:Which colour?", "working", "three=%s", "output=%s %s", "completed"]


class Client(threading.Thread):
    def __init__(self, s, name, over):
        super().__init__(daemon=True)
        self.s, self.name_, self.over, self.tasks, self.fault = s, name, over, [], None

    def run(self):
        n = 0
        try:
            while not self.over.is_set() or n == 0:
                self.tasks.append(self.one("%s-%d" % (self.name_, n)))
                n += 1
        except Exception as e:
            self.fault = e

    def again(self, fn):
        """Until the server is there, and stays long enough."""
        end = time.time() + 120
        while True:
            try:
                return fn()
            except (OSError, http.client.HTTPException, ValueError):
                if time.time() > end:
                    raise
                time.sleep(0.02)

    def read(self, r, seen):
        """What comes of a stream, into `seen`. False: it was cut off."""
        if r.status != 200:
            raise OSError("no stream")
        events = Events(r, "s")
        try:
            for at, v in events:
                if "error" in v:
                    raise AssertionError(v)
                seen.append((at, v))
                if said(v) in ("completed",) or said(v).startswith("input-required"):
                    return True
        except (OSError, http.client.HTTPException):
            pass
        finally:
            events.close()
        return False

    def one(self, name):
        s, seen = self.s, []
        begin = {"jsonrpc": "2.0", "id": "s", "method": "SendStreamingMessage", "params": {"message": message(name)}}
        answered = False

        while not seen:         # the same key: the task that was begun before the server died, or a new one
            r = self.again(lambda: s.raw("POST", "/", begin, Idempotency_Key=name))
            self.read(r, seen)
        task = seen[0][1]["task"]["id"]
        while said(seen[-1][1]) != "completed" and not (said(seen[-1][1]) == "task" and seen[-1][1]["task"]["status"]["state"] == "TASK_STATE_COMPLETED"):
            asks = said(seen[-1][1]).startswith("input-required") or (said(seen[-1][1]) == "task" and "INPUT" in seen[-1][1]["task"]["status"]["state"])
            if asks and not answered:
                m = message("red", taskId=task, messageId="m-" + name)
                reply = self.again(lambda: s.json("POST", "/", {"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": {
                    "message": m, "configuration": {"returnImmediately": True}}}))
                if "result" not in reply[1]:
                    raise AssertionError("%s: %s" % (task, reply))
                answered = True
            sub = {"jsonrpc": "2.0", "id": "s", "method": "SubscribeToTask", "params": {"id": task}}
            r = self.again(lambda: s.raw("POST", "/", sub, Last_Event_ID=seen[-1][0]))
            self.read(r, seen)
        return name, task, seen


def whole(s, task, first):
    """All events of a task, from its beginning."""
    life = first.split("~")[1].split(":")[0]
    return s.events("SubscribeToTask", {"id": task}, Last_Event_ID="%s~%s:0.0+0" % (task, life)).all()


def kills():
    """N2, N3: kills of the server lose no task, no event and no answer, and double none"""
    s = Served(["steps.yaml"])
    over = threading.Event()
    clients = [Client(s, "c%d" % i, over) for i in range(CLIENTS)]
    rng = random.Random(int(os.environ.get("CHECK_SEED", "1")))
    try:
        for c in clients:
            c.start()
        for _ in range(KILLS):
            time.sleep(rng.uniform(0.02, 0.6))
            s.kill()
            s.start()
        over.set()
        for c in clients:
            c.join(180)
            if c.fault is not None:
                raise c.fault
            is_(c.is_alive(), False)
        tasks = [t for c in clients for t in c.tasks]
        for name, task, seen in tasks:
            full = whole(s, task, seen[0][0])
            due = [w % (("red",) if w.count("%s") == 1 else (name, "red")) if "%s" in w else w for w in DUE]
            is_([said(v) for _, v in full], due)
            ids = [at for at, _ in full]
            is_(len(set(ids)), len(ids))
            # what the client saw is what there is behind the task that it saw first
            start = ids.index(seen[0][0]) + 1 if seen[0][0] in ids else 0
            if seen[0][0] not in ids:
                while start < len(full) and place(ids[start]) <= place(seen[0][0]):
                    start += 1
            is_(seen[1:], full[start:])
        listed, token = [], ""
        while True:
            page = s.result("ListTasks", {"pageSize": 100, "pageToken": token})
            listed += page["tasks"]
            token = page["nextPageToken"]
            if not token:
                break
        is_(sorted(t["id"] for t in listed), sorted(t for _, t, _ in tasks))      # none was begun twice
        is_({t["status"]["state"] for t in listed}, {"TASK_STATE_COMPLETED"})
        is_(s.pawl("verify").returncode, 0)
        print("%d kills, %d tasks" % (KILLS, len(tasks)))
    finally:
        over.set()
        s.end()


def place(id):
    at, n = id.rsplit(":", 1)[1].split("+")
    p = [int(x) for x in at.split(".")]
    return p[0], p[1], p[2] if len(p) > 2 else 1 << 64, int(n)


if __name__ == "__main__":
    main([(kills.__doc__, kills)])
