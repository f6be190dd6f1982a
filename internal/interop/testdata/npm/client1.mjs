// The official TypeScript SDK, first generation, as a client. See drive.mjs.
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { CreateMessageRequestSchema, ElicitRequestSchema, ListRootsRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import { answers, capabilities, drive, options } from './drive.mjs';

const client = new Client({ name: 'typescript-1', version: '1' }, { capabilities });
client.setRequestHandler(CreateMessageRequestSchema, answers['sampling/createMessage']);
client.setRequestHandler(ElicitRequestSchema, answers['elicitation/create']);
client.setRequestHandler(ListRootsRequestSchema, answers['roots/list']);
await drive(client, new StreamableHTTPClientTransport(...options),
  (params, options) => client.callTool(params, undefined, options));
