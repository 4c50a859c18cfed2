"""The rules of A2A, each on a real server: methods, messages, states, streams, errors, cards, lists; in 1.0 and 0.3, JSON-RPC and HTTP+JSON (N2)."""
import json
import os
import time

from served import FILES, Served, has, is_, main, message, said, text_of

GRAPHS = ["done.yaml", "ask.yaml", "two.yaml", "slow.yaml", "fails.yaml", "signs.yaml", "whole.yaml", "talker.yaml", "parent.yaml", "heeds.yaml"]
tests = []


def test(fn):
    tests.append((fn.__doc__.split("\n")[0], fn))
    return fn


served = {}


def one():
    """A server for the tests that leave no trace for others."""
    if "s" not in served:
        served["s"] = Served(GRAPHS)
    return served["s"]


def states(events):
    return [said(e) for _, e in events]


@test
def card():
    """N2, 1.5: the agent card needs no token, has a tag, and both shapes"""
    s = one()
    r = s.raw("GET", "/.well-known/agent-card.json", token=False)
    card = json.loads(r.read())
    is_(r.status, 200)
    for name in ("name", "description", "version", "supportedInterfaces", "capabilities", "defaultInputModes", "defaultOutputModes", "skills"):
        has(card, name)
    is_([(i["protocolBinding"], i["protocolVersion"]) for i in card["supportedInterfaces"]], [("JSONRPC", "1.0"), ("HTTP+JSON", "1.0"), ("JSONRPC", "0.3")])
    is_(card["supportedInterfaces"][0]["url"], "http://127.0.0.1:%d" % s.port)
    is_(card["capabilities"], {"extendedAgentCard": True, "pushNotifications": False, "streaming": True})
    is_([k["id"] for k in card["skills"]], ["done", "ask", "two", "slow", "fails", "signs", "whole", "talker", "parent", "heeds"])
    has(r.headers["Cache-Control"], "max-age=")
    has(r.headers["Vary"], "A2A-Version")
    has(r.headers["Last-Modified"], "GMT")
    again = s.raw("GET", "/.well-known/agent-card.json", token=False, If_None_Match=r.headers["ETag"])
    is_((again.status, again.read()), (304, b""))
    old = s.json("GET", "/.well-known/agent-card.json", token=False, A2A_Version="0.3")[1]
    is_((old["protocolVersion"], old["preferredTransport"]), ("0.3.0", "JSONRPC"))
    is_("supportedInterfaces" in old, False)
    status, of = s.json("GET", "/a2a/done/.well-known/agent-card.json", token=False)
    is_((status, of["name"], of["description"], of["version"]), (200, "done", "It echoes.", "7"))
    is_(of["supportedInterfaces"][0]["url"], "http://127.0.0.1:%d/a2a/done" % s.port)
    is_(s.json("GET", "/a2a/none/.well-known/agent-card.json", token=False)[0], 404)
    is_(s.json("GET", "/.well-known/agent-card.json", token=False, Host="evil.example")[0], 421)


@test
def extended():
    """1.5: the extended card needs a token, and says what is inside"""
    s = one()
    is_(s.raw("GET", "/extendedAgentCard", token=False).status, 401)
    card = s.result("GetExtendedAgentCard", path="/a2a/ask")
    is_(card["skills"][0]["tags"], ["graph", "colour", "gate"])
    is_(s.result("agent/getAuthenticatedExtendedCard")["protocolVersion"], "0.3.0")
    is_(s.json("GET", "/a2a/talker/extendedAgentCard")[1]["skills"][0]["tags"], ["agent"])


@test
def send():
    """1.2, 1.3: a message begins a task, in all versions and bindings, and blocks until it rests"""
    s = one()
    t = s.task("socks", path="/a2a/done")
    is_(t["status"]["state"], "TASK_STATE_COMPLETED")
    is_([(a["artifactId"], a["parts"][0]["text"]) for a in t["artifacts"]], [("echo.txt", "socks 1"), ("output", "socks 1!")])
    is_([(m["messageId"], m["role"], m["parts"][0]["text"], m["taskId"]) for m in t["history"]], [("m-1", "ROLE_USER", "socks", t["id"])])
    old = s.task("socks", path="/a2a/done/", old=True)
    is_((old["kind"], old["status"]["state"], old["artifacts"][0]["parts"][0]), ("task", "completed", {"kind": "text", "text": "socks 1"}))
    status, rest = s.json("POST", "/a2a/done/message:send", {"message": message("socks", parts=[{"text": "socks"}, {"data": {"n": 5}}])})
    is_((status, rest["task"]["artifacts"][0]["parts"][0]["text"]), (200, "socks 5"))
    is_(len({t["id"], old["id"], rest["task"]["id"]}), 3)       # one id of a message, many tasks
    is_(s.result("GetTask", {"id": t["id"]}), t)
    is_(s.result("tasks/get", {"id": old["id"]}), old)
    is_(s.json("GET", "/tasks/" + t["id"])[1], t)
    is_(s.result("GetTask", {"id": t["id"], "history_length": 0}).get("history"), None)
    now = s.task("x", path="/a2a/slow", wait=False)
    has(("TASK_STATE_SUBMITTED", "TASK_STATE_WORKING"), now["status"]["state"])
    has(("submitted", "working"), s.result("message/send", {"message": message("x", old=True)}, path="/a2a/slow")["status"]["state"])
    s.go("x")


