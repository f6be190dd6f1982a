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

// dialog answers a question when the test does, be the question withdrawn by then or not.
const dialog = (questions, result) => () => new Promise((answer) => {
  questions.push((text) => answer(result(text)));
});

const handle = {
  open: async ({ session, way, mute, timeout }) => {
    const heard = [];
    const logged = [];
    const questions = [];
    const open = await connect(way, {
      capabilities: mute ? {} : { elicitation: {}, sampling: {} },
      answers: mute ? {} : {
        'elicitation/create': dialog(questions, (name) => ({ action: 'accept', content: { name } })),
        'sampling/createMessage': dialog(questions, (text) => (
          { role: 'assistant', model: 'm', content: { type: 'text', text } })),
      },
      hear: (m) => {
        if (m.method) heard.push(m.method);
        if (m.method === 'notifications/message') logged.push(m.params.data);
      },
      timeout,
    });
    sessions.set(session, { ...open, heard, logged, questions });
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
  level: async ({ session, level }) => { await sessions.get(session).client.setLoggingLevel(level); },
  heard: async ({ session }) => sessions.get(session).heard.splice(0), // once each
  logged: async ({ session }) => sessions.get(session).logged.splice(0), // once each
  asked: async ({ session }) => sessions.get(session).questions.length,
  answer: async ({ session, text }) => { sessions.get(session).questions.shift()(text); }, // the oldest
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
