// The official TypeScript client, first generation, for the corpus of odd servers. The argument is a
// file with jobs, each a session and what is asked there; see odd_client_test.go. The outcomes are
// written to standard output as one JSON object by job.
import { readFileSync } from 'node:fs';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { SSEClientTransport } from '@modelcontextprotocol/sdk/client/sse.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { McpError, ResultSchema } from '@modelcontextprotocol/sdk/types.js';

const { timeout, jobs } = JSON.parse(readFileSync(process.argv[2]));
const width = 8; // sessions at once

const transport = ({ url, sse, command, env }) => {
  if (command) return new StdioClientTransport({ command, env: { ...process.env, ...env }, stderr: 'ignore' });
  return sse ? new SSEClientTransport(new URL(url)) : new StreamableHTTPClientTransport(new URL(url));
};

const methods = {
  'tools/list': (c, p, o) => c.listTools(p, o),
  'tools/call': (c, p, o) => c.callTool(p, undefined, o),
  'prompts/list': (c, p, o) => c.listPrompts(p, o),
  'prompts/get': (c, p, o) => c.getPrompt(p, o),
  'resources/list': (c, p, o) => c.listResources(p, o),
  'resources/templates/list': (c, p, o) => c.listResourceTemplates(p, o),
  'resources/read': (c, p, o) => c.readResource(p, o),
  'completion/complete': (c, p, o) => c.complete(p, o),
  'initialize': async (c) => ({ serverInfo: c.getServerVersion(), instructions: c.getInstructions() }),
};

const failed = (e) => {
  if (!(e instanceof McpError)) return { Failed: 'rejects the answer' };
  const Message = e.message.replace(`MCP error ${e.code}: `, '');
  if (Message === 'Request timed out') return { Failed: 'no answer' };
  if (Message === 'Connection closed') return { Failed: 'rejects the answer' };
  return { Code: e.code, Message };
};

// starting is whether a list of many servers lacks some that have only been started by this client.
const starting = (result) => JSON.stringify(result._meta?.['mcpd/incomplete'] ?? '').includes('it has not listed anything yet');

async function ask(client, heard, { method, params }) {
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
    await client.notification({ method: notify[1], params });
    return { Result: 'sent' };
  }
  try {
    const call = methods[method] ?? ((c, p, o) => c.request({ method, params: p }, ResultSchema, o));
    for (const until = Date.now() + timeout; ;) {
      const Result = await call(client, params, { timeout });
      if (Date.now() > until || !starting(Result)) return { Result };
      await new Promise((done) => setTimeout(done, 200));
    }
  } catch (e) {
    return failed(e);
  }
}

async function work({ target, asks, capabilities = {} }) {
  const client = new Client({ name: 'odd-typescript', version: '1' }, { capabilities });
  const heard = [];
  client.fallbackNotificationHandler = async (n) => { heard.push(n.method); };
  client.onerror = () => {}; // what it means is seen in the outcome
  try {
    await client.connect(transport(target), { timeout: 2 * timeout });
  } catch (e) {
    return asks.map(() => ({ Failed: 'cannot connect' }));
  }
  const outcomes = [];
  for (let a of asks) {
    if (a.method === 'follow') { // the first URI of a resource in the last result, in alphabetical order
      const uris = JSON.stringify(outcomes.at(-1)).match(/(ui|mcpd|test|skill):\/\/[^"]+/g) ?? [];
      a = { method: 'resources/read', params: { uri: uris.sort()[0] ?? '~none' } };
    }
    outcomes.push(await ask(client, heard, a));
  }
  await client.close().catch(() => {});
  return outcomes;
}

const seen = {};
const queue = [...jobs];
await Promise.all(Array.from({ length: width }, async () => {
  for (let job; (job = queue.shift());) seen[job.id] = await work(job);
}));
process.stdout.write(JSON.stringify(seen), () => process.exit(0)); // a pipe takes a part at a time