@test
def skills():
    """decision: of several machines, the address, metadata.skill or the tenant says which"""
    s = one()
    s.error(-32602, "SendMessage", {"message": message("x")})
    s.error(-32602, "SendMessage", {"message": message("x", metadata={"skill": "none"})})
    is_(s.task("x", metadata={"skill": "done"})["metadata"]["machine"], "done")
    is_(s.result("SendMessage", {"message": message("x"), "metadata": {"skill": "done"}})["task"]["metadata"]["machine"], "done")
    is_(s.result("SendMessage", {"message": message("x"), "tenant": "done"})["task"]["metadata"]["machine"], "done")
    s.error(-32602, "SendMessage", {"message": message("x"), "tenant": "ask"}, path="/a2a/done")
    s.error(-32600, "SendMessage", {"message": message("x")}, path="/a2a/none")
    t = s.task("x", path="/a2a/done")
    s.error(-32001, "GetTask", {"id": t["id"]}, path="/a2a/ask")


@test
def answers():
    """N2, W3: an input-required is a wait, and the message with its task answers it once"""
    s = one()
    for old in (False, True):
        path = "/a2a/ask"
        t = s.task("dear", path=path, old=old)
        is_(t["status"]["state"], "input-required" if old else "TASK_STATE_INPUT_REQUIRED")
        is_(text_of(t["status"]["message"]), ":Which colour, dear?")
        is_(t["status"]["message"]["metadata"]["options"], ["red", "green"])
        s.error(-32602, "SendMessage", {"message": message("blue", taskId=t["id"], messageId="m-2")})
        u = s.task("red", taskId=t["id"], messageId="m-3", old=old)
        is_(text_of(u["status"]["message"]), ":Paint it red?")
        is_(s.task("red", taskId=t["id"], messageId="m-3", old=old), u)      # the same again changes nothing
        s.error(-32602, "SendMessage", {"message": message("red", taskId=t["id"], messageId="m-4")})
        v = s.task("yes", taskId=t["id"], messageId="m-5", contextId=t["contextId"], old=old)
        is_((v["status"]["state"][-9:].lower(), v["artifacts"][-1]["parts"][0]["text"]), ("completed", "red"))
        is_(s.task("yes", taskId=t["id"], messageId="m-5", contextId=t["contextId"], old=old), v)
        is_([m["messageId"] for m in v["history"] if m["role"] in ("user", "ROLE_USER")], ["m-1", "m-3", "m-5"])
        s.error(-32004, "SendMessage", {"message": message("more", taskId=t["id"], messageId="m-6")})
    has(s.pawl("log", t["id"], "--json").stdout, '"note":"a2a:m-3"')


@test
def rejected():
    """N2, W9: a no is rejected, and says why; a failure is failed"""
    s = one()
    t = s.task("dear", path="/a2a/ask")
    s.task("red", taskId=t["id"], messageId="m-2")
    t = s.task("no: not on a Friday", taskId=t["id"], messageId="m-3")
    is_(t["status"]["state"], "TASK_STATE_REJECTED")
    has(s.pawl("log", t["id"], "--json").stdout, "not on a Friday")
    f = s.task("so it is", path="/a2a/fails")
    is_(f["status"]["state"], "TASK_STATE_FAILED")
    has(text_of(f["status"]["message"]), "It cannot be: so it is")


@test
def several():
    """W4: of several open questions a message names one"""
    s = one()
    t = s.task("x", path="/a2a/two")
    s.error(-32602, "SendMessage", {"message": message("a", taskId=t["id"], messageId="m-2")})
    t = s.task("aa", taskId=t["id"], messageId="m-3", metadata={"wait": "a"})
    is_((t["status"]["state"], text_of(t["status"]["message"])), ("TASK_STATE_INPUT_REQUIRED", ":B?"))
    t = s.task("", taskId=t["id"], messageId="m-4", parts=[{"data": 7}])
    is_((t["status"]["state"], t["artifacts"][-1]["parts"][0]["text"]), ("TASK_STATE_COMPLETED", "aa 7"))


