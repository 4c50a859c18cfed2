#!/usr/bin/env python3
"""A worker for the jobs of jobs.yaml: PAWL_URL (http://127.0.0.1:7295) is the server, PAWL_TOKEN a token of scope work.

It takes jobs, keeps each lease alive by heartbeats while it works, and replies. A reply that got lost is sent again under the same Idempotency-Key. When the
server says 409, the job is somebody else's by now: what was done is left to them.
"""
import json, os, sys, threading, time, urllib.error, urllib.request

URL, LEASE_S = os.environ.get("PAWL_URL", "http://127.0.0.1:7295"), int(os.environ.get("PAWL_LEASE_S", "60"))


def words(args, key):
    return {"words": len(args.split())}


def mail(args, key):        # `key` is the same at each attempt: what is far away and knows keys can refuse the second
    with open("outbox", "a") as out:
        out.write(f"{key} {args['to']}: {args['text']}\n")
    return {"to": args["to"]}


JOBS = {"words": words, "mail": mail}

def post(path, body, key=None, tries=10):
    """The reply; None: refused. A server that is away is asked again."""
    headers = {"Authorization": "Bearer " + os.environ["PAWL_TOKEN"], "Content-Type": "application/json"}
    if key:
        headers["Idempotency-Key"] = key
    for n in range(tries):
        try:
            with urllib.request.urlopen(urllib.request.Request(URL + path, json.dumps(body).encode(), headers), timeout=90) as r:
                return json.load(r)
        except urllib.error.HTTPError as e:
            print(path, e.code, json.load(e)["detail"], file=sys.stderr)
            if e.code not in (429, 503):
                return None
        except OSError as e:
            print(path, e, file=sys.stderr)
        time.sleep(0.2 * (n + 1))


def work(job):
    path, done = "/v1/jobs/" + job["id"], threading.Event()

    def beat():
        while not done.wait(job["lease_ms"] / 3000):
            post(path + "/heartbeat", {"token": job["token"]}, tries=1)

    threading.Thread(target=beat, daemon=True).start()
    try:
        end, body = "/reply", {"value": JOBS[job["effect"]](job["args"], job["idempotency_key"])}
    except Exception as e:
        end, body = "/fail", {"error": repr(e)}
    done.set()
    post(path + end, {"token": job["token"], **body}, key=job["token"])


while True:
    for job in (post("/v1/jobs/take", {"effects": list(JOBS), "wait_s": 30, "lease_s": LEASE_S}) or {"jobs": []})["jobs"]:
        work(job)
