// The JavaScript SDK of A2A as a client: node client.mjs URL TOKEN jsonrpc|rest|old. Prints what it saw, one line each.
import { ClientFactory, ClientFactoryOptions, DefaultAgentCardResolver, JsonRpcTransportFactory, RestTransportFactory } from '@a2a-js/sdk/client';
import { Role, TaskState } from '@a2a-js/sdk';

const [url, token, kind] = process.argv.slice(2);
const old = kind === 'old';
const fetchImpl = (where, how = {}) => fetch(where, { ...how, headers: { ...Object.fromEntries(new Headers(how.headers)), Authorization: 'Bearer ' + token } });
const Transport = kind === 'rest' ? RestTransportFactory : JsonRpcTransportFactory;
const factory = new ClientFactory({ ...ClientFactoryOptions.createFrom(ClientFactoryOptions.default,
  { cardResolver: new DefaultAgentCardResolver({ fetchImpl, legacyCompat: { enabled: old } }) }),
  transports: [new Transport({ fetchImpl, legacyCompat: { enabled: old } })] });
const card = async (at) => {
  const c = await (await fetchImpl(at + '/.well-known/agent-card.json', { headers: { 'A2A-Version': old ? '0.3' : '1.0' } })).json();
  return c;
};
const open = async (machine) => {
  if (!old) return factory.createFromUrl(url + '/a2a/' + machine + '/');
  const resolver = new DefaultAgentCardResolver({ fetchImpl: (w, h = {}) => fetchImpl(w, { ...h, headers: { ...Object.fromEntries(new Headers(h.headers)), 'A2A-Version': '0.3' } }),
    legacyCompat: { enabled: true } });
  return factory.createFromAgentCard(await resolver.resolve(url + '/a2a/' + machine + '/'));
};
const m = (text, more = {}) => ({ tenant: '', metadata: undefined, configuration: old ? { acceptedOutputModes: [], returnImmediately: false } : undefined,
  message: { messageId: crypto.randomUUID(), role: Role.ROLE_USER, contextId: '', taskId: '', metadata: undefined, extensions: [], referenceTaskIds: [],
    parts: [{ content: { $case: 'text', value: text }, metadata: undefined, filename: '', mediaType: 'text/plain' }], ...more } });
const state = (s) => TaskState[s.state] ?? s.state;
const say = (e) => e.payload.$case + (e.payload.$case === 'statusUpdate' ? ' ' + state(e.payload.value.status) : '') +
  (e.payload.$case === 'artifactUpdate' ? ' ' + e.payload.value.artifact.name : '');

console.log('card', (await card(url)).skills.length > 0);
const done = await open('done');
const t = await done.sendMessage(m('hi'));
console.log('send', state(t.status), t.artifacts.map((a) => a.name).join(' '), t.history.length);
const got = await done.getTask({ tenant: '', id: t.id, historyLength: 0 });
console.log('get', got.id === t.id, got.history.length);
const ask = await open('ask');
const q = await ask.sendMessage(m('dear'));
console.log('asks', state(q.status), q.status.message.parts[0].content.value);
const seen = [];
for await (const e of ask.sendMessageStream(m('red', { taskId: q.id, contextId: q.contextId }))) seen.push(say(e));
const asked = await ask.getTask({ tenant: '', id: q.id });
console.log('answer', seen[0], asked.status.message.parts[0].content.value);
const watched = [];
const watching = (async () => { for await (const e of ask.resubscribeTask({ tenant: '', id: q.id })) watched.push(say(e)); })();
const r = await ask.sendMessage(m('yes', { taskId: q.id }));
console.log('over', state(r.status), r.artifacts.at(-1).parts[0].content.value);
await watching.catch((e) => watched.push(e.name));
// it may have come when the task was over
console.log('watched', old || watched.at(-1) === 'statusUpdate TASK_STATE_COMPLETED' || /UnsupportedOperationError/.test(watched.at(-1)));
const slow = await open('slow');
const now = { ...m('never') , configuration: { acceptedOutputModes: [], returnImmediately: true } };
const n = await slow.sendMessage(now);
const c = await slow.cancelTask({ tenant: '', id: n.id, metadata: undefined });
console.log('cancel', state(c.status));
for (const [name, fn] of [['none', () => done.getTask({ tenant: '', id: 'none' })], ['late', () => done.cancelTask({ tenant: '', id: t.id, metadata: undefined })],
  ['told', () => done.sendMessage(m('x', { taskId: t.id }))]])
  console.log(name, await fn().then(() => 'fine', (e) => e.constructor.name));
if (!old) {
  const page = await done.listTasks({ tenant: '', contextId: '', status: 0, pageSize: 2, pageToken: '', historyLength: 0, includeArtifacts: false });
  console.log('list', page.tasks.length, page.pageSize);
}