@test
def signed():
    """P11: an approval that only a key can give is auth-required, and no message gives it"""
    s = one()
    t = s.task("x", path="/a2a/signs")
    is_(t["status"]["state"], "TASK_STATE_AUTH_REQUIRED")
    s.error(-32004, "SendMessage", {"message": message("yes", taskId=t["id"], messageId="m-2")})
    is_(s.result("tasks/get", {"id": t["id"]})["status"]["state"], "auth-required")
    is_([x["id"] for x in s.result("ListTasks", {"status": "TASK_STATE_AUTH_REQUIRED"})["tasks"]], [t["id"]])


@test
def parts():
    """1.2: files and data, in and out, in both versions"""
    s = one()
    raw = {"raw": "aGk=", "filename": "f.bin", "mediaType": "application/x-unsupported-tck-type"}
    t = s.task("", path="/a2a/whole", parts=[{"text": "a"}, raw, {"url": "http://x/y"}, {"data": [1, 2.50]}])
    is_(t["status"]["state"], "TASK_STATE_COMPLETED")
    is_([a["parts"][0] for a in t["artifacts"]], [{"raw": "aGk=", "filename": "output.txt", "mediaType": "text/plain"},
        {"url": "https://example.com/o", "filename": "link", "mediaType": "text/plain"}, {"data": {"count": 42, "key": "value"}, "mediaType": "application/json"},
        {"data": 4, "mediaType": "application/json"}])
    is_(t["history"][0]["parts"][1]["raw"], "aGk=")
    old = s.result("tasks/get", {"id": t["id"]})
    is_(old["artifacts"][0]["parts"][0], {"kind": "file", "file": {"bytes": "aGk=", "name": "output.txt", "mimeType": "text/plain"}})
    is_(old["artifacts"][3]["parts"][0], {"kind": "data", "data": {"value": 4}})
    file = {"kind": "file", "file": {"uri": "http://x", "name": "n", "mimeType": "a/b"}}
    u = s.result("message/send", {"message": message("", old=True, parts=[file]), "configuration": {"blocking": True}}, path="/a2a/whole")
    is_(u["history"][0]["parts"], [file])
    s.error(-32005, "SendMessage", {"message": message("", parts=[raw])}, path="/a2a/done")


@test
def agent():
    """N2: a conversation is one task, that asks for its next input"""
    s = one()
    t = s.task("hello", path="/a2a/talker")
    is_((t["status"]["state"], text_of(t["status"]["message"])), ("TASK_STATE_INPUT_REQUIRED", ":Hello you"))
    u = s.task("again", taskId=t["id"], messageId="m-2")
    is_((text_of(u["status"]["message"]), [m["parts"][0]["text"] for m in u["history"]]), (":Once more", ["hello", "Hello you", "again", "Once more"]))
    is_(s.task("again", taskId=t["id"], messageId="m-2"), u)
    e = s.events("SendStreamingMessage", {"message": message("hello", taskId=t["id"], messageId="m-3")}).all()
    last = e[-1][1].get("statusUpdate", e[-1][1].get("task"))["status"]
    is_((said(e[0][1]), text_of(last["message"])), ("task", ":Hello you"))


@test
def children():
    """N1, N2: what a child of a run asks, its task asks, and a message with the task answers it"""
    s = one()
    t = s.task("go", path="/a2a/parent")
    is_((t["status"]["state"], t["status"]["message"]["metadata"]["kind"]), ("TASK_STATE_INPUT_REQUIRED", "approval"))
    watched = iter(s.events("SubscribeToTask", {"id": t["id"]}))
    is_(next(watched)[1]["task"]["status"]["state"], "TASK_STATE_INPUT_REQUIRED")
    u = s.task("approve", taskId=t["id"], messageId="m-2")
    is_((u["status"]["state"], [a["parts"][0]["text"] for a in u["artifacts"]]), ("TASK_STATE_COMPLETED", ["It is painted"]))
    is_([said(e) for _, e in watched][-2:], ["said=It is painted", "completed"])
    e = s.events("SendStreamingMessage", {"message": message("go")}, path="/a2a/parent").all()
    is_((said(e[0][1]), e[-1][1].get("statusUpdate", e[-1][1].get("task"))["status"]["state"]), ("task", "TASK_STATE_INPUT_REQUIRED"))
    t = e[0][1]["task"]["id"]
    u = s.task("no: another day", taskId=t, messageId="m-2")
    has(("TASK_STATE_FAILED", "TASK_STATE_COMPLETED"), u["status"]["state"])
    is_([x["id"] for x in s.result("ListTasks", {"pageSize": 1}, path="/a2a/parent")["tasks"]], [t])


