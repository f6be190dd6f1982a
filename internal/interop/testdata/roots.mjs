// A client of the published file server. The arguments are the generation of the SDK, an endpoint and
// the only root of the client. Written are the folders that the server allows at first and in the end,
// as a JSON array. The client ends without ending its session.
const [generation, url, uri] = process.argv.slice(2);
const { connect } = await import(`./sdk${generation}.mjs`);

const { client, call } = await connect({ url }, {
  capabilities: { roots: { listChanged: true } }, answers: { 'roots/list': async () => ({ roots: [{ uri }] }) },
});
const allowed = async () => (await call({ name: 'list_allowed_directories', arguments: {} })).content[0].text;
const seen = [await allowed()];
for (let left = 80; left > 0 && !seen.at(-1).endsWith(uri.slice('file://'.length)); left--) {
  await new Promise((done) => setTimeout(done, 100));
  const next = await allowed();
  if (next !== seen.at(-1)) seen.push(next);
}
process.stdout.write(JSON.stringify(seen), () => process.exit(0));
