// The official TypeScript SDK, first generation, as a client. See drive.mjs.
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { SSEClientTransport } from '@modelcontextprotocol/sdk/client/sse.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { CreateMessageRequestSchema, ElicitRequestSchema, ListRootsRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import { answers, capabilities, drive, options } from './drive.mjs';

const client = new Client({ name: 'typescript-1', version: '1' }, { capabilities });
client.setRequestHandler(CreateMessageRequestSchema, answers['sampling/createMessage']);
client.setRequestHandler(ElicitRequestSchema, answers['elicitation/create']);
client.setRequestHandler(ListRootsRequestSchema, answers['roots/list']);
const Transport = options[0].pathname.endsWith('/sse') ? SSEClientTransport : StreamableHTTPClientTransport;
await drive(client, new Transport(...options),
  (params, options) => client.callTool(params, undefined, options));
