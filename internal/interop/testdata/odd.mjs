// An official TypeScript client for the corpus of odd servers. The argument is the generation of the
// SDK. Standard input has the jobs, each a session and what is asked there; see odd_client_test.go.
// The outcomes are written to standard output as one JSON object by job.
import { json } from 'node:stream/consumers';

const { connect, answered, late } = await import(`./sdk${process.argv[2]}.mjs`);
const { timeout, pause, width, jobs } = await json(process.stdin);
console.debug = console.error; // standard output is for the outcomes

const methods = {
  'tools/list': ({ client }, p, o) => client.listTools(p, o),
  'tools/call': ({ call }, p, o) => call(p, o),
  'prompts/list': ({ client }, p, o) => client.listPrompts(p, o),
  'prompts/get': ({ client }, p, o) => client.getPrompt(p, o),
  'resources/list': ({ client }, p, o) => client.listResources(p, o),
  'resources/templates/list': ({ client }, p, o) => client.listResourceTemplates(p, o),
  'resources/read': ({ client }, p, o) => client.readResource(p, o),
  'completion/complete': ({ client }, p, o) => client.complete(p, o),
  'experimental': async ({ client: c }) => c.getServerCapabilities().experimental,
  'initialize': async ({ client: c }) => ({ serverInfo: c.getServerVersion(), instructions: c.getInstructions() }),
};

const failed = (e) => {
  const { code: Code, message: Message } = answered(e) ?? {};
  return Code === undefined ? { Failed: late(e) ? 'no answer' : 'rejects the answer' } : { Code, Message };
};

// starting is whether a list of many servers lacks some that have only been started by this client.
const starting = (result) => JSON.stringify(result._meta?.['mcpd/incomplete'] ?? '').includes('it has not listed anything yet');

async function ask(session, heard, { method, params }) {
  if (method === 'pause') {
    await new Promise((done) => setTimeout(done, pause));
    return { Result: 'paused' };
  }
  const await_ = /^await (.*)/.exec(method);
  if (await_) {
    for (let left = timeout; left > 0; left -= 20) {
      const at = heard.indexOf(await_[1]);
      if (at >= 0) { heard.splice(0, at + 1); return { Result: 'notified' }; }
      await new Promise((done) => setTimeout(done, 20));
    }
    return { Failed: 'no answer' };
  }
  const notify = /^notify (.*)/.exec(method);
  if (notify) {
    await session.client.notification({ method: notify[1], params });
    return { Result: 'sent' };
  }
  try {
    const call = methods[method] ?? ((s, p, o) => s.request(method, p, o));
    for (const until = Date.now() + timeout; ;) {
      const Result = await call(session, params, { timeout });
      if (Date.now() > until || !starting(Result)) return { Result };
      await new Promise((done) => setTimeout(done, 200));
    }
  } catch (e) {
    return failed(e);
  }
}

async function work({ target, asks, capabilities = {} }) {
  const heard = [];
  const hear = (m) => { if (m.method && m.id === undefined) heard.push(m.method); };
  let session;
  try {
    session = await connect(target, { capabilities, hear, timeout: 2 * timeout });
  } catch (e) {
    return asks.map(() => ({ Failed: 'cannot connect' }));
  }
  const outcomes = [];
  for (let a of asks) {
    if (a.method === 'follow') { // the first URI of a resource in the last result, in alphabetical order
      const uris = JSON.stringify(outcomes.at(-1)).match(/(ui|mcpd|test|skill):\/\/[^"]+/g) ?? [];
      a = { method: 'resources/read', params: { uri: uris.sort()[0] ?? '~none' } };
    }
    outcomes.push(await ask(session, heard, a));
  }
  await session.client.close().catch(() => {});
  return outcomes;
}

const seen = {};
for (const queue of jobs) { // one after the other, so many sessions at once
  await Promise.all(Array.from({ length: width }, async () => {
    for (let job; (job = queue.shift());) seen[job.id] = await work(job);
  }));
}
process.stdout.write(JSON.stringify(seen), () => process.exit(0)); // a pipe takes a part at a time
