// A session with the official TypeScript SDK of the first generation. See survey.mjs.
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { SSEClientTransport } from '@modelcontextprotocol/sdk/client/sse.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import {
  CreateMessageRequestSchema, ElicitRequestSchema, ListRootsRequestSchema,
} from '@modelcontextprotocol/sdk/types.js';

const schemas = {
  'sampling/createMessage': CreateMessageRequestSchema,
  'elicitation/create': ElicitRequestSchema,
  'roots/list': ListRootsRequestSchema,
};

export async function connect(session, capabilities, answers) {
  const client = new Client({ name: 'typescript-1', version: '1' }, { capabilities });
  for (const [method, answer] of Object.entries(answers)) {
    client.setRequestHandler(schemas[method], answer);
  }
  const Remote = session.sse ? SSEClientTransport : StreamableHTTPClientTransport;
  const transport = session.url
    ? new Remote(new URL(session.url))
    : new StdioClientTransport({ ...session, stderr: 'ignore' });
  await client.connect(transport);
  const close = async () => {
    await transport.terminateSession?.();
    await client.close();
  };
  return { client, end: { close, options: [undefined] } };
}