@test
def at_work():
    """1.7: a message to a task at work is stored, is in its history, and a node may wait for it"""
    s = one()
    t = s.task("w", path="/a2a/slow", wait=False)["id"]
    for old, id in ((False, "m-2"), (True, "m-3"), (True, "m-3")):
        name, more = ("message/send", {}) if old else ("SendMessage", {"configuration": {"returnImmediately": True}})
        r = s.result(name, {"message": message("more", old=old, taskId=t, messageId=id), **more})
        has(("working", "TASK_STATE_WORKING"), (r if old else r["task"])["status"]["state"])
    is_([m["messageId"] for m in s.result("GetTask", {"id": t})["history"]], ["m-1", "m-2", "m-3"])
    is_([m["messageId"] for m in s.result("GetTask", {"id": t, "historyLength": 1})["history"]], ["m-3"])
    s.go("w")
    h = s.task("x", path="/a2a/heeds", wait=False)["id"]
    u = s.task("heard", taskId=h, messageId="m-2")
    is_((u["status"]["state"], u["artifacts"][-1]["parts"][0]["text"], [m["messageId"] for m in u["history"]]), ("TASK_STATE_COMPLETED", "heard", ["m-1", "m-2"]))
    is_(s.task("heard", taskId=h, messageId="m-2"), u)
    r = s.raw("POST", "/", {"jsonrpc": "2.0", "id": 7, "method": "tasks/resubscribe", "params": {"id": "none"}})
    is_((r.headers["Content-Type"], json.loads(r.read().split(b"data: ")[1])["error"]["code"]), ("text/event-stream", -32001))
    s.error(-32602, "SendMessage", {"message": message("", parts=[{"kind": "sound", "text": "x"}])}, path="/a2a/done")


@test
def streams():
    """N3, 1.7: a stream is the task, and then what happens, in order; it ends with the task"""
    s = one()
    for old, name in ((False, "SendStreamingMessage"), (True, "message/stream")):
        m = message("s-%s" % old, old=old)
        e = s.events(name, {"message": m}, path="/a2a/slow")
        got = []
        for at, v in e:
            got.append(v)
            if said(v) == "first=first" or (said(v) == "task" and v.get("task", v)["artifacts"]):
                s.go("s-%s" % old)
        is_(said(got[0]), "task")
        is_([said(v) for v in got][-2:], ["second=second", "completed"])
        is_("task" in got[0], not old)
        finals = [v.get("final") for v in got if v.get("kind") == "status-update"]
        is_(finals, [False] * (len(finals) - 1) + [True] if old else [])
        if not old:
            is_({k for v in got[1:] for k in v} <= {"statusUpdate", "artifactUpdate"}, True)
    e = s.events("SendStreamingMessage", {"message": message("dear")}, path="/a2a/ask").all()
    is_(states(e)[-1] in ("input-required:Which colour, dear?", "task"), True)
    t = e[0][1]["task"]["id"]
    e = s.events("SendStreamingMessage", {"message": message("green", taskId=t, messageId="m-2")}).all()
    last = e[-1][1].get("statusUpdate", e[-1][1].get("task"))["status"]      # the task may have asked before the stream began
    is_((said(e[0][1]), text_of(last["message"])), ("task", ":Paint it green?"))
    e = s.events("SendStreamingMessage", {"message": message("yes", taskId=t, messageId="m-3")}).all()
    is_(states(e)[-2:] if len(e) > 1 else [e[0][1]["task"]["status"]["state"]], ["output=green", "completed"] if len(e) > 1 else ["TASK_STATE_COMPLETED"])
    s.error(-32602, "SendStreamingMessage", {"message": message("")}, path="/")
    r = s.raw("POST", "/a2a/done/message:stream", {"message": message("x")})
    text = r.read().decode()
    is_((r.headers["Content-Type"], r.headers["X-Accel-Buffering"], '"jsonrpc"' in text, "TASK_STATE_COMPLETED" in text), ("text/event-stream", "no", False, True))


