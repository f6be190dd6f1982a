// The official TypeScript SDK, second generation, as a client that knows both eras and is told of neither. See drive.mjs.
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { answers, capabilities, drive, options } from './drive.mjs';

const client = new Client({ name: 'typescript-2', version: '1' }, { capabilities, versionNegotiation: { mode: 'auto' } });
for (const [method, answer] of Object.entries(answers)) client.setRequestHandler(method, answer);
await drive(client, new StreamableHTTPClientTransport(...options),
  (params, options) => client.callTool(params, options));
