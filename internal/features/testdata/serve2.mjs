// What server.mjs needs of the second generation of the SDK.
import { NodeStreamableHTTPServerTransport, toNodeHandler } from '@modelcontextprotocol/node';
import { completable, createMcpHandler, inputRequired, McpServer, ResourceTemplate } from '@modelcontextprotocol/server';
import { serveStdio, StdioServerTransport } from '@modelcontextprotocol/server/stdio';
import { z } from 'zod';
import { page, sessions } from './pages.mjs';

export { completable, McpServer, ResourceTemplate };
export const capabilities = {};
export const schema = (shape) => z.object(shape);

export const context = ({ mcpReq }) => ({
  token: mcpReq._meta?.progressToken,
  signal: mcpReq.signal,
  notify: (method, params) => mcpReq.notify({ method, params }),
  log: (server, level, data) => mcpReq.log(level, data, 'features'),
  ask: (method, params, say) => {
    const answer = mcpReq.inputResponses?.it;
    return answer ? say(answer) : inputRequired({ inputRequests: { it: { method, params } } });
  },
});

export const paginate = (server) => {
  const handler = server.server._requestHandlers.get('prompts/list');
  server.server.setRequestHandler('prompts/list', async (request, extra) => page(await handler(request, extra), request.params));
};

export const subscribable = (server) => {
  server.server.setRequestHandler('resources/subscribe', async () => ({}));
  server.server.setRequestHandler('resources/unsubscribe', async () => ({}));
};

export const stdio = (make, era) => era === 'modern'
  ? serveStdio(make, { legacy: 'reject' })
  : make().connect(new StdioServerTransport());

export const http = async (way, era, build, newState, shared) => {
  if (way === 'stateful') return sessions((options) => new NodeStreamableHTTPServerTransport(options), () => build(newState()));
  const handler = createMcpHandler(() => build(shared), era === 'modern' ? { legacy: 'reject' } : {});
  if (era === 'modern') {
    shared.changed.tools = () => handler.notify.toolsChanged();
    shared.changed.resource = async (uri) => handler.notify.resourceUpdated(uri);
  }
  return toNodeHandler(handler);
};
