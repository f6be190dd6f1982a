// A client of an official TypeScript SDK that tries features. The arguments are the generation of
// the SDK and the era. Standard input is a JSON array of sessions; for each, one line of JSON with
// what the client saw is written to standard output, in the same order.
import { json } from 'node:stream/consumers';

const write = (line) => new Promise((done) => process.stdout.write(`${line}\n`, done));
console.log = console.info = console.debug = console.error; // the SDKs write there too

const [generation, era] = process.argv.slice(2);
const { connect } = await import(`./sdk${generation}.mjs`);
const stepTime = 10_000; // bounds each request
const startTime = 30_000; // and the start of a session, which may be that of a program
const awaitTime = 3_000; // bounds the wait for notifications

const sleep = (time) => new Promise((done) => setTimeout(done, time));
// failure is an error without the words that the first generation of the SDK puts in front of it.
const failure = ({ code, message, data }) => ({ error: { code, message: message.replace(/^(MCP error -\d+: )+/, ''), data } });

// all reads every page of a list.
async function all(list, member) {
  const items = [];
  for (let cursor; items.length < 1000;) {
    const page = await list(cursor === undefined ? undefined : { cursor });
    items.push(...page[member]);
    cursor = page.nextCursor;
    if (cursor === undefined) break;
  }
  return { [member]: items };
}

const requests = {
  'tools/call': ({ call }, params, options) => call(params, options),
  'tools/list': ({ client }) => all((p) => client.listTools(p), 'tools'),
  'prompts/list': ({ client }) => all((p) => client.listPrompts(p), 'prompts'),
  'prompts/get': ({ client }, params) => client.getPrompt(params),
  'resources/read': ({ client }, params) => client.readResource(params),
  'resources/list': ({ client }) => all((p) => client.listResources(p), 'resources'),
  'resources/templates/list': ({ client }) => all((p) => client.listResourceTemplates(p), 'resourceTemplates'),
  'completion/complete': ({ client }, params) => client.complete(params),
  'ping': ({ client }) => client.ping(),
  'logging/setLevel': ({ client }, params) => client.setLoggingLevel(params.level),
  'resources/subscribe': ({ subscribe }, params) => subscribe(params),
  'resources/unsubscribe': ({ unsubscribe }, params) => unsubscribe(params),
  'listen': ({ listen }) => listen(), // to changes of the tools
  'task': ({ request }, params, options) => task(request, params, options),
};

// task has a call done as a task, and returns the states it was in and its result.
async function task(request, params, options) {
  const states = [];
  let { task: now } = await request('tools/call', { ...params, task: { ttl: 60_000 } }, options);
  for (let i = 0; i < 100 && now.status === 'working'; i++) {
    await sleep(20);
    now = await request('tasks/get', { taskId: now.taskId }, options);
  }
  states.push(now.status);
  return { states, result: await request('tasks/result', { taskId: now.taskId }, options) };
}

// Ear keeps the notifications of a step, and what the client is asked in it.
class Ear {
  heard = [];
  asked = [];

  hear = (message) => {
    if (message.method === this.method) this.heard.push(message.params ?? {});
  };

  begin({ hear }) { Object.assign(this, { method: hear, heard: [], asked: [] }); }

  async due(n = 0) {
    for (const until = Date.now() + awaitTime; this.heard.length < n && Date.now() < until;) await sleep(5);
  }
}

async function outcome(end, ear, { method, params, hear, await: due, cancel, limit }) {
  ear.begin({ hear });
  const controller = new AbortController();
  if (cancel) ear.due(due).then(() => controller.abort('enough'));
  const seen = await requests[method](end, params, { signal: controller.signal, timeout: limit ?? stepTime })
    .then((result) => ({ result }), (e) => controller.signal.aborted ? { cancelled: true } : failure(e));
  if (hear) {
    await ear.due(due);
    seen.events = ear.heard;
  }
  if (ear.asked.length) seen.asked = ear.asked;
  return seen;
}

async function visit(session) {
  const ear = new Ear();
  const asked = (answer) => async (request) => {
    ear.asked.push({ method: request.method, params: request.params });
    return answer;
  };
  let end;
  try {
    end = await connect({ ...session, legacy: era === 'legacy' }, {
      capabilities: { sampling: {}, elicitation: { form: {}, url: {} }, roots: {} },
      timeout: startTime,
      hear: ear.hear,
      answers: {
        'sampling/createMessage': asked({ role: 'assistant', model: 'm', content: { type: 'text', text: 'sampled' } }),
        'elicitation/create': async (request) => asked(
          request.params.mode === 'url' ? { action: 'accept' } : { action: 'accept', content: { name: 'ann' } },
        )(request),
        'roots/list': async () => ({ roots: [{ uri: 'file:///home', name: 'home' }] }), // Go does not show that it is asked
      },
    });
  } catch (e) {
    return { name: session.name, refused: failure(e).error };
  }
  const { client, revision } = end;
  const seen = {
    name: session.name, revision, steps: [],
    greeting: {
      capabilities: client.getServerCapabilities(), serverInfo: client.getServerVersion(), instructions: client.getInstructions(),
    },
  };
  for (const step of session.steps) seen.steps.push(await outcome(end, ear, step));
  await Promise.race([end.close(), sleep(stepTime)]).catch(() => {});
  return seen;
}

for (const session of await json(process.stdin)) await write(JSON.stringify(await visit(session)));
process.exit(0); // whatever a transport still waits for
