// Surveys MCP servers with a client of the official TypeScript SDK. The first argument is the
// generation of the SDK. Standard input is a JSON array of sessions; for each, one line of JSON
// with what the client saw is written to standard output, in the same order.
import { readFileSync } from 'node:fs';

const write = (line) => new Promise((done) => process.stdout.write(`${line}\n`, done));
console.log = console.info = console.debug = console.error; // the SDKs write there too

const { connect } = await import(`./sdk${process.argv[2]}.mjs`);
const stepTime = 30_000; // bounds each request

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
  'tools/call': (client, params, options) => client.callTool(params, ...options),
  'resources/read': (client, params) => client.readResource(params),
  'prompts/get': (client, params) => client.getPrompt(params),
  'completion/complete': (client, params) => client.complete(params),
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

async function survey(session) {
  let client, end;
  try {
    ({ client, end } = await bounded(connect(session, capabilities, answers(session)), 'connect'));
  } catch (e) {
    return { name: session.name, refused: failure(e) };
  }
  const seen = {
    name: session.name,
    greeting: {
      capabilities: client.getServerCapabilities(),
      serverInfo: client.getServerVersion(),
      instructions: client.getInstructions(),
    },
    steps: [],
  };
  for (const { method, params } of session.steps) {
    const one = lists[method] ? all(client, lists[method])
      : requests[method](client, params, end.options);
    seen.steps.push(await bounded(one, method).then((result) => ({ result }), failure));
  }
  await bounded(end.close(), 'close').catch(() => {});
  return seen;
}

for (const session of JSON.parse(readFileSync(0, 'utf8'))) {
  await write(JSON.stringify(await survey(session)));
}
process.exit(0); // whatever a transport still waits for
