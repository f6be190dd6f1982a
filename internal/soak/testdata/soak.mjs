// Holds sessions of an official TypeScript client. The argument is the generation of the SDK. Each
// line of standard input is a request {id, do, session, …}, each line of standard output its
// outcome {id, text} or {id, error, broken, late}.
import { createInterface } from 'node:readline';

const write = (o) => process.stdout.write(`${JSON.stringify(o)}\n`);
console.log = console.info = console.debug = console.error; // the SDKs write there too
process.on('unhandledRejection', (e) => console.error('unhandled', e));

const generation = process.argv[2];
const { connect, late } = await import(`./sdk${generation}.mjs`);
const sessions = new Map();

const handle = {
  open: async ({ session, url, headers, timeout }) => {
    sessions.set(session, await connect({ url, headers }, { capabilities: {}, timeout }));
    return '';
  },
  call: async ({ session, params, timeout }) => {
    const result = await sessions.get(session).call(params, { timeout });
    return result.content.map((c) => c.text ?? '').join('\n');
  },
  close: async ({ session }) => {
    const open = sessions.get(session);
    sessions.delete(session);
    // The host may be gone: the end of the session is asked for, that of its streams is ours.
    await open?.close().catch(() => open.client.close());
    return '';
  },
};

// answered is the error of JSON-RPC that the server sent, be it in the body of an HTTP error.
const answered = (e) => {
  if (late(e)) return undefined;
  for (const text of [e.data?.text, e.message]) {
    try {
      const { code, message, data } = JSON.parse(text.slice(text.indexOf('{'))).error;
      return { code, message, data };
    } catch { /* it holds none */ }
  }
  const local = generation === '1' ? e.message.includes('Connection closed') : e.constructor.name !== 'ProtocolError';
  return typeof e.code === 'number' && e.constructor.name.match(/^(Mcp|Protocol)Error$/) && !local
    ? { code: e.code, message: e.message, data: e.data } : undefined;
};

for await (const line of createInterface({ input: process.stdin })) {
  const request = JSON.parse(line);
  handle[request.do](request).then(
    (text) => write({ id: request.id, text }),
    (e) => write({ id: request.id, error: answered(e), broken: `${e} ${e?.cause ?? ''}`, late: late(e) }),
  );
}