@test
def subscribe():
    """N3: several subscribers get the same events; Last-Event-ID gives what came after it, and nothing twice"""
    s = one()
    t = s.task("dear", path="/a2a/ask")["id"]
    a, b = s.events("SubscribeToTask", {"id": t}), s.events("SubscribeToTask", {"id": t})
    ia, ib = iter(a), iter(b)
    is_((said(next(ia)[1]), said(next(ib)[1])), ("task", "task"))
    s.task("red", taskId=t, messageId="m-2")
    at, v = next(ia)
    while said(v) != "input-required:Paint it red?":
        at, v = next(ia)
    a.close()
    s.task("yes", taskId=t, messageId="m-3")
    whole = list(ib)
    is_(states(whole)[-2:], ["output=red", "completed"])
    ids = [x for x, _ in whole]
    is_(len(set(ids)), len(ids))
    for k, (x, _) in enumerate(whole):
        r = s.raw("GET", "/tasks/%s:subscribe" % t, Last_Event_ID=x)
        got = [json.loads(l[6:]) for l in r.read().decode().split("\n") if l.startswith("data: ")]
        is_(got, [v for _, v in whole[k + 1:]])
    again = s.events("SubscribeToTask", {"id": t}, Last_Event_ID=at).all()
    is_(again, whole[ids.index(at) + 1:])
    s.error(-32004, "SubscribeToTask", {"id": t})
    is_(states(s.events("tasks/resubscribe", {"id": t})), ["task"])
    s.error(-32602, "SubscribeToTask", {"id": t}, Last_Event_ID="nonsense")
    s.error(-32001, "SubscribeToTask", {"id": "none"})
    is_(s.json("POST", "/tasks/%s:subscribe" % t)[0], 400)


@test
def cancel():
    """E10: a cancel is durable, and what is over cannot be canceled"""
    s = one()
    t = s.task("never", path="/a2a/slow", wait=False)["id"]
    is_(s.result("CancelTask", {"id": t})["status"]["state"], "TASK_STATE_CANCELED")
    is_(s.result("CancelTask", {"id": t})["status"]["state"], "TASK_STATE_CANCELED")
    s.error(-32002, "tasks/cancel", {"id": t})
    u = s.task("dear", path="/a2a/ask")["id"]
    is_(s.json("POST", "/tasks/%s:cancel" % u)[1]["status"]["state"], "TASK_STATE_CANCELED")
    d = s.task("x", path="/a2a/done")["id"]
    s.error(-32002, "CancelTask", {"id": d})
    status, e = s.json("POST", "/tasks/%s:cancel" % d, {})
    is_((status, e["error"]["status"], e["error"]["details"][0]["reason"]), (400, "FAILED_PRECONDITION", "TASK_NOT_CANCELABLE"))
    s.error(-32001, "CancelTask", {"id": "none"})


@test
def errors():
    """1.6, 1.7: JSON-RPC is taken or refused by its rules, always with HTTP 200"""
    s = one()
    for body, code in ((b"{", -32700), (b"[]", -32600), ({"jsonrpc": "1.0", "id": 1, "method": "GetTask"}, -32600), ({"jsonrpc": "2.0"}, -32600),
                       ({"jsonrpc": "2.0", "method": "none"}, -32601), ({"jsonrpc": "2.0", "id": {}, "method": "GetTask"}, -32600),
                       ({"jsonrpc": "2.0", "id": 1, "method": "GetTask", "params": []}, -32602), (b"\xff", -32700)):
        status, reply = s.json("POST", "/", body)
        is_((status, reply["error"]["code"], sorted(reply)), (200, code, ["error", "id", "jsonrpc"]))
    for id in (1, 0, -5, "a", 1.5, None, "é\n", 2 ** 53):
        s.error(-32001, "GetTask", {"id": "none"}, id=id)
    e = s.error(-32001, "GetTask", {"id": "none"})
    is_(e["data"], [{"@type": "type.googleapis.com/google.rpc.ErrorInfo", "domain": "a2a-protocol.org", "metadata": {}, "reason": "TASK_NOT_FOUND"}])
    is_("data" in s.error(-32001, "tasks/get", {"id": "none"}), False)
    e = s.error(-32602, "GetTask", {})
    is_((e["data"][0]["@type"], e["data"][0]["fieldViolations"][0]["field"]), ("type.googleapis.com/google.rpc.BadRequest", "id"))
    for p in ([], [{}], [{"text": "a", "url": "b"}], [{"kind": "text"}]):
        s.error(-32602, "SendMessage", {"message": message("", parts=p)}, path="/a2a/done")
        s.error(-32602, "message/send", {"message": message("", parts=p, old=True)}, path="/a2a/done")
    s.error(-32602, "SendMessage", {"message": message("x", messageId="")}, path="/a2a/done")
    s.error(-32602, "GetTask", {"id": "x", "historyLength": -1})
    s.error(-32602, "SendMessage", {}, path="/a2a/done")
    t = s.task("dear", path="/a2a/ask")
    s.error(-32602, "SendMessage", {"message": message("red", taskId=t["id"], contextId="other")})
    s.error(-32001, "SendMessage", {"message": message("red", taskId="none")})
    s.error(-32001, "SendMessage", {"message": message("red", taskId="../x")})
    is_(s.json("POST", "/", b"{}", Content_Type="text/plain")[1]["error"]["code"], -32005)
    s.error(-32001, "GetTask", {"id": "none"}, Content_Type="application/json; charset=utf-8")
    s.error(-32001, "GetTask", {"id": "none"}, A2A_Version="1.0.9")
    s.error(-32001, "GetTask", {"id": "none"}, path="/?A2A-Version=1.0")
    s.error(-32009, "GetTask", {"id": "none"}, A2A_Version="2.0")
    for name, params in (("CreateTaskPushNotificationConfig", {"taskId": t["id"], "url": "http://x"}), ("tasks/pushNotificationConfig/list", {"id": t["id"]})):
        s.error(-32003, name, params)
    s.error(-32003, "SendMessage", {"message": message("x"), "configuration": {"taskPushNotificationConfig": {"url": "http://x"}}}, path="/a2a/done")


