// Makes two calls of a tool that tells its progress and never ends, with the official TypeScript
// client of the first generation: one is cancelled by the client, one ends with an error of mcpd. The
// arguments are a URL, and how long to stay afterwards in milliseconds.
const [url, stay] = process.argv.slice(2);
const { connect } = await import('./sdk1.mjs');

const { client, close } = await connect({ url }, { capabilities: {}, hear: () => {}, timeout: 10000 });
const outcomes = [];
for (const cancels of [true, false]) {
  const abort = new AbortController();
  const onprogress = () => { if (cancels) abort.abort('no more'); };
  try {
    await client.callTool({ name: 'wait', arguments: { text: 'x' } }, undefined, { signal: abort.signal, onprogress, timeout: 30000 });
    outcomes.push('answered');
  } catch (e) {
    outcomes.push(String(e.message ?? e));
  }
}
await new Promise((done) => setTimeout(done, Number(stay)));
const alive = (await client.callTool({ name: 'echo', arguments: { text: 'still here' } })).content[0].text;
await close();
console.log(JSON.stringify([...outcomes, alive]));
