// A server of the official TypeScript SDK with every feature of the table. The arguments are the
// generation of the SDK, the way it is served (stdio, stateful, stateless) and its era (legacy,
// modern). Over HTTP its first line on standard output is its URL.
import { createServer } from 'node:http';
import { z } from 'zod';

const [generation, way, era] = process.argv.slice(2);
const sdk = await import(`./serve${generation}.mjs`);

const text = (value) => ({ content: [{ type: 'text', text: value }] });
const sleep = (time, signal) => new Promise((done) => {
  const timer = setTimeout(() => done(false), time);
  signal.addEventListener('abort', () => { clearTimeout(timer); done(true); }, { once: true });
});

// State outlives an instance of the server where instances are made for each request.
const newState = () => ({ cancelled: new Set(), grown: new Set(), changed: {} });
const shared = newState();

const questions = {
  ask_form: ['elicitation/create', {
    mode: 'form', message: 'Who?',
    requestedSchema: { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] },
  }, (r) => `${r.action} ${JSON.stringify(r.content)}`],
  ask_url: ['elicitation/create', {
    mode: 'url', message: 'Sign in', url: 'https://example.com/sign-in',
    ...(era === 'legacy' && { elicitationId: 'e1' }),
  }, (r) => r.action],
  ask_model: ['sampling/createMessage', {
    messages: [{ role: 'user', content: { type: 'text', text: 'six by seven' } }], maxTokens: 10,
  }, (r) => `${r.model}: ${r.content.text}`],
  ask_roots: ['roots/list', {}, (r) => r.roots.map((root) => root.uri).join(' ')],
};

// build makes an instance of the server.
function build(state) {
  const server = new sdk.McpServer({ name: 'features', version: '1' }, {
    instructions: 'Call tools.', ...sdk.options,
    capabilities: {
      logging: {}, completions: {}, tools: { listChanged: true }, prompts: {},
      resources: { subscribe: true, listChanged: true }, ...sdk.capabilities,
    },
  });
  const tool = (name, shape, run, more) => server.registerTool(
    name, { description: `Does ${name}.`, inputSchema: sdk.schema(shape), ...more },
    (args, extra) => run(args, sdk.context(extra)),
  );
  const grow = (name) => tool(name, {}, () => text(name));

  tool('echo', { message: z.string() }, ({ message }) => text(message));
  tool('structured', {}, () => ({ ...text('{"degrees":21.5}'), structuredContent: { degrees: 21.5 } }),
    { outputSchema: sdk.schema({ degrees: z.number() }) });
  tool('fail', {}, () => ({ ...text('It failed.'), isError: true }));
  tool('progress', {}, async (_, { token, notify }) => {
    for (const progress of [1, 2, 3]) {
      await notify('notifications/progress', { progressToken: token, progress, total: 3, message: `step ${progress}` });
    }
    return text('done');
  });
  tool('log', {}, async (_, { log }) => {
    await log(server, 'debug', 'a detail');
    await log(server, 'warning', 'a warning');
    return text('logged');
  });
  tool('slow', { key: z.string() }, async ({ key }, { token, notify, signal }) => {
    await notify('notifications/progress', { progressToken: token, progress: 1 });
    if (await sleep(10_000, signal)) shared.cancelled.add(key);
    return text('done');
  });
  tool('cancelled', { key: z.string() }, async ({ key }) => {
    for (let i = 0; i < 80 && !shared.cancelled.has(key); i++) await new Promise((done) => setTimeout(done, 50));
    return text(`${shared.cancelled.has(key)}`);
  });
  tool('touch', { uri: z.string() }, async ({ uri }) => {
    await (state.changed.resource?.(uri) ?? server.server.sendResourceUpdated({ uri }));
    return text('touched');
  });
  const extra = Object.fromEntries([...state.grown].map((name) => [name, grow(name)]));
  tool('grow', { name: z.string() }, async ({ name }) => {
    state.grown.add(name);
    extra[name] = grow(name);
    state.changed.tools?.();
    return text('grown');
  });
  tool('shrink', { name: z.string() }, async ({ name }) => {
    state.grown.delete(name);
    extra[name]?.remove();
    state.changed.tools?.();
    return text('shrunk');
  });
  for (const [name, [method, params, say]] of Object.entries(questions)) {
    tool(name, {}, (_, { ask }) => ask(method, params, (result) => text(say(result))));
  }
  sdk.tasks?.(server, text); // the second generation serves none

  const contents = (uri) => ({ contents: [{ uri: uri.href, mimeType: 'text/plain', text: `contents of ${uri.href}` }] });
  server.registerResource('static', 'test://static', { mimeType: 'text/plain' }, contents);
  server.registerResource('item', new sdk.ResourceTemplate('test://item/{id}', {
    list: undefined, complete: { id: (value) => ['one', 'two', 'three'].filter((id) => id.startsWith(value)) },
  }), {}, contents);
  for (const name of ['first', 'second', 'third']) {
    server.registerPrompt(name, {
      argsSchema: sdk.schema({ city: sdk.completable(z.string(), (value) => ['paris', 'parma', 'rome'].filter((c) => c.startsWith(value))) }),
    }, ({ city }) => ({ messages: [{ role: 'user', content: { type: 'text', text: `${name} ${city}` } }] }));
  }
  sdk.paginate(server);
  sdk.subscribable(server);
  return server;
}

if (way === 'stdio') {
  sdk.stdio(() => build(newState()), era);
} else {
  const handle = await sdk.http(way, era, build, newState, shared);
  const http = createServer(handle);
  http.listen(0, '127.0.0.1', () => console.log(`http://127.0.0.1:${http.address().port}/mcp`));
  process.stdin.on('end', () => process.exit(0)).resume(); // the test has ended
}