@test
def rest():
    """1.1, 1.6: HTTP+JSON has the statuses, and mirrors the media type"""
    s = one()
    t = s.task("x", path="/a2a/done")["id"]
    status, e = s.json("GET", "/tasks/none")
    is_((status, e["error"]["code"], e["error"]["status"], e["error"]["details"][0]["reason"]), (404, 404, "NOT_FOUND", "TASK_NOT_FOUND"))
    for method, path, body, due in (("GET", "/tasks?pageSize=0", None, 400), ("GET", "/tasks?status=nope", None, 400), ("GET", "/tasks/x?historyLength=-1", None, 400),
                                    ("POST", "/message:send", b"{", 400), ("GET", "/tasks/%s/pushNotificationConfigs" % t, None, 400),
                                    ("DELETE", "/tasks/%s/pushNotificationConfigs/c" % t, None, 400), ("GET", "/tasks/" + t, None, 200)):
        is_((path, s.json(method, path, body)[0]), (path, due))
    is_(s.json("POST", "/message:send", b"{}", Content_Type="text/plain")[1]["error"]["details"][0]["reason"], "CONTENT_TYPE_NOT_SUPPORTED")
    is_(s.raw("GET", "/tasks/" + t).headers["Content-Type"], "application/json")
    is_(s.raw("GET", "/tasks/" + t, Accept="application/a2a+json").headers["Content-Type"], "application/a2a+json")
    is_(s.json("GET", "/tasks/" + t, A2A_Version="0.3")[1]["error"]["details"][0]["reason"], "VERSION_NOT_SUPPORTED")
    is_(s.json("GET", "/tasks/%2e%2e%2f")[0], 404)
    is_(s.json("PUT", "/tasks/" + t)[0], 405)


@test
def lists():
    """1.2: lists are pages by cursor, the newest change first, with filters"""
    s = Served(GRAPHS)
    try:
        ids = [s.task("n%d" % i, path="/a2a/done", contextId="c%d" % (i % 2))["id"] for i in range(7)]
        w = s.task("dear", path="/a2a/ask")["id"]
        got, token, sizes = [], "", set()
        while True:
            page = s.result("ListTasks", {"pageSize": 3, "pageToken": token})
            got += page["tasks"]
            sizes.add((page["totalSize"], page["pageSize"]))
            token = page["nextPageToken"]
            if token == "":
                break
        is_([t["id"] for t in got], [w] + ids[::-1])
        is_(sizes, {(8, 3)})
        times = [t["status"]["timestamp"] for t in got]
        is_(times, sorted(times, reverse=True))
        is_(any("artifacts" in t or "history" in t for t in got), False)
        is_([t["id"] for t in s.result("ListTasks", {"contextId": "c1"})["tasks"]], [ids[5], ids[3], ids[1]])
        is_([t["id"] for t in s.result("ListTasks", {"status": "TASK_STATE_INPUT_REQUIRED"})["tasks"]], [w])
        is_([t["id"] for t in s.result("ListTasks", {"statusTimestampAfter": times[1]})["tasks"]][:2], [w, ids[6]])
        full = s.json("GET", "/tasks?pageSize=1&includeArtifacts=true&historyLength=1&status=TASK_STATE_COMPLETED")[1]["tasks"][0]
        is_(full, s.result("GetTask", {"id": ids[6], "historyLength": 1}))
        is_(len(s.result("ListTasks", path="/a2a/ask")["tasks"]), 1)
        for wrong in ({"pageSize": 101}, {"pageSize": 0}, {"pageToken": "x"}, {"status": "x"}, {"historyLength": -1}, {"statusTimestampAfter": "now"}):
            s.error(-32602, "ListTasks", wrong)
        s.error(-32601, "tasks/list", {})
    finally:
        s.end()


