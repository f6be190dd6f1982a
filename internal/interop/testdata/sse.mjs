// A client of HTTP+SSE with the official TypeScript client of the first generation, which goes on over
// whatever happens to its stream. The arguments are a URL and the prefix of the tools. For each line of
// standard input it makes a call: "echo TEXT" waits for the answer, "start TEXT" does not, "end" ends
// it. Each outcome, and each notification, is a line of standard output.
import { createInterface } from 'node:readline';
const [url, prefix] = process.argv.slice(2);
const { connect } = await import('./sdk1.mjs');

const say = (line) => console.log(line);
const { client, close } = await connect({ url, sse: true }, {
  capabilities: {}, hear: (n) => say(`heard ${n.method} ${n.params?.data ?? ''}`), timeout: 20000,
});
client.onerror = () => {}; // one for each time that the stream is lost
say('ready');
const call = async (name, text) => {
  try {
    const result = await client.callTool({ name: prefix + name, arguments: { text, message: text } }, undefined, { timeout: 20000, onprogress: () => {} });
    return `${name} ${result.isError ? 'error ' : ''}${result.content[0].text}`;
  } catch (e) {
    return `${name} failed ${e.message}`;
  }
};
for await (const line of createInterface({ input: process.stdin })) {
  const [verb, name, text] = line.split(' ');
  if (verb === 'end') break;
  const outcome = call(name, text).then(say);
  if (verb === 'call') await outcome;
  else say('started');
}
await close();
process.exit(0);
