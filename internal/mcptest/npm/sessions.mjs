// Holds sessions of an official TypeScript client, and drives them. The argument is the generation
// of the SDK. Each line of standard input is a request {id, do, session, …}, each line of standard
// output its outcome {id, value} or {id, error, broken}. See sessions.go.
import { createInterface } from 'node:readline';

const write = (o) => process.stdout.write(`${JSON.stringify(o)}\n`);
console.log = console.info = console.debug = console.error; // the SDKs write there too
process.on('unhandledRejection', (e) => console.error('unhandled', e));

const generation = process.argv[2];
const { connect } = await import(`./sdk${generation}.mjs`);
const sessions = new Map();

const handle = {
  open: async ({ session, way, mute, timeout }) => {
    const heard = [];
    const open = await connect(way, {
      capabilities: mute ? {} : { elicitation: {}, sampling: {} },
      answers: mute ? {} : { 'elicitation/create': () => new Promise(() => {}) }, // a user who never answers
      hear: (m) => m.method && heard.push(m.method),
      timeout,
    });
    sessions.set(session, { ...open, heard });
    return open.revision ?? ''; // not every transport says
  },
  call: async ({ session, params, timeout }) => {
    const result = await sessions.get(session).call(params, { timeout });
    return result.content.map((c) => c.text ?? '').join('\n');
  },
  list: async ({ session, timeout }) => {
    const { tools } = await sessions.get(session).client.listTools(undefined, { timeout });
    return tools.map((t) => t.name);
  },
  subscribe: async ({ session, params }) => { await sessions.get(session).subscribe(params); },
  heard: async ({ session }) => sessions.get(session).heard.splice(0), // once each
  close: async ({ session }) => {
    const open = sessions.get(session);
    sessions.delete(session);
    await open?.close().catch(() => open.client.close());
  },
};

// said has the cause too: where a request has failed, fetch says nothing else.
const said = (e) => `${e}${e.cause ? `: ${e.cause}` : ''}`;
const answered = ({ code, message, data }) => (typeof code === 'number' ? { code, message, data } : undefined);

for await (const line of createInterface({ input: process.stdin })) {
  const request = JSON.parse(line);
  handle[request.do](request).then(
    (value) => write({ id: request.id, value }),
    (e) => write({ id: request.id, error: answered(e), broken: said(e) }),
  );
}
