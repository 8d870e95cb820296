// A small MCP server on stdio, as a project may have one: one tool, which tells that it was called. Written by hand, so that it loads nothing.
import { createInterface } from 'node:readline'

const tools = [
  {
    name: 'read',
    description: 'Reads a word.',
    inputSchema: { type: 'object', properties: { word: { type: 'string' } } },
  },
]
const answers = {
  initialize: ({ protocolVersion }) => ({
    protocolVersion,
    capabilities: { tools: {} },
    serverInfo: { name: 'files', version: '1' },
  }),
  'tools/list': () => ({ tools }),
  'tools/call': ({ arguments: { word } }) => ({
    content: [{ type: 'text', text: `read ${word} in ${process.cwd()}` }],
  }),
}
createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method, params } = JSON.parse(line)
  if (id === undefined) return
  const answer = answers[method]
  const said = answer ? { result: answer(params) } : { error: { code: -32601, message: 'Method not found' } }
  process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', id, ...said })}\n`)
})
