"""The Python SDK of A2A as a client: client.py URL TOKEN JSONRPC|HTTP+JSON. Prints what it saw, one line each."""
import asyncio
import sys
import uuid

import httpx
from a2a.client import A2ACardResolver, ClientConfig, ClientFactory
from a2a.types import a2a_pb2 as pb

url, token, binding = sys.argv[1:]


def message(text, **more):
    return pb.SendMessageRequest(message=pb.Message(message_id=str(uuid.uuid4()), role=pb.ROLE_USER, parts=[pb.Part(text=text)], **more))


def state(s):
    return pb.TaskState.Name(s.state)


def say(e):
    kind = e.WhichOneof("payload")
    v = getattr(e, kind)
    return kind + (" " + state(v.status) if kind == "status_update" else " " + v.artifact.name if kind == "artifact_update" else "")


async def last(stream, into=None):
    got = None
    async for e in stream:
        got = e
        if into is not None:
            into.append(say(e))
    return got


async def main():
    http = httpx.AsyncClient(headers={"Authorization": "Bearer " + token}, timeout=60)

    async def open_(machine, streaming):
        card = await A2ACardResolver(http, url + "/a2a/" + machine).get_agent_card()
        config = ClientConfig(httpx_client=http, supported_protocol_bindings=[binding], streaming=streaming, use_client_preference=True)
        return ClientFactory(config).create(card)

    done = await open_("done", False)
    t = (await last(done.send_message(message("hi")))).task
    print("send", state(t.status), *[a.name for a in t.artifacts], len(t.history))
    got = await done.get_task(pb.GetTaskRequest(id=t.id, history_length=0))
    print("get", got.id == t.id, len(got.history))
    ask = await open_("ask", True)
    seen = []
    q = await last(ask.send_message(message("dear")), seen)
    id = q.task.id if q.WhichOneof("payload") == "task" else q.status_update.task_id
    now = await ask.get_task(pb.GetTaskRequest(id=id))
    print("asks", state(now.status), now.status.message.parts[0].text, seen[0])
    seen = []
    await last(ask.send_message(message("red", task_id=id)), seen)
    now = await ask.get_task(pb.GetTaskRequest(id=id))
    print("answer", seen[0], now.status.message.parts[0].text)
    seen = []
    await last(ask.send_message(message("yes", task_id=id)), seen)
    over = await ask.get_task(pb.GetTaskRequest(id=id))
    print("over", state(over.status), over.artifacts[-1].parts[0].text)
    slow = await open_("slow", False)
    request = message("never")
    request.configuration.return_immediately = True
    n = (await last(slow.send_message(request))).task
    c = await slow.cancel_task(pb.CancelTaskRequest(id=n.id))
    print("cancel", state(c.status))
    for name, call in (("none", lambda: done.get_task(pb.GetTaskRequest(id="none"))), ("late", lambda: done.cancel_task(pb.CancelTaskRequest(id=t.id)))):
        try:
            await call()
            print(name, "fine")
        except Exception as e:
            print(name, type(e).__name__)
    page = await done.list_tasks(pb.ListTasksRequest(page_size=2))
    print("list", len(page.tasks), page.page_size)
    await http.aclose()


asyncio.run(main())
