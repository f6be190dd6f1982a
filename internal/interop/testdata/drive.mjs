// Drives an official TypeScript client. The arguments are the generation of the SDK, an endpoint, its key ("" for none) and a JSON array
// of the params of tool calls. What the client saw is written to standard output as one JSON object.
const [generation, url, key, calls] = process.argv.slice(2);
const { connect } = await import(`./sdk${generation}.mjs`);

const answers = {
  'sampling/createMessage': async (r) => ({
    role: 'assistant', model: 'm', content: { type: 'text', text: `sampled: ${JSON.stringify(r.params.messages)}` },
  }),
  'elicitation/create': async () => ({ action: 'accept', content: { name: 'ann', check: true } }),
  'roots/list': async () => ({ roots: [{ uri: 'file:///interop', name: 'interop' }] }),
};

const session = { url, sse: url.endsWith('/sse'), headers: key ? { Authorization: `Bearer ${key}` } : undefined };
const { client, revision, call, close } = await connect(session,
  { capabilities: { sampling: {}, elicitation: {}, roots: { listChanged: true } }, answers });
const progress = [];
const seen = {
  revision, server: client.getServerVersion(), capabilities: client.getServerCapabilities(), instructions: client.getInstructions(),
  tools: (await client.listTools()).tools.map((t) => t.name), results: [],
};
for (const params of JSON.parse(calls)) {
  seen.results.push(await call(params, { onprogress: (p) => progress.push(p) }));
}
if (seen.capabilities.prompts) seen.prompts = (await client.listPrompts()).prompts.map((p) => p.name);
if (seen.capabilities.resources) seen.resources = (await client.listResources()).resources.map((r) => r.uri);
seen.progress = progress.filter((p) => p.total).length; // the second generation reports by itself that it asks its user
await close();
console.log(JSON.stringify(seen));
