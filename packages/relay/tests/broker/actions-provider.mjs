// A program that offers one action which never answers, until somebody ends the program. Says "ready" when it is offered.

import { RelayClient } from '@agent-relay/sdk'
import { Actions } from '@agent-relay/sdk/internal/client'
import { z } from 'zod'

const [socketPath, agentName] = process.argv.slice(2)
const client = new RelayClient({ agentName, socketPath, autoConnect: false })
await client.connect()
await new Actions(client).register({
  name: 'slow.work',
  description: 'Begins, and never ends.',
  inputSchema: z.object({}),
  handler: () => new Promise(() => {}),
})
process.stdout.write('ready\n')