@test
def tokens():
    """N4: a token does what its scopes have, and what it may not see is not there"""
    s = one()
    def token(name, *words):
        return s.pawl("token", "new", name, *words).stdout.strip()
    reads, runs, blind, of = (token("reads", "--scope", "read"), token("runs", "--scope", "read,run", "--label", "team=a"), token("blind", "--scope", "run"),
                              token("of", "--scope", "read,run", "--machine", "ask"))
    t = s.task("x", path="/a2a/done")["id"]
    is_(s.rpc("GetTask", {"id": t}, token=reads)["result"]["id"], t)
    body = {"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": {"message": message("x")}}
    for who, path, due in ((reads, "/a2a/done", 403), (blind, "/a2a/done", 403), ("wrong-token-of-nobody", "/a2a/done", 401), (False, "/a2a/done", 401)):
        is_(s.json("POST", path, body, token=who)[0], due)
    mine = s.rpc("SendMessage", {"message": message("x")}, path="/a2a/done", token=runs)["result"]["task"]["id"]
    is_(s.error(-32001, "GetTask", {"id": t}, token=runs)["message"].replace(t, "ID"), s.error(-32001, "GetTask", {"id": "none"}, token=runs)["message"].replace("none", "ID"))
    for name in ("CancelTask", "SubscribeToTask", "GetTask"):
        s.error(-32001, name, {"id": t}, token=runs)
    is_([x["id"] for x in s.result("ListTasks", {}, token=runs)["tasks"]], [mine])
    s.error(-32600, "SendMessage", {"message": message("x")}, path="/a2a/done", token=of)
    is_(s.result("SendMessage", {"message": message("x")}, token=of)["task"]["metadata"]["machine"], "ask")     # the only one that it may see
    is_([k["id"] for k in s.result("GetExtendedAgentCard", token=of)["skills"]], ["ask"])
    s.rpc("SendMessage", {"message": message("red", taskId=mine, messageId="m-9")}, token=s.token)
    is_(s.json("POST", "/", {"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": {"message": message("x", taskId=mine)}}, token=runs)[0], 403)
    has(s.pawl("export", mine).stdout, "token:runs")


@test
def scopes():
    """N4: every method x every set of scopes x own and foreign task"""
    s = one()
    mine = s.task("dear", path="/a2a/ask")["id"]
    foreign = s.task("dear", path="/a2a/two")["id"]
    needs = [("GetTask", {"id": 0}, {"read"}), ("SubscribeToTask", {"id": 0}, {"read"}), ("tasks/get", {"id": 0}, {"read"}), ("tasks/resubscribe", {"id": 0}, {"read"}),
             ("ListTasks", {}, {"read"}), ("CancelTask", {"id": "none"}, {"read", "run"}), ("tasks/cancel", {"id": "none"}, {"read", "run"}),
             ("SendMessage", {"message": message("x", taskId=0, parts=[{"data": None}])}, {"read", "answer"}),
             ("SendStreamingMessage", {"message": message("x", taskId=0, parts=[{"data": None}])}, {"read", "answer"}),
             ("SendMessage", {"message": message("x", parts=[{"raw": ""}])}, None), ("GetExtendedAgentCard", {}, set()), ("CreateTaskPushNotificationConfig", {}, set()),
             ("SendMessage", {"message": message("x", parts=[{"data": [1]}])}, {"read", "run"})]
    for have in ("read", "answer", "run", "admin", "read,answer", "read,run", "answer,run", "read,answer,run,admin"):
        for limits in ((), ("--machine", "ask")):
            token = s.pawl("token", "new", "t-%s-%d" % (have.replace(",", "-"), len(limits)), "--scope", have, *limits).stdout.strip()
            for name, params, wants in needs:
                for task in (mine, foreign):
                    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": name, "params": params}).replace('"id": 0', '"id": "%s"' % task).replace('"taskId": 0', '"taskId": "%s"' % task)
                    r = s.raw("POST", "/", body, token=token)
                    may = wants is None or wants <= set(have.split(","))
                    is_((name, have, r.status), (name, have, 200 if may else 403))
                    if may and limits and task == foreign and foreign in body:
                        is_((name, json.loads(r.read().replace(b"data: ", b""))["error"]["code"]), (name, -32001))
                    r.close()
                    r.connection.close()
    is_(s.result("GetTask", {"id": foreign})["status"]["state"], "TASK_STATE_INPUT_REQUIRED")


