// Drives the official TypeScript client:
//
//     node drive_typescript.mjs MODE URL
//     node drive_typescript.mjs MODE COMMAND ARGUMENT...
//
// MODE is one of pinned, auto and legacy. The server is at the URL, or is started by the
// command and spoken to over stdio. Takes the steps of `tests.clients.steps`, and prints a
// line of JSON for each: what it found, or why the step failed.

import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';

const NOTE = 'note://today';
const SECONDS = 40; // for a step; a guard against hanging, not a measure
const MODES = { pinned: { pin: '2026-07-28' }, auto: 'auto', legacy: 'legacy' };

const [mode, server, ...args] = process.argv.slice(2);
const overHttp = server.startsWith('http://');
const old = mode === 'legacy';
const heard = { logs: [], changes: [] };

function say(said) {
  process.stdout.write(JSON.stringify(said) + '\n');
}

// A step that takes too long is the last: those behind it would most likely hang as well.
async function take(step, act) {
  const timer = setTimeout(() => {
    say({ step, failed: `not over after ${SECONDS} s` });
    process.exitCode = 1;
    process.stdout.write('', () => process.exit());
  }, SECONDS * 1000);
  try {
    const found = await act();
    say({ step, found });
    return true;
  } catch (error) {
    say({ step, failed: String(error) });
    return false;
  } finally {
    clearTimeout(timer);
  }
}

const pause = () => new Promise((resolve) => setTimeout(resolve, 50));

const transport = overHttp
  ? new StreamableHTTPClientTransport(new URL(server))
  : new StdioClientTransport({ command: server, args });
const client = new Client(
  { name: 'genmcp-clients', version: '1.0.0' },
  {
    versionNegotiation: { mode: MODES[mode] },
    capabilities: { elicitation: {}, sampling: {}, roots: {} },
  },
);

client.setRequestHandler('elicitation/create', async (request) => {
  const name = request.params.message.startsWith('First') ? 'Ada' : 'Lovelace';
  return { action: 'accept', content: { name } };
});
client.setRequestHandler('sampling/createMessage', async () => ({
  role: 'assistant',
  content: { type: 'text', text: 'Paris' },
  model: 'm',
}));
client.setRequestHandler('roots/list', async () => ({ roots: [{ uri: 'file:///home/ada' }] }));
client.setNotificationHandler('notifications/message', ({ params }) => {
  heard.logs.push([params.level, params.data]);
});
client.setNotificationHandler('notifications/resources/updated', ({ params }) => {
  heard.changes.push(params.uri);
});

async function callForText(name, options) {
  const result = await client.callTool({ name, arguments: {} }, options);
  return result.content[0].text;
}

async function listTools() {
  const names = [];
  let cursor;
  do {
    const page = await client.listTools(cursor === undefined ? undefined : { cursor });
    names.push(...page.tools.map((tool) => tool.name));
    cursor = page.nextCursor;
  } while (cursor !== undefined);
  return names.sort();
}

async function hearProgress() {
  const steps = [];
  await callForText('work', {
    onprogress: ({ progress, total, message }) => steps.push([progress, total, message]),
  });
  return steps;
}

async function hearLogs() {
  heard.logs.length = 0;
  const params = { name: 'work', arguments: {} };
  if (old) {
    await client.setLoggingLevel('info');
  } else {
    params._meta = { 'io.modelcontextprotocol/logLevel': 'info' };
  }
  await client.callTool(params);
  return heard.logs;
}

async function hearChange() {
  const subscription = old ? undefined : await client.listen({ resourceSubscriptions: [NOTE] });
  if (old) {
    await client.subscribeResource({ uri: NOTE });
  }
  // With a session, the stream that tells of it is opened beside all else, and may not be
  // there yet.
  while (heard.changes.length === 0) {
    await callForText('change');
    await pause();
  }
  await (old ? client.unsubscribeResource({ uri: NOTE }) : subscription.close());
  return heard.changes[0];
}

async function cancel() {
  const controller = new AbortController();
  const call = callForText('hang', {
    signal: controller.signal,
    onprogress: () => controller.abort(new Error('enough')),
  });
  const ended = await call.then(() => 'answered', () => 'cancelled');
  if (ended !== 'cancelled') {
    throw new Error('it was answered');
  }
  let count;
  while ((count = await callForText('count')) === '0') {
    await pause();
  }
  return count;
}

async function open() {
  await client.connect(transport);
  return { version: client.getNegotiatedProtocolVersion(), server: client.getServerVersion()?.name };
}

if (await take('opens', open)) {
  await take('lists the tools', listTools);
  await take('calls', async () => (await client.callTool({ name: 'add', arguments: { a: 2, b: 3 } })).structuredContent);
  await take('is told what is wrong', async () => (await client.callTool({ name: 'add', arguments: { a: 2 } })).isError);
  // This client looks at a response at once and at a notification a moment later. Progress
  // that comes in one piece with the response, as over stdio, has no listener by then. That
  // it is heard of while the call lasts shows where it cancels: progress is what tells it to.
  if (overHttp) {
    await take('hears of progress', hearProgress);
  }
  await take('hears what is logged', hearLogs);
  await take('is asked by form', () => callForText('greet'));
  await take('is asked for its model', () => callForText('think'));
  await take('is asked for its folders', () => callForText('look'));
  await take('reads', async () => (await client.readResource({ uri: NOTE })).contents[0].text);
  await take('gets a prompt', async () => (await client.getPrompt({ name: 'hail', arguments: { who: 'Ada' } })).messages[0].content.text);
  await take('completes', async () => {
    const ref = { type: 'ref/prompt', name: 'hail' };
    return (await client.complete({ ref, argument: { name: 'who', value: '' } })).completion.values;
  });
  await take('hears of a change', hearChange);
  await take('cancels', cancel);
  if (old) {
    await take('pings', async () => { await client.ping(); return true; });
  }
  if (old && overHttp) {
    // Closing does not end the session with this client, so it is asked to.
    const session = transport.sessionId;
    await take('ends its session', async () => {
      await transport.terminateSession();
      const headers = {
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        'mcp-session-id': session,
      };
      const body = JSON.stringify({ jsonrpc: '2.0', id: 'again', method: 'ping' });
      return (await fetch(server, { method: 'POST', headers, body })).status;
    });
  }
}
await take('closes', async () => { await client.close(); return true; });
