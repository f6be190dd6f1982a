// A session with the official TypeScript SDK of the first generation. See npm.go.
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { SSEClientTransport } from '@modelcontextprotocol/sdk/client/sse.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import {
  CreateMessageRequestSchema, ElicitRequestSchema, ListRootsRequestSchema, McpError, ResultSchema,
} from '@modelcontextprotocol/sdk/types.js';

const schemas = {
  'sampling/createMessage': CreateMessageRequestSchema,
  'elicitation/create': ElicitRequestSchema,
  'roots/list': ListRootsRequestSchema,
};

// connect opens a session: with a program (command, args, env, cwd) or at a URL. Answers are what
// the client says when it is asked, by method. Hear gets each message that comes in.
export async function connect(session, { capabilities, answers = {}, hear, timeout }) {
  const client = new Client({ name: 'typescript-1', version: '1' }, { capabilities });
  for (const [method, answer] of Object.entries(answers)) {
    client.setRequestHandler(schemas[method], answer);
  }
  client.onerror = () => {}; // what it means is seen in the outcome
  const Remote = session.sse ? SSEClientTransport : StreamableHTTPClientTransport;
  const transport = session.url
    ? new Remote(new URL(session.url), { requestInit: { headers: session.headers } })
    : new StdioClientTransport({ ...session, stderr: 'ignore' });
  transport.onmessage = hear;
  await client.connect(transport, { timeout });
  return {
    client,
    revision: transport.protocolVersion,
    close: async () => {
      await transport.terminateSession?.(); // HTTP+SSE has none
      await client.close();
    },
    call: (params, options) => client.callTool(params, undefined, options),
    request: (method, params, options) => client.request({ method, params }, ResultSchema, options),
    subscribe: (params) => client.subscribeResource(params),
    unsubscribe: (params) => client.unsubscribeResource(params),
    listen: async () => ({}), // every session of this generation hears that lists change
  };
}

// answered is what the server's error says, or nothing for an error of the client itself.
export const answered = (e) => {
  if (!(e instanceof McpError) || ['Request timed out', 'Connection closed'].includes(said(e))) return undefined;
  return { code: e.code, message: said(e) };
};

const said = (e) => e.message.replace(`MCP error ${e.code}: `, '');

// late says that an answer did not come in time.
export const late = (e) => e instanceof McpError && said(e) === 'Request timed out';
