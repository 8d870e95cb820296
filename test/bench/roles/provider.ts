// A program that offers actions over the SDK, whose handlers return at once.

import { RelayClient } from '@agent-relay/sdk'
import { Actions } from '@agent-relay/sdk/internal/client'
import { z } from 'zod'
import { serve } from './serve.ts'

export interface ProviderQuestion {
  socketPath: string
  /** So many, `bench.action_0` and on. */
  count: number
}

let actions: Actions | undefined

async function offer({ socketPath, count }: ProviderQuestion): Promise<void> {
  const client = new RelayClient({ agentName: 'provider', socketPath, autoConnect: false })
  await client.connect()
  actions = new Actions(client)
  const inputSchema = z.object({
    proposalId: z.string().describe('The proposal that is voted on'),
    vote: z.enum(['approve', 'request_changes', 'abstain']),
    reason: z.string().optional(),
  })
  const outputSchema = z.object({ recorded: z.boolean() })
  for (let n = 0; n < count; n++) {
    const description = 'Submit a review vote for the current proposal.'
    await actions.register({
      name: `bench.action_${n}`,
      description,
      inputSchema,
      outputSchema,
      handler: () => ({ recorded: true }),
    })
  }
}

serve(offer)
