// What both generations of the SDK leave to the author of a server: pages of a list, and the
// sessions of stateful Streamable HTTP.
import { randomUUID } from 'node:crypto';

// page is one item of a list at a time, by the name of the item.
export const page = ({ prompts, ...rest }, params) => {
  const at = Number(params?.cursor ?? 0);
  const next = at + 1 < prompts.length ? { nextCursor: String(at + 1) } : {};
  return { ...rest, prompts: prompts.slice(at, at + 1), ...next };
};

// sessions answers requests with one instance of the server for each session.
export const sessions = (transport, make) => {
  const open = new Map();
  return async (request, response) => {
    let one = open.get(request.headers['mcp-session-id']);
    if (!one && request.headers['mcp-session-id']) return response.writeHead(404).end();
    if (!one) {
      one = transport({
        sessionIdGenerator: randomUUID,
        onsessioninitialized: (id) => { open.set(id, one); },
        onsessionclosed: (id) => { open.delete(id); },
      });
      await make().connect(one);
    }
    return one.handleRequest(request, response);
  };
};
