// Surveys MCP servers with a client of the official TypeScript SDK. The first argument is the
// generation of the SDK. Standard input is a JSON array of sessions; for each, one line of JSON
// with what the client saw is written to standard output, in the same order.
import { json } from 'node:stream/consumers';

const write = (line) => new Promise((done) => process.stdout.write(`${line}\n`, done));
console.log = console.info = console.debug = console.error; // the SDKs write there too

const { connect } = await import(`./sdk${process.argv[2]}.mjs`);
const stepTime = 30_000; // bounds each request
const awaitTime = 5_000; // bounds the wait for notifications that are due
const quietTime = 500; // how long none that must not come is waited for

const capabilities = { sampling: {}, elicitation: {}, roots: {} };

// answers are what the client says when a server asks it something.
const answers = (session) => ({
  'sampling/createMessage': async () => ({
    role: 'assistant', model: 'm', content: { type: 'text', text: 'sampled' },
  }),
  'elicitation/create': async () => ({ action: 'accept', content: { name: 'ann', check: true } }),
  'roots/list': async () => ({ roots: [{ uri: session.root, name: 'root' }] }),
});

const lists = {
  'tools/list': ['listTools', 'tools'],
  'prompts/list': ['listPrompts', 'prompts'],
  'resources/list': ['listResources', 'resources'],
  'resources/templates/list': ['listResourceTemplates', 'resourceTemplates'],
};

const requests = {
  'tools/call': (client, params, end, options) => end.call(params, options),
  'resources/read': (client, params) => client.readResource(params),
  'prompts/get': (client, params) => client.getPrompt(params),
  'completion/complete': (client, params) => client.complete(params),
  'ping': (client) => client.ping(),
  'logging/setLevel': (client, params) => client.setLoggingLevel(params.level),
  'resources/subscribe': (client, params, end) => end.subscribe(params),
  'resources/unsubscribe': (client, params, end) => end.unsubscribe(params),
};

// all reads every page of a list.
async function all(client, [method, member]) {
  const items = [];
  for (let cursor; ;) {
    const page = await client[method](cursor === undefined ? undefined : { cursor });
    items.push(...page[member]);
    cursor = page.nextCursor;
    if (cursor === undefined || items.length > 10_000) return { [member]: items };
  }
}

// failure is an error as the SDK shows it.
const failure = (e) => ({ error: { code: e.code, message: e.message, data: e.data } });

// bounded ends a wait that lasts too long; the SDK's own timeouts do not cover all of them.
function bounded(promise, what) {
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`${what}: no answer in time`)), stepTime);
  });
  return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}

const sleep = (time) => new Promise((done) => setTimeout(done, time));

// Ear records the messages of one session that are part of a step's outcome, as they come in.
class Ear {
  last = -1; // the newest request that was answered

  hear(message) {
    if (!message.method && !this.cancelled) this.last = message.id; // old answers may come again
    if (!this.wants) return;
    const { method, has = '' } = this.wants;
    if (message.method === method && JSON.stringify(message.params).includes(has) && !this.cancelled) {
      this.heard.push(message.params);
    }
    if (this.cancelled && !message.method && message.id > this.last) this.heard.push('an answer after the cancellation');
  }

  // want begins to record anew.
  want(wants) { Object.assign(this, { wants, heard: [], cancelled: false }); }

  // due waits until so many came, or for none to come.
  async due({ await: n = 0 }) {
    const until = Date.now() + (n ? awaitTime : quietTime);
    while (Date.now() < until && (!n || this.heard.length < n)) await sleep(10);
  }

  // cancel cancels a request when so many came.
  async cancel(wants, controller) {
    await this.due(wants);
    this.cancelled = true;
    controller.abort('enough');
    await sleep(quietTime);
  }
}

// outcome is what came of a step.
async function outcome(client, end, ear, { method, params, events }) {
  const controller = new AbortController();
  ear.want(events);
  const cancelling = events?.cancel && ear.cancel(events, controller);
  const one = lists[method] ? all(client, lists[method])
    : requests[method](client, params, end, { signal: controller.signal });
  const seen = await bounded(one, method).then((result) => ({ result }), failure);
  if (!events) return seen;
  await (cancelling || ear.due(events));
  return { ...seen, events: ear.heard };
}

async function survey(session) {
  let end;
  const ear = new Ear();
  const options = { capabilities, answers: answers(session), hear: (m) => ear.hear(m) };
  try {
    end = await bounded(connect(session, options), 'connect');
  } catch (e) {
    return { name: session.name, refused: failure(e) };
  }
  const { client } = end;
  const seen = {
    name: session.name,
    greeting: {
      capabilities: client.getServerCapabilities(),
      serverInfo: client.getServerVersion(),
      instructions: client.getInstructions(),
    },
    steps: [],
  };
  for (const step of session.steps) seen.steps.push(await outcome(client, end, ear, step));
  await bounded(end.close(), 'close').catch(() => {});
  return seen;
}

for (const session of await json(process.stdin)) {
  await write(JSON.stringify(await survey(session)));
}
process.exit(0); // whatever a transport still waits for
