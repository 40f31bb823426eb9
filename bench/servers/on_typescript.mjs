// The tools on the TypeScript SDK, on node's own HTTP server as its documentation does:
// createMcpHandler, which makes a server per request, behind toNodeHandler.
//
// JSON responses where nothing is streamed; `streams` leaves the choice to the SDK, as
// "json" drops notifications. More subscriptions than by default may be open, for the
// rows with thousands of them.

import { createServer } from 'node:http';
import { parseArgs } from 'node:util';
import { localhostHostValidation, localhostOriginValidation, toNodeHandler } from '@modelcontextprotocol/node';
import { McpServer, createMcpHandler } from '@modelcontextprotocol/server';
import * as z from 'zod/v4';

const CATALOG_SIZE = 200;
const ROOM = 20_000;

const { values } = parseArgs({ options: { port: { type: 'string' }, style: { type: 'string' } } });
const say = (text) => ({ content: [{ type: 'text', text }] });

const PAIR = z.object({ a: z.number(), b: z.number() });
const COUNT = z.object({ count: z.number().int() });
const TEXT = z.object({ text: z.string() });
const SIZE = z.object({ size: z.number().int() });
const NOTHING = z.object({});
const QUERY = z.object({
  query: z.string(),
  limit: z.number().int().default(10),
  exact: z.boolean().default(false),
});

async function sendProgress(context, progress, total) {
  const progressToken = context.mcpReq._meta?.progressToken;
  if (progressToken === undefined) return;
  await context.mcpReq.notify({
    method: 'notifications/progress',
    params: { progressToken, progress, total },
  });
}

function addTools(server) {
  server.registerTool('add', { description: 'Add two numbers.', inputSchema: PAIR }, async ({ a, b }) => say(String(a + b)));
  server.registerTool('report', { description: 'Report progress.', inputSchema: COUNT }, async ({ count }, context) => {
    for (let done = 1; done <= count; done++) await sendProgress(context, done, count);
    return say('done');
  });
  server.registerTool('measure', { description: 'Measure a text.', inputSchema: TEXT }, async ({ text }) => say(String(text.length)));
  server.registerTool('produce', { description: 'Produce a text.', inputSchema: SIZE }, async ({ size }) => say('x'.repeat(size)));
  server.registerTool('wait', { description: 'Wait for nothing.', inputSchema: NOTHING }, async (_, context) => {
    await sendProgress(context, 1);
    return new Promise(() => {});
  });
}

function addCatalog(server) {
  for (let number = 0; number < CATALOG_SIZE; number++) {
    const name = `tool_${String(number).padStart(3, '0')}`;
    server.registerTool(name, { description: 'Find what matches a query.', inputSchema: QUERY }, async ({ query }) => say(query));
  }
}

function makeServer() {
  const server = new McpServer({ name: 'bench', version: '1.0.0' });
  (values.style === 'catalog' ? addCatalog : addTools)(server);
  return server;
}

const handler = createMcpHandler(makeServer, {
  responseMode: values.style === 'streams' ? 'auto' : 'json',
  maxSubscriptions: ROOM,
});
const handle = toNodeHandler(handler);
const validateHost = localhostHostValidation();
const validateOrigin = localhostOriginValidation();

createServer((request, response) => {
  if (!validateHost(request, response) || !validateOrigin(request, response)) return;
  void handle(request, response);
}).listen(Number(values.port), '127.0.0.1', ROOM);
