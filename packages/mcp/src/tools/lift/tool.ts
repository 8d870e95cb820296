// What the tools of toolset `lift` share: the caller says its role, and the text is the result as JSON, as hosts without structured results need it.

import { z } from 'zod'
import type { ToolClient } from '../../client.ts'
import { type Tool, tool } from '../tool.ts'

type Common = 'name' | 'title' | 'description' | 'input' | 'output' | 'hints' | 'showsInbox'

interface Definition<I, O> extends Pick<Tool<I, O>, Common> {
  role(input: I): string
  run(client: ToolClient, input: I): Promise<O>
}

export const roleInput = z.string().min(1).describe('Your role')

export function liftTool<I, O>({ run, ...rest }: Definition<I, O>): Tool {
  return tool({
    ...rest,
    // Nobody is named but by the role.
    isForAnyone: true,
    isJson: true,
    // The kickoff names them: they must be there when it comes.
    isPinned: true,
    run: async (client, input: I) => {
      const structured = await run(client, input)
      return { text: JSON.stringify(structured), structured }
    },
  })
}
