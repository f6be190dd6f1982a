// A session with the official TypeScript SDK of the second generation, which finds out by itself
// which era a server speaks, unless the session is to be legacy. It has what sdk1.mjs has.
import {
  Client, ProtocolError, SdkError, SSEClientTransport, StreamableHTTPClientTransport,
} from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';

export async function connect(session, { capabilities, answers = {}, hear, timeout }) {
  const client = new Client(
    { name: 'typescript-2', version: '1' },
    { capabilities, versionNegotiation: { mode: session.legacy ? 'legacy' : 'auto' } },
  );
  for (const [method, answer] of Object.entries(answers)) client.setRequestHandler(method, answer);
  client.onerror = () => {};
  const Remote = session.sse ? SSEClientTransport : StreamableHTTPClientTransport;
  const transport = session.url
    ? new Remote(new URL(session.url), { requestInit: { headers: session.headers } })
    : new StdioClientTransport({ ...session, stderr: 'ignore' });
  transport.onmessage = hear;
  await client.connect(transport, { timeout });
  const revision = client.getNegotiatedProtocolVersion();
  const modern = revision >= '2026-07-28';
  const streams = {}; // of what a session of 2026-07-28 subscribes to, by URI
  return {
    client,
    revision,
    close: async () => {
      await transport.terminateSession?.();
      await client.close();
    },
    call: (params, options) => client.callTool(params, options),
    request: (method, params, options) => client.request({ method, params }, anything, options),
    subscribe: async (params) => {
      if (!modern) return client.subscribeResource(params);
      streams[params.uri] = await client.listen({ resourceSubscriptions: [params.uri] });
      const honored = streams[params.uri].honoredFilter.resourceSubscriptions ?? [];
      if (!honored.includes(params.uri)) throw new Error(`${params.uri} is not watched`);
      return {};
    },
    unsubscribe: async (params) => {
      if (!modern) return client.unsubscribeResource(params);
      await streams[params.uri]?.close();
      return {};
    },
    listen: async () => {
      if (modern) await client.listen({ toolsListChanged: true });
      return {};
    },
  };
}

// anything is the schema of results that the SDK has no schema for.
const anything = { '~standard': { version: 1, vendor: 'mcpd', validate: (value) => ({ value }) } };

// answered also finds the error in a response whose status is not 200.
export const answered = (e) => {
  if (e instanceof ProtocolError) return { code: e.code, message: e.message };
  try {
    const { code, message } = JSON.parse(e.data.text).error;
    return { code, message };
  } catch {
    return undefined;
  }
};

export const late = (e) => e instanceof SdkError && e.code === 'REQUEST_TIMEOUT';
