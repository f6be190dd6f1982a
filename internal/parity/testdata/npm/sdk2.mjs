// A session with the official TypeScript SDK of the second generation, which finds out by itself
// which era a server speaks. See survey.mjs.
import { Client, SSEClientTransport, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';

export async function connect(session, capabilities, answers) {
  const client = new Client(
    { name: 'typescript-2', version: '1' },
    { capabilities, versionNegotiation: { mode: 'auto' } },
  );
  for (const [method, answer] of Object.entries(answers)) client.setRequestHandler(method, answer);
  const Remote = session.sse ? SSEClientTransport : StreamableHTTPClientTransport;
  const transport = session.url
    ? new Remote(new URL(session.url))
    : new StdioClientTransport({ ...session, stderr: 'ignore' });
  await client.connect(transport);
  const close = async () => {
    await transport.terminateSession?.();
    await client.close();
  };
  return { client, end: { close, options: [] } };
}