@test
def keys():
    """E16, decision 3: an Idempotency-Key begins one task, also after a kill; an id of a message alone begins many"""
    s = Served(["done.yaml", "ask.yaml"])
    try:
        a = s.result("SendMessage", {"message": message("x")}, path="/a2a/done", Idempotency_Key="k")["task"]
        is_(s.result("SendMessage", {"message": message("x")}, path="/a2a/done", Idempotency_Key="k")["task"], a)
        q = s.task("dear", path="/a2a/ask")
        u = s.task("red", taskId=q["id"], messageId="m-2")
        s.kill()
        s.start()
        is_(s.result("SendMessage", {"message": message("x")}, path="/a2a/done", Idempotency_Key="k")["task"], a)
        is_(s.task("red", taskId=q["id"], messageId="m-2"), u)
        s.error(-32004, "SendMessage", {"message": message("y")}, path="/a2a/done", Idempotency_Key="k")
        s.error(-32602, "SendMessage", {"message": message("y")}, path="/a2a/done", Idempotency_Key="\u00e9" * 3)
        is_(len(s.result("ListTasks", {})["tasks"]), 2)
    finally:
        s.end()


@test
def drains():
    """N6: a server that stops replies to who waits, ends its streams, and leaves the task whole"""
    s = Served(["slow.yaml"])
    try:
        e = s.events("SendStreamingMessage", {"message": message("d")})
        at, v = next(iter(e))
        t = v["task"]["id"]
        s.p.terminate()
        time.sleep(0.1)
        s.go("d")
        rest = list(e)
        is_(s.p.wait(60), 0)
        s.start()
        while s.result("GetTask", {"id": t})["status"]["state"] != "TASK_STATE_COMPLETED":
            time.sleep(0.05)
        more = s.events("SubscribeToTask", {"id": t}, Last_Event_ID=rest[-1][0] if rest else at).all()
        got = states([(at, v)] + rest + more)
        is_((got.count("second=second"), got.count("completed")), (1, 1))
    finally:
        s.end()


@test
def no_machine():
    """N2: without files tasks are read and answered, and none is begun"""
    s = Served([])
    try:
        s.pawl("run", "ask.yaml", "--id", "cli", "--input", '{"question":"you"}', "--no-run")
        s.error(-32004, "SendMessage", {"message": message("x")})
        t = s.result("GetTask", {"id": "cli"})
        is_((t["contextId"], text_of(t["status"].get("message"))), ("cli", ":Which colour, you?"))
        t = s.result("SendMessage", {"message": message("red", taskId="cli"), "configuration": {"returnImmediately": True}})["task"]
        is_(t["status"]["state"], "TASK_STATE_WORKING")         # stored, and nobody here drives it
        s.pawl("worker", "--once", "ask.yaml")
        is_(text_of(s.result("GetTask", {"id": "cli"})["status"]["message"]), ":Paint it red?")
        is_(s.json("GET", "/.well-known/agent-card.json")[1]["skills"], [])
    finally:
        s.end()


@test
def loop():
    """N2: the research loop of examples/, over A2A: it asks, and a message answers"""
    for name in ("loop.yaml", "loop-answers.yaml"):
        with open(os.path.join(os.environ["PAWL_SOURCE_DIR"], "examples", name)) as f:
            FILES[name] = f.read()
    s = Served(["loop.yaml"])
    try:
        t = s.task("Why is the sea salty?")
        is_((t["status"]["state"], text_of(t["status"]["message"])), ("TASK_STATE_INPUT_REQUIRED", ":The critic needs a person: which salt?"))
        t = s.task("Name the salt.", taskId=t["id"], messageId="m-2")
        is_(t["status"]["state"], "TASK_STATE_COMPLETED")
        is_([a["name"] for a in t["artifacts"]], ["final.txt", "output"])
        has(t["artifacts"][0]["parts"][0]["text"], "sodium chloride")
    finally:
        s.end()


if __name__ == "__main__":
    try:
        main(tests)
    finally:
        if "s" in served:
            served["s"].end()
