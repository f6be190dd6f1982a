// What both clients do. The arguments are an endpoint, its key ("" for none) and a JSON array of the params of tool calls. What the
// client saw is written to standard output as one JSON object.
const [url, key, calls] = process.argv.slice(2);

export const options = [new URL(url), key ? { requestInit: { headers: { Authorization: `Bearer ${key}` } } } : {}];

export const capabilities = { sampling: {}, elicitation: {}, roots: { listChanged: true } };

export const answers = {
  'sampling/createMessage': async (r) => ({
    role: 'assistant', model: 'm', content: { type: 'text', text: `sampled: ${JSON.stringify(r.params.messages)}` },
  }),
  'elicitation/create': async () => ({ action: 'accept', content: { name: 'ann', check: true } }),
  'roots/list': async () => ({ roots: [{ uri: 'file:///interop', name: 'interop' }] }),
};

// call is the one method that the two generations have with different parameters.
export async function drive(client, transport, call) {
  const progress = [];
  await client.connect(transport);
  const seen = {
    revision: client.getNegotiatedProtocolVersion?.() ?? transport.protocolVersion,
    server: client.getServerVersion(), capabilities: client.getServerCapabilities(), instructions: client.getInstructions(),
    tools: (await client.listTools()).tools.map((t) => t.name), results: [],
  };
  for (const params of JSON.parse(calls)) {
    seen.results.push(await call(params, { onprogress: (p) => progress.push(p) }));
  }
  if (seen.capabilities.prompts) seen.prompts = (await client.listPrompts()).prompts.map((p) => p.name);
  if (seen.capabilities.resources) seen.resources = (await client.listResources()).resources.map((r) => r.uri);
  seen.progress = progress.filter((p) => p.total).length; // the second generation reports by itself that it asks its user
  await transport.terminateSession?.(); // HTTP+SSE has none
  await client.close();
  console.log(JSON.stringify(seen));
}
