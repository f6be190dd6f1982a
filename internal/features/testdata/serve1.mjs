// What server.mjs needs of the first generation of the SDK.
import { InMemoryTaskStore } from '@modelcontextprotocol/sdk/experimental/tasks';
import { completable } from '@modelcontextprotocol/sdk/server/completable.js';
import { McpServer, ResourceTemplate } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import {
  ListPromptsRequestSchema, ResultSchema, SubscribeRequestSchema, UnsubscribeRequestSchema,
} from '@modelcontextprotocol/sdk/types.js';
import { page, sessions } from './pages.mjs';

export { completable, McpServer, ResourceTemplate };
export const capabilities = { tasks: { list: {}, cancel: {}, requests: { tools: { call: {} } } } };
export const options = { taskStore: new InMemoryTaskStore() }; // outlives instances of the server
export const schema = (shape) => shape;

// context is what a handler is given, in the words of server.mjs.
export const context = (extra) => ({
  token: extra._meta?.progressToken,
  signal: extra.signal,
  notify: (method, params) => extra.sendNotification({ method, params }),
  log: (server, level, data) => server.server.sendLoggingMessage({ level, data, logger: 'features' }, extra.sessionId),
  ask: async (method, params, say) => say(await extra.sendRequest({ method, params }, ResultSchema)),
});

// tasks adds the tool later, which may be called as a task.
export const tasks = (server, text) => server.experimental.tasks.registerToolTask('later', {
  description: 'Does later.', execution: { taskSupport: 'optional' },
}, {
  createTask: async ({ taskStore, taskRequestedTtl }) => {
    const task = await taskStore.createTask({ ttl: taskRequestedTtl, pollInterval: 20 });
    const done = () => taskStore.storeTaskResult(task.taskId, 'completed', text('done later'));
    setTimeout(() => done().catch(() => {}), 20); // it also tells the request, which is over without a session
    return { task };
  },
  getTask: ({ taskId, taskStore }) => taskStore.getTask(taskId),
  getTaskResult: ({ taskId, taskStore }) => taskStore.getTaskResult(taskId),
});

export const paginate = (server) => {
  const handler = server.server._requestHandlers.get('prompts/list');
  server.server.setRequestHandler(ListPromptsRequestSchema, async (request, extra) => page(await handler(request, extra), request.params));
};

export const subscribable = (server) => {
  server.server.setRequestHandler(SubscribeRequestSchema, async () => ({}));
  server.server.setRequestHandler(UnsubscribeRequestSchema, async () => ({}));
};

export const stdio = (make) => make().connect(new StdioServerTransport());

export const http = async (way, era, build, newState, shared) => {
  const transport = (options) => new StreamableHTTPServerTransport(options);
  if (way === 'stateful') return sessions(transport, () => build(newState()));
  return async (request, response) => {
    if (request.method !== 'POST') return response.writeHead(405).end();
    const one = transport({ sessionIdGenerator: undefined });
    const server = build(shared);
    response.on('close', () => server.close());
    await server.connect(one);
    return one.handleRequest(request, response);
  };
};
